// Node's Request knows no `cf`; src/ may read it also in tests that run in Node.

interface Request {
  readonly cf?: Record<string, unknown>;
}
