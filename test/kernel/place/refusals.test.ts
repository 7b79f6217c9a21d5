import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, type KeyRequest } from "../../../src/kernel/core/take.ts";
import { identityOf } from "../../support/cases/arbitrary-limits.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { isolate, request, virtualStore } from "./isolates.ts";

const START_MS = 1_700_000_000_000;
const NO_DELAY = [0, 0] as const;
const keyOf = (limit: LimitSpec, cost = 1): KeyRequest => ({ key: "k", group: ENFORCED, cost, limits: [limit] });
const window: LimitSpec = { kind: Kind.weighted, limit: 5, bucketMs: 60_000, buckets: 1 };

/** Takes until the store refuses. The refusal is remembered. */
function useUp(store: ReturnType<typeof virtualStore>, one: ReturnType<typeof isolate>, limit = window) {
  for (let i = 0; i < limit.limit; i++)
    expect(request(store, one, [keyOf(limit)], START_MS, NO_DELAY).local).toBe(false);
}

describe("counts that were told", () => {
  it.each([
    ["nothing is left", { ...window, limit: 3 }, 2],
    ["it can never be admitted", window, 6],
    ["a fixed window ends when it ends", { kind: Kind.fixedWindow, limit: 5, windowMs: 60_000 } as const, 4],
  ])("refuse a larger cost without asking where the wait is certain: %s", (_, limit, cost) => {
    const [store, one] = [virtualStore(), isolate(0)];
    for (let i = 0; i < 3; i++) request(store, one, [keyOf(limit)], START_MS, NO_DELAY);
    expect(request(store, one, [keyOf(limit, cost)], START_MS + 1, NO_DELAY).reply.allowed).toBe(false);
    expect(request(store, one, [keyOf(limit, cost)], START_MS + 2, NO_DELAY)).toMatchObject({
      local: true,
      reply: { allowed: false },
    });
  });

  it("are trusted for 5 s without a reply, and not a millisecond longer", () => {
    const [store, one] = [virtualStore(), isolate(0)];
    useUp(store, one);
    expect(request(store, one, [keyOf(window)], START_MS + 4_999, NO_DELAY).local).toBe(true);
    expect(request(store, one, [keyOf(window)], START_MS + 5_000, NO_DELAY).local).toBe(false);
  });

  it("never refuse by a policy in shadow", () => {
    const [store, one] = [virtualStore(), isolate(0)];
    const shadow: KeyRequest = { ...keyOf({ ...window, limit: 1 }), key: "shadow", group: 1 };
    for (let i = 0; i < 4; i++) {
      const { reply, local } = request(store, one, [keyOf(window), shadow], START_MS + i, NO_DELAY);
      expect([local, reply.allowed]).toEqual([false, true]);
    }
  });
});

const duration = fc.constantFrom(40, 400, 1_000, 4_000);
const limits: fc.Arbitrary<LimitSpec> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(Kind.weighted, Kind.whole),
    limit: fc.integer({ min: 1, max: 12 }),
    bucketMs: duration,
    buckets: fc.constantFrom(1, 3),
  }),
  fc.record({ kind: fc.constant(Kind.fixedWindow), limit: fc.integer({ min: 1, max: 12 }), windowMs: duration }),
  fc.record({ kind: fc.constant(Kind.log), limit: fc.integer({ min: 1, max: 12 }), windowMs: duration }),
  fc.record({
    kind: fc.constant(Kind.bucket),
    limit: fc.integer({ min: 1, max: 12 }),
    windowMs: duration,
    burst: fc.integer({ min: 1, max: 12 }),
    maxDelayMs: fc.constantFrom(0, 30),
  }),
);
const step = fc.record({
  isolate: fc.nat(2),
  afterMs: fc.oneof(fc.nat(3), fc.nat(120), fc.nat(1_500)),
  costs: fc.tuple(fc.nat(5), fc.nat(5)),
  both: fc.boolean(),
  delays: fc.tuple(fc.nat(60), fc.nat(60)),
});

it("what is refused locally would have been refused by the store, whatever clocks and delays", () => {
  let localRefusals = 0;
  fc.assert(
    fc.property(
      fc.tuple(limits, limits),
      fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: -30_000, max: 30_000 }))),
      fc.array(step, { minLength: 20, maxLength: 80 }),
      ([first, second], offsets, steps) => {
        const store = virtualStore();
        const isolates = offsets.map(isolate);
        let nowMs = START_MS;
        for (const { isolate: which, afterMs, costs, both, delays } of steps) {
          nowMs += afterMs;
          const keys = [keyOf(first, costs[0]), { ...keyOf(second, costs[1]), key: "second" }].slice(0, both ? 2 : 1);
          // What the store would say at this instant.
          const truth = store.look(keys, nowMs);
          const { reply, local } = request(store, isolates[which]!, keys, nowMs, delays);
          nowMs += local ? 0 : delays[0] + delays[1];
          if (!local) continue;
          localRefusals++;
          expect(reply.allowed).toBe(false);
          expect(truth.allowed).toBe(false);
        }
      },
    ),
    draws(600),
  );
  // Without local refusals the property would prove nothing.
  expectReached(localRefusals, 1_000);
});

const twoLimits = fc.tuple(limits, limits).filter(([a, b]) => identityOf(a) !== identityOf(b));

it("whoever waits as it was told from memory is admitted then and not 1 ms earlier, though others took what was left before", () => {
  let waits = 0;
  fc.assert(
    fc.property(twoLimits, fc.array(step, { minLength: 20, maxLength: 80 }), (limits, steps) => {
      const store = virtualStore();
      const isolates = [12_345, 0, -20_000].map(isolate);
      let nowMs = START_MS;
      for (const { isolate: which, afterMs, costs, delays } of steps) {
        nowMs += afterMs;
        const keys = [{ ...keyOf(limits[0]), cost: costs[0], limits }];
        const { reply, local } = request(store, isolates[which]!, keys, nowMs, delays);
        nowMs += local ? 0 : delays[0] + delays[1];
        if (!local) continue;
        const told = limits.map((limit, l) => {
          const { view, refused } = reply.keys[0]![l]!;
          return algorithmOf(limit).tell(view, limit, costs[0], refused, reply.nowMs);
        });
        expect(Math.min(...told.flatMap((one) => Object.values(one)))).toBeGreaterThanOrEqual(0);
        const all = told.map(({ retryAfterMs }) => retryAfterMs);
        if (all.includes(undefined)) continue; // The cost is above a limit.
        waits++;
        const admittedAtMs = reply.nowMs + Math.max(...(all as number[]));
        expect(store.look(keys, admittedAtMs).allowed).toBe(true);
        expect(store.look(keys, admittedAtMs - 1).allowed).toBe(false);
      }
    }),
    draws(800),
  );
  expectReached(waits, 500);
});
