/** What is stored may be damaged: by a faulty disk, a person, or another program. */

import { expect } from "vitest";
import { isConcurrency } from "../../kernel/core/concurrency.ts";
import { Flag, keysOfRequest } from "../../kernel/core/take.ts";
import { type Bench, everyKind, keyRequest, NOW_MS, remainingOf, type StoreCase } from "../store-case.ts";

type Damage = (text: string) => string;

/** Texts that are no value of any algorithm. */
const NO_VALUES: readonly string[] = [
  ...["", "hello", "7", "-1", "true", "null", '"x"', "[]", "{}", "[null]", "[7]", '["x"]', "[[]]", "[{}]"],
  ...['[{"kind":1}]', '[{"kind":7}]', '[{"kind":"constructor"}]', '[{"kind":1,"bucketMs":60000,"buckets":10}]'],
  ...['{"slots":7}', '{"slots":[7]}', '{"slots":[[1]]}', '{"slots":[["1",2]]}'],
  ...['[{"atMs":1}]', '[{"cost":1,"atMs":"1"}]', '{"newest":7}'],
  ...['{"from":0,"chunks":0,"gone":0,"newest":[1]}', '{"from":0,"chunks":1000000000,"gone":0,"newest":[]}'],
];

/** Changes after which a value may still be one. */
const CHANGES: readonly Damage[] = [
  (text) => text.slice(0, text.length / 2),
  (text) => text + text,
  ...["-1", "0.5", "null", '"1"', "1e300", "9007199254740991", "[]", "0"].map((other): Damage => {
    return (text) => text.replaceAll(/\d+/g, other);
  }),
];

const limits = Object.values(everyKind(5));

/** Keys of every algorithm, with 2 of 5 units charged: a slot is one unit, whatever the cost. */
async function charged({ newKey, take }: Bench) {
  const keys = limits.map((limit) => keyRequest(newKey(), [limit], { cost: 2 }));
  expect(await take(keys, { nowMs: NOW_MS, slot: 1 })).toMatchObject({ allowed: true });
  return keys;
}

const NOTHING_COUNTED = limits.map(() => 5);
/** What is left after a charge. */
const CHARGED = limits.map((limit) => (isConcurrency(limit) ? 4 : 3));

export const damage: readonly StoreCase[] = [
  {
    title: "counts as nothing stored, and the next charge replaces it",
    needs: "damage",
    async run(bench) {
      for (const text of NO_VALUES) {
        const keys = await charged(bench);
        for (const key of keysOfRequest({ keys, flag: Flag.take })) await bench.damage(key, () => text);
        const asked = { nowMs: NOW_MS, slot: 2 };
        expect([text, await bench.left(keys, asked)]).toEqual([text, NOTHING_COUNTED]);
        await bench.take(keys, asked);
        expect([text, await bench.left(keys, asked)]).toEqual([text, CHARGED]);
      }
    },
  },
  {
    title: "of one key says nothing about the other keys of a take",
    needs: "damage",
    async run(bench) {
      const [damaged, others] = [await charged(bench), await charged(bench)];
      for (const key of keysOfRequest({ keys: damaged, flag: Flag.take })) await bench.damage(key, () => "hello");
      const both = await bench.left([...others, ...damaged], { nowMs: NOW_MS, slot: 2 });
      expect(both).toEqual([...CHARGED, ...NOTHING_COUNTED]);
    },
  },
  {
    title: "of any kind gets an answer, under every flag, and is gone after a reset",
    needs: "damage",
    async run(bench) {
      for (const change of CHANGES) {
        const keys = await charged(bench);
        const stored = keysOfRequest({ keys, flag: Flag.take });
        for (const flag of [Flag.look, Flag.take, Flag.giveBack, Flag.chargeAnyway]) {
          for (const key of stored) await bench.damage(key, change);
          const reply = await bench.take(keys, { flag, nowMs: NOW_MS, atMs: NOW_MS, slot: 2 });
          for (const left of remainingOf(reply, keys))
            expect(left).toSatisfy((n) => Number.isSafeInteger(n) && n >= 0 && n <= 5);
        }
        await bench.store.reset(stored);
        expect(await bench.left(keys, { nowMs: NOW_MS, slot: 2 })).toEqual(NOTHING_COUNTED);
      }
    },
  },
];
