// Histories over several places that are known to keep the promise, and known to break it.

import { expect, it } from "vitest";
import { checkHistory } from "../../../scripts/verify/histories/check.ts";
import type { CountedPolicy, Operation } from "../../../scripts/verify/histories/history.ts";
import { checkPlaces } from "../../../scripts/verify/histories/several-places.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { call, decide, LIMIT, look, settle, severalPlaces, type Told } from "./by-hand.ts";

interface Written {
  readonly operations: readonly Operation[];
  readonly onStoreFailure?: CountedPolicy["onStoreFailure"];
}

const of = (key: string, units: number) => ({ of: { [key]: units }, isolate: 0, place: `place of ${key}` });

/** A decision over `a` alone, and its call. */
function took(decision: number, at: number, units: number, told: Told): Operation[] {
  const by = typeof told === "number" ? {} : { by: "a" };
  return [decide(decision, [at, at + 8], units, by), call([at + 1, at + 7], [told], { ...of("a", units), decision })];
}

/** Decision 1 gets units of `a`, which go back because `b` refuses. */
const REFUSED_ELSEWHERE: readonly Operation[] = [
  call([0, 5], [LIMIT], { ...of("b", LIMIT), decision: 0 }),
  decide(0, [0, 6], LIMIT, {}, ["b"]),
  decide(1, [10, 20], 3, { by: "b" }, ["a", "b"]),
  call([11, 19], [3], { ...of("a", 3), decision: 1 }),
  call([11, 18], [{ refuses: LIMIT }], { ...of("b", 3), decision: 1 }),
];
const givenBack = (from: number, to: number, count = 0) =>
  call([from, to], [count], { ...of("a", 3), decision: 1, flag: Flag.giveBack });

const GOOD: Readonly<Record<string, Written>> = {
  "the limit is used up, and the next is refused": {
    operations: [...took(1, 0, LIMIT, LIMIT), ...took(2, 20, 1, { refuses: LIMIT })],
  },
  "units on their way back keep another request out": {
    operations: [...REFUSED_ELSEWHERE, ...took(2, 30, 3, { refuses: 3 }), givenBack(50, 60)],
  },
  "a refusal is remembered for less than a second": {
    operations: [
      ...took(1, 0, LIMIT, LIMIT),
      ...took(2, 20, 1, { refuses: LIMIT }),
      settle(1, [40, 60], 0),
      call([41, 59], [0], { ...of("a", LIMIT), decision: 1, flag: Flag.giveBack }),
      decide(3, [900, 901], 1, { by: "a" }),
    ],
  },
  "what is settled is free for others": {
    operations: [
      ...took(1, 0, LIMIT, LIMIT),
      settle(1, [20, 40], 2),
      call([21, 39], [2], { ...of("a", LIMIT - 2), decision: 1, flag: Flag.giveBack }),
      ...took(2, 50, 3, LIMIT),
      look([70, 80], { refuses: LIMIT }, { of: { a: 1 }, place: "place of a" }),
    ],
  },
  "a call without an answer may have taken the last units": {
    operations: [
      call([0], [], { ...of("a", LIMIT), decision: 1 }),
      decide(1, [0, 10], LIMIT, { unavailable: true }),
      ...took(2, 20, 1, { refuses: LIMIT }),
    ],
  },
  "what was not given back for want of an answer stays charged": {
    operations: [
      ...REFUSED_ELSEWHERE,
      call([50], [], { ...of("a", 3), decision: 1, flag: Flag.giveBack }),
      look([80, 90], 3, { of: { a: 1 }, place: "place of a" }),
    ],
  },
  "an isolate alone counts what was used beyond a reservation": {
    onStoreFailure: "local",
    operations: [
      call([0], [], { ...of("a", 2), decision: 1, untilMs: 1 }),
      decide(1, [0, 10], 2, { silent: ["a"] }),
      settle(1, [20, 21], 3),
      decide(2, [30, 31], 1, { by: "a" }),
    ],
  },
  "nobody decides over a key whose place was never called": {
    operations: [...took(1, 0, 1, 1), decide(2, [20, 21], 1, { unavailable: true }, ["a", "b"])],
  },
  "an isolate alone admits one limit more under local": {
    onStoreFailure: "local",
    operations: [
      ...took(1, 0, LIMIT, LIMIT),
      call([20], [], { ...of("a", LIMIT), decision: 2 }),
      decide(2, [20, 30], LIMIT, { silent: ["a"] }),
    ],
  },
};

