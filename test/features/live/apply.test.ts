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

it("gives a client its numbers, and everybody else those of the policy, with the mode in force", () => {
  const takes = [take("api"), take("api", BOB)];
  const policies = { api: { mode: "shadow", limits: { "api-1": 3 } } };
  const { applied: all } = applied([override("api", { factor: 2 })], takes, {}, policies);
  expect(
    all.map(({ policy, partition }) => [partition, policy.mode, ...policy.limits.map(({ limit }) => limit)]),
  ).toEqual([
    [ANN, "shadow", 6, 1_200],
    [BOB, "shadow", 3, 600],
  ]);
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

it("refuses a client that a policy in shadow blocks", () => {
  const { blocked } = applied([override("api", { block: true })], undefined, {}, { api: { mode: "shadow" } });
  expect(blocked?.blocked).toBe(true);
});

it("refuses a client that is exempt too: the exemption holds again when the block is lifted", () => {
  const takes = [take("api")];
  const { blocked, applied: all } = applied([override("api", { block: true, exempt: true })], takes);
  // The decision is about the policies that the request met.
  expect([blocked?.blocked, all]).toEqual([true, takes]);
});

it.each([[{ block: true }], [{ exempt: true }], [{ factor: 2 }], [{ limits: { "api-1": 20 } }]])(
  "does nothing when it has ended: %j",
  (effect) => {
    const takes = [take("api")];
    expect(applied([override("api", { ...effect, until: soon(1) })], takes)).not.toEqual({ applied: takes });
    expect(applied([override("api", { ...effect, until: soon(0) })], takes)).toEqual({ applied: takes });
  },
);

it("shows blocked and exempt clients with their numbers when it is asked for counts", () => {
  const overrides = [override("api", { block: true, factor: 2 }), override("login", { exempt: true })];
  const { applied: all, blocked } = applied(overrides, undefined, { asCounted: true });
  expect(blocked).toBeUndefined();
  expect(all.map(({ policy }) => policy.limits[0]!.limit)).toEqual([20, 5]);
});
