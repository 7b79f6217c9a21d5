// Does the contract suite notice? Every store with a mistake must fail a case, and a store without one none.

import { describe, expect, it } from "vitest";
import type { Store } from "../../src/kernel/store/store.ts";
import { STORE_CASES } from "../../src/testing/describe-store.ts";
import { describeStore } from "../../src/testing/index.ts";
import { createBench } from "../../src/testing/store-case.ts";
import { BROKEN_STORES, CLOCK_MS, damageIn, storeOverRows } from "./broken-stores.ts";

const cases = Object.values(STORE_CASES).flat();
/** The end of a minute, which is a bucket of most cases. */
const MINUTE_END_MS = 1_700_000_040_000;
const clock = () => CLOCK_MS;

const rows = new Map();
describeStore({
  name: "a store over rows, without a mistake",
  open: async () => storeOverRows(rows),
  clock,
  damage: damageIn(rows),
});

it.each(Object.keys(BROKEN_STORES))("notices a store that %s", async (mistake) => {
  const { noticedBy, ...broken } = BROKEN_STORES[mistake]!;
  const one = cases.find(({ title }) => title === noticedBy);
  await expect(one?.run(await createBench({ ...broken, clock }))).rejects.toThrow();
});

it("has a mistake for every case but the stories, which are about the algorithms", () => {
  const noticed = new Set(Object.values(BROKEN_STORES).map(({ noticedBy }) => noticedBy));
  const others = cases.map(({ title }) => title).filter((title) => !noticed.has(title));
  expect(others.filter((title) => !title.startsWith("tells every story"))).toEqual([]);
});

it.each([1, 2, 3, 4, 5])("has no case that minds when a minute ends after its call %i", async (calls) => {
  for (const one of cases.filter(({ title }) => !title.startsWith("tells every story"))) {
    const rows = new Map();
    let asked = 0;
    const clock = () => MINUTE_END_MS - (asked > calls ? 0 : 1);
    const open = (): Store => {
      const store = storeOverRows(rows);
      const take: Store["take"] = (request, nowMs) => {
        asked++;
        return store.take(request, nowMs ?? clock());
      };
      return { ...store, take };
    };
    await one.run(await createBench({ open, clock, damage: damageIn(rows) }));
  }
});

it("removes what it has left in the store", async () => {
  const left = new Map();
  const bench = await createBench({ open: () => storeOverRows(left), clock, damage: damageIn(left) });
  for (const one of cases) await one.run(bench);
  expect(left.size).toBeGreaterThan(300);
  await bench.close();
  expect([...left.keys()]).toEqual([]);
});

describe("a store without a clock to compare with, and alone", () => {
  const ran: string[] = [];
  describeStore({
    open: () => ({ ...storeOverRows(), ping: async () => void ran.push("ping") }),
    isAlone: "each has rows of its own",
  });
  it("runs the rest", () => {
    expect(ran).toEqual(["ping"]);
  });
});
