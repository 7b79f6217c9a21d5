// The limits of a policy change while its keys are in use, or two configurations use the same keys: each limit keeps
// its count.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { recordIdOf } from "../../../src/kernel/core/records.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;

const second: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
const minute: WindowLimit = { limit: 20, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };
const hour: WindowLimit = { limit: 30, kind: Kind.whole, bucketMs: 360_000, buckets: 10 };

/** Charges 3 units under `before` and one more under `after`. Returns the count of each limit of `after`. */
function countsAfter(before: readonly WindowLimit[], after: readonly WindowLimit[]): number[] {
  const counter = new Counter();
  counter.take({ keys: [keyRequest("key", before, { cost: 3 })], flag: Flag.take }, NOW_MS);
  counter.take({ keys: [keyRequest("key", after, { cost: 1 })], flag: Flag.take }, NOW_MS);
  // What `after` does not know is carried along behind its own records.
  const ids = new Set([...before, ...after].map(recordIdOf));
  expect(counter.values.get("key")).toHaveLength(ids.size);
  return after.map((_, position) => counter.total("key", position));
}

it.each([
  ["nothing changed", [second, minute], [second, minute], [4, 4]],
  ["a limit was put last", [second, minute], [second, minute, hour], [4, 4, 1]],
  ["the first was removed", [second, minute, hour], [minute, hour], [4, 4]],
  ["they were reordered", [second, minute, hour], [hour, second, minute], [4, 4, 4]],
  ["a number changed", [second, minute], [{ ...second, limit: 7 }, minute], [4, 4]],
  ["its kind changed", [second, minute], [{ ...second, kind: Kind.whole }, minute], [1, 4]],
  ["its buckets changed", [minute], [{ ...minute, buckets: 2 }], [1]],
])("keeps every count that it can when %s", (_what, before, after, counts) => {
  expect(countsAfter(before, after)).toEqual(counts);
});

it("carries the records of 8 limits that it does not know, and forgets the others", () => {
  const counter = new Counter();
  const others = Array.from({ length: 10 }, (_, n): WindowLimit => ({ ...minute, bucketMs: 60_000 + n }));
  for (const other of others) counter.takeOne(other, 3, NOW_MS);
  counter.takeOne(second, 1, NOW_MS);
  const counts = others.map((other) => windowOf(counter.takeOne(other, 0, NOW_MS).keys[0]![0]!).counts[0]);
  expect(counts.filter((count) => count === 3)).toHaveLength(8);
});
