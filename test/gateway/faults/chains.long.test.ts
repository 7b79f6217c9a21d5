// Plan, team and credits pay for requests that come all at once through three gateways, while calls to the counts and
// their answers get lost: one link of a chain is charged. scripts/stress/chains.ts does it with 5,000 requests.

import { expect, it } from "vitest";
import { sendOverflowing } from "../../support/faults/overflowing-requests.ts";

it.each(["redis", "three-redis", "object"] as const)(
  "over %s charges who paid, and at most one link",
  async (kind) => {
    const told = await sendOverflowing(kind, { requests: 300, seed: 1, budgetMs: 1_000, rate: 0.08 });
    expect(told.wrong).toEqual([]);
    expect(told.faults).toBeGreaterThan(10);
    // Three places do not mean one place for all links.
    if (kind === "three-redis") expect(told.spread).toBeGreaterThan(0);
    else expect(told.stayed).toBe(0);
  },
  120_000,
);
