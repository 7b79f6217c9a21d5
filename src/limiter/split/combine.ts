/** The replies of several places, as one decision. */

import { type Decision, decide, type Source } from "../../core/decision.ts";
import { ENFORCED, type Flag } from "../../core/take.ts";
import { type KeysReply, limitDecisions } from "../decide.ts";
import type { Silence } from "./part.ts";

/** The answer that all replies together give. */
export function combine(replies: readonly KeysReply[], silences: readonly Silence[], flag: Flag): Decision {
  const source = sourceOf(replies, silences);
  // The isolate's own counters do not have the numbers of the place. They are told only with the source `fallback`.
  const told = source === "fallback" ? replies : replies.filter((reply) => reply.source !== "fallback");
  return decide(source, limitDecisions(told, flag));
}

/**
 * The source that is furthest away of those that have decided: a place, then the own counters in place of a silent one,
 * then a stock, then memory. A refusal is decided by those that refuse. A reply about policies in shadow alone decides
 * only if there is no other reply.
 */
function sourceOf(replies: readonly KeysReply[], silences: readonly Silence[]): Source {
  const refusing = replies.filter(({ reply }) => !reply.allowed);
  const all = [...replies, ...silences.map(({ part }) => ({ keys: part.keys, source: "fallback" as Source }))];
  const enforced = all.filter(({ keys }) => keys.some(({ request }) => request.group === ENFORCED));
  const deciding = [refusing, enforced, all].find(({ length }) => length > 0)!;
  return deciding.map(({ source }) => source).reduce((a, b) => (distanceOf(b) > distanceOf(a) ? b : a));
}

function distanceOf(source: Source): number {
  const at = ["cache", "lease", "fallback"].indexOf(source);
  return at < 0 ? 3 : at;
}
