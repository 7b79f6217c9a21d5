// The numbers that hold for one client: of the policy, of the client's plan, of the program.

import { describe, expect, it } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { haveSameNumbers, misfit } from "../../../src/kernel/core/numbers.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { withFactor, withNumbers } from "../../../src/kernel/limiter/numbers.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { TakeOptions } from "../../../src/limiter.ts";
import { createLimiter } from "../../support/limiter.ts";

const day = (limit: number) => ({ algorithm: "fixed-window", limit, window: "31d" }) as const;
const api: PolicyInput = {
  name: "api",
  limits: [day(2), { algorithm: "token-bucket", limit: 10, window: "31d" }],
  // A number may be a text in a Worker's variable.
  plans: JSON.parse('{ "pro": { "api-1": 4, "api-2": 20 }, "team": { "api-1": "6" }, "constructor": { "api-1": 8 } }'),
};
const constructorPolicy: PolicyInput = { name: "constructor", limits: [day(3)] };

const limiterOf = (...policies: PolicyInput[]) => createLimiter({ policies, store: memoryStore() });
const numbersOf = ({ limits }: Pick<Policy, "limits">) => limits.map(({ limit }) => limit);

describe("a policy with other numbers", () => {
  const [policy] = limiterOf(api).policies as [Policy];
  const own = (limit: LimitInput) => limiterOf({ name: "p", limits: [limit] }).policies[0]!;
  const bucket = { algorithm: "token-bucket", limit: 10, window: "1m" } as const;

  it("has those of the named limits, and the same objects for the same numbers", () => {
    const other = withNumbers(policy, { "api-2": 7 });
    expect(other).toMatchObject({ name: "api", limits: [policy.limits[0], { limit: 7, burst: 7 }] });
    expect(withNumbers(policy, { "api-2": 7, "api-1": undefined })).toBe(other);
    expect(withNumbers(policy, { "api-2": 10 })).toBe(policy);
    expect(withNumbers(policy, {})).toBe(policy);
    expect(withFactor(policy, 2.5)).toBe(withFactor(policy, 2.5));
    // A burst with a number of its own stays.
    expect(withNumbers(own({ ...bucket, burst: 25 }), { p: 20 }).limits).toMatchObject([{ limit: 20, burst: 25 }]);
    // What every object has is no number.
    const [one] = limiterOf(constructorPolicy).policies as [Policy];
    expect(withNumbers(one, {})).toBe(one);
  });

  it.each([
    [0.5, bucket, { limit: 5, burst: 5 }],
    [0.29, bucket, { limit: 2, burst: 2 }],
    [0.01, bucket, { limit: 1, burst: 1 }],
    // As people compute it: to a computer 2.55 * 100 is a little less.
    [2.55, { limit: 100, window: "1m" }, { limit: 255 }],
    [0.5, { ...bucket, burst: 25 }, { limit: 5, burst: 12 }],
    [0.29, { ...bucket, limit: 1, burst: 100 }, { limit: 1, burst: 29 }],
  ] as const)("times %d is rounded down, and at least 1: %j", (factor, limit, expected) => {
    expect(withFactor(own(limit), factor).limits).toMatchObject([expected]);
  });

  it("says which number does not fit", () => {
    expect(() => withFactor(policy, 1e9)).toThrow("limits: api-1: expected an integer from 1 to 1000000000");
    expect(() => withFactor(policy, 1e6)).toThrow(/^limits: api-2: expected a burst of at most 3362902 /);
    for (const factor of [0, -1, Number.NaN, "2"]) {
      expect(() => withFactor(policy, factor as number)).toThrow("factor: expected a number above 0");
    }
    for (const number of [0, -1, 1.5, 1_000_000_001, Number.NaN, "10", null]) {
      const make = () => withNumbers(policy, { "api-1": number as number });
      expect(make).toThrow(`limits: api-1: expected an integer from 1 to 1000000000; found ${number}`);
    }
    const [log, slow] = [own({ algorithm: "sliding-log", limit: 10, window: "1m" }), own({ limit: 10, window: "31d" })];
    expect(() => withNumbers(log, { p: 10_001 })).toThrow("an integer from 1 to 10000;");
    expect(numbersOf(withNumbers(slow, { p: 3_362_902 }))).toEqual([3_362_902]);
    expect(() => withNumbers(slow, { p: 3_362_903 })).toThrow(/a limit of at most 3362902 with/);
    expect(misfit({ ...policy.limits[1]!, burst: 2e9 } as never)).toBe("a burst from 1 to 1000000000");
  });

  it("has the same numbers if limits and bursts are", () => {
    const { limits } = own({ ...bucket, burst: 25 });
    expect(haveSameNumbers(limits, [{ ...limits[0]! }])).toBe(true);
    for (const other of [{ limit: 9 }, { burst: 26 }]) {
      expect(haveSameNumbers(limits, [{ ...limits[0], ...other } as never])).toBe(false);
    }
  });
});

