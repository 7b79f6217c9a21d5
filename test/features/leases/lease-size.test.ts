// How many units an isolate wants to lease: the policy alone, without calls.

import { expect, it } from "vitest";
import { chargedPerMs, isLow, mayKeep, mostUnits, ownPart, wanted } from "../../../src/features/leases/lease-size.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitReply } from "../../../src/kernel/core/take.ts";
import type { Lease } from "../../../src/kernel/place/lease.ts";
import type { Now } from "../../../src/kernel/place/store-clock.ts";

const WINDOW_MS = 10_000;
const START_MS = 1_700_000_000_000;
const LIMIT = { kind: Kind.weighted, limit: 10_000, bucketMs: WINDOW_MS, buckets: 1 } as const;

/** What the store tells: the counts of the present bucket and of the one before. */
function told(...counts: number[]): LimitReply[] {
  const { kind, bucketMs, buckets } = LIMIT;
  return [{ view: { kind, bucketMs, buckets, newest: START_MS / WINDOW_MS, counts }, refused: false }];
}

/** A lease of an isolate that has had `rate` units per ms for long, of 1 unit per ms of all, and no leased units. */
function leaseOf(left: number, rate: number, rest: Partial<Lease> = {}): Lease {
  return {
    number: 1,
    limits: [LIMIT],
    lifeMs: 500,
    mostUnits: 20_000,
    pauseMs: 250,
    callMs: 0,
    units: [],
    charged: undefined,
    worthlessToMs: 0,
    replies: undefined,
    repliedAtMs: START_MS,
    left,
    chargedPerMs: 1,
    ownPart: 0,
    demand: rate * 7_000 + 1,
    demandAtMs: START_MS,
    requests: rate * 7_000 + 1,
    seenMs: 7_000,
    latest: 1,
    asks: undefined,
    pausedUntilMs: 0,
    returnsUntilMs: 0,
    ...rest,
  };
}

/** An instant whose store time is known exactly, and as another instant if that is given. */
const nowOf = (localAtMs: number, storeMs = localAtMs): Now => {
  return { localAtMs, earliestMs: storeMs, latestMs: storeMs, trustedMs: 0 };
};

/** At the beginning of a window, or later. */
const wantedBy = (lease: Lease, afterMs = 0) => wanted(lease, 0, nowOf(START_MS, START_MS + afterMs));

it("with plenty left leased units last for as long as the demand is remembered, or for most of the bucket's rest", () => {
  expect(wantedBy(leaseOf(5_000, 0.1))).toBe(700);
  expect(wantedBy(leaseOf(5_000, 0.1), 5_000)).toBe(425);
  expect(wantedBy(leaseOf(5_000, 0.1), 9_990)).toBe(0);
});

it("with less left it is twice the isolate's share, and with nothing left it lasts for 150 ms", () => {
  expect(wantedBy(leaseOf(1_000, 0.1))).toBe(200);
  expect(wantedBy(leaseOf(100, 0.1))).toBe(20);
  expect(wantedBy(leaseOf(0, 0.1))).toBe(15);
  expect(wantedBy(leaseOf(0, 0.1, { callMs: 200 }))).toBe(15 + 20 + 4);
});

it("the share of an isolate with little traffic is larger than its part of the traffic", () => {
  expect(wantedBy(leaseOf(500, 0.01))).toBe(2 * 500 * 0.025);
  expect(wantedBy(leaseOf(500, 0.0009))).toBe(6);
});

it("what is leased counts as left, as an isolate's own leased units are no sign of others' demand", () => {
  const stock = {
    units: 400,
    chargedAtMs: START_MS,
    bucketAtMs: START_MS,
    endsAtMs: START_MS + WINDOW_MS,
    reviewedAtMs: START_MS + 500,
  };
  expect(wantedBy(leaseOf(100, 0.1, { units: [stock] }))).toBe(100);
  expect(mayKeep(leaseOf(10_000, 0.1, { units: [stock] }), START_MS)).toBe(1_040);
});

it("nothing is given back in a hurry: not what is spent within ten lives, and not a few units", () => {
  expect(mayKeep(leaseOf(0, 0.1), START_MS)).toBe(500);
  expect(mayKeep(leaseOf(0, 0.0005), START_MS)).toBe(3);
});

it("more is asked for when the leased units would be spent before the answer comes", () => {
  const lease = leaseOf(5_000, 0.1, { callMs: 90 });
  expect(isLow(lease, 12, 0, nowOf(START_MS))).toBe(false);
  expect(isLow(lease, 11, 0, nowOf(START_MS))).toBe(true);
});

it("a key that has gone quiet needs nothing, and keeps nothing", () => {
  const [busy, slow] = [leaseOf(5_000, 0.1), leaseOf(5_000, 0.001)];
  const after = (lease: Lease, ms: number) => [
    wanted(lease, 0, nowOf(START_MS + ms)) > 0,
    mayKeep(lease, START_MS + ms) > 0,
  ];
  expect(after(busy, 500)).toEqual([true, true]);
  expect(after(busy, 600)).toEqual([false, false]);
  expect(after(slow, 3_000)[1]).toBe(true);
});

it("a key with large costs is not quiet between two requests", () => {
  const lease = leaseOf(5_000, 0.1, { demand: 8 * 100, requests: 8, latest: 100 });
  expect(mayKeep(lease, START_MS + 4_000)).toBeGreaterThan(0);
  expect(mayKeep({ ...lease, requests: 800 }, START_MS + 4_000)).toBe(0);
});

it("at most a twentieth of a limit with a long window is leased, and a short window does not bound it", () => {
  const day = { ...LIMIT, bucketMs: 86_400_000 };
  expect(mostUnits([day], 5_000)).toBe(500);
  expect(mostUnits([LIMIT], 500)).toBeGreaterThan(10_000);
  expect(wantedBy(leaseOf(5_000, 0.1, { mostUnits: 500 }))).toBe(500);
});

it("learns from two replies what all charge, and from one which part is its own", () => {
  const lease = leaseOf(0, 0.1, { replies: told(1_000, 0), chargedPerMs: 0 });
  const rate = chargedPerMs(lease, told(2_000, 0), START_MS + 500);
  expect(rate).toBeCloseTo((1_000 / 500) * (1 - Math.exp(-0.05)), 9);
  // What flows back from the bucket before is not taken for units that were given back.
  expect(chargedPerMs({ ...lease, replies: told(0, 8_000) }, told(400, 8_000), START_MS + 500)).toBeCloseTo(
    (400 / 500) * (1 - Math.exp(-0.05)),
    2,
  );
  const charged = { units: 250, firstAtMs: START_MS, lastAtMs: START_MS, endsAtMs: START_MS + WINDOW_MS };
  expect(ownPart(lease, told(1_000, 0), START_MS)).toBe(0);
  expect(ownPart({ ...lease, charged }, told(1_000, 0), START_MS)).toBe(0.25);
  // In a new bucket nothing is charged yet, however much it was in the one before.
  expect(ownPart({ ...lease, charged }, told(100, 1_000), START_MS + WINDOW_MS)).toBe(0);
});
