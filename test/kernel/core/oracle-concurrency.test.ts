// Requests in flight, compared with a plain list of the held slots and their ends.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Flag } from "../../../src/kernel/core/take.ts";
import { firstStatus } from "../../../src/testing/store-case.ts";
import { instant } from "../../support/cases/arbitrary.ts";
import { concurrencyLimit } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { Counter } from "../../support/gateway/counter.ts";

interface Slot {
  readonly number: number;
  untilMs: number;
}

const steps = fc.array(
  fc.record({
    /** A number: time in 1/1000 of the timeout. A text: until the next slot is lost, or 1 ms before. */
    advance: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom("loss - 1" as const, "loss" as const)),
    op: fc.constantFrom("acquire" as const, "acquire" as const, "renew" as const, "release" as const),
    which: fc.nat({ max: 20 }),
  }),
  { minLength: 10, maxLength: 80, size: "max" },
);

it("never holds more than the limit, refuses only then, and frees each slot at its own timeout", () => {
  const property = fc.property(concurrencyLimit, instant, steps, (limit, startMs, steps) => {
    const counter = new Counter();
    let held: Slot[] = [];
    let nowMs = startMs;
    let next = 1;
    for (const { advance, op, which } of steps) {
      const lossMs = Math.min(...held.map(({ untilMs }) => untilMs));
      if (typeof advance === "number") nowMs += Math.floor((advance * limit.timeoutMs) / 1000);
      else if (held.length > 0) nowMs = Math.max(nowMs, advance === "loss" ? lossMs : lossMs - 1);
      held = held.filter(({ untilMs }) => untilMs > nowMs);

      const slot = held[which % Math.max(1, held.length)];
      const take = (flag: Flag, number: number) => counter.takeOne(limit, 1, nowMs, flag, number);
      if (op === "acquire") {
        const { allowed } = take(Flag.take, next);
        expect(allowed).toBe(held.length < limit.limit);
        if (allowed) held.push({ number: next, untilMs: nowMs + limit.timeoutMs });
        next++;
      } else if (slot && op === "renew") {
        take(Flag.chargeAnyway, slot.number);
        slot.untilMs = nowMs + limit.timeoutMs;
      } else if (slot) {
        take(Flag.giveBack, slot.number);
        held = held.filter((other) => other !== slot);
      }
      expect(held.length).toBeLessThanOrEqual(limit.limit);
      expect(firstStatus(take(Flag.look, 0), limit, 0).remaining).toBe(limit.limit - held.length);
    }
  });
  fc.assert(property, draws(1_000));
});
