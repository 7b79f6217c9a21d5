import { expect, it } from "vitest";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { logDecisions } from "../../src/operate/log.ts";
import { createLimiter } from "../support/limiter.ts";
import { matchedBy } from "../support/matched.ts";

it("a line names who paid, and every policy that was asked", async () => {
  const lines: string[] = [];
  const limits = (limit: number) => [{ limit, window: "1h" }] as const;
  const limiter = createLimiter({
    policies: [
      { name: "plan", key: "global", limits: limits(1), overflow: "team" },
      { name: "team", key: "global", limits: limits(1) },
      { name: "trial", key: "global", mode: "shadow", limits: limits(1) },
    ],
    store: memoryStore(),
    onDecision: logDecisions((line) => void lines.push(line)),
  });
  const takes = [{ policy: "plan" }, { policy: "trial" }];
  for (let i = 0; i < 3; i++) await matchedBy(limiter).take(takes);
  const read = lines.map((line) => JSON.parse(line) as { event: string; policies: { policy: string }[] });
  expect(read).toEqual([
    expect.objectContaining({ event: "shadow-refused", paidBy: "team", shadow: ["trial"] }),
    expect.objectContaining({ event: "refused", violated: ["plan"] }),
  ]);
  expect(read[0]!.policies.map(({ policy }) => policy)).toEqual(["plan", "team", "trial"]);
  expect(read[1]).not.toHaveProperty("paidBy");
  const numbers = { limit: 1, per: "per 1h", remaining: 0, retryAfterMs: expect.any(Number) };
  expect(read[1]).toMatchObject({
    policies: [{ policy: "plan" }, { policy: "team", overflowOf: "plan" }, { policy: "trial", mode: "shadow" }],
    // What refused comes first.
    limits: [
      { id: "plan", policy: "plan", ...numbers },
      { id: "trial", policy: "trial", ...numbers },
    ],
  });
});
