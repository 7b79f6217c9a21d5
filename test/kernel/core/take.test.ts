// Giving back what is not there any more. What every store promises is in src/testing/cases.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const LIMIT: WindowLimit = { limit: 9, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };

const giveBack = (counter: Counter, atMs: number) =>
  counter.take({ keys: [keyRequest("key", [LIMIT], { cost: 2 })], flag: Flag.giveBack, atMs }, NOW_MS).keys[0]![0]!;

it.each([
  ["has left the window", -120_000],
  ["has not begun", 60_000],
])("changes no count when the bucket %s", (_when, offsetMs) => {
  const counter = new Counter();
  counter.takeOne(LIMIT, 3, NOW_MS);
  expect(windowOf(giveBack(counter, NOW_MS + offsetMs)).counts).toEqual([3, 0]);
});

it("writes nothing under a key that is not there", () => {
  const counter = new Counter();
  giveBack(counter, NOW_MS);
  expect(counter.values.size).toBe(0);
});
