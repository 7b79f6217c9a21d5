// Leases with real parts in front of a Durable Object: four gateways, one object, and as many requests as fit.

import { Agent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { startGateways } from "../support/objects/gateways.ts";

const GATEWAYS = ["a", "b", "c", "d"];
const LIMIT = 10_000;
const WINDOW_MS = 10_000;
/**
 * A number of requests, not a time: a slow machine takes longer for them, and makes more calls. Calls come by the
 * second: an isolate asks again about as often whether it has answered many requests or few. Below 1,000 requests per
 * second the limit is never reached, and only the calls are tested.
 */
const REQUESTS = 14_000;
/** Open requests of each gateway. */
const OPEN = 40;

interface Admission {
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

it("four gateways never admit more than the limit, with a call of the object for at most a tenth of the requests", async () => {
  // Whole buckets: the limit holds in every window of this length, not only on the average.
  const limit = { limit: LIMIT, window: `${WINDOW_MS}ms`, buckets: 10, oldest: "whole" };
  // Without an answer of the object, deny: what a slow machine admits by fallback would not come from leases.
  const policies = [{ name: "all", key: "global", limits: [limit], consistency: "leased", onStoreFailure: "deny" }];
  const urls = await startGateways(GATEWAYS, "counted-counts.ts", policies);
  const agent = new Agent({ connections: OPEN });
  onTestFinished(() => agent.destroy());
  const ask = async (name: string) => {
    const headers = { "CF-Connecting-IP": "192.0.2.1" };
    const { origin } = urls[name]!;
    const { statusCode, body } = await agent.request({ origin, path: "/", method: "GET", headers });
    return { status: statusCode, text: await body.text() };
  };

  const statuses = new Map<number, number>();
  const admitted: Admission[] = [];
  let left = REQUESTS;
  const client = async (name: string) => {
    while (left-- > 0) {
      const sentAtMs = Date.now();
      const { status } = await ask(name);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) admitted.push({ sentAtMs, answeredAtMs: Date.now() });
    }
  };
  await Promise.all(GATEWAYS.flatMap((name) => Array.from({ length: OPEN }, () => client(name))));
  const takes = Number((await ask("counts")).text);

  expect([200, 429]).toEqual(expect.arrayContaining([...statuses.keys()]));
  expect(mostWithin(admitted, WINDOW_MS)).toBeLessThanOrEqual(LIMIT);
  expect(admitted.length).toBeGreaterThanOrEqual(0.9 * LIMIT);
  expect(takes).toBeLessThanOrEqual(0.1 * REQUESTS);
}, 300_000);

/** The most admissions that certainly fell within a span of this length: sent and answered in it. */
function mostWithin(admitted: readonly Admission[], spanMs: number): number {
  const sentAt = admitted.map(({ sentAtMs }) => sentAtMs).sort((a, b) => a - b);
  const answeredAt = admitted.map(({ answeredAtMs }) => answeredAtMs).sort((a, b) => a - b);
  let most = 0;
  let answered = 0;
  for (const [sentBefore, fromMs] of sentAt.entries()) {
    while (answered < answeredAt.length && answeredAt[answered]! < fromMs + spanMs) answered++;
    // Each of the earlier ones may have been answered in the span without having been sent in it.
    most = Math.max(most, answered - sentBefore);
  }
  return most;
}
