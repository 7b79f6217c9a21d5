// What decisions of a real limiter mean as counts.

import { expect, it } from "vitest";
import { applyLive } from "../../../src/features/live/apply.ts";
import type { LiveView } from "../../../src/features/live/view.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { countDecision } from "../../../src/operate/stats/count.ts";
import { Tally } from "../../../src/operate/stats/tally.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { matchedBy } from "../../support/matched.ts";

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

const failing: Store = {
  ...memoryStore(),
  kind: "redis",
  take: async () => {
    throw new StoreError("NETWORK");
  },
};

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
  expect(sums()).toEqual({
    "decisions\tsmall\teu\tadmitted\tmemory": 2,
    "decisions\tsmall\teu\trefused\tmemory": 3,
    "decisions\tlarge\teu\tadmitted\tmemory": 4,
    "decisions\tlarge\teu\tspared\tmemory": 3,
    "decisions\ttrial\teu\tadmitted\tmemory": 1,
    "decisions\ttrial\teu\tshadow_refused\tmemory": 4,
    "units\tsmall\tadmitted": 2,
    "units\tsmall\trefused": 3,
    "units\tlarge\tadmitted": 9,
    "units\tlarge\tspared": 3,
    "units\ttrial\tadmitted": 1,
    "units\ttrial\tshadow_refused": 4,
    "near_limit\tsmall\tsmall": 1,
    "near_limit\ttrial\ttrial": 1,
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
    withIsolate(failing),
  );
  for (const policy of ["local", "local", "allow", "allow", "deny"]) await limiter.take(policy);
  await limiter.take([{ policy: "allow" }, { policy: "deny" }]);
  expect(sums()).toMatchObject({
    "decisions\tlocal\teu\tadmitted\tfallback": 1,
    "decisions\tlocal\teu\trefused\tfallback": 1,
    "decisions\tallow\teu\tadmitted\tfallback": 2,
    "decisions\tallow\teu\tunavailable\tfallback": 1,
    "decisions\tdeny\teu\tunavailable\tfallback": 2,
    "fallback\tlocal": 2,
    "fallback\tallow": 3,
    "fallback\tdeny": 2,
  });
});

it("counts a blocked client under the policy that blocks it, and spares the others", () => {
  const { limiter } = counted([
    { name: "api", key: ["ip"], limits: limit(5) },
    { name: "token", key: ["bearer"], limits: limit(5) },
  ]);
  const takes = limiter.policies.map((policy) => ({ policy, kind: "ip", partition: "hash", cost: 1 }));
  const block = {
    override: { policy: "api", key: "hash", block: true },
    untilMs: Number.POSITIVE_INFINITY,
    policy: (one: unknown) => one,
  };
  const view = { client: (name: string) => (name === "api" ? block : undefined), policy: (one: unknown) => one };
  const { applied, blocked } = applyLive(view as unknown as LiveView, takes, 0, (policy) => policy);
  const tally = new Tally(0);
  countDecision(tally, blocked!, { takes: applied, region: "eu" });
  expect(tally.counts().sums).toEqual({
    "decisions\tapi\teu\tblocked\tlive": 1,
    "decisions\ttoken\teu\tspared\tlive": 1,
    "units\tapi\tblocked": 1,
    "units\ttoken\tspared": 1,
  });
});

it("counts a repeat as a decision, and its units once", async () => {
  const once = { key: ["global"], limits: limit(5), once: "header:idempotency-key" };
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
  expect(sums()).toEqual({
    "decisions\tplan\teu\tadmitted\tmemory": 2,
    "decisions\tplan\teu\toverflowed\tmemory": 3,
    "decisions\tplan\teu\trefused\tmemory": 1,
    "decisions\tplan\teu\tspared\tmemory": 2,
    "decisions\tteam\teu\tadmitted\tmemory": 2,
    "decisions\tteam\teu\toverflowed\tmemory": 1,
    "decisions\tteam\teu\trefused\tmemory": 1,
    "decisions\tcredits\teu\tadmitted\tmemory": 1,
    "decisions\tcredits\teu\trefused\tmemory": 1,
    "decisions\tsite\teu\tadmitted\tmemory": 4,
    "decisions\tsite\teu\tspared\tmemory": 1,
    "decisions\tsite\teu\trefused\tmemory": 2,
    "units\tplan\tadmitted": 2,
    "units\tplan\toverflowed": 3,
    "units\tplan\trefused": 1,
    "units\tplan\tspared": 2,
    "units\tteam\tadmitted": 2,
    "units\tteam\toverflowed": 1,
    "units\tteam\trefused": 1,
    "units\tcredits\tadmitted": 1,
    "units\tcredits\trefused": 1,
    "units\tsite\tadmitted": 4,
    "units\tsite\tspared": 1,
    "units\tsite\trefused": 12,
    "overflow\tplan\tteam": 2,
    "overflow\tplan\tcredits": 1,
    "overflow_units\tplan\tteam": 2,
    "overflow_units\tplan\tcredits": 1,
    // The first and the last request that a limit admits leave nothing.
    "near_limit\tplan\tplan": 2,
    "near_limit\tteam\tteam": 1,
    "near_limit\tcredits\tcredits": 1,
  });
  expect(Object.keys(top())).toEqual(["plan", "team", "credits", "site"]);
});

it("counts an overflow that has paid although its place has no answer", async () => {
  const policies: PolicyInput[] = [
    { name: "plan", key: ["global"], limits: limit(1), overflow: "team" },
    { name: "team", key: ["global"], limits: limit(9) },
  ];
  const store = splitStore([{ ...memoryStore(), kind: "redis" }, failing], (key) => (key.includes("team") ? 1 : 0));
  const { limiter, sums } = counted(policies, store);
  const payers = [];
  for (let i = 0; i < 3; i++) payers.push((await matchedBy(limiter).take([{ policy: "plan" }])).paidBy);
  expect(payers).toEqual(["plan", "team", "team"]);
  expect(sums()).toMatchObject({
    "decisions\tplan\teu\tadmitted\tredis": 1,
    "decisions\tplan\teu\toverflowed\tfallback": 2,
    "decisions\tteam\teu\tadmitted\tfallback": 2,
    "overflow\tplan\tteam": 2,
    "units\tteam\tadmitted": 2,
  });
});

it("counts without a store the policy that matched alone", async () => {
  const { limiter, sums } = counted(
    [
      { name: "plan", key: ["global"], limits: limit(1), overflow: "team", onStoreFailure: "deny" },
      { name: "team", key: ["global"], limits: limit(1) },
    ],
    failing,
  );
  await limiter.take("plan");
  expect(sums()).toMatchObject({ "decisions\tplan\teu\tunavailable\tfallback": 1 });
  expect(Object.keys(sums()).filter((name) => name.includes("decisions\tteam"))).toEqual([]);
});
