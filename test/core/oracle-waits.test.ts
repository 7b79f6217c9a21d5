// Tries out what a client is told, for every algorithm that counts units: the client waits, asks again, and gets what
// it was told.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import type { LimitSpec } from "../../src/core/algorithms.ts";
import { Flag } from "../../src/core/take.ts";
import { history, instant } from "../support/cases/arbitrary.ts";
import { largestCostOf, limitOf, spanOf, unitAlgorithms } from "../support/cases/arbitrary-limits.ts";
import { ask, look, type Replay, replay } from "../support/cases/replay.ts";
import { Counter } from "../support/gateway/counter.ts";

/** A random history, perhaps with forced charges above the limit, and the instant at which the client asks. */
interface Scene {
  readonly limit: LimitSpec;
  readonly counter: Counter;
  readonly nowMs: number;
}

function sceneOf(limit: fc.Arbitrary<LimitSpec>): fc.Arbitrary<Scene> {
  return fc
    .record({
      limit: limit.filter(endsInTime),
      startMs: instant,
      events: history,
      forced: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0) },
        { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }) },
        { weight: 1, arbitrary: fc.constant(1_000_000_000) },
      ),
      laterBy: fc.integer({ min: 0, max: 1500 }),
    })
    .map(({ limit, startMs, events, forced, laterBy }) => {
      const { counter, nowMs }: Replay = replay(limit, startMs, events);
      counter.takeOne(limit, Math.min(forced, mostForced(limit)), nowMs, Flag.chargeAnyway);
      return { limit, counter, nowMs: nowMs + Math.floor((laterBy * spanOf(limit)) / 1000) };
    });
}

/** A bucket's debt must be paid back before the last instant of a Date (8.64e15 ms), so that later instants exist. */
function endsInTime(limit: LimitSpec): boolean {
  return limit.kind !== Kind.bucket || mostForced(limit) > 0;
}

/** Units that may be forced above the largest debt so that the debt stays exact and is paid back in time. */
function mostForced(limit: LimitSpec): number {
  if (limit.kind !== Kind.bucket) return Number.POSITIVE_INFINITY;
  const { limit: refill, windowMs, burst, maxDelayMs } = limit;
  return Math.floor((Math.min(2 ** 53 - 1, 5e15 * refill) - burst * windowMs - maxDelayMs * refill) / windowMs);
}

const allowedAt = ({ limit, counter }: Scene, cost: number, atMs: number) =>
  counter.copy().takeOne(limit, cost, atMs).allowed;

describe.each(unitAlgorithms)("%s", (name) => {
  const scene = sceneOf(limitOf[name]);

  function holds(check: (scene: Scene) => void, numRuns = 500): void {
    fc.assert(fc.property(scene, check), { numRuns });
  }

  it("admits at retryAfterMs and refuses 1 ms before, asking alone", () => {
    const cost = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 }));
    const property = fc.property(scene, cost, fc.boolean(), (scene, drawn, all) => {
      const { limit, counter, nowMs } = scene;
      const cost = all ? largestCostOf(limit) : drawn % (largestCostOf(limit) + 1);
      const waitMs = look(counter.copy(), limit, nowMs, cost).retryAfterMs ?? Number.NaN;
      expect(waitMs).toBeGreaterThanOrEqual(0);
      expect(allowedAt(scene, cost, nowMs + waitMs)).toBe(true);
      if (waitMs > 0) expect(allowedAt(scene, cost, nowMs + waitMs - 1)).toBe(false);
    });
    fc.assert(property, { numRuns: 800 });
  });

  it("says never for a cost above the largest, and only then", () =>
    holds(({ limit, counter, nowMs }) => {
      const largest = largestCostOf(limit);
      expect(look(counter, limit, nowMs, largest + 1).retryAfterMs).toBeUndefined();
      expect(look(counter, limit, nowMs, largest).retryAfterMs).toBeDefined();
    }, 200));

  it("admits `remaining` more units at once, and refuses one more", () =>
    holds((scene) => {
      const { limit, counter, nowMs } = scene;
      const { remaining } = look(counter, limit, nowMs);
      if (remaining > 0) expect(allowedAt(scene, remaining, nowMs)).toBe(true);
      expect(allowedAt(scene, remaining + 1, nowMs)).toBe(false);
    }));

  // A leaky bucket admits more units one by one, each a little later: there `remaining` is the largest cost.
  it.skipIf(name === "leaky-bucket")("admits exactly `remaining` more units one by one", () =>
    holds(({ limit, counter, nowMs }) => {
      const { remaining } = look(counter, limit, nowMs);
      for (let unit = 0; unit < Math.min(remaining, 30); unit++) {
        expect(counter.takeOne(limit, 1, nowMs).allowed).toBe(true);
      }
      if (remaining <= 30) expect(counter.takeOne(limit, 1, nowMs).allowed).toBe(false);
    }),
  );

  it("changes nothing when it refuses", () =>
    holds(({ limit, counter, nowMs }) => {
      const { remaining } = look(counter, limit, nowMs); // drops what has expired: that is not a change
      const before = structuredClone({ values: counter.values, limitValues: counter.limitValues });
      expect(counter.takeOne(limit, remaining + 1, nowMs).allowed).toBe(false);
      expect({ values: counter.values, limitValues: counter.limitValues }).toEqual(before);
    }));

  it("is as new after resetAfterMs and not 1 ms earlier", () =>
    holds(({ limit, counter, nowMs }) => {
      const { resetAfterMs } = look(counter, limit, nowMs);
      const largest = largestCostOf(limit);
      const at = (atMs: number) => ask(counter.copy(), limit, largest, atMs);
      const resetAtMs = nowMs + resetAfterMs;
      expect(at(resetAtMs)).toEqual(ask(new Counter(), limit, largest, resetAtMs));
      if (resetAfterMs > 0) expect(at(resetAtMs - 1)).not.toEqual(ask(new Counter(), limit, largest, resetAtMs - 1));
    }));

  it("has more remaining after growsAfterMs and not 1 ms earlier, or as much as it gets", () =>
    holds((scene) => {
      const { limit, counter, nowMs } = scene;
      const { remaining, growsAfterMs } = look(counter, limit, nowMs);
      if (growsAfterMs === undefined) {
        expect(remaining).toBe(largestCostOf(limit));
      } else {
        expect(allowedAt(scene, remaining + 1, nowMs + growsAfterMs)).toBe(true);
        expect(allowedAt(scene, remaining + 1, nowMs + growsAfterMs - 1)).toBe(false);
      }
    }));
});
