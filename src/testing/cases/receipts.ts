/** What a reply says that it has charged: enough to give all of it back, or a part. */

import { expect } from "vitest";
import type { LimitSpec } from "../../kernel/core/algorithms.ts";
import { Flag, Kind } from "../../kernel/core/layout.ts";
import type { KeyRequest, Receipt, TakeReply } from "../../kernel/core/take.ts";
import { everyKind, keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

/** What is charged under a key, in the words of its request. */
function receipt({ key, group, cost, limits }: KeyRequest, once?: Receipt["once"]): Receipt {
  const charged = { key, group, cost, limits, atMs: NOW_MS };
  return once ? { ...charged, once } : charged;
}

function chargedBy({ charged }: TakeReply): readonly Receipt[] {
  expect(charged, "a reply says what it has charged: `charged`, a receipt for each key").toBeInstanceOf(Array);
  return charged;
}

export const receipts: readonly StoreCase[] = [
  {
    title: "have a receipt for each key that was charged, and none for a policy in shadow that refused",
    async run({ newKey, take }) {
      const paid = keyRequest(newKey(), [tenMinutes(5), { ...tenMinutes(9), buckets: 5 }], { cost: 2 });
      const shadow = keyRequest(newKey(), [tenMinutes(5)], { cost: 3, group: 1 });
      const full = keyRequest(newKey(), [tenMinutes(1)], { cost: 2, group: 2 });
      const free = keyRequest(newKey(), [tenMinutes(5)], { cost: 0 });
      const reply = await take([paid, shadow, full, free], { nowMs: NOW_MS });
      expect(chargedBy(reply)).toEqual([receipt(paid), receipt(shadow), receipt(free)]);
    },
  },
  {
    title: "have no receipt after a refusal, after a peek, and after giving back",
    async run({ newKey, take }) {
      const keys = [keyRequest(newKey(), [tenMinutes(5)]), keyRequest(newKey(), [tenMinutes(1)], { cost: 2 })];
      const replies = [
        await take(keys, { nowMs: NOW_MS }),
        await take(keys.slice(0, 1), { flag: Flag.look, nowMs: NOW_MS }),
        await take(keys, { flag: Flag.giveBack, atMs: NOW_MS, nowMs: NOW_MS }),
      ];
      expect(replies.map(chargedBy)).toEqual([[], [], []]);
    },
  },
  {
    title: "have receipts that give back what was charged, all of it or a part, under every kind of limit",
    async run({ newKey, take, left }) {
      const keys = Object.values(everyKind(9)).map((limit) => keyRequest(newKey(), [limit], { cost: 3 }));
      const later = { slot: 7, nowMs: NOW_MS + 30_000 };
      const before = await left(keys, later);
      const reply = await take(keys, { slot: 7, nowMs: NOW_MS });
      const charged = chargedBy(reply);
      expect(charged.map(({ key }) => key)).toEqual(keys.map(({ key }) => key));
      for (const cost of [2, 1]) {
        const part = charged.map((one) => ({ ...one, cost }));
        await take(part, { ...later, flag: Flag.giveBack });
      }
      expect(await left(keys, later)).toEqual(before);
    },
  },
  {
    title: "have a receipt for what is charged above a limit, without the calendar periods that have ended",
    async run({ newKey, take }) {
      const calendar: LimitSpec = { kind: Kind.calendar, limit: 5, window: "day", zone: "UTC", firstDay: 1 };
      const window = tenMinutes(2);
      const atMs = NOW_MS - 2 * 86_400_000;
      const both = keyRequest(newKey(), [window, calendar], { cost: 4 });
      const ended: KeyRequest = { ...both, limits: [window, { ...calendar, atMs }] };
      const charged = [
        await take([both], { flag: Flag.chargeAnyway, nowMs: NOW_MS }),
        await take([ended], { flag: Flag.chargeAnyway, nowMs: NOW_MS }),
      ];
      expect(charged.map(chargedBy)).toEqual([[receipt(both)], [receipt({ ...both, limits: [window] })]]);
    },
  },
  {
    title: "have a receipt for a repeat, which undoes the repeat, and none of the id beyond the repeats",
    async run({ newKey, take }) {
      const once = { id: "an-id", forMs: 60_000, repeats: 1 };
      const key: KeyRequest = { ...keyRequest(newKey(), [tenMinutes(9)], { cost: 2 }), once };
      const taken = [];
      for (let i = 0; i < 3; i++) taken.push(chargedBy(await take([key], { nowMs: NOW_MS })));
      expect(taken).toEqual([[receipt(key, once)], [receipt(key, { ...once, isRepeat: true })], [receipt(key)]]);
      await take(taken[1]!, { flag: Flag.giveBack, nowMs: NOW_MS });
      expect(chargedBy(await take([key], { nowMs: NOW_MS }))).toEqual([receipt(key, { ...once, isRepeat: true })]);
    },
  },
];
