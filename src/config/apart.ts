/** Which requests two conditions cannot both match, as far as their patterns tell. */

import type { Match } from "../core/policy.ts";
import { parsePattern } from "../pattern/parse.ts";
import type { PatternKind } from "../pattern/term.ts";

/** Whether surely no request matches both: by their methods, or by how their paths or hosts begin. */
export function areApart(a: Match, b: Match): boolean {
  const beginOtherwise = (kind: PatternKind) => (one: string, other: string) => {
    const [first, second] = [beginningOf(one, kind), beginningOf(other, kind)];
    return !first.startsWith(second) && !second.startsWith(first);
  };
  const readsAs = (method: string) => (method === "HEAD" ? "GET" : method);
  return (
    isApart(a.method, b.method, (one, other) => readsAs(one) !== readsAs(other)) ||
    isApart(a.path, b.path, beginOtherwise("path")) ||
    isApart(a.host, b.host, beginOtherwise("host"))
  );
}

type Texts = readonly string[] | undefined;

/** @param a absent: everything. */
function isApart(a: Texts, b: Texts, areApart: (one: string, other: string) => boolean): boolean {
  return a !== undefined && b !== undefined && a.every((one) => b.every((other) => areApart(one, other)));
}

/** The fixed text with which all that a pattern matches begins. A slash at its end may be missing. */
function beginningOf(pattern: string, kind: PatternKind): string {
  const [first] = parsePattern(pattern, kind);
  return typeof first === "string" ? first.replace(/\/$/, "") : "";
}
