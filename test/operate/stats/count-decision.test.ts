// What decisions of a real limiter mean as counts.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { countDecision } from "../../../src/operate/stats/count.ts";
import { Tally } from "../../../src/operate/stats/tally.ts";
import { createLimiter } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";
import { failingStore } from "../../support/redis/stores.ts";

const limit = (limit: number, more = {}) => [{ limit, window: "1h" as const, ...more }];

/** A limiter whose decisions are counted. */
function counted(policies: PolicyInput[], store: Store = memoryStore()) {
  const tally = new Tally(0);
  const limiter = createLimiter({
    policies,
    store,
    keySecret: "sixteen letters or more",
    region: "eu",
    onDecision: (decision, context) => countDecision(tally, decision, context),
  });
  return { limiter, sums: () => tally.counts().sums, top: () => tally.counts().top };
}

/** By metric and policy. */
function byPolicy(sums: Readonly<Record<string, number>>): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const [series, count] of Object.entries(sums)) {
    const [metric, policy, ...labels] = series.split("\t");
    found[`${metric} ${policy}`] = { ...found[`${metric} ${policy}`], [labels.join(" ")]: count };
  }
  return found;
}

it("counts a request once for each policy: admitted, refused by one, spared by the other, shadow refused", async () => {
  const { limiter, sums, top } = counted([
    { name: "small", key: ["global"], limits: limit(2) },
    { name: "large", key: ["global"], limits: limit(1_000) },
    { name: "trial", key: ["global"], limits: limit(1), mode: "shadow" },
  ]);
  const all = ["small", "large", "trial"].map((policy) => ({ policy }));
  for (let i = 0; i < 5; i++) await limiter.take(all);
  await limiter.take("large", { cost: 7 });
  await limiter.take("large", { cost: 0 });
  await limiter.peek(all);
  expect(byPolicy(sums())).toEqual({
    "decisions small": { "eu admitted memory": 2, "eu refused memory": 3 },
    "decisions large": { "eu admitted memory": 4, "eu spared memory": 3 },
    "decisions trial": { "eu admitted memory": 1, "eu shadow_refused memory": 4 },
    "units small": { admitted: 2, refused: 3 },
    "units large": { admitted: 9, spared: 3 },
    "units trial": { admitted: 1, shadow_refused: 4 },
    "near_limit small": { small: 1 },
    "near_limit trial": { trial: 1 },
  });
  expect(top()).toEqual({ small: [[expect.stringMatching(/^[\w-]{22}$/), 3, 0]] });
});

it("counts admissions with 5 % or less remaining", async () => {
  const { limiter, sums } = counted([
    { name: "api", key: ["global"], limits: limit(100) },
    { name: "burst", key: ["global"], limits: [{ algorithm: "token-bucket", limit: 1, window: "1d", burst: 40 }] },
  ]);
  for (let i = 0; i < 94; i++) await limiter.take("api");
  expect(sums()["near_limit\tapi\tapi"]).toBeUndefined();
  for (let i = 0; i < 7; i++) await limiter.take("api");
  expect(sums()).toMatchObject({ "near_limit\tapi\tapi": 6 });
  for (let i = 0; i < 40; i++) await limiter.take("burst");
  expect(sums()["near_limit\tburst\tburst"]).toBe(3);
});

it("counts what is decided without the store", async () => {
  const { limiter, sums } = counted(
    [
      { name: "local", key: ["global"], limits: limit(1) },
      { name: "allow", key: ["global"], limits: limit(1), onStoreFailure: "allow" },
      { name: "deny", key: ["global"], limits: limit(1), onStoreFailure: "deny" },
    ],
    withIsolate(failingStore()),
  );
  for (const policy of ["local", "local", "allow", "allow", "deny"]) await limiter.take(policy);
  await limiter.take([{ policy: "allow" }, { policy: "deny" }]);
  expect(byPolicy(sums())).toMatchObject({
    "decisions local": { "eu admitted fallback": 1, "eu refused fallback": 1 },
    "decisions allow": { "eu admitted fallback": 2, "eu unavailable fallback": 1 },
    "decisions deny": { "eu unavailable fallback": 2 },
    "fallback local": { "": 2 },
    "fallback allow": { "": 3 },
    "fallback deny": { "": 2 },
  });
});

it("counts a repeat as a decision, and its units once", async () => {
  const once = { key: "global" as const, limits: limit(5), once: "header:idempotency-key" };
  const { limiter, sums } = counted([
    { ...once, name: "api" },
    { ...once, name: "trial", mode: "shadow" },
    { name: "strict", key: ["global"], limits: limit(5) },
  ]);
  const all = ["api", "trial", "strict"].map((policy) => ({ policy }));
  for (let i = 0; i < 3; i++) await limiter.take(all, { once: "an-id", cost: 1 });
  expect(sums()).toMatchObject({
    "decisions\tapi\teu\tadmitted\tmemory": 3,
    "units\tapi\tadmitted": 1,
    "units\ttrial\tadmitted": 1,
    "units\tstrict\tadmitted": 3,
  });
});

it("counts of a chain those that were needed, and who has paid for whom", async () => {
  const { limiter, sums, top } = counted([
    { name: "plan", key: ["header:x-user"], limits: limit(1), overflow: "team" },
    { name: "team", key: ["header:x-team"], limits: limit(2), overflow: "credits" },
    { name: "credits", key: ["global"], limits: limit(1) },
    { name: "site", key: ["global"], limits: limit(5) },
  ]);
  const chain = [{ policy: "plan", key: "ann" }, { policy: "team", key: "acme" }, { policy: "credits" }];
  const all = [...chain, { policy: "site" }];
  const payers = [];
  for (let i = 0; i < 5; i++) payers.push((await matchedBy(limiter).take(all)).paidBy);
  expect(payers).toEqual(["plan", "team", "team", "credits", undefined]);
  // The plan would pay, and another policy refuses.
  await limiter.reset("plan", { key: "ann" });
  const tooMuch = [...chain, { policy: "site", cost: 6 }];
  expect((await matchedBy(limiter).take(tooMuch)).allowed).toBe(false);
  // The plan is spent, the team would pay, and another policy refuses for as long.
  await matchedBy(limiter).take(chain);
  await limiter.reset("team", { key: "acme" });
  expect((await matchedBy(limiter).take(tooMuch)).limits.map(({ policy }) => policy.name)).toEqual(["team", "site"]);
  expect(byPolicy(sums())).toEqual({
    "decisions plan": {
      ...{ "eu admitted memory": 2, "eu overflowed memory": 3, "eu refused memory": 1, "eu spared memory": 2 },
    },
    "decisions team": { "eu admitted memory": 2, "eu overflowed memory": 1, "eu refused memory": 1 },
    "decisions credits": { "eu admitted memory": 1, "eu refused memory": 1 },
    "decisions site": { "eu admitted memory": 4, "eu spared memory": 1, "eu refused memory": 2 },
    "units plan": { admitted: 2, overflowed: 3, refused: 1, spared: 2 },
    "units team": { admitted: 2, overflowed: 1, refused: 1 },
    "units credits": { admitted: 1, refused: 1 },
    "units site": { admitted: 4, spared: 1, refused: 12 },
    "overflow plan": { team: 2, credits: 1 },
    "overflow_units plan": { team: 2, credits: 1 },
    // The first and the last request that a limit admits leave nothing.
    "near_limit plan": { plan: 2 },
    "near_limit team": { team: 1 },
    "near_limit credits": { credits: 1 },
  });
  expect(Object.keys(top())).toEqual(["plan", "team", "credits", "site"]);
});
