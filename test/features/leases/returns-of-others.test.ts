// Units of keys that nobody asks for any more: the background of any request returns them.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { inSlowWorld } from "../../kernel/place/slow-world.ts";
import { mulberry32 } from "../../support/mulberry32.ts";

const QUARTER_MS = 900_000;

/**
 * Ten keys, each asked for every 2 to 15 s for a minute and a half, by a client that then stays away. Beside them runs
 * another policy.
 *
 * @returns the units that are not returned, and for each request of the other policy that the store answers, in
 * order, what was sent until then.
 */
async function unreturned(consistency: "strict" | "leased") {
  const policies = Array.from({ length: 10 }, (_, k): PolicyInput => {
    return { name: `p${k}`, key: ["global"], consistency: "leased", limits: [{ limit: 100_000, window: "1h" }] };
  });
  const limits = [{ limit: 1_000_000, window: "1h" }] as const;
  const other: PolicyInput = { name: "other", key: ["global"], consistency, limits };
  return await inSlowWorld(
    [...policies, other],
    1,
    async ({ time, limiters, calls, background, leftAtStore, pass }) => {
      const random = mulberry32(3);
      const startMs = time.nowMs();
      let admitted = 0;
      const take = (policy: string, cost = 1) =>
        limiters[0]!.take(policy, { background, cost }).then(({ allowed, source }) => {
          if (allowed && policy !== "other") admitted++;
          return source;
        });
      for (const { name } of policies) {
        const fromMs = random() * (QUARTER_MS - 200_000);
        for (let atMs = fromMs; atMs < fromMs + 90_000; atMs += 2_000 + random() * 13_000) {
          for (let i = 3 * random(); i > 0; i--) time.at(startMs + atMs, () => void take(name));
        }
      }
      const sent: string[][] = [];
      const isOwn = ({ keys, flag }: TakeRequest) => flag === Flag.take && keys[0]!.key.includes("other");
      for (let atMs = 0; atMs < QUARTER_MS; atMs += 5_000) {
        time.at(startMs + atMs, async () => {
          // It costs ever more: leased units do not suffice.
          const from = calls.length;
          const source = await take("other", 1 + atMs / 500);
          const own = calls.slice(from);
          if (source === "redis") sent.push(own.map((call) => (isOwn(call) ? "own" : "other")));
        });
      }
      await pass(QUARTER_MS);
      const left = await Promise.all(policies.map(({ name }) => leftAtStore(name)));
      return { units: left.reduce((sum, units) => sum + 100_000 - units, 0) - admitted, sent };
    },
  );
}

// A Worker opens six connections at once, and one request may return units with ten calls.
it.each(["strict", "leased"] as const)("all units go back, behind the request's own call: %s", async (consistency) => {
  const { units, sent } = await unreturned(consistency);
  expect(units).toBe(0);
  expect(sent.length).toBeGreaterThan(10);
  expect(sent.filter(([first]) => first !== "own")).toEqual([]);
});
