/** What the places hold in the end. */

import { Flag, Kind } from "../../../../src/kernel/core/layout.ts";
import type { TakeOperation } from "../history.ts";
import { describe, givenBack, isRefused, type Keyed, nameOf, type Piece, piecesOf, rootOf } from "./keyed.ts";
import type { Trouble } from "./trouble.ts";

/** In the end the place holds at least what is still paid for, and at most what may have stayed charged. */
export function heldWrongly(one: Keyed, trouble: Trouble): string[] {
  const look = one.calls.findLast(({ input, output, decision }) => {
    return decision === undefined && output && input.flag === Flag.look;
  });
  if (!look) return [];
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const paying = all.filter(({ isAlone }) => !isAlone);
  const keptOf = (pieces: readonly Piece[]) =>
    pieces.reduce((sum, piece) => sum + piece.units - (given.get(piece)?.units ?? 0), 0);
  const least = keptOf(paying);
  const most = mostKept(one, paying, keptOf, trouble);
  const held = heldIn(look, one.key);
  if (held >= least && held <= most) return [];
  const { counts } = one.policy;
  const expected = least === most ? `${least}` : `${least} to ${most}`;
  return [
    [
      `${nameOf(one)}: in the end ${look.place} holds ${held} ${counts}, expected are ${expected}`,
      ...paying.map((piece) => `  ${keptOf([piece])} of ${piece.units} by ${describe(piece.decision)}`),
    ].join("\n"),
  ];
}

/**
 * Units stay charged that are paid for, and those that are charged whatever the limit says: repayments, and what was
 * used beyond a reservation. If a call had no answer, came too late for its decision, or was left out because the
 * breaker was open, all units of that request may stay: they lapse with their window.
 */
function mostKept(
  one: Keyed,
  paying: readonly Piece[],
  keptOf: (pieces: readonly Piece[]) => number,
  trouble: Trouble,
): number {
  const returns = new Map(one.decisions.map((decided) => [decided.decision, decided]));
  const rootOfCall = ({ decision }: TakeOperation) => {
    const decided = returns.get(decision ?? 0);
    return decided ? rootOf(decided) : (decision ?? 0);
  };
  const payingBy = Map.groupBy(paying, ({ decision }) => rootOf(decision));
  let most = 0;
  for (const [root, calls] of Map.groupBy(one.calls, rootOfCall)) {
    const charging = calls.flatMap((call) => {
      const { cost, flag = call.input.flag, group } = call.input.keys.find(({ key }) => key === one.key)!;
      const isCharged = call.failed === undefined && (!call.output || flag !== Flag.take || !isRefused(call, group));
      const units = one.policy.counts === "slots" ? Math.min(1, cost) : cost;
      return isCharged && (flag === Flag.take || flag === Flag.chargeAnyway) ? [{ call, flag, units }] : [];
    });
    const decidedAt = (call: TakeOperation) => returns.get(call.decision ?? 0)?.return ?? Number.POSITIVE_INFINITY;
    const inTime = charging.every(({ call, flag }) => flag !== Flag.take || call.return! <= decidedAt(call));
    const settled = one.settled.get(root);
    const isCalled = calls.every(({ isolate, place, decision }) =>
      [returns.get(decision ?? 0)?.return, settled?.call, settled?.return].every((at) => {
        return at === undefined || !trouble.isOpen(isolate ?? -1, place, at);
      }),
    );
    const isClean = inTime && isCalled && calls.every((call) => call.output);
    for (const { flag, units } of charging) if (!isClean || flag === Flag.chargeAnyway) most += units;
    if (isClean) most += keptOf(payingBy.get(root) ?? []);
  }
  return most;
}

function heldIn({ input, output }: TakeOperation, key: string): number {
  const k = input.keys.findIndex((one) => one.key === key);
  const { view } = output!.keys[k]![0]!;
  if (view.kind === Kind.log) return view.used;
  if (view.kind === Kind.concurrency) return view.inFlight;
  if ("count" in view) return view.count;
  // A bucket gets back less than one unit while a history lasts.
  if (view.kind === Kind.bucket) return Math.ceil(view.debt / view.windowMs);
  return view.counts.reduce((sum, units) => sum + units, 0);
}
