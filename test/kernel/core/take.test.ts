// Giving back what is not there any more, records of other limits, and the largest numbers. What every store promises
// is in src/testing/cases.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { MAX_BUCKETS, MAX_LIMITS, MAX_UNITS, MAX_WINDOW_MS } from "../../../src/kernel/core/layout.ts";
import { recordIdOf } from "../../../src/kernel/core/records.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { encodeRequest } from "../../../src/kernel/store/redis.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const slidingOf = (bucketMs: number): LimitSpec => ({ limit: 20, kind: Kind.weighted, bucketMs, buckets: 1 });
const SLIDING = slidingOf(60_000);
const FIXED: LimitSpec = { limit: 9, kind: Kind.fixedWindow, windowMs: 60_000 };

it.each([
  ["sliding window has left the window", SLIDING, -120_000],
  ["sliding window has not begun", SLIDING, 60_000],
  ["fixed window has ended", FIXED, -60_000],
  ["fixed window has not begun", FIXED, 60_000],
])(
  "changes nothing when the bucket of a %s, and writes nothing under a key that is not there",
  (_, limit, offsetMs) => {
    for (const charged of [3, 0]) {
      const counter = new Counter();
      if (charged > 0) counter.takeOne(limit, charged, NOW_MS);
      const before = counter.copy();
      const keys = [keyRequest("key", [limit], { cost: 2 })];
      counter.take({ keys, flag: Flag.giveBack, atMs: NOW_MS + offsetMs }, NOW_MS);
      expect(counter.values).toEqual(before.values);
    }
  },
);

it("carries the records of 8 limits that it does not know, and forgets the others", () => {
  const counter = new Counter();
  const others = Array.from({ length: 10 }, (_, n) => slidingOf(60_000 + n));
  for (const other of others) counter.takeOne(other, 3, NOW_MS);
  counter.takeOne(slidingOf(1_000), 1, NOW_MS);
  const counts = others.map((other) => windowOf(counter.takeOne(other, 0, NOW_MS).keys[0]![0]!).counts[0]);
  expect(counts.filter((count) => count === 3)).toHaveLength(8);
});

const longest = { limit: MAX_UNITS, kind: Kind.whole, bucketMs: MAX_WINDOW_MS, buckets: MAX_BUCKETS } as const;

it("keeps ids and heads exact: the longest window, and the group of the last of 65,535 policies in shadow", () => {
  expect(recordIdOf(longest)).toBeLessThan(2 ** 43);
  const keys = [keyRequest("key", Array(MAX_LIMITS).fill(longest), { group: 65_535, cost: MAX_UNITS })].map((key) => {
    return { ...key, once: { id: "id", forMs: 60_000, repeats: 2 } };
  });
  const [, head] = encodeRequest({ keys, flag: Flag.look }, 0);
  expect(head).toBe(Number((((65_535n * 2n + 1n) * 2n ** 30n + BigInt(MAX_UNITS)) * 16n + 8n) * 4n + 3n));
  expect(head).toBeLessThan(2 ** 53);
});
