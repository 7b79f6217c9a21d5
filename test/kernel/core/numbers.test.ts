// Limits with other numbers: what follows the number, what stays, and what does not fit.

import { describe, expect, it } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { haveSameNumbers, misfit, timesFactor, withNumber } from "../../../src/kernel/core/numbers.ts";
import type { Limit } from "../../../src/kernel/core/policy.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const limitOf = (limit: LimitInput): Limit => checkedPolicies([{ name: "p", limits: [limit] }])[0]!.limits[0]!;

const window = limitOf({ limit: 10, window: "1m" });
const bucket = limitOf({ algorithm: "token-bucket", limit: 10, window: "1m" });
const burst = limitOf({ algorithm: "leaky-bucket", limit: 10, window: "1m", burst: 25, maxDelay: "1s" });

describe("a limit with another number", () => {
  it("keeps everything else, and a burst that has a number of its own", () => {
    expect(withNumber(window, 20)).toEqual({ ...window, limit: 20 });
    expect(withNumber(bucket, 20)).toEqual({ ...bucket, limit: 20, burst: 20 });
    expect(withNumber(burst, 20)).toEqual({ ...burst, limit: 20 });
    expect(withNumber(window, 10)).toBe(window);
  });

  it.each([
    [0.5, 5],
    [0.29, 2],
    [0.01, 1],
    [1, 10],
    [2.55, 25],
  ])("times %d is rounded down, and at least 1", (factor, expected) => {
    expect(timesFactor(window, factor)).toEqual({ ...window, limit: expected });
  });

  it("times a factor has its burst multiplied too, and is what people compute", () => {
    expect(timesFactor(burst, 0.5)).toEqual({ ...burst, limit: 5, burst: 12 });
    expect(timesFactor(bucket, 3)).toEqual({ ...bucket, limit: 30, burst: 30 });
    // The same limit for both: only the burst shows that the factor has worked.
    const slow = limitOf({ algorithm: "token-bucket", limit: 1, window: "1m", burst: 100 });
    expect(timesFactor(slow, 0.29)).toEqual({ ...slow, limit: 1, burst: 29 });
  });
});

describe("a number that does not fit", () => {
  it.each([0, -1, 1.5, 1_000_000_001, Number.NaN, "10", null])("is %s", (number) => {
    expect(misfit({ ...window, limit: number as number })).toBe("an integer from 1 to 1000000000");
  });

  it("depends on the algorithm and on the window", () => {
    const log = limitOf({ algorithm: "sliding-log", limit: 10, window: "1m" });
    expect(misfit({ ...log, limit: 10_001 } as Limit)).toBe("an integer from 1 to 10000");
    const month = limitOf({ limit: 10, window: "31d" });
    expect(misfit(withNumber(month, 3_362_902))).toBeUndefined();
    expect(misfit(withNumber(month, 3_362_903))).toMatch(/^a limit of at most 3362902 with/);
    const monthly = limitOf({ algorithm: "token-bucket", limit: 10, window: "31d" });
    expect(misfit(withNumber(monthly, 3_362_903))).toMatch(/^a burst of at most 3362902 with/);
    expect(misfit({ ...burst, burst: 2_000_000_000 } as Limit)).toBe("a burst from 1 to 1000000000");
  });
});

it("numbers are the same if limits and bursts are", () => {
  expect(haveSameNumbers([window, burst], [{ ...window }, { ...burst }])).toBe(true);
  expect(haveSameNumbers([window, burst], [withNumber(window, 9), burst])).toBe(false);
  expect(haveSameNumbers([window, burst], [window, { ...burst, burst: 26 } as Limit])).toBe(false);
});
