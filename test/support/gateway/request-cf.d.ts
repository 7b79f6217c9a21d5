// Node's Request type has no `cf`. src/ reads `cf`, and tests of src/ run in Node too.

interface Request {
  readonly cf?: Record<string, unknown>;
}
