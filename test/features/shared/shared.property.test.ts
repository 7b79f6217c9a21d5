// consistency = "shared" under any order of requests, calls, replies and faults: a unit is told at most once, it is
// lost only with a call of unknown outcome, and no isolate admits more than the limit in a window.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Flag } from "../../../src/kernel/core/take.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { draws } from "../../support/cases/draws.ts";
import { type Call, createWorld, START_MS } from "./shared-isolates.ts";

const LIMIT = 8;
const WINDOW_MS = 60_000;
/** All traffic comes in the first window. What is still to be told is told in it too. */
const LAST_MS = 40_000;

type Step = { readonly isolate: number; readonly afterMs: number; readonly cost: number };
type Fate = "runs" | "offline" | "lost before" | "lost after" | "late" | "silent";

const step = fc.record({
  isolate: fc.nat(2),
  afterMs: fc.constantFrom(0, 1, 40, 300, 1_000, 2_500),
  cost: fc.integer({ min: 1, max: 3 }),
});
const fate = fc.constantFrom<Fate>("runs", "runs", "runs", "offline", "lost before", "lost after", "late", "silent");
const limits = fc.constantFrom(
  { algorithm: "fixed-window", limit: LIMIT, window: "1m" } as const,
  { algorithm: "token-bucket", limit: LIMIT, window: "31d" } as const,
);

/** What the world makes of a fate. */
function faultOf(fate: Fate) {
  if (fate === "offline") return new StoreError("OFFLINE");
  if (fate === "lost before") return new StoreError("NETWORK");
  if (fate === "lost after") return "lost" as const;
  if (fate === "silent") return fate;
  return fate === "late" ? { lateMs: 700 } : undefined;
}

const unitsOf = ({ request }: Call) => request.keys.reduce((sum, { cost }) => sum + cost, 0);

it("tells each unit at most once, loses none otherwise, and admits at most the limit in each isolate", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 60, size: "max" }),
      fc.array(fate, { maxLength: 40, size: "max" }),
      limits,
      async (steps: readonly Step[], fates: readonly Fate[], limit) => {
        const world = createWorld([{ name: "api", key: ["global"], consistency: "shared", limits: [limit] }]);
        const isolates = [world.isolate(), world.isolate(), world.isolate()];
        /** What became of each call that charges, in order. */
        const told: { readonly isolate: number; readonly units: number; readonly fate: Fate }[] = [];
        let made = 0;
        let isOver = false;
        world.faults.next = (call) => {
          const fate = isOver ? "runs" : (fates[made++] ?? "runs");
          if (call.request.flag === Flag.chargeAnyway) {
            told.push({ isolate: call.isolate, units: unitsOf(call), fate });
          }
          return faultOf(fate);
        };
        const admitted = [0, 0, 0];
        for (const { isolate, afterMs, cost } of steps) {
          await world.pass(Math.min(afterMs, START_MS + LAST_MS - world.time.nowMs()));
          if ((await isolates[isolate]!.take("api", { cost })).allowed) admitted[isolate]! += cost;
          expect(admitted[isolate]).toBeLessThanOrEqual(LIMIT);
        }
        // What failed last is told with the next request. From now on every call is answered.
        isOver = true;
        for (let n = 0; n < 4; n++) {
          await world.pass(3_000);
          for (const isolate of isolates) await isolate.limiter.take("api", { cost: 0, background: world.background });
        }
        await world.pass(3_000);

        const of = (isolate: number, ...of: readonly Fate[]) =>
          told
            .filter((one) => one.isolate === isolate && of.includes(one.fate))
            .reduce((sum, one) => sum + one.units, 0);
        for (const [i, units] of admitted.entries()) {
          const known = of(i, "runs", "late") + of(i, "lost after", "lost before", "silent");
          expect(known, `isolate ${i}`).toBe(units);
        }
        const ran = [0, 1, 2].reduce((sum, i) => sum + of(i, "runs", "late", "lost after"), 0);
        if (limit.algorithm === "fixed-window") {
          expect(world.time.nowMs()).toBeLessThan(START_MS + WINDOW_MS);
          expect(await world.leftAtStore("api")).toEqual([Math.max(0, LIMIT - ran)]);
        }
      },
    ),
    draws(300),
  );
});
