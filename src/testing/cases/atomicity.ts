/** Takes that run at once. */

import { expect } from "vitest";
import { Flag, type KeyRequest, type TakeReply } from "../../kernel/core/take.ts";
import { everyKind, keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

const allowedOf = (replies: readonly TakeReply[]) => replies.filter(({ allowed }) => allowed);
const times = <T>(count: number, ask: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(i)));

export const atomicity: readonly StoreCase[] = [
  {
    title: "admits exactly 100 of 400 takes at once under a limit of 100, through two stores made alike",
    async run({ store, elsewhere, newKey, countOf }) {
      const key = newKey();
      const request = { keys: [keyRequest(key, [tenMinutes(100)])], flag: Flag.take };
      const replies = await times(400, (i) => (i % 2 ? store : elsewhere).take(request));
      expect(allowedOf(replies)).toHaveLength(100);
      expect(await countOf(key)).toBe(100);
    },
  },
  {
    title: "admits exactly the limit of every algorithm, whoever asks at once",
    async run({ newKey, take, left }) {
      for (const limit of Object.values(everyKind(20))) {
        const keys = [keyRequest(newKey(), [limit])];
        const replies = await times(50, (i) => take(keys, { nowMs: NOW_MS, slot: i + 1 }));
        expect(allowedOf(replies)).toHaveLength(20);
        expect(await left(keys, { nowMs: NOW_MS, slot: 99 })).toEqual([0]);
      }
    },
  },
  {
    title: "charges two keys together or neither, whoever else charges one of them",
    async run({ newKey, take, countOf }) {
      const [own, shared] = [newKey(), newKey()];
      const both = () => take([keyRequest(own, [tenMinutes(1000)]), keyRequest(shared, [tenMinutes(60)])]);
      const one = () => take([keyRequest(shared, [tenMinutes(60)])]);
      const replies = await times(100, (i) => (i % 2 ? one() : both()));
      expect(allowedOf(replies)).toHaveLength(60);
      const allowedBoth = allowedOf(replies).filter(({ keys }) => keys.length === 2);
      expect(await countOf(own)).toBe(allowedBoth.length);
      expect(await countOf(shared)).toBe(60);
    },
  },
  {
    title: "answers takes at once that name the same keys in opposite orders",
    async run({ newKey, take, countOf }) {
      const keys: readonly KeyRequest[] = [newKey(), newKey()].map((key) => keyRequest(key, [tenMinutes(30)]));
      const replies = await times(60, (i) => take(i % 2 ? keys : keys.toReversed()));
      expect(allowedOf(replies)).toHaveLength(30);
      for (const { key } of keys) expect(await countOf(key)).toBe(30);
    },
  },
  {
    title: "shares counts with a store made alike",
    needs: "sharing",
    async run({ elsewhere, newKey, take }) {
      const keys = [keyRequest(newKey(), [tenMinutes(5)], { cost: 3 })];
      await take(keys);
      expect((await elsewhere.take({ keys, flag: Flag.take })).allowed).toBe(false);
    },
  },
];
