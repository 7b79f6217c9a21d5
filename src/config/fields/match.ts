/** The requests and the clients that a policy is for. */

import type { Match } from "../../core/policy.ts";
import { rangeExpected } from "../../keys/address-range.ts";
import { PATTERN_EXPECTED } from "../mistake.ts";
import type { Feature, Field } from "./field.ts";

/** One value, or a list of which one must match. */
function condition<F extends Field>(of: F, expected: string) {
  return { is: "oneOrMore", of, expected, isOptional: true } as const;
}

const METHOD = { is: "text", form: /^[A-Za-z][A-Za-z-]{0,31}$/, kept: (name: string) => name.toUpperCase() } as const;
/** policies.ts checks whether it can be parsed. */
const PATTERN = { is: "text", form: /./s } as const;
/** Other characters stand in no name of a method or tool: whoever writes them means another syntax. */
const CALL_NAME = { is: "text", form: /^[^\s\\(){}[\]?+^|"'`,]{1,128}$/u } as const;

export const CONDITIONS = {
  method: condition(METHOD, 'a method or a list of them, for example "POST"'),
  path: condition(PATTERN, PATTERN_EXPECTED.path),
  host: condition(PATTERN, PATTERN_EXPECTED.host),
  rpc: condition(CALL_NAME, 'a method of JSON-RPC or a list of them, for example "resources/*"; * stands for any text'),
  tool: condition(CALL_NAME, 'the name of a tool or a list of them, for example "delete*"; * stands for any text'),
} as const;

/** Every request that a policy matches may be compared with each of them. */
const MAX_EXEMPT = 100;

export const match = {
  fields: {
    match: {
      is: "table",
      fields: CONDITIONS,
      default: {},
      expected: "a table with method, path, host, rpc or tool",
      isOfHead: true,
    },
    except: {
      is: "oneOrMore",
      of: {
        is: "table",
        fields: CONDITIONS,
        // Without a condition the policy would leave out every request.
        isRight: (conditions: Match) => Object.keys(conditions).length > 0,
      },
      expected: 'a table with method, path, host, rpc or tool, or a list of them, for example { path = "/health" }',
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
} as const satisfies Feature;

/** For people: `POST /login on example.com`. */
export function describeMatch({ method, path, host, rpc, tool }: Match): string {
  const parts = [
    method?.join(", "),
    path?.join(", "),
    host && `on ${host.join(", ")}`,
    rpc && `calling ${rpc.join(", ")}`,
    tool && `calling the tool ${tool.join(", ")}`,
  ];
  return parts.filter((part) => part).join(" ") || "every request";
}
