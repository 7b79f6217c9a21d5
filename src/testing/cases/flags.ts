/** Keys of one call that are treated differently, because a request is settled with one call; shadow and slots. */

import { expect } from "vitest";
import type { LimitSpec } from "../../kernel/core/algorithms.ts";
import { Kind } from "../../kernel/core/layout.ts";
import { Flag, type KeyRequest } from "../../kernel/core/take.ts";
import type { WindowLimit } from "../../kernel/core/window.ts";
import { type Bench, keyRequest, NOW_MS, remainingOf, type StoreCase, tenMinutes } from "../store-case.ts";

const above = tenMinutes(5);
const hour: WindowLimit = { ...tenMinutes(50), buckets: 60 };
const log: LimitSpec = { kind: Kind.log, limit: 9, windowMs: 600_000 };
const inFlight: LimitSpec = { kind: Kind.concurrency, limit: 2, timeoutMs: 600_000 };
const SLOT = 7;
const LATER_MS = NOW_MS + 60_000;
const LOOK = { slot: SLOT, nowMs: LATER_MS };

type ThreeKeys = readonly [KeyRequest, KeyRequest, KeyRequest];

/** Three keys with 4, 6 and 6 units, of which the last holds a slot too: charged at `NOW_MS`. */
async function charged({ newKey, take }: Bench): Promise<ThreeKeys> {
  const keys: ThreeKeys = [
    keyRequest(newKey(), [above], { cost: 4 }),
    keyRequest(newKey(), [hour], { cost: 6 }),
    keyRequest(newKey(), [log, inFlight], { cost: 6 }),
  ];
  expect((await take(keys, { slot: SLOT, nowMs: NOW_MS })).allowed).toBe(true);
  return keys;
}

export const flags: readonly StoreCase[] = [
  {
    title: "settle a request: charge above one limit, give back under others, and release its slot",
    async run(bench) {
      const [first, second, third] = await charged(bench);
      const settled: KeyRequest[] = [
        { ...first, cost: 3 },
        { ...second, cost: 2, flag: Flag.giveBack, atMs: NOW_MS },
        { ...third, cost: 5, flag: Flag.giveBack, atMs: NOW_MS },
      ];
      const reply = await bench.take(settled, { flag: Flag.chargeAnyway, slot: SLOT, nowMs: LATER_MS });
      const refused = reply.keys.map((limits) => limits.map((limit) => limit.refused));
      expect(refused).toEqual([[true], [false], [false, false]]);
      expect(reply.allowed).toBe(false);
      expect(await bench.left([first, second, third], LOOK)).toEqual([0, 50 - 4, 9 - 1, 2]);
    },
  },
  {
    title: "give back to the instant of each key",
    async run(bench) {
      const [first, second, third] = await charged(bench);
      const keys: KeyRequest[] = [
        // Nothing was charged then.
        { ...first, cost: 4, atMs: NOW_MS - 60_000 },
        { ...second, cost: 6 },
        { ...third, cost: 6, atMs: NOW_MS + 1 },
      ];
      await bench.take(keys, { flag: Flag.giveBack, atMs: NOW_MS, slot: SLOT, nowMs: LATER_MS });
      expect(await bench.left([first, second, third], LOOK)).toEqual([1, 50, 3, 2]);
    },
  },
  {
    title: "charge together what only takes, and whatever is decided what does not",
    async run(bench) {
      const [first, second, third] = await charged(bench);
      const ask = async (look: number) => {
        const keys: KeyRequest[] = [
          { ...first, cost: look, flag: Flag.look },
          { ...second, cost: 1 },
          { ...third, cost: 1, flag: Flag.giveBack, atMs: NOW_MS },
        ];
        return (await bench.take(keys, { flag: Flag.take, slot: SLOT, nowMs: LATER_MS })).allowed;
      };
      expect(await ask(2)).toBe(false);
      expect(await bench.left([first, second, third], LOOK)).toEqual([1, 50 - 6, 9 - 5, 2]);
      expect(await ask(1)).toBe(true);
      expect(await bench.left([first, second, third], LOOK)).toEqual([1, 50 - 7, 9 - 4, 2]);
    },
  },
];

