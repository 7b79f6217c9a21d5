// What an operator may not write: each mistake has its place, what was expected and what was found.

import { describe, expect, it } from "vitest";
import type { LiveMistake } from "../../src/operate/admin/answers.ts";
import { checkDocument, checkOverride, checkPolicy } from "../../src/operate/admin/check-document.ts";
import { ANN, BOB, checkedPolicies, OWN_SECRET, POLICIES, policyOf, WITH_PLANS } from "../features/live/policies.ts";

const NAME = "the name of a policy of this gateway";
const KEY = "the hash of a client's key: 22 letters, digits, - or _";
const EFFECTS = "one of limits, factor, plan, exempt, block";
const NUMBER = "an integer from 1 to 1000000000";
/** What is told beside a 0. */
const BLOCK = " (to refuse all requests of a client, block it)";
const TABLE = "a table of numbers by the ids of limits";
const FINGERPRINT = "the fingerprint of a key secret, as it was read";
const HIDDEN = "a value that is not shown";
const UNKNOWN = "an unknown field";
const UNTIL = 'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"';
const OF_FACTOR = "a factor that leaves every limit at most 1,000,000,000";
const OF_LOG = "an integer from 1 to 10000 for a sliding-log";
const OF_COST = "at most the policy's smallest limit (or burst), 2: a larger cost would never be admitted";

const check = (document: object) => {
  // As a request's body brings it: names such as __proto__ are members like others.
  const value = JSON.parse(JSON.stringify({ policies: {}, overrides: [], ...document }));
  return checkDocument(value, WITH_PLANS);
};
const one = (path: string, expected: string, found: string): LiveMistake[] => [{ path, expected, found }];
const ann = (override: object, policy = "api") => ({ policy, kind: "ip", key: ANN, ...override });

describe("documents that may be written", () => {
  it.each<[string, object]>([
    ["empty", {}],
    ["as GET gives it", { version: 7, secret: OWN_SECRET, ignored: [] }],
    ["modes and numbers", { policies: { api: { mode: "shadow", limits: { "api-1": 1, "api-2": 1e9 } }, login: {} } }],
    [
      "overrides of every kind",
      {
        overrides: [
          ann({ limits: { "api-2": 5 }, until: "2026-12-01T00:00:00Z", note: "n".repeat(500) }),
          ann({ factor: 0.5, exempt: true, block: true, until: "2026-12-01T00:00:00.5+01:00" }, "bucket"),
          ann({ plan: "pro" }, "slots"),
          { ...ann({ block: true }), key: BOB },
        ],
      },
    ],
    ["the name of a member of every object", { policies: { constructor: { limits: { constructor: 3 } } } }],
  ])("%s", (_what, document) => {
    expect(check(document)).toEqual([]);
  });
});

it.each<[unknown, string]>([
  [undefined, "nothing"],
  [null, "null"],
  ["203.0.113.7", "a string"],
  [[{ policies: {}, overrides: [] }], "a list"],
])("%j is no document", (value, found) => {
  expect(checkDocument(value, POLICIES)).toEqual(one("", "a table { policies, overrides }", found));
});

it("a document without policies and overrides: both are named", () => {
  expect(checkDocument({}, POLICIES)).toEqual([
    ...one("policies", "a table of policies by name", "nothing"),
    ...one("overrides", "a list of overrides", "nothing"),
  ]);
});