describe("a take", () => {
  const cases: [string, TakeOptions, number[]][] = [
    ["without a plan", {}, [2, 10]],
    ["with an unknown plan", { plan: "gold" }, [2, 10]],
    ["with a plan that every object has", { plan: "toString" }, [2, 10]],
    ["with a plan", { plan: "pro" }, [4, 20]],
    ["with a plan of a name that is a property of every object", { plan: "constructor" }, [8, 10]],
    ["with a plan that names one limit", { plan: "team" }, [6, 10]],
    ["with numbers", { limits: { "api-2": 30 } }, [2, 30]],
    ["with numbers that come before those of the plan", { plan: "pro", limits: { "api-1": 5 } }, [5, 20]],
    ["with no numbers for its limits", { limits: { constructor: 9, "api-1": undefined } as never }, [2, 10]],
  ];
  it.each(cases)("%s has the numbers that hold for its client", async (_, own, expected) => {
    const limiter = limiterOf(api, constructorPolicy);
    const { limits, remaining } = await limiter.peek("api", { key: "ann", cost: 0, ...own });
    expect(remaining).toBe(Math.min(...expected));
    expect([limits.map(({ limit }) => limit.limit), numbersOf(limits[0]!.policy)]).toEqual([expected, expected]);
  });

  it("counts on when the numbers of its client change", async () => {
    const limiter = limiterOf(api);
    const steps: [TakeOptions, allowed: boolean, remaining: number][] = [
      [{}, true, 1],
      [{}, true, 0],
      [{}, false, 0],
      [{ plan: "pro" }, true, 1],
      [{ limits: { "api-1": 3 } }, false, 0],
      [{ plan: "team", limits: { "api-1": 5 } }, true, 1],
    ];
    for (const [own, allowed, remaining] of steps) {
      expect(await limiter.take("api", { key: "ann", ...own })).toMatchObject({ allowed, limits: [{ remaining }, {}] });
    }
  });

  it("of several policies has the numbers of the whole take, or its own", async () => {
    const limiter = limiterOf(api, { name: "site", key: "global", limits: [day(7)], plans: { pro: { site: 8 } } });
    const takes = [{ policy: "api", key: "ann", plan: "team" }, { policy: "site" }];
    const first = async (options: TakeOptions) =>
      (await limiter.peek(takes, options)).limits.map((one) => one.limit.limit);
    expect(await first({ plan: "pro" })).toEqual([6, 10, 8]);
    expect(await first({ limits: { site: 9, "api-1": 1 } })).toEqual([1, 10, 9]);
  });

  it.each<[TakeOptions, string]>([
    [{ limits: { api: 3 } }, 'limits: expected the ids api-1, api-2; found "api"'],
    [{ limits: { "api-1": "3" as never } }, "limits: api-1: expected an integer from 1 to 1000000000; found 3"],
    [{ limits: 3 as never }, "take: limits: expected object, found number"],
    [{ plan: 3 as never }, "take: plan: expected string, found number"],
  ])("with %j is misuse, and charges nothing", async (own, message) => {
    const limiter = limiterOf(api);
    await expect(limiter.take("api", { key: "ann", ...own })).rejects.toThrow(new TypeError(message));
    expect((await limiter.peek("api", { key: "ann" })).limits[0]!.remaining).toBe(2);
  });
});

describe("numbers of a policy in dollars", () => {
  const meter = { unit: "usd", prices: { default: { input: 15, output: 75 } } } as const;
  const usd: PolicyInput = { name: "usd", meter, plans: { pro: { usd: 2.5 } }, limits: [day(1)] };
  const [policy] = limiterOf(usd).policies as [Policy];
  const remaining = async (options: TakeOptions) =>
    (await limiterOf(usd).peek("usd", { key: "a", ...options })).remaining;

  it("are dollars wherever they are written, and units of 10 micro-dollars where they are counted", async () => {
    expect(await remaining({})).toBe(100_000);
    expect(await remaining({ plan: "pro" })).toBe(250_000);
    expect(await remaining({ plan: "pro", limits: { usd: 0.1 + 0.2 } })).toBe(30_000);
    expect(numbersOf(withNumbers(policy, { usd: 10_000 }))).toEqual([1_000_000_000]);
    expect(numbersOf(withFactor(withNumbers(policy, { usd: 0.29 }), 0.5))).toEqual([14_500]);
  });

  it.each([0, 0.000001, 1.234567, 10_000.00001, -1, Number.NaN])("are refused as dollars: %d", (number) => {
    expect(() => withNumbers(policy, { usd: number })).toThrow(
      `limits: usd: expected dollars from 0.00001 to 10000, with at most 5 decimals; found ${number}`,
    );
  });
});
