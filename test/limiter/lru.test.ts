import fc from "fast-check";
import { expect, it } from "vitest";
import { Lru } from "../../src/lru.ts";

it("holds what was set, until it is deleted or cleared", () => {
  const lru = new Lru<string, number>({ maxSize: 2 });
  lru.set("a", 1);
  lru.set("a", 2);
  expect(lru.get("a")).toBe(2);
  lru.delete("a");
  expect(lru.get("a")).toBeUndefined();
  lru.set("b", 3);
  lru.clear();
  expect(lru.get("b")).toBeUndefined();
});

it("remembers the last maxSize keys used, and no more than twice as many", () => {
  const operation = fc.record({ key: fc.nat(30), isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(operation, { maxLength: 200 }), (maxSize, operations) => {
      const lru = new Lru<number, number>({ maxSize });
      // Least recently used first.
      const used = new Map<number, number>();
      for (const [value, { key, isSet }] of operations.entries()) {
        if (isSet) lru.set(key, value);
        else if (lru.get(key) === undefined) {
          // Of the keys used last none may be missing.
          expect([...used.keys()].slice(-maxSize + 1 || used.size)).not.toContain(key);
          continue;
        }
        const latest = isSet ? value : used.get(key)!;
        expect(lru.get(key)).toBe(latest);
        used.delete(key);
        used.set(key, latest);
      }
      const held = Array.from({ length: 31 }, (_, key) => key).filter((key) => lru.get(key) !== undefined);
      expect(held.length).toBeLessThanOrEqual(2 * maxSize);
    }),
  );
});
