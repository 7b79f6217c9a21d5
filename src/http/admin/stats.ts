/** `/stats`: what all isolates have counted, over time; and for Prometheus, the sums since counting began. */

import type { Context } from "hono";
import { createLines } from "../../lines.ts";
import { CONTENT_TYPE, MAX_MINUTES, prometheusText, type Stats } from "../../stats/object/door.ts";
import { answer, badRequest, notFound, unavailable } from "./answer.ts";
import type { AdminApp } from "./calls.ts";
import type { Gate } from "./gate.ts";

const DEFAULT_MINUTES = "60";

const write = createLines();

export function serveStats(app: AdminApp, stats: Stats | undefined): void {
  app.get("/stats", async (c) => {
    if (!stats) return notFound("This gateway has no metrics: STATS is not bound, or STATS_FLUSH is 0s.");
    const text = c.req.query("minutes") ?? DEFAULT_MINUTES;
    const minutes = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (minutes < 1 || minutes > MAX_MINUTES)
      return badRequest(`minutes: expected an integer from 1 to ${MAX_MINUTES}.`);
    return await answered(async () => answer(await stats.read(minutes)));
  });
}

/** @param version of this gateway. */
export function serveMetrics(stats: Stats, gate: Gate, version: string): (c: Context) => Promise<Response> {
  return async (c) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin;
    return await answered(async () => {
      const headers = { "Content-Type": CONTENT_TYPE, "Cache-Control": "no-store" };
      return new Response(prometheusText(await stats.totals(), version), { headers });
    });
  };
}

async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const { name, message } = error as Error;
    write(() => ({ event: "stats-unread", at: new Date().toISOString(), reason: `${name}: ${message}` }));
    return unavailable("STATS does not answer.");
  }
}
