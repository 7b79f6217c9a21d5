// Where a key counts: the same in every process, evenly spread, and moved by 1/n when a place is added.

import { expect, it } from "vitest";
import { rendezvous } from "../../../src/stores/rendezvous.ts";

const keys = Array.from({ length: 20_000 }, (_, i) => `hg:2:{api:${i.toString(36)}}`);

it("puts keys where every other process puts them", () => {
  // The formula is part of the stored format: these may not change. They were computed apart, in Python.
  const placeOf = rendezvous(["a", "b", "c"]);
  expect(keys.slice(0, 24).map(placeOf).join("")).toBe("021110000021102220002001");
  expect(placeOf("hg:2:{login:NTQkC_THbTYbSrPHfiyuUw}")).toBe(1);
});

it("counts all keys of one policy and client in one place", () => {
  const placeOf = rendezvous(["a", "b", "c", "d", "e"]);
  for (const key of keys.slice(0, 1_000)) {
    expect([`${key}:eu`, `${key}:us`, `${key}#6:60000`, `x:${key}`].map(placeOf)).toEqual(
      new Array(4).fill(placeOf(key)),
    );
  }
});

it("takes the whole key where there is no tag", () => {
  const placeOf = rendezvous(["a", "b", "c", "d"]);
  expect(placeOf("one{two")).toBe(placeOf("x{one{two}"));
  expect(new Set(["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"].map(placeOf)).size).toBeGreaterThan(1);
});

it.each([1, 2, 4, 9])("a place beside %i others takes over its part, and nothing else moves", (before) => {
  const names = Array.from({ length: before + 1 }, (_, i) => `node-${i}`);
  const [few, many] = [rendezvous(names.slice(0, before)), rendezvous(names)];
  const moved = keys.filter((key) => few(key) !== many(key));
  expect(moved.every((key) => many(key) === before)).toBe(true);
  // 1/n, give or take 5 standard deviations.
  const part = 1 / (before + 1);
  expect(Math.abs(moved.length - keys.length * part)).toBeLessThan(5 * Math.sqrt(keys.length * part * (1 - part)));
});

it("refuses an empty list and a name twice", () => {
  expect(() => rendezvous([])).toThrow("at least one name");
  expect(() => rendezvous(["a", "b", "a"])).toThrow("the same name twice");
});
