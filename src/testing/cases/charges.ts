/** What a decision leaves: charges, and what is given back. */

import { expect } from "vitest";
import type { LimitSpec } from "../../kernel/core/algorithms.ts";
import { isConcurrency } from "../../kernel/core/concurrency.ts";
import { Kind, MAX_KEYS, MAX_LIMITS } from "../../kernel/core/layout.ts";
import { Flag } from "../../kernel/core/take.ts";
import type { WindowLimit } from "../../kernel/core/window.ts";
import { everyKind, firstWindow, keyRequest, NOW_MS, remainingOf, type StoreCase, tenMinutes } from "../store-case.ts";

/** The largest limit and the largest cost. */
const MOST = 1_000_000_000;
/** The largest count: 2^31, which is one more than a signed integer of 32 bits holds. */
const LARGEST_COUNT = 2_147_483_648;

export const charges: readonly StoreCase[] = [
  {
    title: "are nothing for a refusal, nor for a cost of 0",
    async run({ newKey, take, countOf }) {
      const key = newKey();
      for (const cost of [4, 2, 0]) await take([keyRequest(key, [tenMinutes(5)], { cost })]);
      expect(await countOf(key)).toBe(4);
    },
  },
  {
    title: "are made above the limit when told to, and given back to the bucket that is named",
    async run({ newKey, take }) {
      const key = newKey();
      const ask = async (cost: number, flag: Flag, nowMs: number, atMs?: number) => {
        const asked = { flag, nowMs, ...(atMs !== undefined && { atMs }) };
        const reply = await take([keyRequest(key, [tenMinutes(5)], { cost })], asked);
        return [reply.allowed, ...firstWindow(reply).counts.slice(0, 2)];
      };
      expect(await ask(9, Flag.chargeAnyway, NOW_MS)).toEqual([false, 9, 0]);
      expect(await ask(3, Flag.chargeAnyway, NOW_MS + 60_000)).toEqual([false, 3, 9]);
      expect(await ask(4, Flag.giveBack, NOW_MS + 60_000, NOW_MS)).toEqual([true, 3, 5]);
      expect(await ask(4, Flag.giveBack, NOW_MS + 60_000, NOW_MS + 60_000)).toEqual([true, 0, 5]);
    },
  },
  {
    title: "are given back down to nothing, and never below",
    async run({ newKey, take }) {
      for (const limit of Object.values(everyKind(5))) {
        const keys = [keyRequest(newKey(), [limit], { cost: 2 })];
        const giveBack = async () => {
          const more = keys.map((one) => ({ ...one, cost: 9 }));
          const reply = await take(more, { flag: Flag.giveBack, nowMs: NOW_MS, atMs: NOW_MS, slot: 1 });
          expect(remainingOf(reply, keys)).toEqual([5]);
        };
        await giveBack();
        await take(keys, { nowMs: NOW_MS, slot: 1 });
        await giveBack();
        const admitted = [];
        for (let slot = 1; slot <= 6; slot++) {
          const one = keys.map((key) => ({ ...key, cost: 1 }));
          admitted.push((await take(one, { nowMs: NOW_MS, slot })).allowed);
        }
        expect(admitted).toEqual([true, true, true, true, true, false]);
      }
    },
  },
  {
    title: "of two configurations over one key are kept beside each other, each until it ends",
    async run({ newKey, take }) {
      const kinds = Object.values(everyKind(5));
      const other = { ...tenMinutes(5), bucketMs: 60_000, buckets: 1 };
      for (const limit of kinds) {
        const key = newKey();
        const ask = (asked: LimitSpec, cost: number, nowMs: number) =>
          take([keyRequest(key, [asked], { cost })], { nowMs, slot: 1 + cost });
        expect((await ask(limit, 5, NOW_MS)).allowed).toBe(true);
        // As many as the other configuration admits, in several buckets: none of them may drop what the first counts.
        for (let n = 0; n < 3; n++) expect((await ask(other, 5, NOW_MS + n * 120_000)).allowed).toBe(true);
        const refused = await ask(limit, 5, NOW_MS + 240_000);
        expect(refused.allowed).toBe(isConcurrency(limit));
        expect((await ask(other, 1, NOW_MS + 240_000)).allowed).toBe(false);
      }
    },
  },
  {
    title: "may be as large as the largest limit, and add up to the largest count",
    async run({ newKey, take, countOf }) {
      const key = newKey();
      const most = [keyRequest(key, [tenMinutes(MOST)], { cost: MOST })];
      // All in one bucket: each bucket has a count of its own.
      const asked = { nowMs: NOW_MS };
      expect((await take(most, asked)).allowed).toBe(true);
      expect((await take([keyRequest(key, [tenMinutes(MOST)])], asked)).allowed).toBe(false);
      for (let i = 0; i < 2; i++) await take(most, { ...asked, flag: Flag.chargeAnyway });
      expect(await countOf(key, tenMinutes(1), NOW_MS)).toBe(LARGEST_COUNT);
    },
  },
  {
    title: "of 1,000 keys, the most that a take has, are made together or not at all",
    async run({ newKey, take }) {
      const keys = Array.from({ length: MAX_KEYS }, () => keyRequest(newKey(), [tenMinutes(1)]));
      const last = keys.at(-1)!;
      const full = async () => (await take(keys, { flag: Flag.look })).keys.map(([limit]) => limit!.refused);
      await take([last]);
      expect((await take(keys)).allowed).toBe(false);
      expect(await full()).toEqual([...Array(MAX_KEYS - 1).fill(false), true]);
      const free = keys.map((one) => (one === last ? { ...one, cost: 0 } : one));
      expect((await take(free)).allowed).toBe(true);
      expect(await full()).toEqual(Array(MAX_KEYS).fill(true));
    },
  },
  {
    title: "of 8 limits under one key, of every algorithm, are made together or not at all",
    async run({ newKey, take, left }) {
      const kinds = Object.values(everyKind(6));
      const windows = Array.from({ length: MAX_LIMITS - 1 - kinds.length }, (_, i): WindowLimit => {
        return { ...tenMinutes(6), bucketMs: (i + 1) * 3_600_000 };
      });
      const log: LimitSpec = { kind: Kind.log, limit: 5, windowMs: 3_600_000 };
      // The log admits 5: it refuses what all others admit.
      const limits = [...kinds, ...windows, log];
      const keys = [keyRequest(newKey(), limits, { cost: 5 })];
      const look = { nowMs: NOW_MS, slot: 99 };
      expect((await take(keys, { nowMs: NOW_MS, slot: 1 })).allowed).toBe(true);
      // A slot is one unit, whatever the cost.
      const after = limits.map((limit) => (isConcurrency(limit) ? 5 : limit.limit - 5));
      expect(await left(keys, look)).toEqual(after);
      expect((await take([{ ...keys[0]!, cost: 1 }], { nowMs: NOW_MS, slot: 2 })).allowed).toBe(false);
      expect(await left(keys, look)).toEqual(after);
    },
  },
  {
    title: "stay with limits that stay when others come, go, move or change their number",
    async run({ newKey, take, countOf }) {
      const key = newKey();
      const hour: WindowLimit = { limit: 50, kind: Kind.whole, bucketMs: 3_600_000, buckets: 1 };
      await take([keyRequest(key, [tenMinutes(5), hour], { cost: 2 })], { nowMs: NOW_MS });
      await take([keyRequest(key, [hour, { ...hour, buckets: 3 }, tenMinutes(7)])], { nowMs: NOW_MS });
      expect(await countOf(key, tenMinutes(5), NOW_MS)).toBe(3);
      expect(await countOf(key, hour, NOW_MS)).toBe(3);
      expect(await countOf(key, { ...hour, buckets: 3 }, NOW_MS)).toBe(1);
    },
  },
  {
    title: "are one count under every algorithm, whatever the number that a request brings",
    async run({ newKey, take }) {
      for (const [algorithm, few] of Object.entries(everyKind(3))) {
        const key = newKey();
        const many = everyKind(5)[algorithm]!;
        const outcomes: boolean[] = [];
        for (const [i, limit] of [few, many, few, few, many, few, many, many, few].entries()) {
          outcomes.push((await take([keyRequest(key, [limit])], { nowMs: NOW_MS, slot: i + 1 })).allowed);
        }
        // Three fit both numbers, and two more the larger one.
        expect([algorithm, outcomes]).toEqual([algorithm, [true, true, true, false, true, false, true, false, false]]);
      }
    },
  },
  {
    title: "are not made by a peek, which answers as a take of the same cost would",
    async run({ newKey, take, left }) {
      const limits = [tenMinutes(5), { kind: Kind.log, limit: 5, windowMs: 600_000 }];
      const keys = limits.map((limit) => keyRequest(newKey(), [limit], { cost: 3 }));
      const ask = async (flag: Flag) => (await take(keys, { flag, nowMs: NOW_MS })).allowed;
      expect([await ask(Flag.look), await ask(Flag.look), await ask(Flag.take)]).toEqual([true, true, true]);
      expect([await ask(Flag.look), await ask(Flag.take)]).toEqual([false, false]);
      expect(await left(keys, { nowMs: NOW_MS })).toEqual([2, 2]);
    },
  },
];
