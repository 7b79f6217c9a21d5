// Which errors of the object's code concern one request, and which are failures of the object.

import { beforeEach, expect, it, type MockInstance, vi } from "vitest";
import { isRejected, orRejected, WrongRequest } from "../../../src/kernel/store/rejected.ts";

let logged: MockInstance<typeof console.error>;
beforeEach(() => {
  logged = vi.spyOn(console, "error").mockImplementation(() => {});
});

const fail = (error: unknown) => () => {
  throw error;
};

it.each<[string, Error, RegExp, inLog: boolean]>([
  ["a wrong request", new WrongRequest("take: flag: expected"), /^take: flag: expected$/, false],
  ["a mistake in the code", new TypeError("hg:2:{the-key}"), /TypeError.*its log has the error/, true],
  ["a recursion without an end", new RangeError("stack"), /RangeError/, true],
  ["a value that is larger than a row", new Error("string or blob too big: SQLITE_TOOBIG"), /its log/, true],
])("%s is data, without a key in it", (_what, error, message, inLog) => {
  const answer = orRejected(fail(error));
  expect(answer).toEqual({ rejected: expect.stringMatching(message) });
  expect(isRejected(answer)).toBe(true);
  expect(JSON.stringify(answer)).not.toContain("the-key");
  expect(logged.mock.calls.length).toBe(inLog ? 1 : 0);
});

it("a disk that is full is a failure of the object, and not of one request", () => {
  expect(() => orRejected(fail(new Error("database or disk is full: SQLITE_FULL")))).toThrow("SQLITE_FULL");
  expect(logged.mock.calls).toEqual([]);
});

it("nothing else is a rejection", () => {
  const others = [undefined, null, 7, {}, { rejected: 7 }, { nowMs: 1, allowed: true, keys: [] }];
  expect(others.map(isRejected)).toEqual(others.map(() => false));
});
