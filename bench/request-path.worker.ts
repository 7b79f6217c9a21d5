/** Runs inside workerd: times requests through the gateway's own code, with nothing on the network while it measures. */

import type { Hono } from "hono";
import type { Bindings } from "../src/config/settings.ts";
import { createGateway } from "../src/gateway.ts";

interface Run {
  /** Bindings of the gateway; null: a bare handler, the baseline. */
  readonly bindings: Bindings | null;
  readonly batches: number;
  /** In each batch. */
  readonly requests: number;
  /** Every request comes from an address of its own. */
  readonly distinct: boolean;
}

/** Of one batch. */
export interface Batch {
  readonly perRequestUs: number;
  /** How many were answered with each status. */
  readonly statuses: Readonly<Record<number, number>>;
}

const PAUSE_MS = 20;

export default {
  async fetch(request: Request, _env: unknown, context: Parameters<Hono["fetch"]>[2]): Promise<Response> {
    const { bindings, batches, requests, distinct }: Run = await request.json();
    const gateway = bindings && createGateway(bindings);
    const answer = async (incoming: Request) =>
      gateway ? await gateway.fetch(incoming, {}, context) : new Response("ok");

    // The clock ticks in milliseconds here: only a whole batch can be timed.
    const measured: Batch[] = [];
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
      // Answers of the store arrive only while nothing runs.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return Response.json(measured);
  },
};
