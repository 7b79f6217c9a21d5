/**
 * Turns the policies that an operator wrote into checked policies, or into the list of all mistakes. Patterns are
 * checked here, and all other fields in policy-fields.ts: a limiter that is asked by hand has no use for patterns, and
 * does not carry their parser.
 */

import type { Match, Policy } from "../core/policy.ts";
import { canBothMatch, type PatternKind, parsePattern } from "../request/pattern.ts";
import { PatternMistake } from "../request/text.ts";
import { ALL } from "./fields/all.ts";
import { codeOf } from "./fields/read.ts";
import { type Mistake, type MistakeCode, mistakeAbout, PATTERN_EXPECTED, type Parsed } from "./mistake.ts";
import { type FindMistakes, parseFields, writePolicy as write } from "./policy-fields.ts";
import type { PolicyInput } from "./policy-input.ts";

/** The policy as an operator could write it, with defaults filled in. `parsePolicies` reads it back. */
export function writePolicy(policy: Policy): PolicyInput {
  return write(ALL, policy);
}

/**
 * Checks a list of policies, with the fields of all features.
 *
 * @param path the list's name in messages, for example `POLICIES`.
 * @param paths the name of each policy in messages. Default: its position in the list.
 * @param more finds further mistakes in a policy. Absent: no further mistakes are looked for.
 */
export function parsePolicies(
  input: unknown,
  path: string,
  paths?: readonly string[],
  more: FindMistakes = () => [],
): Parsed<readonly Policy[]> {
  const find: FindMistakes = (policy, path) => [...patternMistakes(policy, path), ...more(policy, path)];
  const parsed = parseFields(ALL, input, path, paths, find);
  if (parsed.mistakes) return parsed;
  const shared = sharedOverflows(parsed.value, (i) => paths?.[i] ?? `${path}[${i}]`);
  return shared.length > 0 ? { mistakes: shared } : parsed;
}

/** Policies that may match one request and have the same overflow: the request would be charged to it twice. */
export function sharedOverflows(policies: readonly Policy[], pathOf: (i: number) => string): Mistake[] {
  const heads = [...policies.entries()].filter(([, { chain, isOverflow }]) => chain && !isOverflow);
  return heads.flatMap(([i, { name, match, chain }], at) =>
    heads.slice(0, at).flatMap(([, other]): Mistake[] => {
      const both = chain!.find((link) => other.chain!.some((one) => one.name === link.name));
      // A request may name a second method in a field: methods keep no two policies apart.
      const [one, two] = [match, other.match].map(({ method: _, ...where }) => where);
      if (!both || areApart(one!, two!)) return [];
      const expected = `an overflow that ${other.name} does not have, or other requests: both may match one request`;
      const found = `${both.name}, which pays for ${name} and for ${other.name}`;
      return [{ code: "ERR_POLICY_OVERFLOW", path: `${pathOf(i)}.overflow`, expected, found }];
    }),
  );
}

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
