/** Patterns of policies: which of them cannot be parsed, and which match no request together. */

import type { Match } from "../core/policy.ts";
import { canBothMatch, type PatternKind, parsePattern } from "../request/pattern.ts";
import { PatternMistake } from "../request/text.ts";
import { codeOf } from "./fields/read.ts";
import { type Mistake, type MistakeCode, mistakeAbout, PATTERN_EXPECTED } from "./mistake.ts";

/** Whether surely no request matches both: by their methods, or by their paths or hosts. */
export function areApart(a: Match, b: Match): boolean {
  const noneMatchesBoth = (kind: PatternKind) => (one: string, other: string) => !canBothMatch(one, other, kind);
  const readsAs = (method: string) => (method === "HEAD" ? "GET" : method);
  return (
    isApart(a.method, b.method, (one, other) => readsAs(one) !== readsAs(other)) ||
    isApart(a.path, b.path, noneMatchesBoth("path")) ||
    isApart(a.host, b.host, noneMatchesBoth("host"))
  );
}

type Texts = readonly string[] | undefined;

/** @param a absent: everything. */
function isApart(a: Texts, b: Texts, areApart: (one: string, other: string) => boolean): boolean {
  return a !== undefined && b !== undefined && a.every((one) => b.every((other) => areApart(one, other)));
}

/** Every pattern of a policy that cannot be parsed. @param policy as it was written, or as it was understood. */
export function patternMistakes(policy: unknown, path: string): Mistake[] {
  return ["match", "except", "cost"].flatMap((field) => {
    const given = ((policy ?? {}) as Readonly<Record<string, unknown>>)[field];
    const rules = Array.isArray(given) ? [...given.entries()].map(([i, rule]) => [`[${i}]`, rule]) : [["", given]];
    return rules.flatMap(([index, rule]) => inMatch(rule, `${path}.${field}${index}`, codeOf(field)));
  });
}

function inMatch(match: unknown, path: string, code: MistakeCode): Mistake[] {
  return (["path", "host"] as const).flatMap((kind) => {
    const written = ((match ?? {}) as Record<string, unknown>)[kind];
    const patterns = Array.isArray(written) ? written : [written];
    return patterns.flatMap((pattern: unknown, i): Mistake[] => {
      // A value that is not a text is a mistake of the field itself.
      const expected = typeof pattern === "string" && pattern !== "" ? mistakeOf(pattern, kind) : undefined;
      if (expected === undefined) return [];
      const patternPath = `${path}.${kind}${Array.isArray(written) ? `[${i}]` : ""}`;
      return [mistakeAbout(code, patternPath, expected || PATTERN_EXPECTED[kind], pattern)];
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
