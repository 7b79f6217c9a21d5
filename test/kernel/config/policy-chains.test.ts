import { describe, expect, it } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { warningsOf } from "../../../src/features/configuration.ts";
import { ConfigurationError } from "../../../src/kernel/config/mistake.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { createLimiter } from "../../support/limiter.ts";

const limits = [{ limit: 10, window: "1m" }] as const;

const policiesOf = (...input: unknown[]) => checkedPolicies(input);

describe("overflow", () => {
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
    expect(plan).not.toHaveProperty("isOverflow");
    const taken = { onStoreFailure: "deny", refusal: { status: 402 }, isOverflow: true };
    expect(team).toMatchObject({ name: "team", key: ["header:x-team"], documented: false, ...taken });
    expect(credits).toMatchObject({ name: "credits", key: ["global"], ...taken });
    expect(plan!.chain).toHaveLength(2);
  });
});

// mistakes.toml has what is wrong with one.
describe("an overflow", () => {
  const plan = { name: "plan", limits, overflow: "team" };
  const team = { name: "team", limits };

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
