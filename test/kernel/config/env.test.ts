import { afterEach, expect, it, vi } from "vitest";
import { membersOf, onceForEqual, textsAndNumbersOf } from "../../../src/kernel/config/env.ts";

afterEach(() => vi.restoreAllMocks());

/** Makes a list with the number of the call. */
function counted(members = textsAndNumbersOf) {
  const make = vi.fn((_env: object) => [make.mock.calls.length]);
  const made = onceForEqual(members, make, "test");
  return { make, numberOf: (env: object) => made(env)[0] };
}

const throwing = () => {
  throw new Error("a getter was called");
};
const withGetter = (env: object) => Object.defineProperty(env, "G", { get: throwing, enumerable: true });
const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`NAME_${n}`, `${n}`]));

it.each<[string, object, object, number]>([
  ["equal texts and numbers", { A: "a", N: 1 }, { A: "a", N: 1 }, 1],
  ["not a number, twice", { N: Number.NaN }, { N: Number.NaN }, 1],
  ["other objects, functions and truth values", { A: "a", O: {}, F() {}, B: true }, { A: "a", O: {}, F() {} }, 1],
  ["an object without a prototype", { A: "a" }, Object.assign(Object.create(null), { A: "a" }), 1],
  ["getters, which are not called", { A: "a" }, withGetter({ A: "a" }), 1],
  ["members of a class, which are not read", {}, Object.create(withGetter({ A: "a" })), 1],
  ["thousands of texts", many, { ...many }, 1],
  ["another text", { A: "a" }, { A: "b" }, 2],
  ["a number in place of its text", { N: 1 }, { N: "1" }, 2],
  ["a text more", { A: "a" }, { A: "a", B: "b" }, 2],
  ["another name", { A: "a" }, { B: "a" }, 2],
])("objects of equal texts and numbers are one env: %s", (_what, first, second, number) => {
  const { numberOf } = counted();
  expect([numberOf(first), numberOf(second), numberOf(first)]).toEqual([1, number, 1]);
});

it("two sets by turns are made once each, also when every request brings a new object", () => {
  const { make, numberOf } = counted();
  const numbers = ["a", "b", "a", "b", "a"].map((A) => numberOf({ A, event: {} }));
  expect(numbers).toEqual([1, 2, 1, 2, 1]);
  expect(make).toHaveBeenCalledTimes(2);
});

it("the members of a known object are not read again", () => {
  const ownKeys = vi.fn((target: object) => Reflect.ownKeys(target));
  const env = new Proxy({ A: "a" }, { ownKeys });
  const { numberOf } = counted();
  for (let n = 0; n < 1_000; n++) expect(numberOf(env)).toBe(1);
  expect(ownKeys).toHaveBeenCalledTimes(1);
});

it("if all members decide, objects must be the same", () => {
  const { numberOf } = counted(membersOf);
  const COUNTS = {};
  expect([{ COUNTS }, { COUNTS }, { COUNTS: {} }, { COUNTS, B: true }].map(numberOf)).toEqual([1, 1, 2, 3]);
});

it("after an error it is made again", () => {
  const make = vi.fn((_env: object): object => throwing());
  const made = onceForEqual(textsAndNumbersOf, make, "test");
  const env = {};
  for (const each of [env, env, {}]) expect(() => made(each)).toThrow("a getter was called");
  expect(make).toHaveBeenCalledTimes(3);
});

it("keeps 16 sets, and warns once with the name, not the value, of what differs", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const { make, numberOf } = counted();
  const ask = (id: number) => numberOf({ A: "a", REQUEST_ID: `s3cret-${id}` });
  for (let id = 1; id <= 16; id++) ask(id);
  expect([ask(1), make.mock.calls.length, warn.mock.calls]).toEqual([1, 16, []]);
  for (let id = 17; id <= 40; id++) ask(id);
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/^headgate: test: env has had 17 sets .* REQUEST_ID, /)]]);
  expect(String(warn.mock.calls)).not.toContain("s3cret");
  // The oldest are gone, the newest are known.
  expect([ask(40), ask(25), ask(1)]).toEqual([40, 25, 41]);
});
