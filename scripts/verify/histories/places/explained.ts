/** What explains a refusal. */

import { Flag } from "../../../../src/kernel/core/layout.ts";
import { ms } from "../words.ts";
import { type Decided, describe, type Keyed, mostIn, nameOf, piecesOf, possible, rootOf } from "./keyed.ts";

/** For how long an isolate over several places trusts a reply, with room for clocks that read whole ms. */
const TRUSTED_US = 1_050_000;

export function explanationOf(decision: Decided, one: Keyed): "counts" | "returning" | undefined {
  const { input } = decision;
  const units = one.policy.counts === "slots" ? Math.min(1, input.units) : input.units;
  const own = one.calls.find(
    (call) => call.decision === decision.decision && call.input.flag === Flag.take && call.output,
  );
  const span = own && own.return! <= decision.return ? [own.call, own.return!] : rememberedIn(decision, one);
  const [from, to] = span as [number, number];
  const admitted = new Set(one.decisions.flatMap(({ output, decision }) => (output.allowed ? [decision] : [])));
  const paid = possible(one, (call) => call.output !== undefined && admitted.has(call.decision ?? 0));
  if (mostIn(paid, from, to) + units > one.policy.limit) return "counts";
  const all = possible(one, () => true);
  if (mostIn(all, from, to) + units > one.policy.limit) return "returning";
  // An isolate alone begins with what it was told last, and adds what it has admitted itself.
  if (one.policy.onStoreFailure !== "local") return undefined;
  const mostAlone = mostIn(all, 0, decision.return) + aloneBefore(decision, one);
  return mostAlone + units > one.policy.limit ? "returning" : undefined;
}

/** What an isolate may have counted by itself: units that it admitted alone, and what was used beyond reservations. */
function aloneBefore({ isolate, return: before }: Decided, one: Keyed): number {
  const pieces = piecesOf(one).filter(({ decision }) => decision.isolate === isolate && decision.call < before);
  let units = pieces.reduce((sum, piece) => sum + (piece.isAlone ? piece.units : 0), 0);
  for (const [root, own] of Map.groupBy(pieces, ({ decision }) => rootOf(decision))) {
    const settlement = one.settled.get(root);
    if (!settlement || settlement.call > before || one.policy.counts === "slots") continue;
    units += Math.max(0, settlement.input.units - own.reduce((sum, piece) => sum + piece.units, 0));
  }
  return units;
}

/** When the replies were decided that the isolate may have remembered. */
function rememberedIn({ isolate, call, return: returned }: Decided, { calls }: Keyed): [number, number] {
  const since = call - TRUSTED_US;
  const replies = calls.filter(
    (one) => one.isolate === isolate && one.output && one.return! >= since && one.call < returned,
  );
  return [Math.min(since, ...replies.map((one) => one.call)), returned];
}

export function unexplained(decision: Decided, one: Keyed): string {
  const [from, to] = rememberedIn(decision, one);
  const most = mostIn(
    possible(one, () => true),
    from,
    to,
  );
  const { limit, counts } = one.policy;
  return [
    `${describe(decision)}, and nothing explains the refusal by ${nameOf(one)}`,
    `  its place held at most ${most} ${counts} of ${limit} from ${ms(from)} to ${ms(to)}`,
  ].join("\n");
}
