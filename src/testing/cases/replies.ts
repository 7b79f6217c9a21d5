/** What a store tells of itself and in its replies; what keys may be, and how they are forgotten. */

import { expect } from "vitest";
import { Kind } from "../../kernel/core/layout.ts";
import { Flag, keysOfRequest } from "../../kernel/core/take.ts";
import type { WindowLimit } from "../../kernel/core/window.ts";
import { everyKind, keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

export const replies: readonly StoreCase[] = [
  {
    title:
      "come from a store that says its kind, a secret for hashing keys, a time budget or none, and nothing to a ping",
    async run({ store }) {
      const { kind, keySecret, timeoutMs = 1 } = store;
      expect(await store.ping()).toBeUndefined();
      expect(kind).toEqual(expect.stringMatching(/./));
      expect(["cache", "lease", "shared", "fallback", "live"]).not.toContain(kind);
      expect(keySecret).toEqual(expect.stringMatching(/./));
      expect(timeoutMs).toSatisfy(Number.isSafeInteger);
      expect(timeoutMs).toBeGreaterThan(0);
    },
  },
  {
    title: "have each key and limit in the order of the request",
    async run({ newKey, take, countOf }) {
      const second: WindowLimit = { limit: 1, kind: Kind.whole, bucketMs: 500, buckets: 2 };
      // Neither from the least to the greatest nor backwards: no order that a store may have of its own.
      const [a, b, c] = [newKey(), newKey(), newKey()].sort();
      const keys = [
        keyRequest(b!, [second]),
        keyRequest(c!, [tenMinutes(9), second], { cost: 2 }),
        keyRequest(a!, [tenMinutes(7)]),
      ];
      const reply = await take(keys, { nowMs: NOW_MS });
      const nothing = ({ kind, bucketMs, buckets }: WindowLimit, refused = false) => {
        const counts = new Array(buckets + 1).fill(0);
        return { refused, view: { kind, bucketMs, buckets, newest: Math.floor(NOW_MS / bucketMs), counts } };
      };
      const expected = [[nothing(second)], [nothing(tenMinutes(9)), nothing(second, true)], [nothing(tenMinutes(7))]];
      expect(reply).toEqual({ nowMs: NOW_MS, allowed: false, keys: expected, charged: [] });
      expect(await countOf(c!, tenMinutes(9), NOW_MS)).toBe(0);
    },
  },
  {
    title: "are not changed later, and neither is a request",
    async run({ newKey, take }) {
      const names = [newKey(), newKey()].sort().reverse();
      const keys = names.map((key) => keyRequest(key, [tenMinutes(5)]));
      const request = structuredClone(keys);
      const first = await take(keys);
      const copy = structuredClone(first);
      await take(keys);
      expect(first).toEqual(copy);
      expect(keys).toEqual(request);
    },
  },
];

/** Endings that some database, or some way to ask one, mixes up or cannot store. */
const ENDINGS: readonly string[] = [
  ...["", " ", "a", "A", "a ", "ä", "a\u0308", "%", "_", "*", "?", "[a]", "{a}:eu", "#5:1"],
  ...["'", "''", '"', "`", "\\", "\\'", "$1", "--", ";", "/../", "\u{1f511}", "ключ", "__proto__"],
];
/** With these endings a key has 512 bytes, and is another key than with the other. */
const LONG = ["x", "y"].map((end) => `:${end.padStart(512 - `headgate-test:${"u".repeat(36)}:`.length, "-")}`);

export const keys: readonly StoreCase[] = [
  {
    title: "may have any characters and 512 bytes, and no two are mixed up",
    async run({ newKey, take, countOf }) {
      const start = newKey();
      const names = [...ENDINGS, ...LONG].map((ending) => `${start}${ending}`);
      const asked = names.map((name, i) => keyRequest(name, [tenMinutes(99)], { cost: i + 1 }));
      expect((await take(asked)).allowed).toBe(true);
      expect(await Promise.all(names.map((name) => countOf(name)))).toEqual(asked.map(({ cost }) => cost));
    },
  },
  {
    title: "of a reset are forgotten and no others, and a reset of nothing changes nothing",
    async run({ store, newKey, take, countOf }) {
      const [first, second, kept, never] = [newKey(), newKey(), newKey(), newKey()];
      for (const key of [first, second, kept]) await take([keyRequest(key, [tenMinutes(5)])]);
      await store.reset([never, first, second]);
      await store.reset([]);
      expect([await countOf(first), await countOf(second), await countOf(kept)]).toEqual([0, 0, 1]);
    },
  },
  {
    title: "of limits that have their own are forgotten by a reset too",
    async run({ store, newKey, take, left }) {
      const limits = Object.values(everyKind(5));
      const keys = [keyRequest(newKey(), limits)];
      const asked = { nowMs: NOW_MS, slot: 1 };
      await take(keys, asked);
      await store.reset(keysOfRequest({ keys, flag: Flag.take }));
      expect(await left(keys, asked)).toEqual(limits.map(() => 5));
    },
  },
];