/** Policies in shadow are checked, and never block. */
export const shadow: readonly StoreCase[] = [
  {
    title: "refuse without blocking, and are refused without a charge",
    async run({ newKey, take, countOf }) {
      const [enforced, shadow] = [newKey(), newKey()];
      const ask = (limit: number, shadowLimit: number) =>
        take([keyRequest(enforced, [tenMinutes(limit)]), keyRequest(shadow, [tenMinutes(shadowLimit)], { group: 1 })]);
      const answers = [await ask(2, 1), await ask(2, 1), await ask(2, 9)];
      expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(answers[1]!.keys[1]![0]!.refused).toBe(true);
      expect([await countOf(enforced), await countOf(shadow)]).toEqual([2, 1]);
    },
  },
  {
    title: "are charged each by itself, with all its keys or none",
    async run({ newKey, take, countOf }) {
      const keys = [2, 1, 0, 2, 1].map((group, i) => {
        return keyRequest(newKey(), [tenMinutes(i === 0 ? 1 : 9)], { group, cost: 2 });
      });
      expect((await take(keys)).allowed).toBe(true);
      expect(await Promise.all(keys.map(({ key }) => countOf(key)))).toEqual([0, 2, 2, 0, 2]);
    },
  },
];

/** The largest numbers that a slot may have: they differ above their lowest 32 bits only. */
const slotOf = (n: number) => Number.MAX_SAFE_INTEGER - n * 2 ** 32;

/** Requests in flight. */
export const slots: readonly StoreCase[] = [
  {
    title: "are freed by their own timeouts while others keep the key alive, and for good when released",
    async run({ newKey, take }) {
      const limit: LimitSpec = { kind: Kind.concurrency, limit: 3, timeoutMs: 1_000 };
      const keys = [keyRequest(newKey(), [limit])];
      const ask = async (flag: Flag, slot: number, atMs: number) => {
        const reply = await take(keys, { flag, slot: slotOf(slot), nowMs: NOW_MS + atMs });
        return [reply.allowed, ...remainingOf(reply, keys)];
      };
      for (const slot of [1, 2, 3]) expect(await ask(Flag.take, slot, 0)).toEqual([true, 3 - slot]);
      for (const atMs of [500, 900]) {
        for (const slot of [2, 3]) await ask(Flag.chargeAnyway, slot, atMs);
      }
      expect(await ask(Flag.take, 4, 999)).toEqual([false, 0]);
      expect(await ask(Flag.take, 5, 1_000)).toEqual([true, 0]);
      expect(await ask(Flag.take, 6, 1_899)).toEqual([false, 0]);
      expect(await ask(Flag.giveBack, 2, 1_899)).toEqual([true, 1]);
      // A request that was lost has no slot to give back.
      expect(await ask(Flag.giveBack, 1, 1_899)).toEqual([true, 1]);
      expect(await ask(Flag.look, 7, 1_900)).toEqual([true, 2]);
      expect(await ask(Flag.look, 7, 2_000)).toEqual([true, 3]);
    },
  },
  {
    title: "are given to no more requests than the limit, and are all free when all are released",
    async run({ newKey, take, left }) {
      const keys = [keyRequest(newKey(), [{ kind: Kind.concurrency, limit: 200, timeoutMs: 600_000 }])];
      const ask = (flag: Flag) =>
        Promise.all(Array.from({ length: 250 }, (_, i) => take(keys, { flag, slot: slotOf(i) })));
      expect((await ask(Flag.take)).filter(({ allowed }) => allowed)).toHaveLength(200);
      await ask(Flag.giveBack);
      expect(await left(keys, { slot: 1 })).toEqual([200]);
    },
  },
];
