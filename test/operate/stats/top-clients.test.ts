// The clients with most refusals, in bounded memory.

import fc from "fast-check";
import { expect, it } from "vitest";
import { TopClients } from "../../../src/operate/stats/tally.ts";
import { draws } from "../../support/cases/draws.ts";

it("counts exactly while there are at most 64 clients, the most refused first", () => {
  const top = new TopClients();
  for (let client = 1; client <= 64; client++) for (let i = 0; i < client; i++) top.add(`c${client}`);
  expect(top.list()).toEqual(Array.from({ length: 64 }, (_, i) => [`c${64 - i}`, 64 - i, 0]));
});

it("names the bounds of each true count, and every client above 1/64 of all refusals", () => {
  const refusals = fc.array(fc.tuple(fc.nat(120), fc.integer({ min: 1, max: 9 })), { maxLength: 400, size: "max" });
  fc.assert(
    fc.property(refusals, (all) => {
      const top = new TopClients();
      const truth = new Map<string, number>();
      let sum = 0;
      for (const [client, refused] of all) {
        top.add(`c${client}`, refused);
        truth.set(`c${client}`, (truth.get(`c${client}`) ?? 0) + refused);
        sum += refused;
      }
      const list = top.list();
      expect(list.length).toBe(Math.min(64, truth.size));
      expect(list.reduce((total, [, refused]) => total + refused, 0)).toBe(sum);
      for (const [key, refused, excess] of list) {
        expect(truth.get(key)!).toBeLessThanOrEqual(refused);
        expect(truth.get(key)!).toBeGreaterThanOrEqual(refused - excess);
      }
      const listed = new Set(list.map(([key]) => key));
      for (const [key, refused] of truth) if (refused > sum / 64) expect(listed).toContain(key);
    }),
    // To find a smaller case takes minutes.
    { ...draws(100), endOnFailure: true },
  );
});
