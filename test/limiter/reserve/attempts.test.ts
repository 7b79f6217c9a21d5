// What a request waits for that would be refused while units of its isolate are on their way back.

import { expect, it } from "vitest";
import { createLimiter, memoryStore } from "../../../src/index.ts";
import { type Answered, keysOf } from "../../../src/limiter/decide.ts";
import { createAttempts } from "../../../src/limiter/reserve/attempts.ts";

it("a request waits for the units that are coming back when it is refused, not for later ones", async () => {
  const { policies } = createLimiter({
    policies: [{ name: "login", key: "global", count: "failures", limits: [{ limit: 5, window: "1m" }] }],
    store: memoryStore(),
  });
  const keys = keysOf([{ policy: policies[0]!, kind: "global", partition: "all", cost: 1 }], () => "local");
  const decision = { outcome: "refused", allowed: false, source: "far", limits: [], shadow: [] } as const;
  const refused: Answered = { decision };
  let nowMs = 0;
  // Units of another request begin to come back every 4 ms, and take 40 ms.
  const returning: ReturnType<typeof attempts.begin>[] = [];
  const beginOne = () => {
    const one = attempts.begin(keys);
    one.returning(keys);
    returning.push(one);
    if (returning.length > 10) returning.shift()!.end();
  };
  const attempts = createAttempts(250, {
    nowMs: () => nowMs,
    async sleep(ms) {
      nowMs += ms;
      beginOne();
    },
  });
  for (let i = 0; i < 10; i++) beginOne();
  const askedAtMs: number[] = [];
  await attempts.decide(keys, async () => {
    askedAtMs.push(nowMs);
    return refused;
  });
  expect(askedAtMs).toEqual([0, 40]);
});
