/** What keys may be, and how they are forgotten. */

import { expect } from "vitest";
import { Flag, keysOfRequest } from "../../core/take.ts";
import { everyKind, keyRequest, NOW_MS, remainingOf, type StoreCase, tenMinutes } from "../store-case.ts";

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
    async run({ store, newKey, take }) {
      const limits = Object.values(everyKind(5));
      const keys = [keyRequest(newKey(), limits)];
      const asked = { nowMs: NOW_MS, slot: 1 };
      await take(keys, asked);
      await store.reset(keysOfRequest({ keys, flag: Flag.take }));
      expect(remainingOf(await take(keys, { ...asked, flag: Flag.look }), keys)).toEqual(limits.map(() => 5));
    },
  },
];
