import fc from "fast-check";
import { expect, it } from "vitest";
import { BoundedMap } from "../../src/kernel/bounded-map.ts";
import { draws } from "../support/cases/draws.ts";

it("holds what was set, until it is deleted", () => {
  const lru = new BoundedMap<string, number>({ maxSize: 2 });
  lru.set("a", 1);
  lru.set("a", 2);
  expect(lru.get("a")).toBe(2);
  lru.delete("a");
  expect(lru.get("a")).toBeUndefined();
});

it("remembers the last maxSize keys used, and no more than twice as many", () => {
  const operation = fc.record({ key: fc.nat(9), isSet: fc.boolean() });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(operation, { maxLength: 200, size: "max" }),
      (maxSize, operations) => {
        const lru = new BoundedMap<number, number>({ maxSize });
        // The model of the map. Least recently used keys come first.
        const used = new Map<number, number>();
        for (const [value, { key, isSet }] of operations.entries()) {
          if (isSet) lru.set(key, value);
          else if (lru.get(key) === undefined) {
            // The map must hold the keys that were used last.
            expect([...used.keys()].slice(-maxSize)).not.toContain(key);
            continue;
          }
          const latest = isSet ? value : used.get(key)!;
          expect(lru.get(key)).toBe(latest);
          used.delete(key);
          used.set(key, latest);
        }
        const held = Array.from({ length: 10 }, (_, key) => key).filter((key) => lru.get(key) !== undefined);
        expect(held.length).toBeLessThanOrEqual(2 * maxSize);
      },
    ),
    draws(100),
  );
});

it("with weights, remembers what was used last up to maxSize, and holds at most twice that and one more", () => {
  // A key always has the same weight here. A key that was heavier before may have pushed others out.
  const weights = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 13, maxLength: 13 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      weights,
      fc.array(fc.nat(12), { maxLength: 60, size: "max" }),
      (maxSize, of, keys) => {
        const sets = keys.map((key) => ({ key, weight: of[key]! }));
        // A new map for each key, because looking for a key moves it.
        const held = new Map<number, number>();
        for (let key = 0; key <= 12; key++) {
          const lru = new BoundedMap<number, number>({ maxSize, weigh: (weight) => weight });
          for (const one of sets) lru.set(one.key, one.weight);
          const weight = lru.get(key);
          if (weight !== undefined) held.set(key, weight);
        }
        const total = [...held.values()].reduce((sum, weight) => sum + weight, 0);
        expect(total).toBeLessThan(2 * maxSize + 9);

        const last = new Map<number, number>();
        let sum = 0;
        for (const { key, weight } of sets.toReversed()) {
          if (last.has(key)) continue;
          sum += weight;
          if (last.size > 0 && sum > maxSize) break;
          last.set(key, weight);
        }
        for (const [key, weight] of last) expect([key, held.get(key)]).toEqual([key, weight]);
      },
    ),
    draws(100),
  );
});