describe("mistakes in a document", () => {
  it.each<[document: object, path: string, expected: string, found: string]>([
    [{ policies: [] }, "policies", "a table of policies by name", "a list"],
    [{ overrides: {} }, "overrides", "a list of overrides", "a table"],
    [{ polices: {} }, "polices", "no polices: did you mean policies?", UNKNOWN],
    [{ x: {} }, "x", "only the fields policies and overrides", UNKNOWN],
    [{ secret: "my secret" }, "secret", FINGERPRINT, HIDDEN],
    [{ policies: { toString: {} } }, "policies.toString", NAME, '"toString"'],
    [{ policies: JSON.parse('{"__proto__":{}}') }, "policies.__proto__", NAME, '"__proto__"'],
    [{ policies: { api: null } }, "policies.api", "a table { mode, limits }", "null"],
    [{ policies: { log: { limits: { log: 10_001 } } } }, "policies.log.limits.log", OF_LOG, "10001"],
    // Below a cost of the configuration.
    [{ policies: { login: { limits: { login: 2 } } } }, "policies.login.limits", OF_COST, "3"],
    [{ overrides: ["203.0.113.7"] }, "overrides[0]", "a table { policy, kind, key, … }", "a string"],
  ])("%j", (document, ...mistake) => {
    expect(check(document)).toEqual(one(...mistake));
  });

  it.each<[change: object, path: string, expected: string, found: string]>([
    [{ mode: "off" }, "mode", '"enforce" or "shadow"', '"off"'],
    [{ key: ["global"] }, "key", "only the fields mode, limits", UNKNOWN],
    [{ limits: {} }, "limits", TABLE, "{}"],
    [{ limits: [5] }, "limits", TABLE, "[5]"],
    [{ limits: { login: 5 } }, "limits.login", "the id of a limit of api: api-1, api-2", '"login"'],
    [{ limits: { "api-2": 0 } }, "limits.api-2", `${NUMBER}${BLOCK}`, "0"],
  ])("of a policy: %j", (change, path, expected, found) => {
    expect(check({ policies: { api: change } })).toEqual(one(`policies.api.${path}`, expected, found));
  });

  it.each(["5", 1.5, -5, 1_000_000_001])("%j is not the number of a limit", (number) => {
    const document = { policies: { login: { limits: { login: number } } } };
    expect(check(document)).toEqual(one("policies.login.limits.login", NUMBER, JSON.stringify(number)));
  });

  it.each<[fields: object, path: string, expected: string, found: string]>([
    [{ policy: undefined }, ".policy", NAME, "nothing"],
    [{ policy: "gone" }, ".policy", NAME, '"gone"'],
    [{ kind: "" }, ".kind", "the kind of the key", '""'],
    [{ key: undefined }, ".key", KEY, "nothing"],
    [{ key: "203.0.113.7" }, ".key", KEY, HIDDEN],
    // It has 22 characters.
    [{ key: "user@mail.example.com." }, ".key", KEY, HIDDEN],
    [{ secret: "my secret" }, ".secret", FINGERPRINT, HIDDEN],
    [{ block: undefined, note: "why" }, "", EFFECTS, "none of them"],
    [{ limits: { "api-1": 5 }, factor: 2 }, ".factor", "either limits or factor", "both"],
    [{ limits: { "api-1": 0 } }, ".limits.api-1", `${NUMBER}${BLOCK}`, "0"],
    [{ factor: 0 }, ".factor", "a number above 0", "0"],
    [{ factor: "2" }, ".factor", "a number above 0", '"2"'],
    [{ factor: 1e7 }, ".factor", OF_FACTOR, "10000000"],
    [{ plan: "pro" }, ".plan", "no plan: the policy has none", '"pro"'],
    [{ policy: "slots", plan: "team" }, ".plan", "one of the policy's plans pro", '"team"'],
    // It is too large for the numbers of the plan.
    [{ policy: "slots", plan: "pro", factor: 3e7 }, ".factor", OF_FACTOR, "30000000"],
    [{ exempt: false }, ".exempt", "true, or no such field", "false"],
    [{ block: "true" }, ".block", "true, or no such field", '"true"'],
    [{ until: "2026-12-01T00:00:00" }, ".until", UNTIL, '"2026-12-01T00:00:00"'],
    [{ until: "2026-11-31T00:00:00Z" }, ".until", UNTIL, '"2026-11-31T00:00:00Z"'],
    [{ note: "" }, ".note", "a string of 1 to 500 characters", '""'],
    [{ untill: "x" }, ".untill", "no untill: did you mean until?", UNKNOWN],
  ])("of an override: %j", (fields, path, expected, found) => {
    expect(check({ overrides: [ann({ block: true, ...fields })] })).toEqual(
      one(`overrides[0]${path}`, expected, found),
    );
  });

  it("two overrides of one client", () => {
    const overrides = [ann({ block: true }), { ...ann({ block: true }), key: BOB }, ann({ factor: 2 })];
    const expected = "one override for each policy and key";
    expect(check({ overrides })).toEqual(one("overrides[2]", expected, "the policy and key of overrides[0]"));
  });

  it("numbers that do not fit their windows name what would", () => {
    const [mistake, ...others] = check({ policies: { month: { limits: { month: 4_000_000 } } } });
    expect(others).toEqual([]);
    expect(mistake).toMatchObject({ path: "policies.month.limits.month", found: "4000000" });
    expect(mistake!.expected).toContain("3362902");
    expect(check({ overrides: [ann({ factor: 5_000 }, "month")] })).toMatchObject([
      { path: "overrides[0].factor.month", found: "5000000" },
    ]);
  });

  it("a factor must fit the numbers that the same document gives everybody", () => {
    const overrides = [ann({ factor: 300 }, "month"), ann({ factor: 1e6 })];
    expect(check({ overrides })).toEqual([]);
    const policies = { month: { limits: { month: 3_000_000 } }, api: { limits: { "api-2": 1_001 } } };
    expect(check({ policies, overrides }).map(({ path }) => path)).toEqual([
      "overrides[0].factor.month",
      "overrides[1].factor",
    ]);
  });

  it("all are told at once, in the order of the document", () => {
    const policies = { gone: {}, api: { mode: "off", limits: { "api-1": 0, x: 1 } } };
    const overrides = [ann({ factor: -1, until: "x" }), null];
    const found = check({ policies, overrides, more: 1 }).map(({ path }) => path);
    const ofApi = ["mode", "limits.api-1", "limits.x"].map((path) => `policies.api.${path}`);
    const ofAnn = ["overrides[0].factor", "overrides[0].until", "overrides[1]"];
    expect(found).toEqual(["more", "policies.gone", ...ofApi, ...ofAnn]);
  });

  it.each<[string, unknown]>([
    ["a policy", { policy: { toString: 1, valueOf: 1 }, kind: "ip", key: ANN, block: true }],
    ["a key", { policy: "api", kind: "ip", key: { toString: 1, valueOf: 1 }, block: true }],
    ["an instant", { policy: "api", kind: "ip", key: ANN, block: true, until: { toString: 1, valueOf: 1 } }],
  ])("that cannot become a text are told too: %s", (_what, override) => {
    expect(checkDocument({ policies: {}, overrides: [override] }, POLICIES)).toHaveLength(1);
  });
});

