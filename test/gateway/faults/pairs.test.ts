// Two outages in a row for every pair of algorithms in one policy, with a real Redis. Between the outages, slots are
// released and missing charges are made up for.

import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { fieldsOf } from "../../support/cases/fields.ts";
import { startFaultyGateway } from "../../support/faults/fault-story.ts";
import { uniqueName } from "../../support/gateway/gateway.ts";
import { startOrigin } from "../../support/gateway/origin-server.ts";
import { watchSlots } from "../../support/redis/slots.ts";

const LIMIT = 6;
const IN_FLIGHT = 3;
const ONE: Readonly<Record<string, object>> = {
  "sliding-window": { limit: LIMIT, window: "31d" },
  "sliding-window, whole": { limit: LIMIT, window: "31d", buckets: 4, oldest: "whole" },
  "fixed-window": { algorithm: "fixed-window", limit: LIMIT, window: "31d" },
  "sliding-log": { algorithm: "sliding-log", limit: LIMIT, window: "31d" },
  "token-bucket": { algorithm: "token-bucket", limit: LIMIT, window: "31d" },
  "leaky-bucket": { algorithm: "leaky-bucket", limit: LIMIT, burst: LIMIT, window: "31d", maxDelay: "1s" },
  concurrency: { algorithm: "concurrency", limit: IN_FLIGHT, timeout: "1h" },
};
/** The same limits with records of their own. */
const OTHER = Object.fromEntries(
  Object.entries(ONE).map(([name, one]) => [
    name,
    { ...one, ...(name === "concurrency" ? { timeout: "2h" } : { window: "30d" }) },
  ]),
);
const names = Object.keys(ONE);
const PATIENCE = { timeout: 15_000, interval: 20 };

it("no 500, no limit exceeded, what was owed is charged once, and slots come back", async () => {
  const prefix = uniqueName("p");
  const pairs = names.flatMap((one, i) =>
    names.slice(i).map((other, j) => {
      const name = `${prefix}-${i}-${j}`;
      // The slots are the first limit in some pairs and the last limit in others.
      const limits = (i + j) % 2 ? [ONE[one]!, OTHER[other]!] : [OTHER[other]!, ONE[one]!];
      return { name, path: `/${i}/${j}`, limits, isOnlySlots: one === "concurrency" };
    }),
  );
  const held = new Set<ServerResponse>();
  const origin = await startOrigin((request, response) => {
    if (/(look|probe)$/.test(request.url!)) return response.end();
    held.add(response);
    response.write("first");
  });
  const policies = pairs.map(({ name, path, limits }) => {
    const match = { path: [path, `${path}/look`] };
    return { name, key: ["global"], match, limits, cost: [{ path: `${path}/look`, cost: 0 }] };
  });
  const probed = { name: prefix, match: { path: "/probe" }, limits: [ONE["sliding-window"]], cost: [{ cost: 0 }] };
  // A variable may hold at most 5 KiB.
  const { rig, gateway } = await startFaultyGateway([probed, ...policies.slice(0, 14)], 5_000, 1, {
    POLICIES_2: policies.slice(14),
    ORIGIN_URL: origin.url,
  });
  const slots = watchSlots(prefix, rig.redis);

  /** The answer's status, and the units and slots that remain if Redis has counted the request. */
  async function ask(path: string) {
    const answer = await gateway.fetch(path);
    const { states } = fieldsOf(answer);
    void answer.arrayBuffer();
    return { status: answer.status, left: states && Object.values(states).map(({ r }) => Number(r)) };
  }
  /** The statuses of `requests(pair)` requests to each pair, sent one after the other. */
  const askAll = async (requests: (pair: (typeof pairs)[number]) => number) =>
    await Promise.all(
      pairs.map(async (pair) => {
        const statuses: number[] = [];
        for (let n = 0; n < requests(pair); n++) statuses.push((await ask(pair.path)).status);
        return [pair.limits, statuses];
      }),
    );
  const all = (statuses: (pair: (typeof pairs)[number]) => number[]) =>
    pairs.map((pair) => [pair.limits, statuses(pair)]);

  /** Ends the outage and releases all slots. Then every other limit must have exactly `used` units used. */
  async function recover(used: number): Promise<void> {
    await rig.end();
    await expect.poll(async () => (await ask("/probe")).left, PATIENCE).toBeDefined();
    for (const response of held) response.end("last");
    held.clear();
    await slots.free();
    for (const { path, limits } of pairs) {
      const left = limits.map((limit) => ("timeout" in limit ? IN_FLIGHT : LIMIT - used));
      await expect.poll(async () => (await ask(`${path}/look`)).left, PATIENCE).toEqual(left);
    }
  }

  expect(await askAll(() => 1)).toEqual(all(() => [200]));
  await rig.begin("readonly");
  expect(await askAll(() => 2)).toEqual(all(() => [200, 200]));
  await recover(3);

  expect(await askAll(() => 1)).toEqual(all(() => [200]));
  await rig.begin("readonly");
  const second = ({ isOnlySlots }: { isOnlySlots: boolean }) => (isOnlySlots ? [200, 200, 200, 429] : [200, 200, 429]);
  expect(await askAll((pair) => second(pair).length)).toEqual(all(second));
  await recover(LIMIT);

  expect(await askAll(({ isOnlySlots }) => (isOnlySlots ? 0 : 1))).toEqual(
    all((pair) => (pair.isOnlySlots ? [] : [429])),
  );
});
