// What an answer says that its request has cost: what counts as it is, and what counts in doubt.

import { expect, it } from "vitest";
import { statedBy } from "../../../src/features/stated-cost/stated.ts";

const MOST = 1_000_000_000;
const NO_INTEGER = "no integer from 0 to 10^9";

it.each([
  [200, "0", 0],
  [200, "7", 7],
  [200, "007", 7],
  [404, "12", 12],
  [200, "1000000000", MOST],
  [503, "3", 3],
  [500, null, 0],
  [599, null, 0],
] as const)("status %s and %j: %d units", (status, field, units) => {
  expect(statedBy(status, field, 10)).toEqual({ units });
});

it.each([
  [undefined, null, 10, "no answer"],
  [undefined, "3", 10, "no answer"],
  [200, null, 10, "no header"],
  [499, null, 10, "no header"],
  [999, null, 10, "no header"],
  [200, "", 10, NO_INTEGER],
  [500, "", 10, NO_INTEGER],
  [200, "-5", 10, NO_INTEGER],
  [200, "+50", 10, NO_INTEGER],
  [200, "1e3", 10, NO_INTEGER],
  [200, "0x20", 10, NO_INTEGER],
  [200, "50 units", 10, NO_INTEGER],
  [200, "٥", 10, NO_INTEGER],
  [200, "4.5", 10, NO_INTEGER],
  [200, "12.1", 13, NO_INTEGER],
  [503, "oops", 10, NO_INTEGER],
  [200, "1000000001", MOST, NO_INTEGER],
  [200, "9".repeat(400), MOST, NO_INTEGER],
  [200, "3, 3", 10, "several values"],
  [200, "3, 50", 50, "several values"],
  [200, "50,", 50, "several values"],
  [200, "x, -50", 10, "several values"],
  [500, "3, 1000000001", MOST, "several values"],
] as const)("status %s and %j, in doubt: %d units", (status, field, units, doubt) => {
  expect(statedBy(status, field, 10)).toEqual({ units, doubt });
});
