/**
 * The patterns of a policy's `match`, `except` and `cost`. They are checked by themselves: a limiter that is asked by
 * hand has no use for them, and does not carry their parser.
 */

import { type PatternKind, PatternMistake } from "../pattern/node.ts";
import { parsePattern } from "../pattern/parse.ts";
import { describeValue, type Mistake, type MistakeCode, PATTERN_EXPECTED } from "./mistake.ts";

/** Every pattern of a policy that cannot be parsed. @param policy as it was written, or as it was understood. */
export function patternMistakes(policy: unknown, place: string): Mistake[] {
  const { match, except, cost } = (policy ?? {}) as { match?: unknown; except?: unknown; cost?: unknown };
  return [
    ...inMatch(match, `${place}.match`, "ERR_POLICY_MATCH"),
    ...(Array.isArray(except)
      ? except.flatMap((rule, i) => inMatch(rule, `${place}.except[${i}]`, "ERR_POLICY_EXCEPT"))
      : inMatch(except, `${place}.except`, "ERR_POLICY_EXCEPT")),
    ...(Array.isArray(cost) ? cost.flatMap((rule, i) => inMatch(rule, `${place}.cost[${i}]`, "ERR_POLICY_COST")) : []),
  ];
}

function inMatch(match: unknown, place: string, code: MistakeCode): Mistake[] {
  return (["path", "host"] as const).flatMap((kind) => {
    const written = ((match ?? {}) as Record<string, unknown>)[kind];
    const patterns = Array.isArray(written) ? written : [written];
    return patterns.flatMap((pattern: unknown, i): Mistake[] => {
      // A value that is not a text is a mistake of the field itself.
      const expected = typeof pattern === "string" && pattern !== "" ? mistakeOf(pattern, kind) : undefined;
      if (expected === undefined) return [];
      const path = `${place}.${kind}${Array.isArray(written) ? `[${i}]` : ""}`;
      return [{ code, path, expected: expected || PATTERN_EXPECTED[kind], found: describeValue(pattern) }];
    });
  });
}

/** What was expected; empty if the parser cannot tell. Undefined: the pattern is right. */
function mistakeOf(pattern: string, kind: PatternKind): string | undefined {
  try {
    parsePattern(pattern, kind);
    return undefined;
  } catch (error) {
    if (error instanceof PatternMistake) return error.message;
    throw error;
  }
}
