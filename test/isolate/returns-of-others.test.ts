// Units of keys that nobody asks for any more: the background of any request returns them.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../src/config/policy-input.ts";
import { Flag } from "../../src/core/take.ts";
import { StoreError } from "../../src/store/store.ts";
import { mulberry32 } from "../support/mulberry32.ts";
import { inSlowWorld } from "./slow-world.ts";

const QUARTER_MS = 900_000;

/**
 * Ten keys, each asked for every 2 to 15 s for a minute and a half, by a client that then stays away. Beside them runs
 * a policy that is `strict`. @param isDown whether the store refuses calls that give back, for its first ten minutes.
 */
async function unreturned(isDown: boolean): Promise<number> {
  const policies = Array.from({ length: 10 }, (_, k): PolicyInput => {
    return { name: `p${k}`, key: ["global"], consistency: "leased", limits: [{ limit: 100_000, window: "1h" }] };
  });
  const other: PolicyInput = { name: "other", key: ["global"], limits: [{ limit: 100_000, window: "1h" }] };
  return await inSlowWorld(
    [...policies, other],
    1,
    async ({ time, link, limiters, calls, background, leftAtStore, pass }) => {
      const random = mulberry32(3);
      const startMs = time.nowMs();
      let admitted = 0;
      const take = (policy: string) =>
        limiters[0]!.take(policy, { background }).then(({ allowed }) => {
          if (allowed && policy !== "other") admitted++;
        });
      for (const { name } of policies) {
        const fromMs = random() * (QUARTER_MS - 200_000);
        for (let atMs = fromMs; atMs < fromMs + 90_000; atMs += 2_000 + random() * 13_000) {
          for (let i = 3 * random(); i > 0; i--) time.at(startMs + atMs, () => void take(name));
        }
      }
      for (let atMs = 0; atMs < QUARTER_MS; atMs += 5_000) time.at(startMs + atMs, () => void take("other"));
      link.delayMs = () => {
        const isRefused = isDown && calls.at(-1)!.flag === Flag.giveBack && time.nowMs() < startMs + 600_000;
        link.error = isRefused ? new StoreError("REDIS", "MOVED") : undefined;
        return 10;
      };
      await pass(QUARTER_MS);
      const left = await Promise.all(policies.map(({ name }) => leftAtStore(name)));
      return left.reduce((sum, units) => sum + 100_000 - units, 0) - admitted;
    },
  );
}

it("all units go back", async () => {
  expect(await unreturned(false)).toBe(0);
});

it("units that the store surely did not take back are leased again, and go back later", async () => {
  expect(await unreturned(true)).toBe(0);
});
