import { describe, expect, it } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { parsePolicies, warningsOf, writePolicy } from "../../../src/features/configuration.ts";
import { ConfigurationError, describeMistake } from "../../../src/kernel/config/mistake.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";

const limits = [{ limit: 10, window: "1m" }] as const;
const usd = { unit: "usd", prices: { default: { input: 1, output: 2 } } } as const;

function policiesOf(...input: unknown[]): readonly Policy[] {
  const parsed = parsePolicies(input, "policies");
  if (parsed.mistakes) throw new Error(parsed.mistakes.map(describeMistake).join("\n"));
  return parsed.value;
}

const mistakesOf = (...input: unknown[]) => (parsePolicies(input, "policies").mistakes ?? []).map(describeMistake);

describe("overflow", () => {
  it("is the name of a policy", () => {
    const [plan, team] = policiesOf({ name: "plan", limits, overflow: "team" }, { name: "team", limits });
    expect(plan).toMatchObject({ overflow: "team", chain: [{ name: "team" }] });
    expect(plan).not.toHaveProperty("isOverflow");
    expect(team).toMatchObject({ name: "team", isOverflow: true });
  });

  it("gives the chain what it takes over from the policy that matches", () => {
    const [plan] = policiesOf(
      {
        ...{ name: "plan", key: ["header:x-user"], limits, overflow: "team", onStoreFailure: "deny" },
        ...{ refusal: { status: 402 } },
      },
      { name: "team", key: ["header:x-team"], limits, overflow: "credits", documented: false },
      { name: "credits", key: ["global"], limits: [{ algorithm: "fixed-window", limit: 5, window: "1d" }] },
    );
    const [team, credits] = plan!.chain!;
    const taken = { onStoreFailure: "deny", refusal: { status: 402 }, isOverflow: true };
    expect(team).toMatchObject({ name: "team", key: ["header:x-team"], documented: false, ...taken });
    expect(credits).toMatchObject({ name: "credits", key: ["global"], ...taken });
    expect(plan!.chain).toHaveLength(2);
  });

  it("is written and read back", () => {
    const written = [
      { name: "plan", limits, meter: usd, overflow: "team" },
      { name: "team", limits, meter: usd },
    ].map((one) => ({ ...one, limits: [{ algorithm: "fixed-window", limit: 1, window: "1d" }] }));
    const policies = policiesOf(...written);
    expect(policiesOf(...policies.map(writePolicy))).toEqual(policies);
  });

  it("is never matched by a request", () => {
    const match = compileMatcher(policiesOf({ name: "plan", limits, overflow: "team" }, { name: "team", limits }));
    const request = new Request("https://api.example/");
    expect(match(request).map(({ policy }) => policy.name)).toEqual(["plan"]);
  });
});

describe("a wrong overflow", () => {
  const plan = { name: "plan", limits, overflow: "team" };
  const team = { name: "team", limits };
  const cases: readonly (readonly [string, readonly unknown[], string])[] = [
    [
      "of a wrong type",
      [{ ...plan, overflow: 3 }],
      'policies[0].overflow: expected the name of a policy: write overflow = "team"; found 3',
    ],
    ["with a wrong name", [{ ...plan, overflow: "Team" }], "policies[0].overflow: expected the name of a policy"],
    [
      "that is a table",
      [{ ...plan, overflow: { policy: "team" } }, team],
      'policies[0].overflow: expected the name of a policy: write overflow = "team"; found {"policy":"team"}',
    ],
    [
      "with more than 4 policies in its chain",
      ["a", "b", "c", "d", "e"].map((name, i, all) => ({ name, limits, overflow: all[i + 1] })),
      'policies[0].overflow: expected a chain of at most 4 policies; found "a → b → c → d → e"',
    ],
    [
      "of another unit",
      [{ ...plan, meter: { unit: "tokens" } }, team],
      'expected a policy with meter.unit = "tokens", as here; found "team with no meter"',
    ],
    [
      "of a policy with ids",
      [{ ...plan, once: "header:id" }, team],
      "policies[0].once: expected no once beside overflow",
    ],
    [
      "that is leased, under count",
      [
        { ...plan, count: "failures" },
        { ...team, consistency: "leased" },
      ],
      'policies[0].count: expected no count: the overflow team has consistency = "leased"',
    ],
    [
      "that is shared, of a policy that denies",
      [
        { ...plan, onStoreFailure: "deny" },
        { ...team, consistency: "shared" },
      ],
      'policies[0].onStoreFailure: expected "local", because the overflow team has consistency = "shared"',
    ],
    ...Object.entries({
      except: { path: "/health" },
      exempt: ["10.0.0.0/8"],
      cost: [{ cost: 2 }],
      refusal: { status: 402 },
      onStoreFailure: "deny",
      once: "header:id",
      count: "failures",
      mode: "shadow",
    }).map(
      ([field, value]) =>
        [
          `with its own ${field}`,
          [plan, { ...team, [field]: value }],
          `policies[1].${field}: expected no ${field} here: this policy is an overflow`,
        ] as const,
    ),
    [
      "that another policy of the same request has",
      [plan, { name: "other", match: { path: "/v1/*" }, limits, overflow: "team" }, team],
      "policies[1].overflow: expected an overflow that plan does not have, or other requests",
    ],
    [
      "that a policy of another method has, which a request may name in a field",
      [
        { ...plan, match: { method: "POST" } },
        { name: "other", match: { method: "PUT" }, limits, overflow: "team" },
        team,
      ],
      "policies[1].overflow: expected an overflow that plan does not have, or other requests",
    ],
    [
      "at the end of two chains of the same request",
      [plan, { ...team, overflow: "end" }, { name: "other", limits, overflow: "end" }, { name: "end", limits }],
      "policies[2].overflow: expected an overflow that plan does not have, or other requests: both may match one request; found end, which pays for other and for plan",
    ],
  ];

  it.each(cases)("%s is one mistake, which says so", (_, input, message) => {
    const mistakes = mistakesOf(...input);
    expect(mistakes).toEqual([expect.stringContaining(message)]);
  });

  it("may be shared by policies of other requests", () => {
    const [a, b] = policiesOf(
      { ...plan, match: { path: "/a/*" } },
      { ...plan, name: "plan-b", match: { path: "/b/*" } },
      team,
    );
    expect([a!.chain![0]!.name, b!.chain![0]!.name]).toEqual(["team", "team"]);
  });

  it("that two policies of one request share is found before a handler too", () => {
    const policies = [plan, { ...plan, name: "other" }, team];
    const limiter = createLimiter({ policies, store: memoryStore() });
    expect(() => withRateLimit(() => new Response(), limiter)).toThrow(ConfigurationError);
  });
});

describe("warnings of an overflow", () => {
  it.each(["leased", "shared"] as const)("say that it may pay early under %s", (consistency) => {
    const plan = { name: "plan", limits, consistency, overflow: "team" };
    expect(warningsOf(policiesOf(plan, { name: "team", limits, consistency }))).toEqual([
      expect.stringContaining("team may pay while other instances can still use plan"),
    ]);
  });

  const team = { name: "team", key: ["header:x-team"], limits };

  it("come from the requests of the policy before it", () => {
    const plan = { name: "plan", match: { path: "/v1/*" }, key: ["ip"], limits, overflow: "team" };
    expect(warningsOf(policiesOf(plan, team))).toEqual([]);
    expect(warningsOf(policiesOf({ ...plan, key: ["header:x-user"] }, team))).toEqual([
      expect.stringContaining("policy plan counts by header:x-user"),
      expect.stringContaining("policy team counts by header:x-team"),
    ]);
  });
});
