// What a document makes of one request: who is blocked, who is exempt, which numbers and modes hold.

import { expect, it } from "vitest";
import { applyLive } from "../../../src/features/live/apply.ts";
import { readLive } from "../../../src/features/live/document.ts";
import { viewOf } from "../../../src/features/live/view.ts";
import { numbersOf } from "../../../src/kernel/limiter/numbers.ts";
import { ANN, BOB, POLICIES, policyOf } from "./policies.ts";

const NOW_MS = Date.parse("2026-11-22T12:00:00Z");
const soon = (ms: number) => new Date(NOW_MS + ms).toISOString();

const take = (name: string, partition = ANN, cost = 1) => ({ policy: policyOf(name), kind: "ip", partition, cost });
const override = (policy: string, effect: object, key = ANN) => ({ policy, kind: "ip", key, ...effect });

function applied(overrides: object[], takes = [take("api"), take("login")], options = {}, policies: object = {}) {
  const view = viewOf(1, readLive(JSON.stringify({ policies, overrides }))!, POLICIES, "own");
  expect(view.ignored).toEqual([]);
  return applyLive(view, takes, NOW_MS, numbersOf(POLICIES), options);
}

it("leaves requests of other clients as they are", () => {
  const takes = [take("api", BOB, 3), take("login", BOB, 0)];
  expect(applied([override("api", { block: true }), override("login", { exempt: true })], takes)).toEqual({
    applied: takes,
  });
});

it("leaves out what the client is exempt from", () => {
  const { applied: all, blocked } = applied([override("api", { exempt: true })]);
  expect([all.map(({ policy }) => policy.name), blocked]).toEqual([["login"], undefined]);
});

it.each<[string, object[], number | undefined]>([
  ["one without an end", [override("api", { block: true })], undefined],
  ["one that ends", [override("api", { block: true, until: soon(5_000) })], 5_000],
  [
    "two: the longer one counts",
    [override("api", { block: true, until: soon(60_000) }), override("login", { block: true, until: soon(5_000) })],
    60_000,
  ],
  [
    "two, one without an end",
    [override("api", { block: true }), override("login", { block: true, until: soon(5_000) })],
    undefined,
  ],
  [
    "one beside an override that ends later",
    [override("api", { block: true, until: soon(5_000) }), override("login", { factor: 2, until: soon(60_000) })],
    5_000,
  ],
])("refuses a blocked client: %s", (_what, overrides, retryAfterMs) => {
  const { blocked } = applied(overrides);
  expect(blocked).toEqual({
    outcome: "blocked",
    allowed: false,
    source: "live",
    policies: expect.any(Array),
    limits: [],
    shadow: [],
    blocked: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
});

it("shows blocked and exempt clients with their numbers when it is asked for counts", () => {
  const overrides = [override("api", { block: true, factor: 2 }), override("login", { exempt: true })];
  const { applied: all, blocked } = applied(overrides, undefined, { asCounted: true });
  expect(blocked).toBeUndefined();
  expect(all.map(({ policy }) => policy.limits[0]!.limit)).toEqual([20, 5]);
});
