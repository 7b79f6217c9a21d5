/** The instant of a decision. */

import { expect } from "vitest";
import { isConcurrency } from "../../kernel/core/concurrency.ts";
import { Flag } from "../../kernel/core/take.ts";
import { everyKind, firstWindow, keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

/** Longer than any limit of `everyKind` counts a unit. */
const LATER_MS = NOW_MS + 70 * 86_400_000;
/** Before every window of `NOW_MS`. */
const EARLIER_MS = NOW_MS - 70 * 86_400_000;

export const clocks: readonly StoreCase[] = [
  {
    title: "is the store's own when no instant is given",
    needs: "clock",
    async run({ clock, newKey, take }) {
      const beforeMs = await clock();
      const { nowMs } = await take([keyRequest(newKey(), [tenMinutes(5)])]);
      const afterMs = await clock();
      expect(nowMs).toBeGreaterThanOrEqual(beforeMs);
      expect(nowMs).toBeLessThanOrEqual(afterMs);
    },
  },
  {
    title: "reports whole milliseconds, and counts at the instant that it reports",
    async run({ newKey, take }) {
      const reply = await take([keyRequest(newKey(), [tenMinutes(5)])]);
      expect(reply.nowMs).toSatisfy(Number.isSafeInteger);
      expect(firstWindow(reply).newest).toBe(Math.floor(reply.nowMs / 60_000));
    },
  },
  {
    title: "is replaced by an instant that is given",
    async run({ newKey, take }) {
      const reply = await take([keyRequest(newKey(), [tenMinutes(5)])], { nowMs: 61_000 });
      expect([reply.nowMs, firstWindow(reply).newest]).toEqual([61_000, 1]);
    },
  },
  {
    title: "may step back: what was charged at a later instant still counts",
    async run({ newKey, take }) {
      const keys = [keyRequest(newKey(), [tenMinutes(5)], { cost: 3 })];
      await take(keys, { nowMs: NOW_MS });
      expect((await take(keys, { nowMs: NOW_MS - 120_000 })).allowed).toBe(false);
    },
  },
  {
    title: "may step back: what is charged then can be given back, whatever its limits were charged before",
    async run({ newKey, take, left }) {
      const [first, ...others] = Object.values(everyKind(9)).filter((limit) => !isConcurrency(limit));
      const key = newKey();
      // At the later instant the key had one limit. The others are counted for the first time after the step.
      await take([keyRequest(key, [first!], { cost: 1 })], { nowMs: NOW_MS });
      await take([keyRequest(key, [first!, ...others], { cost: 2 })], { nowMs: EARLIER_MS - 1 });
      const keys = [keyRequest(key, [first!, ...others], { cost: 3 })];
      const asked = { nowMs: EARLIER_MS };
      const before = await left(keys, asked);
      const reply = await take(keys, asked);
      expect([reply.allowed, await left(keys, asked)]).toEqual([true, before.map((units) => units - 3)]);
      await take(reply.charged, { ...asked, flag: Flag.giveBack });
      expect(await left(keys, asked)).toEqual(before);
    },
  },
  {
    title: "makes limits full again with time, and no sooner",
    async run({ newKey, take, left }) {
      for (const limit of Object.values(everyKind(5))) {
        const keys = [keyRequest(newKey(), [limit], { cost: 5 })];
        const ask = async (nowMs: number, slot: number) => {
          const { allowed } = await take(keys, { nowMs, slot });
          return [allowed, ...(await left(keys, { nowMs, slot: 99 }))];
        };
        // A slot is one unit, whatever the cost.
        const after = limit.limit - (isConcurrency(limit) ? 1 : 5);
        expect(await ask(NOW_MS, 1)).toEqual([true, after]);
        expect(await ask(NOW_MS + 540_000, 1)).toEqual([after > 0, after]);
        expect(await ask(LATER_MS, 2)).toEqual([true, after]);
      }
    },
  },
];
