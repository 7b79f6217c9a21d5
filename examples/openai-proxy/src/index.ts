import { createLimiter, storeFromEnv, withRateLimit } from "headgate";

interface Env {
  readonly OPENAI_URL: string;
}

/** The body is read into memory to find its cost. A larger body gets the cost NEVER, which no limit admits. */
const MAX_BODY_BYTES = 1_000_000;
const NEVER = 1_000_000_000;

/** The tokens that a request may use: about one per four characters of its body, plus its `max_tokens`. */
async function estimateTokens(request: Request): Promise<number> {
  if (request.method !== "POST") return 1;
  if (!(Number(request.headers.get("Content-Length") ?? NEVER) <= MAX_BODY_BYTES)) return NEVER;
  const text = await request.text();
  const asked = /"max_(?:completion_|output_)?tokens"\s*:\s*(\d{1,8})/.exec(text)?.[1] ?? 1000;
  return Math.ceil(text.length / 4) + Number(asked);
}

export default withRateLimit<Env>(
  (request, env) => {
    const { pathname, search } = new URL(request.url);
    return fetch(new Request(env.OPENAI_URL + pathname + search, request));
  },
  (env) =>
    createLimiter({
      policies: [
        { name: "tokens", key: "bearer", limits: [{ algorithm: "token-bucket", limit: 10_000, window: "1m" }] },
        { name: "tokens-address", key: "ip", limits: [{ algorithm: "token-bucket", limit: 50_000, window: "1m" }] },
      ],
      store: storeFromEnv(env),
    }),
  { cost: estimateTokens },
);
