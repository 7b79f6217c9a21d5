/** What is wrong with the value of a field: as its writer reads it, and as `GET /live` lists it. */

import { isTable } from "../../kernel/config/bindings.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { DOLLARS_EXPECTED, toUnits } from "../../kernel/core/units.ts";
import { hasPlan } from "../../kernel/limiter/numbers.ts";
import { type Field, isOfKind } from "./fields.ts";

export interface WrongValue {
  /** Of numbers: the id of the one that is wrong. Absent: the whole value is. */
  readonly id?: string;
  readonly found: unknown;
  readonly expected: string;
  /** Why it does nothing. */
  readonly reason: string;
}

/** A duration has become an instant before it is checked. */
export const UNTIL_EXPECTED = 'a duration such as "2h", or an instant in the future such as "2030-01-01T00:00:00Z"';

export const NO_FACTOR = "the limits multiplied by it do not fit";

/** Whether numbers and factors fit the limits is another question: it takes too long for every reader. */
export function wrongValuesOf(name: string, field: Field, value: unknown, policy: Policy): WrongValue[] {
  const isChained = policy.overflow ?? policy.isOverflow;
  if (name === "mode" && value === "shadow" && isChained) {
    const expected = '"enforce": this policy has an overflow, or is one';
    return [{ found: value, expected, reason: "an overflow and the policy before it cannot be in shadow" }];
  }
  if (name === "exempt" && policy.isOverflow) {
    const expected = "no exempt: this policy is an overflow. Raise its numbers for the client";
    return [{ found: value, expected, reason: "nobody can be exempt from an overflow" }];
  }
  const isRight = field.is === "plan" ? hasPlan(policy, value) : isOfKind(field, value);
  if (!isRight) return [{ found: value, ...wordsOf(name, field, value, policy) }];
  if (field.is !== "numbers") return [];
  return Object.entries(value as object).flatMap(([id, number]) => wrongNumber(id, number, policy));
}

function wrongNumber(id: string, number: unknown, { name, limits }: Policy): WrongValue[] {
  const limit = limits.find((one) => one.id === id);
  if (!limit) {
    const expected = `the id of a limit of ${name}: ${limits.map((one) => one.id).join(", ")}`;
    return [{ id, found: id, expected, reason: "no limit has this id" }];
  }
  const units = typeof number === "number" ? toUnits(number, limit.unit) : 0;
  if (Number.isSafeInteger(units) && units >= 1 && units <= MAX_UNITS) return [];
  const expected = limit.unit === "usd" ? DOLLARS_EXPECTED : `an integer from 1 to ${MAX_UNITS}`;
  return [{ id, found: number, expected, reason: "not the number of a limit" }];
}

function wordsOf(
  name: string,
  field: Field,
  value: unknown,
  policy: Policy,
): { readonly expected: string; readonly reason: string } {
  switch (field.is) {
    case "numbers": {
      const expected = "a table of numbers by the ids of limits";
      return { expected, reason: isTable(value) ? "no numbers" : "not a table" };
    }
    case "factor":
      return { expected: "a number above 0", reason: NO_FACTOR };
    case "plan": {
      const plans = Object.keys(policy.plans ?? {}).join(", ");
      const expected = plans ? `one of the policy's plans ${plans}` : "no plan: the policy has none";
      return { expected, reason: "the policy has no plan of this name" };
    }
    case "choice":
      return { expected: field.of.map((word) => `"${word}"`).join(" or "), reason: `not a ${name}` };
    case "flag":
      return { expected: "true, or no such field", reason: "not true" };
    case "instant":
      return { expected: UNTIL_EXPECTED, reason: "not an instant" };
    case "text": {
      const expected = `a string of 1 to ${field.maxLength} characters`;
      return { expected, reason: `not ${expected}` };
    }
  }
}