it("no message repeats a raw key, nor a secret", () => {
  const raw = "203.0.113.7";
  const wrong = { policy: "api", kind: "ip", key: raw, block: true };
  const documents = [
    raw,
    { policies: raw, overrides: raw },
    { policies: {}, overrides: { [raw]: { block: true } } },
    { policies: {}, overrides: [raw, [raw], wrong, wrong, { key: raw }], secret: raw },
  ];
  for (const document of documents) {
    const mistakes = checkDocument(document, POLICIES);
    expect(mistakes.length).toBeGreaterThan(0);
    expect(JSON.stringify(mistakes)).not.toContain(raw);
  }
  expect(JSON.stringify(checkOverride(raw, "", policyOf("api")))).not.toContain(raw);
});

describe("a policy in dollars", () => {
  const [policy] = checkedPolicies([
    {
      name: "usd",
      meter: { unit: "usd", prices: { default: { input: 15, output: 75 } } },
      plans: { pro: { usd: 5_000 } },
      limits: [{ algorithm: "fixed-window", limit: 12.5, window: "1d" }],
    },
  ]);
  const DOLLARS = "dollars from 0.00001 to 10000, with at most 5 decimals";

  it.each([0.00001, 7.25, 10_000])("takes %d as the number of a limit", (usd) => {
    expect(checkPolicy({ limits: { usd } }, "", policy)).toEqual([]);
    expect(checkOverride({ limits: { usd } }, "", policy!)).toEqual([]);
  });

  it.each([0, 0.000001, 10_000.5, "5"])("does not take %j", (usd) => {
    const expected = usd === 0 ? `${DOLLARS}${BLOCK}` : DOLLARS;
    const mistakes = [{ path: "limits.usd", expected, found: JSON.stringify(usd) }];
    expect(checkPolicy({ limits: { usd } }, "", policy)).toEqual(mistakes);
  });

  it("takes factors whose products fit", () => {
    expect(checkOverride({ factor: 800 }, "", policy!)).toEqual([]);
    expect(checkOverride({ plan: "pro", factor: 2 }, "", policy!)).toEqual([]);
    const expected = "a factor that leaves every limit at most $10,000";
    expect(checkOverride({ factor: 801 }, "", policy!)).toEqual([{ path: "factor", expected, found: "801" }]);
    expect(checkOverride({ plan: "pro", factor: 2.1 }, "", policy!)).toEqual([
      { path: "factor", expected, found: "2.1" },
    ]);
  });
});
