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
    ["the largest number of a month", { policies: { month: { limits: { month: 3_362_902 } } } }],
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

describe("whole documents that are none", () => {
  it.each<[unknown, string]>([
    [undefined, "nothing"],
    [null, "null"],
    ["203.0.113.7", "a string"],
    [7, "a number"],
    [[{ policies: {}, overrides: [] }], "a list"],
  ])("%j", (value, found) => {
    expect(checkDocument(value, POLICIES)).toEqual(one("", "a table { policies, overrides }", found));
  });

  it("without policies and overrides: both are named", () => {
    expect(checkDocument({}, POLICIES)).toEqual([
      ...one("policies", "a table of policies by name", "nothing"),
      ...one("overrides", "a list of overrides", "nothing"),
    ]);
  });
});

describe("mistakes in a document", () => {
  it.each<[string, object, LiveMistake[]]>([
    ["policies in a list", { policies: [] }, one("policies", "a table of policies by name", "a list")],
    ["overrides in a table", { overrides: {} }, one("overrides", "a list of overrides", "a table")],
    ["an unknown field", { polices: {} }, one("polices", "only the fields policies and overrides", "an unknown field")],
    [
      "an unknown field that is named as the message names the known ones",
      { "policies and overrides": {} },
      one("policies and overrides", "only the fields policies and overrides", "an unknown field"),
    ],
    ["a secret that is no fingerprint", { secret: "my secret" }, one("secret", FINGERPRINT, HIDDEN)],
    ["a secret that is no text", { secret: 5 }, one("secret", FINGERPRINT, HIDDEN)],
    // policies
    ["an unknown policy", { policies: { gone: {} } }, one("policies.gone", NAME, '"gone"')],
    ["an unknown policy with dots", { policies: { "a.b.c": {} } }, one("policies.a.b.c", NAME, '"a.b.c"')],
    ["a member of every object", { policies: { toString: {} } }, one("policies.toString", NAME, '"toString"')],
    ["__proto__", { policies: JSON.parse('{"__proto__":{}}') }, one("policies.__proto__", NAME, '"__proto__"')],
    ["a policy of null", { policies: { api: null } }, one("policies.api", "a table { mode, limits }", "null")],
    [
      "an unknown mode",
      { policies: { api: { mode: "off" } } },
      one("policies.api.mode", '"enforce" or "shadow"', '"off"'),
    ],
    [
      "a mode of null",
      { policies: { api: { mode: null } } },
      one("policies.api.mode", '"enforce" or "shadow"', "null"),
    ],
    [
      "structure of a policy",
      { policies: { api: { key: ["global"] } } },
      one("policies.api.key", "only the fields mode, limits", "an unknown field"),
    ],
    [
      "what is charged, and the refusal of a policy",
      { policies: { api: { refusal: { status: 403 } } } },
      one("policies.api.refusal", "only the fields mode, limits", "an unknown field"),
    ],
    ["no limits", { policies: { api: { limits: {} } } }, one("policies.api.limits", TABLE, "{}")],
    ["limits in a list", { policies: { api: { limits: [5] } } }, one("policies.api.limits", TABLE, "[5]")],
    ["limits of null", { policies: { api: { limits: null } } }, one("policies.api.limits", TABLE, "null")],
    [
      "a limit of another policy",
      { policies: { api: { limits: { login: 5 } } } },
      one("policies.api.limits.login", "the id of a limit of api: api-1, api-2", '"login"'),
    ],
    [
      "the number 0",
      { policies: { login: { limits: { login: 0 } } } },
      one("policies.login.limits.login", `${NUMBER}${BLOCK}`, "0"),
    ],
    [
      "a blank number",
      { policies: { login: { limits: { login: "" } } } },
      one("policies.login.limits.login", NUMBER, '""'),
    ],
    [
      "no number",
      { policies: { login: { limits: { login: null } } } },
      one("policies.login.limits.login", NUMBER, "null"),
    ],
    [
      "a number in a text",
      { policies: { login: { limits: { login: "5" } } } },
      one("policies.login.limits.login", NUMBER, '"5"'),
    ],
    [
      "a fraction",
      { policies: { login: { limits: { login: 1.5 } } } },
      one("policies.login.limits.login", NUMBER, "1.5"),
    ],
    [
      "a number below 0",
      { policies: { login: { limits: { login: -5 } } } },
      one("policies.login.limits.login", NUMBER, "-5"),
    ],
    [
      "a number above 10^9",
      { policies: { api: { limits: { "api-2": 1_000_000_001 } } } },
      one("policies.api.limits.api-2", NUMBER, "1000000001"),
    ],
    [
      "a number too large for a log",
      { policies: { log: { limits: { log: 10_001 } } } },
      one("policies.log.limits.log", "an integer from 1 to 10000 for a sliding-log", "10001"),
    ],
    [
      "a number below a cost of the configuration",
      { policies: { login: { limits: { login: 2 } } } },
      one(
        "policies.login.limits",
        "at most the policy's smallest limit (or burst), 2: a larger cost would never be admitted",
        "3",
      ),
    ],
    // overrides
    [
      "an override in a text",
      { overrides: ["203.0.113.7"] },
      one("overrides[0]", "a table { policy, kind, key, … }", "a string"),
    ],
    ["an override of null", { overrides: [null] }, one("overrides[0]", "a table { policy, kind, key, … }", "null")],
    [
      "no policy",
      { overrides: [{ ...ann({ block: true }), policy: undefined }] },
      one("overrides[0].policy", NAME, "nothing"),
    ],
    [
      "an unknown policy of an override",
      { overrides: [ann({ block: true }, "gone")] },
      one("overrides[0].policy", NAME, '"gone"'),
    ],
    [
      "a policy in a list",
      { overrides: [{ ...ann({ block: true }), policy: ["api"] }] },
      one("overrides[0].policy", NAME, '["api"]'),
    ],
    [
      "no kind",
      { overrides: [{ ...ann({ block: true }), kind: "" }] },
      one("overrides[0].kind", "the kind of the key", '""'),
    ],
    ["no key", { overrides: [{ ...ann({ block: true }), key: undefined }] }, one("overrides[0].key", KEY, "nothing")],
    [
      "a raw key",
      { overrides: [{ ...ann({ block: true }), key: "203.0.113.7" }] },
      one("overrides[0].key", KEY, "a value that is not shown"),
    ],
    [
      "a raw key of 22 characters",
      { overrides: [{ ...ann({ block: true }), key: "user@mail.example.com." }] },
      one("overrides[0].key", KEY, "a value that is not shown"),
    ],
    ["no effect", { overrides: [ann({ note: "why" })] }, one("overrides[0]", EFFECTS, "none of them")],
    [
      "numbers and a factor",
      { overrides: [ann({ limits: { "api-1": 5 }, factor: 2 })] },
      one("overrides[0].factor", "either limits or factor", "both"),
    ],
    [
      "a number of an override",
      { overrides: [ann({ limits: { "api-1": 0 } })] },
      one("overrides[0].limits.api-1", `${NUMBER}${BLOCK}`, "0"),
    ],
    ["factor 0", { overrides: [ann({ factor: 0 })] }, one("overrides[0].factor", "a number above 0", "0")],
    [
      "a factor in a text",
      { overrides: [ann({ factor: "2" })] },
      one("overrides[0].factor", "a number above 0", '"2"'),
    ],
    [
      "a factor of null",
      { overrides: [ann({ factor: null })] },
      one("overrides[0].factor", "a number above 0", "null"),
    ],
    [
      "a factor that is too large",
      { overrides: [ann({ factor: 1e7 })] },
      one("overrides[0].factor", "a factor that leaves every limit at most 1000000000", "10000000"),
    ],
    [
      "the fingerprint of an override's secret",
      { overrides: [ann({ block: true, secret: "my secret" })] },
      one("overrides[0].secret", FINGERPRINT, HIDDEN),
    ],
    [
      "a factor that is too large for the numbers of the plan",
      { overrides: [ann({ plan: "pro", factor: 3e7 }, "slots")] },
      one("overrides[0].factor", "a factor that leaves every limit at most 1000000000", "30000000"),
    ],
    [
      "an unknown plan",
      { overrides: [ann({ plan: "team" }, "slots")] },
      one("overrides[0].plan", "one of the policy's plans pro", '"team"'),
    ],
    [
      "a plan where there is none",
      { overrides: [ann({ plan: "pro" })] },
      one("overrides[0].plan", "no plan: the policy has none", '"pro"'),
    ],
    [
      "exempt false",
      { overrides: [ann({ exempt: false })] },
      one("overrides[0].exempt", "true, or no such field", "false"),
    ],
    [
      "block in a text",
      { overrides: [ann({ block: "true" })] },
      one("overrides[0].block", "true, or no such field", '"true"'),
    ],
    [
      "no instant",
      { overrides: [ann({ block: true, until: "tomorrow" })] },
      one(
        "overrides[0].until",
        'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"',
        '"tomorrow"',
      ),
    ],
    [
      "no zone",
      { overrides: [ann({ block: true, until: "2026-12-01T00:00:00" })] },
      one(
        "overrides[0].until",
        'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"',
        '"2026-12-01T00:00:00"',
      ),
    ],
    [
      "a day that is none",
      { overrides: [ann({ block: true, until: "2026-11-31T00:00:00Z" })] },
      one(
        "overrides[0].until",
        'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"',
        '"2026-11-31T00:00:00Z"',
      ),
    ],
    [
      "milliseconds",
      { overrides: [ann({ block: true, until: 1_800_000_000_000 })] },
      one(
        "overrides[0].until",
        'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"',
        "1800000000000",
      ),
    ],
    [
      "an empty note",
      { overrides: [ann({ block: true, note: "" })] },
      one("overrides[0].note", "a string of 1 to 500 characters", '""'),
    ],
    [
      "a note that is no text",
      { overrides: [ann({ block: true, note: 5 })] },
      one("overrides[0].note", "a string of 1 to 500 characters", "5"),
    ],
    [
      "an unknown field of an override",
      { overrides: [ann({ block: true, untill: "2026-12-01T00:00:00Z" })] },
      one(
        "overrides[0].untill",
        "only the fields limits, factor, plan, exempt, block, until, note",
        "an unknown field",
      ),
    ],
    [
      "two overrides of one client",
      { overrides: [ann({ block: true }), { ...ann({ block: true }), key: BOB }, ann({ factor: 2 })] },
      one("overrides[2]", "one override for each policy and key", "the policy and key of overrides[0]"),
    ],
  ])("%s", (_what, document, mistakes) => {
    expect(check(document)).toEqual(mistakes);
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
    const overrides = [ann({ factor: -1, until: "x" }), null, { policy: "api", kind: 5, key: "raw", note: "" }];
    expect(check({ policies, overrides, more: 1 }).map(({ path }) => path)).toEqual([
      "more",
      "policies.gone",
      "policies.api.mode",
      "policies.api.limits.api-1",
      "policies.api.limits.x",
      "overrides[0].factor",
      "overrides[0].until",
      "overrides[1]",
      "overrides[2].kind",
      "overrides[2].key",
      "overrides[2]",
      "overrides[2].note",
    ]);
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

describe("one override or policy alone", () => {
  it("names its fields without a place before them", () => {
    const override = { factor: 0, limits: { x: 1 }, key: ANN };
    expect(checkOverride(override, "", policyOf("api")).map(({ path }) => path)).toEqual([
      "key",
      "factor",
      "limits.x",
      "factor",
    ]);
    expect(checkOverride({}, "", policyOf("api"))).toEqual(one("", EFFECTS, "none of them"));
    expect(checkOverride({ block: true }, "", policyOf("api"))).toEqual([]);
  });

  it("is checked like one in a document", () => {
    expect(checkPolicy({ mode: "off" }, "policies.api", policyOf("api")).map(({ path }) => path)).toEqual([
      "policies.api.mode",
    ]);
  });
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
