/** Which requests two conditions cannot both match, as far as method, path and host tell. */

import type { Match } from "../core/policy.ts";
import { canBothMatch, type PatternKind } from "../pattern/pattern.ts";

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
