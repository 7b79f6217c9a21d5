/** Keys of one call that are treated differently: a request is settled with one call. */

import { expect } from "vitest";
import type { LimitSpec } from "../../core/algorithms.ts";
import { Kind } from "../../core/layout.ts";
import type { WindowLimit } from "../../core/sliding-window.ts";
import { Flag, type KeyRequest } from "../../core/take.ts";
import { type Bench, keyRequest, NOW_MS, remainingOf, type StoreCase, tenMinutes } from "../store-case.ts";

const above = tenMinutes(5);
const hour: WindowLimit = { ...tenMinutes(50), buckets: 60 };
const log: LimitSpec = { kind: Kind.log, limit: 9, windowMs: 600_000 };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 2, timeoutMs: 600_000 };
const SLOT = 7;
const LATER_MS = NOW_MS + 60_000;

type ThreeKeys = readonly [KeyRequest, KeyRequest, KeyRequest];

/** Three keys with 4, 6 and 6 units, of which the last holds a slot too: charged at `NOW_MS`. */
async function charged({ newKey, take }: Bench): Promise<ThreeKeys> {
  const keys: ThreeKeys = [
    keyRequest(newKey(), [above], { cost: 4 }),
    keyRequest(newKey(), [hour], { cost: 6 }),
    keyRequest(newKey(), [log, slots], { cost: 6 }),
  ];
  expect((await take(keys, { slot: SLOT, nowMs: NOW_MS })).allowed).toBe(true);
  return keys;
}

/** What is left of the four limits a minute later. */
async function left({ take }: Bench, keys: readonly KeyRequest[]): Promise<number[]> {
  const looks = keys.map((key) => ({ ...key, cost: 0 }));
  return remainingOf(await take(looks, { flag: Flag.look, slot: SLOT, nowMs: LATER_MS }), keys);
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
      expect(await left(bench, [first, second, third])).toEqual([0, 50 - 4, 9 - 1, 2]);
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
      expect(await left(bench, [first, second, third])).toEqual([1, 50, 3, 2]);
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
      expect(await left(bench, [first, second, third])).toEqual([1, 50 - 6, 9 - 5, 2]);
      expect(await ask(1)).toBe(true);
      expect(await left(bench, [first, second, third])).toEqual([1, 50 - 7, 9 - 4, 2]);
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
