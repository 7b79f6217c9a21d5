// A store that replies, but too late. Whatever reply is heard, the store is told what it missed, also while requests do
// not wait for it.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { firstOf } from "../../support/cases/draws.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { inSlowWorld, type SlowWorld, START_MS } from "./slow-world.ts";

const policy = (limit: number, more: Partial<PolicyInput> = {}): PolicyInput[] => [
  { name: "p", key: ["global"], limits: [{ limit, window: "1d" }], ...more } as PolicyInput,
];
const READONLY = new StoreError("REDIS", "READONLY");

/** Takes so many times, this far apart, and waits for no answer. */
function takeMany(
  { limiters, time, background }: SlowWorld,
  times: number,
  everyMs: number,
  told?: (one: Decision) => void,
) {
  for (let i = 0; i < times; i++) {
    time.at(time.nowMs() + i * everyMs, () => {
      void limiters[0]!.take("p", { background }).then(told);
    });
  }
}

/** The units that two isolates admit, at 375 requests per second together, under 1,000 per 10 minutes. */
async function admittedByTwo(leastMs: number, mostMs: number, seed: number): Promise<number> {
  const policies: PolicyInput[] = [{ name: "p", key: ["global"], limits: [{ limit: 1_000, window: "10m" }] }];
  return await inSlowWorld(policies, 2, async ({ time, link, limiters, background, pass }) => {
    const random = mulberry32(seed);
    link.delayMs = () => leastMs + (mostMs - leastMs) * random();
    let admitted = 0;
    for (let i = 0; i < 375 * 6; i++) {
      const limiter = limiters[Math.floor(2 * random())]!;
      time.at(START_MS + (i * 1_000) / 375, () => {
        void limiter.take("p", { background }).then(({ allowed }) => {
          if (allowed) admitted++;
        });
      });
    }
    await pass(9_000);
    return admitted;
  });
}

it.each(
  firstOf([
    [300, 900, 1_005],
    [1_000, 2_400, 1_050],
    [600, 1_500, 1_050],
  ] as const),
)("two isolates whose replies take %i to %i ms admit at most %i of 1,000", async (leastMs, mostMs, most) => {
  const admitted = await admittedByTwo(leastMs, mostMs, 1);
  expect(admitted).toBeLessThanOrEqual(most);
  // Nor does it cost the clients much.
  expect(admitted).toBeGreaterThan(900);
});

it("under `deny`, what late replies have charged for refused requests goes back, although the breaker is open", async () => {
  await inSlowWorld(policy(20, { onStoreFailure: "deny" }), 1, async (world) => {
    const { link, leftAtStore, breakers, pass } = world;
    link.delayMs = () => 2_000;
    let admitted = 0;
    takeMany(world, 20, 10, ({ allowed }) => {
      if (allowed) admitted++;
    });
    await pass(10_000);
    expect([admitted, breakers, await leftAtStore("p")]).toEqual([0, ["open"], 20]);
  });
});

it("under `leased`, replies to calls in the background let debts pass while leases answer", async () => {
  await inSlowWorld(policy(1_000_000, { consistency: "leased" }), 1, async (world) => {
    const { link, calls, pass } = world;
    takeMany(world, 200, 10);
    await pass(2_000);
    link.error = READONLY;
    takeMany(world, 300, 10);
    await pass(3_000);
    link.error = undefined;
    const before = calls.length;
    const sources = new Set<string>();
    takeMany(world, 200, 10, ({ source }) => void sources.add(source));
    await pass(2_500);
    expect(calls.slice(before).filter(({ flag }) => flag === Flag.chargeAnyway)).toHaveLength(1);
    expect(sources).toContain("lease");
  });
});

it("a store that was slow and is dead now is told nothing any more: what it was not told stays owed", async () => {
  await inSlowWorld(policy(100_000), 1, async (world) => {
    const { link, breakers, calls, leftAtStore, pass } = world;
    link.delayMs = () => 1_000;
    takeMany(world, 750, 40);
    await pass(10_000);
    expect(breakers).toEqual(["open", "open"].slice(0, breakers.length));
    const told = () => calls.filter(({ flag }) => flag === Flag.chargeAnyway).length;
    expect(told()).toBeGreaterThan(30);
    link.delayMs = () => undefined;
    // A reply that is on its way still shows a slow store, for 1.5 s.
    await pass(2_600);
    const last = told();
    await pass(10_000);
    expect(told()).toBe(last);
    link.delayMs = () => 10;
    await pass(10_000);
    // What it was told in its last 2.5 s is lost: that may have run.
    expect(100_000 - (await leftAtStore("p"))).toBeGreaterThanOrEqual(750 - 75);
  });
});

it("what is told under `shared` lets slots pass, although nobody asks for anything else", async () => {
  const slots: PolicyInput = {
    name: "slots",
    key: ["global"],
    limits: [{ algorithm: "concurrency", limit: 10, timeout: "1h" }],
  };
  await inSlowWorld([slots, ...policy(1_000, { consistency: "shared" })], 1, async (world) => {
    const { link, leftAtStore, limiters, background, pass } = world;
    const taking = limiters[0]!.take("slots", { background });
    await pass(100);
    link.error = READONLY;
    void (await taking).hold!.release();
    await pass(100);
    link.error = undefined;
    takeMany(world, 20, 500);
    await pass(12_000);
    expect([await leftAtStore("slots"), await leftAtStore("p")]).toEqual([10, 980]);
  });
});

it("an isolate under `shared` that refuses asks a dead store no more often than others do", async () => {
  await inSlowWorld(policy(50, { consistency: "shared", sync: "100ms" }), 1, async (world) => {
    const { link, calls, breakers, pass } = world;
    takeMany(world, 600, 20);
    await pass(2_000);
    link.delayMs = () => undefined;
    await pass(6_000);
    expect(breakers).toEqual(["open"]);
    const before = calls.length;
    await pass(3_000);
    expect(calls.length - before).toBeLessThanOrEqual(4);
  });
});
