/** The instant of a decision. */

import { expect } from "vitest";
import { isConcurrency } from "../../core/concurrency.ts";
import { Flag } from "../../core/take.ts";
import { everyKind, firstWindow, keyRequest, NOW_MS, remainingOf, type StoreCase, tenMinutes } from "../store-case.ts";

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
    title: "tells whole milliseconds, and counts at the instant that it tells",
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
    async run({ newKey, take }) {
      const [first, ...others] = Object.values(everyKind(9)).filter((limit) => !isConcurrency(limit));
      const key = newKey();
      const left = async () => {
        const looks = [keyRequest(key, [first!, ...others], { cost: 0 })];
        return remainingOf(await take(looks, { flag: Flag.look, nowMs: EARLIER_MS }), looks);
      };
      // At the later instant the key had one limit. The others are counted for the first time after the step.
      await take([keyRequest(key, [first!], { cost: 1 })], { nowMs: NOW_MS });
      await take([keyRequest(key, [first!, ...others], { cost: 2 })], { nowMs: EARLIER_MS - 1 });
      const before = await left();
      const keys = [keyRequest(key, [first!, ...others], { cost: 3 })];
      const reply = await take(keys, { nowMs: EARLIER_MS });
      expect([reply.allowed, await left()]).toEqual([true, before.map((units) => units - 3)]);
      await take(reply.charged, { flag: Flag.giveBack, nowMs: EARLIER_MS });
      expect(await left()).toEqual(before);
    },
  },
  {
    title: "makes limits as new with time, and no sooner",
    async run({ newKey, take }) {
      for (const limit of Object.values(everyKind(5))) {
        const keys = [keyRequest(newKey(), [limit], { cost: 5 })];
        const ask = async (nowMs: number, slot: number) => {
          const { allowed } = await take(keys, { nowMs, slot });
          const look = await take(keys, { nowMs, slot: 99, flag: Flag.look });
          return [allowed, ...remainingOf(look, keys)];
        };
        // A slot is one unit, whatever the cost.
        const left = limit.limit - (isConcurrency(limit) ? 1 : 5);
        expect(await ask(NOW_MS, 1)).toEqual([true, left]);
        expect(await ask(NOW_MS + 540_000, 1)).toEqual([left > 0, left]);
        expect(await ask(LATER_MS, 2)).toEqual([true, left]);
      }
    },
  },
];
