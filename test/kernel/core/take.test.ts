import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;

const perMinute = (limit: number, buckets = 1): WindowLimit => {
  return { limit, kind: Kind.weighted, bucketMs: 60_000 / buckets, buckets };
};
const perHour = (limit: number): WindowLimit => ({ limit, kind: Kind.whole, bucketMs: 3_600_000, buckets: 1 });

const takeAll = (counter: Counter, keys: Parameters<typeof keyRequest>[], nowMs = NOW_MS) =>
  counter.take({ keys: keys.map((key) => keyRequest(...key)), flag: Flag.take }, nowMs);

describe("all or nothing", () => {
  it("charges every limit of every key when all admit", () => {
    const counter = new Counter();
    const reply = takeAll(counter, [
      ["a", [perMinute(5), perHour(50)], { cost: 2 }],
      ["b", [perMinute(9)], { cost: 3 }],
    ]);
    expect(reply.allowed).toBe(true);
    expect([counter.total("a", 0), counter.total("a", 1), counter.total("b")]).toEqual([2, 2, 3]);
  });

  it.each([
    ["the first limit of the first key", [1, 50, 9]],
    ["the last limit of the first key", [5, 1, 9]],
    ["the last key", [5, 50, 2]],
  ])("charges none when %s refuses, and says which", (_which, [first, second, third]) => {
    const counter = new Counter();
    const reply = takeAll(counter, [
      ["a", [perMinute(first!), perHour(second!)], { cost: 2 }],
      ["b", [perMinute(third!)], { cost: 3 }],
    ]);
    expect(reply.allowed).toBe(false);
    expect(reply.keys.map((limits) => limits.map(({ refused }) => refused))).toEqual([
      [first === 1, second === 1],
      [third === 2],
    ]);
    expect(counter.values.size).toBe(0);
  });

  it("leaves the site's count alone once the user's limit refuses", () => {
    const counter = new Counter();
    const request = () =>
      takeAll(counter, [
        ["user", [perMinute(5)]],
        ["site", [perMinute(100)]],
      ]);
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => request().allowed)).toEqual([
      ...[true, true, true, true, true],
      ...[false, false, false, false],
    ]);
    expect(counter.total("site")).toBe(5);
  });
});

describe("cost 0", () => {
  it("looks without writing anything", () => {
    const counter = new Counter();
    expect(takeAll(counter, [["a", [perMinute(5)], { cost: 0 }]]).allowed).toBe(true);
    expect(counter.values.size).toBe(0);
  });

  it("charges the other keys of the decision all the same", () => {
    const counter = new Counter();
    takeAll(counter, [
      ["a", [perMinute(5)], { cost: 0 }],
      ["b", [perMinute(5)], { cost: 2 }],
    ]);
    expect([...counter.values.keys()]).toEqual(["b"]);
  });

  it("is refused only where forced counts stand above the limit", () => {
    const counter = new Counter();
    counter.takeOne(perMinute(5), 5, NOW_MS);
    expect(counter.takeOne(perMinute(5), 0, NOW_MS).allowed).toBe(true);
    counter.takeOne(perMinute(5), 1, NOW_MS, Flag.chargeAnyway);
    expect(counter.takeOne(perMinute(5), 0, NOW_MS).allowed).toBe(false);
  });
});

describe("the flags", () => {
  it("1 charges what is refused, and still says that it was", () => {
    const counter = new Counter();
    const { allowed, keys } = counter.takeOne(perMinute(2), 7, NOW_MS, Flag.chargeAnyway);
    expect({ allowed, refused: keys[0]![0]!.refused }).toEqual({ allowed: false, refused: true });
    expect(windowOf(keys[0]![0]!).counts).toEqual([7, 0]);
  });

  const giveBack = (counter: Counter, limit: WindowLimit, cost: number, nowMs: number, atMs: number) =>
    counter.take({ keys: [keyRequest("key", [limit], { cost })], flag: Flag.giveBack, atMs }, nowMs).keys[0]![0]!;

  it("2 gives back to the bucket of atMs, wherever it stands now, and always succeeds", () => {
    const limit = perMinute(9, 3);
    const counter = new Counter();
    for (const bucket of [0, 1, 2]) counter.takeOne(limit, 3, NOW_MS + bucket * 20_000);
    const reply = giveBack(counter, limit, 2, NOW_MS + 60_000, NOW_MS + 20_000);
    const record = windowOf(reply);
    expect(reply.refused).toBe(false);
    expect(record.counts).toEqual([0, 3, 1, 3]);
    expect(counter.values.get("key")).toEqual([record]);
  });

  it("2 never gives back below zero", () => {
    const counter = new Counter();
    counter.takeOne(perMinute(9), 3, NOW_MS);
    expect(windowOf(giveBack(counter, perMinute(9), 5, NOW_MS, NOW_MS)).counts).toEqual([0, 0]);
  });

  it.each([
    ["has left the window", -120_000],
    ["has not begun", 60_000],
  ])("2 changes no count when the bucket %s", (_when, offsetMs) => {
    const counter = new Counter();
    counter.takeOne(perMinute(9), 3, NOW_MS);
    const reply = giveBack(counter, perMinute(9), 2, NOW_MS, NOW_MS + offsetMs);
    expect(windowOf(reply).counts).toEqual([3, 0]);
  });

  it("2 writes nothing under a key that is not there", () => {
    const counter = new Counter();
    giveBack(counter, perMinute(9), 2, NOW_MS, NOW_MS);
    expect(counter.values.size).toBe(0);
  });
});
