/** Policies in shadow: they are checked, and never block. */

import { expect } from "vitest";
import { keyRequest } from "../requests.ts";
import { type StoreCase, tenMinutes } from "../store-case.ts";

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
      const asked = [
        { limit: 1, group: 2 },
        { limit: 9, group: 1 },
        { limit: 9, group: 0 },
        { limit: 9, group: 2 },
        { limit: 9, group: 1 },
      ];
      const keys = asked.map(({ limit, group }) => keyRequest(newKey(), [tenMinutes(limit)], { group, cost: 2 }));
      expect((await take(keys)).allowed).toBe(true);
      expect(await Promise.all(keys.map(({ key }) => countOf(key)))).toEqual([0, 2, 2, 0, 2]);
    },
  },
];
