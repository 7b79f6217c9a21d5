/** What a store tells of itself and in its replies. */

import { expect } from "vitest";
import { Kind } from "../../core/layout.ts";
import type { WindowLimit } from "../../core/sliding-window.ts";
import { keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

export const replies: readonly StoreCase[] = [
  {
    title: "come from a store that says its kind, a secret for hashing keys, and a time budget or none",
    async run({ store: { kind, keySecret, timeoutMs = 1 } }) {
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
      const told = [[nothing(second)], [nothing(tenMinutes(9)), nothing(second, true)], [nothing(tenMinutes(7))]];
      expect(reply).toEqual({ nowMs: NOW_MS, allowed: false, keys: told });
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
  {
    title: "to a ping say nothing",
    async run({ store }) {
      expect(await store.ping()).toBeUndefined();
    },
  },
];
