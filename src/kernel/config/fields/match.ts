/** The requests and the clients that a policy is for. */

import type { Match } from "../../core/policy.ts";
import { rangeExpected } from "../../request/address-range.ts";
import { PATTERN_EXPECTED } from "../mistake.ts";
import type { FeatureFields, Field, Fields } from "./field.ts";

/** One value, or a list of which one must match. */
export function condition<F extends Field>(of: F, expected: string) {
  return { is: "oneOrMore", of, expected, isOptional: true } as const;
}

const METHOD = { is: "text", form: /^[A-Za-z][A-Za-z-]{0,31}$/, kept: (name: string) => name.toUpperCase() } as const;
/** patterns.ts checks whether it can be parsed. */
const PATTERN = { is: "text", form: /./s } as const;

const CONDITIONS = {
  method: condition(METHOD, 'a method or a list of them, for example "POST"'),
  path: condition(PATTERN, PATTERN_EXPECTED.path),
  host: condition(PATTERN, PATTERN_EXPECTED.host),
} as const;

/** The conditions of `match`, `except` and `cost`. @param more those that features have. */
export function conditionsWith<More extends Fields>(more: More) {
  return { ...CONDITIONS, ...more };
}

/** Every request that a policy matches may be compared with each of them. */
const MAX_EXEMPT = 100;

export function matchBy<Conditions extends Fields>(conditions: Conditions) {
  const names = Object.keys(conditions);
  const expected = `a table with ${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  return {
    fields: {
      match: { is: "table", fields: conditions, default: {}, expected, isOfHead: true },
      except: {
        is: "oneOrMore",
        of: {
          is: "table",
          fields: conditions,
          // Without a condition the policy would leave out every request.
          isRight: (conditions: Match) => Object.keys(conditions).length > 0,
        },
        expected: `${expected}, or a list of them, for example { path = "/health" }`,
        isOptional: true,
        isOfHead: true,
      },
      exempt: {
        is: "oneOrMore",
        of: {
          is: "text",
          isRight: (range: string) => rangeExpected(range) === undefined,
          meant: (range) => (typeof range === "string" ? rangeExpected(range) : undefined),
        },
        most: MAX_EXEMPT,
        expected: `a list of 1 to ${MAX_EXEMPT} ranges of addresses, for example ["10.0.0.0/8"]`,
        isOptional: true,
        isOfHead: true,
      },
    },
  } as const satisfies FeatureFields;
}

/** For people: `POST /login on example.com`. */
export function describeMatch({ method, path, host, rpc, tool, body = {} }: Match): string {
  const parts = [
    method?.join(", "),
    path?.join(", "),
    host && `on ${host.join(", ")}`,
    rpc && `calling ${rpc.join(", ")}`,
    tool && `calling the tool ${tool.join(", ")}`,
    ...Object.entries(body).map(([field, values]) => `with ${field} ${values.join(", ")} in the body`),
  ];
  return parts.filter((part) => part).join(" ") || "every request";
}
