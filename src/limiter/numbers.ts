/** Stands in until plans are merged. */
import type { Limit, Policy } from "../core/policy.ts";

export function withNumbers(policy: Policy, numbers: Readonly<Record<string, number>>): Policy {
  const limits = policy.limits.map((limit): Limit => {
    const number = numbers[limit.id];
    if (number === undefined) return limit;
    if ("burst" in limit) {
      const burst = limit.burst === limit.limit ? number : limit.burst;
      return { ...limit, limit: number, burst };
    }
    return { ...limit, limit: number };
  });
  return { ...policy, limits };
}

export function withFactor(policy: Policy, factor: number): Policy {
  const times = (units: number) => Math.max(1, Math.floor(units * factor));
  const limits = policy.limits.map((limit): Limit => {
    const burst = "burst" in limit ? { burst: times(limit.burst) } : {};
    return { ...limit, ...burst, limit: times(limit.limit) };
  });
  return { ...policy, limits };
}
