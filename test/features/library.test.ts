// Large features are options of a limiter: what is said if one is missing, wrong or there twice.

import { describe, expect, it } from "vitest";
import { allFeatures } from "../../src/features/index.ts";
import { OPTIONAL } from "../../src/features/optional.ts";
import {
  ban,
  body,
  createLimiter,
  type LimiterFeature,
  leases,
  live,
  memoryStore,
  meter,
  overflow,
  type PolicyInput,
  rpc,
  shared,
  statedCost,
} from "../../src/index.ts";
import { ConfigurationError } from "../../src/kernel/config/mistake.ts";
import { memoryLive } from "../../src/kernel/store/live.ts";

const limits = [{ limit: 3, window: "1d" }] as const;
const FEATURES = { meter, rpc, leases, shared, live, body, ban, overflow, statedCost } satisfies Record<
  string,
  () => LimiterFeature
>;

function limiterWith(policies: readonly object[], features?: readonly LimiterFeature[]) {
  const store = { ...memoryStore(), live: memoryLive() };
  return createLimiter({ policies: policies as PolicyInput[], store, ...(features !== undefined && { features }) });
}

/** What a mistake says of a word whose feature is missing. */
function needs(word: string, feature: string): string {
  return `"${word}" needs the feature ${feature}: import { ${feature} } from "headgate", and write features: [${feature}()] in createLimiter`;
}

/** What is wrong with these policies. */
function mistakesOf(policies: readonly object[], features?: readonly LimiterFeature[]): readonly string[] {
  try {
    limiterWith(policies, features);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split("\n").slice(1);
    throw error;
  }
}

