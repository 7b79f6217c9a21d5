// Two configurations use the same keys. What each limit keeps: the contract of every store (src/testing).

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { Counter } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const windowOfMs = (bucketMs: number): WindowLimit => ({ limit: 20, kind: Kind.weighted, bucketMs, buckets: 1 });

it("carries the records of 8 limits that it does not know, and forgets the others", () => {
  const counter = new Counter();
  const others = Array.from({ length: 10 }, (_, n) => windowOfMs(60_000 + n));
  for (const other of others) counter.takeOne(other, 3, NOW_MS);
  counter.takeOne(windowOfMs(1_000), 1, NOW_MS);
  const counts = others.map((other) => windowOf(counter.takeOne(other, 0, NOW_MS).keys[0]![0]!).counts[0]);
  expect(counts.filter((count) => count === 3)).toHaveLength(8);
});
