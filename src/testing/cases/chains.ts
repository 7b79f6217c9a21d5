/** Chains of policies: one link of each is charged. */

import { expect } from "vitest";
import { linkGroup } from "../../core/chain.ts";
import { Flag } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import { keyRequest } from "../requests.ts";
import { NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

export const chains: readonly StoreCase[] = [
  {
    title: "charge the first link that admits and no other, and refuse when every link refuses",
    async run({ newKey, take, countOf }) {
      const [site, ...links] = [newKey(), newKey(), newKey(), newKey()];
      const keys = [
        keyRequest(site, [tenMinutes(9)]),
        ...links.map((key, link) => keyRequest(key, [tenMinutes(link + 1)], { group: linkGroup(0, link) })),
      ];
      const counts = async () => Promise.all([site, ...links].map((key) => countOf(key)));
      const held: number[][] = [];
      for (let i = 0; i < 7; i++) {
        expect((await take(keys)).allowed).toBe(i < 6);
        expect((await take(keys, { flag: Flag.look })).allowed).toBe(i < 5);
        held.push(await counts());
      }
      expect(held).toEqual([
        ...[
          [1, 1, 0, 0],
          [2, 1, 1, 0],
          [3, 1, 2, 0],
          [4, 1, 2, 1],
          [5, 1, 2, 2],
          [6, 1, 2, 3],
        ],
        [6, 1, 2, 3],
      ]);
    },
  },
  {
    title: "are not charged when another policy or another chain refuses, and a link is charged with all its keys",
    async run({ newKey, take, countOf }) {
      const [full, ...names] = Array.from({ length: 6 }, () => newKey()) as [string, ...string[]];
      const at = (k: number, limit: number, chain: number, link: number): KeyRequest =>
        keyRequest(names[k]!, [tenMinutes(limit)], { group: linkGroup(chain, link), cost: 2 });
      // The second link has two keys, of which one refuses. The third pays.
      const first = [at(0, 1, 0, 0), at(1, 9, 0, 1), at(2, 1, 0, 1), at(3, 9, 0, 2)];
      const counts = () => Promise.all(names.map((name) => countOf(name)));
      const refused = [
        await take([...first, at(4, 1, 1, 0)]),
        await take([...first, keyRequest(full, [tenMinutes(1)], { cost: 2 })]),
      ];
      expect(refused.map(({ allowed }) => allowed)).toEqual([false, false]);
      expect(await counts()).toEqual([0, 0, 0, 0, 0]);
      expect((await take([...first, at(4, 9, 1, 0)])).allowed).toBe(true);
      expect(await counts()).toEqual([0, 0, 0, 2, 2]);
    },
  },
  {
    title: "keep the repeats of a request with the link that was charged",
    async run({ newKey, take, countOf }) {
      const once = { id: "an-id", forMs: 60_000, repeats: 2 };
      const links = [newKey(), newKey()];
      const ask = async (limit: number) => {
        const keys = links.map((key, link): KeyRequest => {
          return { ...keyRequest(key, [tenMinutes(link === 0 ? limit : 9)], { group: linkGroup(0, link) }), once };
        });
        return (await take(keys, { nowMs: NOW_MS })).allowed;
      };
      await take([keyRequest(links[0]!, [tenMinutes(1)])], { nowMs: NOW_MS });
      expect([await ask(1), await ask(9), await ask(1)]).toEqual([true, true, true]);
      const counts = await Promise.all(links.map((key) => countOf(key, tenMinutes(1), NOW_MS)));
      expect(counts).toEqual([1, 1]);
    },
  },
];
