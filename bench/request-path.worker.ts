/**
 * Runs inside workerd: times requests through the gateway's code. No request waits for the network while it is timed.
 */

import type { Bindings } from "../src/config/settings.ts";
import { createGateway } from "../src/gateway.ts";
import { createLimiter, type PolicyInput, redisStore, withRateLimit } from "../src/index.ts";
import type { PathBatch } from "./support/path-batch.ts";

interface Run {
  /** The gateway's bindings. Null: a bare handler, the baseline. */
  readonly bindings: Bindings | null;
  /** Wraps the bare handler in `withRateLimit` instead of running the gateway. */
  readonly wrapped: boolean;
  readonly batches: number;
  /** The number of requests in each batch. */
  readonly requests: number;
  /** Every request comes from another address. */
  readonly distinct: boolean;
}

const PAUSE_MS = 20;

const handle = () => new Response("ok");

/** Makes the function that answers this run's requests. */
function answerOf({ bindings, wrapped }: Run, context: ExecutionContext): (request: Request) => Promise<Response> {
  if (bindings === null) return async () => handle();
  if (!wrapped) {
    const gateway = createGateway(bindings);
    return async (request) => await gateway.fetch(request, {}, context);
  }
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, POLICIES: policies } = bindings;
  const store = redisStore({ url: String(url), token: String(token), timeoutMs: 10_000 });
  const limited = withRateLimit(handle, createLimiter({ policies: policies as readonly PolicyInput[], store }));
  return async (request) => await limited.fetch(request as Parameters<typeof limited.fetch>[0], {}, context);
}

export default {
  async fetch(request: Request, _env: unknown, context: ExecutionContext): Promise<Response> {
    const run: Run = await request.json();
    const { batches, requests, distinct } = run;
    const answer = answerOf(run, context);

    // This clock counts whole milliseconds, so only a whole batch can be timed.
    const measured: PathBatch[] = [];
    for (let batch = 0; batch < batches; batch++) {
      const statuses: Record<number, number> = {};
      const start = Date.now();
      for (let i = 0; i < requests; i++) {
        const n = distinct ? batch * requests + i : 0;
        const incoming = new Request("https://api.example/v1/search?q=1", {
          headers: {
            "CF-Connecting-IP": `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
            Authorization: `Bearer ${n}`,
          },
        });
        const { status } = await answer(incoming);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      measured.push({ perRequestUs: (1000 * (Date.now() - start)) / requests, statuses });
      // Answers of the store arrive only while no code runs.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return Response.json(measured);
  },
};
