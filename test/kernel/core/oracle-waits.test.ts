// Tries out what a client is told, for every algorithm that counts units: the client waits, asks again, and gets what
// it was told.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { history, instant } from "../../support/cases/arbitrary.ts";
import { largestCostOf, limitOf, spanOf, unitAlgorithms } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { ask, look, type Replay, replay } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

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

/** What a client is told of a cost. */
const toldOf = ({ limit, counter, nowMs }: Scene, cost = 0) => look(counter.copy(), limit, nowMs, cost);

const allowedAt = ({ limit, counter }: Scene, cost: number, atMs: number) =>
  counter.copy().takeOne(limit, cost, atMs).allowed;

/** Each is tried on a copy of the counts. */
const promises: Readonly<Record<string, (scene: Scene, cost: number) => void>> = {
  "admits at retryAfterMs and refuses 1 ms before, asking alone"(scene, cost) {
    const waitMs = toldOf(scene, cost).retryAfterMs ?? Number.NaN;
    expect(waitMs).toBeGreaterThanOrEqual(0);
    expect(allowedAt(scene, cost, scene.nowMs + waitMs)).toBe(true);
    if (waitMs > 0) expect(allowedAt(scene, cost, scene.nowMs + waitMs - 1)).toBe(false);
  },

  "says never for a cost above the largest, and only then"(scene) {
    const largest = largestCostOf(scene.limit);
    expect(toldOf(scene, largest + 1).retryAfterMs).toBeUndefined();
    expect(toldOf(scene, largest).retryAfterMs).toBeDefined();
  },

  "admits `remaining` more units at once, and refuses one more"(scene) {
    const { remaining } = toldOf(scene);
    if (remaining > 0) expect(allowedAt(scene, remaining, scene.nowMs)).toBe(true);
    expect(allowedAt(scene, remaining + 1, scene.nowMs)).toBe(false);
  },

  "admits exactly `remaining` more units one by one"({ limit, counter, nowMs }) {
    // A leaky bucket admits more than that one by one, each a little later: `remaining` is the largest cost.
    if (limit.kind === Kind.bucket && limit.maxDelayMs > 0) return;
    const copy = counter.copy();
    const { remaining } = look(copy, limit, nowMs);
    const units = Math.min(remaining, 30);
    const allowed = Array.from({ length: units }, () => copy.takeOne(limit, 1, nowMs).allowed);
    expect(allowed).not.toContain(false);
    if (remaining <= 30) expect(copy.takeOne(limit, 1, nowMs).allowed).toBe(false);
  },

  "changes nothing when it refuses"({ limit, counter, nowMs }) {
    const copy = counter.copy();
    const { remaining } = look(copy, limit, nowMs); // drops what has expired, which is no change
    const before = structuredClone({ values: copy.values, limitValues: copy.limitValues });
    expect(copy.takeOne(limit, remaining + 1, nowMs).allowed).toBe(false);
    expect({ values: copy.values, limitValues: copy.limitValues }).toEqual(before);
  },

  "is as new after resetAfterMs and not 1 ms earlier"(scene) {
    const { limit, counter, nowMs } = scene;
    const { resetAfterMs } = toldOf(scene);
    const largest = largestCostOf(limit);
    const at = (atMs: number) => ask(counter.copy(), limit, largest, atMs);
    const resetAtMs = nowMs + resetAfterMs;
    expect(at(resetAtMs)).toEqual(ask(new Counter(), limit, largest, resetAtMs));
    if (resetAfterMs > 0) expect(at(resetAtMs - 1)).not.toEqual(ask(new Counter(), limit, largest, resetAtMs - 1));
  },

  "has more remaining after growsAfterMs and not 1 ms earlier, or as much as it gets"(scene) {
    const { limit, nowMs } = scene;
    const { remaining, growsAfterMs } = toldOf(scene);
    if (growsAfterMs === undefined) {
      expect(remaining).toBe(largestCostOf(limit));
    } else {
      expect(allowedAt(scene, remaining + 1, nowMs + growsAfterMs)).toBe(true);
      expect(allowedAt(scene, remaining + 1, nowMs + growsAfterMs - 1)).toBe(false);
    }
  },
};

// One scene for all promises: most of the time goes into scenes.
it.each(unitAlgorithms)("%s keeps every promise about what it tells", (name) => {
  const cost = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 }));
  const property = fc.property(sceneOf(limitOf[name]), cost, fc.boolean(), (scene, drawn, all) => {
    const largest = largestCostOf(scene.limit);
    for (const [promise, keep] of Object.entries(promises)) {
      try {
        keep(scene, all ? largest : drawn % (largest + 1));
      } catch (cause) {
        throw new Error(`it does not hold that ${name} ${promise}`, { cause });
      }
    }
  });
  fc.assert(property, draws(800));
});