describe("a field without its feature", () => {
  it("is in the table if a feature adds it, under the name of the feature's function", () => {
    const added = allFeatures().map(({ name, fields: { own, conditions = {}, sources, consistency, cost } = {} }) => {
      const names = (fields = {}) => (Object.keys(fields).length > 0 ? Object.keys(fields) : undefined);
      const costTable = cost && true;
      return [name, { own: names(own?.fields), conditions: names(conditions), sources, consistency, costTable }];
    });
    expect(Object.fromEntries(added)).toEqual(OPTIONAL);
    expect(Object.keys(FEATURES).sort()).toEqual(Object.keys(OPTIONAL).sort());
  });

  const BAN = { after: 5, within: "10m", for: "1h" };
  it.each<[feature: keyof typeof FEATURES, path: string, policy: object, found: string, more?: LimiterFeature[]]>([
    ["meter", "meter", { meter: { unit: "tokens" } }, '{"unit":"tokens"}'],
    ["meter", "meter", { meter: null }, "null"],
    ["rpc", "match.tool", { match: { path: "/mcp", tool: ["a", "b"] } }, '["a","b"]'],
    ["rpc", "except[1].tool", { except: [{ path: "/health" }, { tool: "read" }] }, '"read"'],
    ["rpc", "cost[0].tool", { cost: [{ tool: "search", cost: 2 }] }, '"search"'],
    ["leases", "consistency", { consistency: "leased" }, '"leased"'],
    ["shared", "consistency", { consistency: "shared" }, '"shared"', [leases()]],
    ["shared", "sync", { sync: "1s" }, '"1s"'],
    ["body", "key", { key: ["ip", "bearer+body:email", "body:a"] }, '["ip","bearer+body:email","body:a"]'],
    ["body", "match.body", { match: { body: { model: "a" } } }, '{"model":"a"}'],
    ["ban", "ban", { ban: BAN }, JSON.stringify(BAN)],
    ["overflow", "overflow", { overflow: "team" }, '"team"'],
    ["statedCost", "cost", { cost: { answer: "x-cost" } }, '{"answer":"x-cost"}'],
    ["body", "cost[0].body", { cost: [{ body: { model: "a" }, cost: 2 }] }, '{"model":"a"}', [rpc()]],
  ])("names %s() for %s", (feature, path, policy, found, others = []) => {
    const whole = { name: "api", limits, ...policy };
    expect(mistakesOf([whole], others)).toEqual([
      `policies[0].${path}: expected the feature ${feature}: import { ${feature} } from "headgate", and write features: [${feature}()] in createLimiter; found ${found} (ERR_FEATURE_MISSING, docs/errors.md#err_feature_missing)`,
    ]);
    // With it no feature is missing.
    expect(mistakesOf([whole], [...others, FEATURES[feature]()]).join()).not.toContain("ERR_FEATURE_MISSING");
  });

  it.each<[what: string, consistency: unknown, features: LimiterFeature[], expected: string]>([
    ["both", "leasd", [], `"strict"; ${needs("leased", "leases")}; ${needs("shared", "shared")}`],
    ["the missing one", "leasd", [shared()], `"strict" or "shared"; ${needs("leased", "leases")}`],
    ["none that is there", 1, [shared(), leases()], '"strict" or "leased" or "shared"'],
  ])("is named for a wrong word of consistency: %s", (_, consistency, features, expected) => {
    expect(mistakesOf([{ name: "api", limits, consistency }], features)).toEqual([
      `policies[0].consistency: expected ${expected}; found ${JSON.stringify(consistency)} (ERR_POLICY_CONSISTENCY, docs/errors.md#err_policy_consistency)`,
    ]);
  });

  it("is the only mistake of its policy, and other policies have theirs", () => {
    const first = { name: "api", limits: [], meter: { unit: "tokens" }, match: { tool: "a" } };
    const mistakes = mistakesOf([first, { name: "api", limits: [] }]);
    expect(mistakes.map((mistake) => /^policies\S+(?=:)|\(\w+/g[Symbol.match](mistake)?.join(" "))).toEqual([
      "policies[0].meter (ERR_FEATURE_MISSING",
      "policies[0].match.tool (ERR_FEATURE_MISSING",
      "policies[1].limits (ERR_POLICY_LIMITS",
      "policies[1].name (ERR_POLICY_NAME_TAKEN",
    ]);
  });

  it("counts as absent if it is undefined", () => {
    const policy = { name: "api", limits, meter: undefined, sync: undefined, match: { rpc: undefined } };
    expect(mistakesOf([{ ...policy, consistency: undefined }])).toEqual([]);
  });

  it("is an unknown field where no feature has it", () => {
    const [mistake] = mistakesOf([{ name: "api", limits, match: { meter: 1 }, rpc: "ping" }]);
    expect(mistake).toMatch(/^policies\[0\].match.meter: expected only the fields method, path, host; found 1 /);
  });
});

describe("features", () => {
  const CALLS = "rpc(), leases(), shared(), meter(), live(), body(), ban(), overflow(), statedCost()";
  it.each<[what: string, features: unknown, message: string]>([
    ["one that is no list", meter(), `: expected a list with any of ${CALLS}, found a value of type object`],
    ["null", null, `: expected a list with any of ${CALLS}, found null`],
    ["a function that is not called", [meter], `[0]: expected one of ${CALLS}, found meter without its ()`],
    ["a name", [rpc(), "meter"], `[1]: expected one of ${CALLS}, found a value of type string`],
    ["nothing", [undefined], `[0]: expected one of ${CALLS}, found nothing`],
    ["null among them", [null], `[0]: expected one of ${CALLS}, found null`],
    [
      "an object of another kind",
      [{ name: "telemetry" }],
      `[0]: expected one of ${CALLS}, found a value of type object`,
    ],
    ["the same twice", [meter(), rpc(), meter()], "[2]: expected each feature once, found a second meter()"],
  ])("that are wrong are a TypeError: %s", (_, features, message) => {
    const made = () => limiterWith([{ name: "api", limits }], features as LimiterFeature[]);
    expect(made).toThrow(new TypeError(`createLimiter: features${message}`));
  });
});