const BAD: Readonly<Record<string, Written>> = {
  "more is admitted than the limit": { operations: [...took(1, 0, 3, 3), ...took(2, 20, 3, 3)] },
  "nothing explains a refusal": { operations: [...took(1, 0, 2, 2), ...took(2, 20, 1, { refuses: 2 })] },
  "a refusal from memory after the units have been back for more than a second": {
    operations: [...REFUSED_ELSEWHERE, givenBack(50, 60), decide(2, [1_200, 1_201], 3, { by: "a" })],
  },
  "a unit is returned twice": {
    operations: [
      ...REFUSED_ELSEWHERE,
      ...took(2, 30, 2, LIMIT),
      givenBack(50, 60, 2),
      givenBack(61, 70),
      look([80, 90], 0, { of: { a: 1 }, place: "place of a" }),
    ],
  },
  "what a refused request had is never given back": {
    operations: [...REFUSED_ELSEWHERE, look([80, 90], 3, { of: { a: 1 }, place: "place of a" })],
  },
  "in the end a place holds units that nobody has charged": {
    operations: [...took(1, 0, 2, 2), look([20, 30], 4, { of: { a: 1 }, place: "place of a" })],
  },
  "a policy that denies is admitted without its place": {
    operations: [call([0], [], { ...of("a", 1), decision: 1 }), decide(1, [0, 10], 1, { silent: ["a"] })],
  },
  "an isolate alone, although its place answers": {
    onStoreFailure: "local",
    operations: [...took(1, 0, 1, 1), decide(2, [20, 21], 1, { silent: ["a"] })],
  },
  "nobody decides, although the place answers": {
    operations: [...took(1, 0, 1, 1), decide(2, [20, 21], 1, { unavailable: true })],
  },
  "an isolate alone admits two limits": {
    onStoreFailure: "local",
    operations: [
      call([0], [], { ...of("a", LIMIT), decision: 1 }),
      decide(1, [0, 10], LIMIT, { silent: ["a"] }),
      decide(2, [20, 30], 1, { silent: ["a"] }),
    ],
  },
};

it.each(Object.keys(GOOD))("accepts: %s", (name) => {
  const { operations, onStoreFailure } = GOOD[name]!;
  expect(checkHistory(severalPlaces(operations, onStoreFailure)).violations).toEqual([]);
});

it.each(Object.keys(BAD))("refuses: %s", (name) => {
  const { operations, onStoreFailure } = BAD[name]!;
  expect(checkPlaces(severalPlaces(operations, onStoreFailure)).violations).toHaveLength(1);
});

it("says which refusals the admitted requests explain, and which only units on their way back", () => {
  const { operations } = GOOD["units on their way back keep another request out"]!;
  expect(checkPlaces(severalPlaces(operations))).toMatchObject({
    refusedByCounts: 1,
    refusedByReturning: 1,
    admitted: 1,
  });
});

it("tells who holds too much", () => {
  const { operations } = BAD["more is admitted than the limit"]!;
  expect(checkPlaces(severalPlaces(operations)).violations[0]!.split("\n")).toEqual([
    "a (a): at 28.003 ms admitted requests hold 6 units of 5",
    "  3 by decision 1 of process 0 in isolate 0 asks for 3 of a (0.002 ms to 8.003 ms): admitted",
    "  3 by decision 2 of process 0 in isolate 0 asks for 3 of a (20.002 ms to 28.003 ms): admitted",
  ]);
});
