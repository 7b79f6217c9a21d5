// The arithmetic behind bench/results/benchmarks.md.

import { expect, it } from "vitest";
import {
  dollarsPerMillion,
  median,
  percentile,
  possibleUnits,
  retryError,
  worstWindow,
} from "../../bench/support/stats.ts";

const at = (sentAtMs: number, units = 1, doneAtMs = sentAtMs) => ({ sentAtMs, doneAtMs, units });

it("a percentile lies between neighbours in proportion, whatever the order", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(percentile([10, 0], 0.25)).toBe(2.5);
  expect(percentile([5], 0.99)).toBe(5);
  expect(percentile([], 0.5)).toBeNaN();
});

it("the worst window finds a burst on both sides of a boundary, and ends before its length is over", () => {
  const bursts = [at(0, 5), at(1_900, 5), at(2_000, 5), at(3_899, 1)];
  expect(worstWindow(bursts, 2_000)).toBe(11);
  expect(worstWindow(bursts, 1_999)).toBe(10);
  expect(worstWindow(bursts, 50)).toBe(5);
  expect(worstWindow([], 50)).toBe(0);
});

it("the worst window counts only what was sent and answered in it: a late answer proves nothing", () => {
  expect(worstWindow([at(0), at(90, 1, 120)], 100)).toBe(1);
  expect(worstWindow([at(0), at(90, 1, 99)], 100)).toBe(2);
});

it("possible units count whatever may lie between the instants", () => {
  const some = [at(0, 1, 10), at(20, 2, 30), at(40, 4, 50)];
  expect(possibleUnits(some, 10, 40)).toBe(7);
  expect(possibleUnits(some, 11, 39)).toBe(2);
});

it("a promised wait is too short if a client that kept it was refused, too long if an earlier request was admitted", () => {
  const copy = (part: number, admitted: boolean) => ({ promisedAfterMs: 100, askedAfterMs: 100 * part, admitted });
  expect(retryError([copy(0.5, false), copy(0.9, false), copy(1, true)])).toEqual({ early: 0, late: 0 });
  expect(retryError([copy(0.5, false), copy(1, false), copy(1.1, true)])).toEqual({ early: 0.5, late: 0 });
  expect(retryError([copy(0.2, false), copy(0.4, true), copy(0.8, true), copy(1, true)])).toEqual({
    early: 0,
    late: 0.6,
  });
  // The admission at 0.2 does not count, because the copy at 0.5 was refused: all copies from 0.75 on were admitted.
  expect(retryError([copy(0.2, true), copy(0.5, false), copy(0.75, true), copy(1, true)])).toEqual({
    early: 0,
    late: 0.25,
  });
});

it("a million requests cost their requests and commands", () => {
  const prices = { perCommand: 0.2 / 100_000, perRequest: 0.3 / 1e6 };
  expect(dollarsPerMillion(prices, 4)).toBeCloseTo(8.3, 9);
  expect(dollarsPerMillion(prices, 0)).toBeCloseTo(0.3, 9);
});
