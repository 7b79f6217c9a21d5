// Policies in shadow: evaluated in the same decision, without any effect on it. Each policy is a separate group.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const REFUSES = 0;

const limitOf = (limit: number): WindowLimit => ({ limit, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 });

/** Asks policies [group, limit], one key each, for one unit. A limit of 0 refuses. Returns which keys were charged. */
function ask(...policies: readonly (readonly [group: number, limit: number])[]) {
  const counter = new Counter();
  const keys = policies.map(([group, limit], k) => keyRequest(`key ${k}`, [limitOf(limit)], { group }));
  const { allowed } = counter.take({ keys, flag: Flag.take }, NOW_MS);
  return { allowed, charged: keys.map(({ key }) => counter.values.has(key)) };
}

it("is charged when it and all that is enforced admit", () => {
  expect(ask([0, 5], [1, 5])).toEqual({ allowed: true, charged: [true, true] });
});

it("neither blocks nor is charged when it refuses", () => {
  expect(ask([0, 5], [1, REFUSES])).toEqual({ allowed: true, charged: [true, false] });
  expect(ask([1, REFUSES], [0, 5])).toEqual({ allowed: true, charged: [false, true] });
});

it("is not charged when anything enforced refuses, before or after it", () => {
  expect(ask([0, REFUSES], [1, 5])).toEqual({ allowed: false, charged: [false, false] });
  expect(ask([1, 5], [0, REFUSES])).toEqual({ allowed: false, charged: [false, false] });
});

it("is independent of other policies in shadow", () => {
  expect(ask([1, REFUSES], [2, 5], [0, 5])).toEqual({ allowed: true, charged: [false, true, true] });
  expect(ask([1, 5], [2, REFUSES], [0, 5])).toEqual({ allowed: true, charged: [true, false, true] });
});

it("is charged as a whole or not when it has two keys, for two scopes", () => {
  expect(ask([0, 5], [1, 5], [1, REFUSES])).toEqual({ allowed: true, charged: [true, false, false] });
  expect(ask([0, 5], [1, REFUSES], [1, 5])).toEqual({ allowed: true, charged: [true, false, false] });
  expect(ask([0, 5], [1, 5], [1, 5])).toEqual({ allowed: true, charged: [true, true, true] });
});

it("allows when nothing is enforced", () => {
  expect(ask([1, REFUSES])).toEqual({ allowed: true, charged: [false] });
});

it("tells that it refused", () => {
  const keys = [keyRequest("a", [limitOf(5)]), keyRequest("b", [limitOf(5), limitOf(REFUSES)], { group: 1 })];
  const reply = new Counter().take({ keys, flag: Flag.take }, NOW_MS);
  expect(reply.keys.map((limits) => limits.map(({ refused }) => refused))).toEqual([[false], [false, true]]);
});
