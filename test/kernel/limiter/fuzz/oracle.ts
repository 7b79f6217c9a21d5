// What every story must show, judged from outside: answers, and what the places hold in the end.

import { Kind } from "../../../../src/kernel/core/layout.ts";
import { Flag, type KeyRequest } from "../../../../src/kernel/core/take.ts";
import type { Fault } from "../../../features/places/places.ts";
import { type Answer, isBanOf, isOf, type Outcome } from "./story.ts";

/** The isolate knows the store's clock to within a round trip, also of a late reply; waits are whole milliseconds. */
const CLOCK_ERROR_MS = 360;

/** No request of a story asks for more units. */
const MOST_UNITS = 20;

/** The promises that a story breaks, in words. */
export function broken(outcome: Outcome): string[] {
  const bugs = outcome.bugs.map((text) => `written to the console: ${text}`);
  return [
    ...bugs,
    ...outcome.answers.flatMap((answer) => brokenBy(answer, outcome)),
    ...heldWrongly(outcome),
    ...bannedWrongly(outcome),
  ];
}

function brokenBy(answer: Answer, { places, isLeased }: Outcome): string[] {
  const { number, op, names, cost, decision, isQuiet, truth } = answer;
  const what = `${op} ${number} of ${cost} under ${names.join(" and ")}`;
  const faulty = places.calls.some(({ fault }) => fault !== undefined);
  if (!faulty && (decision.source === "fallback" || decision.unavailable)) {
    return [`${what}: the isolate answered alone, although its store was well`];
  }
  if (!isQuiet || decision.allowed || decision.source !== "cache") return [];
  const waitOf = ({ refused, retryAfterMs }: Answer["truth"][number]) => (refused ? retryAfterMs : 0);
  const [links, others] = [truth.filter(({ isLink }) => isLink), truth.filter(({ isLink }) => !isLink)];
  const isRefused =
    others.some(({ refused }) => refused) || (links.length > 0 && links.every(({ refused }) => refused));
  if (!isRefused) return [`${what}: refused from memory, although the store admits it`];
  // Of a chain the shortest wait is told.
  const trueMs = Math.max(...others.map(waitOf), links.length > 0 ? Math.min(...links.map(waitOf)) : 0);
  const toldMs = decision.retryAfterMs ?? Number.POSITIVE_INFINITY;
  if (Math.abs(toldMs - trueMs) <= CLOCK_ERROR_MS || toldMs === trueMs) return [];
  // Units in stock are charged, but they go back before the wait ends.
  if (isLeased && toldMs < trueMs) return [];
  return [`${what}: refused from memory for ${toldMs} ms, true are ${trueMs} ms`];
}

/** What was paid is held in the end. Unknown outcomes widen what may be held, and a reset ends what was paid before. */
function heldWrongly({ done, resets, places, held, isLeased }: Outcome): string[] {
  return [...held].flatMap(([name, limits]) => {
    const own = resets.filter((one) => one.name === name);
    const lastReset = own.toSorted((a, b) => b.beganAtMs - a.beganAtMs)[0];
    const paying = done.filter(({ names }) => names.includes(name));
    const isOver = (beganAtMs: number) => own.some((reset) => beganAtMs <= reset.endedAtMs);
    let [least, most] = [0, 0];
    const faults = places.calls.filter(
      ({ fault, request }) => fault && request.keys.some(({ key }) => isOf(name, key)),
    );
    for (const { op, decision, paid, beganAtMs, endedAtMs } of paying) {
      const units = paid[name]!;
      if (!isOver(beganAtMs)) least += units;
      const isAlone =
        decision.source === "fallback" || faults.some(({ sentAtMs }) => beganAtMs <= sentAtMs && sentAtMs <= endedAtMs);
      if (!lastReset || endedAtMs >= lastReset.beganAtMs || isAlone) most += units;
      // A debt is at most the limit. One that is repaid before its reservation is settled stays charged.
      if (isAlone) {
        most += MOST_UNITS;
        least -= units;
      }
      // Beside a reset nobody knows what the reset has removed: what was charged in vain is not given back.
      if (own.some((reset) => beganAtMs <= reset.endedAtMs && endedAtMs >= reset.beganAtMs)) most += MOST_UNITS;
      // A reset does not end a reservation: what it gives back may be missing afterwards.
      if (op === "reserve" && isOver(beganAtMs)) least = Number.NEGATIVE_INFINITY;
    }
    if (own.length > 0) least = Number.NEGATIVE_INFINITY;
    for (const { request, fault } of places.calls) {
      for (const key of request.keys.filter((one) => isOf(name, one.key))) {
        const { low, high } = uncertain(key, fault);
        // Units in stock that no later request gives back lapse with their window.
        if (isLeased && request.flag === Flag.take) most += key.cost;
        least -= low;
        most += high;
      }
    }
    return limits.flatMap(({ kind, units }): string[] => {
      if (kind === Kind.concurrency) return units === 0 ? [] : [`${name}: ${units} slots are never given back`];
      if (units >= least && units <= most) return [];
      return [`${name}: ${units} units are held in the end; paid were ${least} to ${most}`];
    });
  });
}

/** Only a place begins a ban. Where nothing can be undone, exactly the refusals are reported, each once. */
function bannedWrongly({ banning, answers, resets, places }: Outcome): string[] {
  return banning.flatMap((name) => {
    const [began, reports] = [[] as number[], [] as number[]];
    for (const { request, reply } of places.calls) {
      for (const [k, { key, cost }] of request.keys.entries()) {
        if (!isBanOf(name, key)) continue;
        reports.push(cost);
        const { view } = reply?.keys[k]?.[0] ?? {};
        if (view?.kind === Kind.ban && view.endsAtMs > 0) began.push(view.endsAtMs);
      }
    }
    const own = answers.flatMap(({ op, names, decision }) => {
      const one = decision.policies.find(({ policy }) => policy.name === name);
      // A pause of an instance that got few units counts for nothing.
      return op !== "extend" && names.includes(name) && one && decision.source !== "lease" ? [one] : [];
    });
    if (began.length === 0 && own.some(({ became }) => became === "banned")) {
      return [`${name}: banned, although no place has begun a ban`];
    }
    const refused = own.filter(({ became, unanswered }) => became === "refused" && !unanswered).length;
    const reported = reports.reduce((sum, cost) => sum + cost, 0);
    const isKnown = resets.length === 0 && places.calls.every(({ place }) => place === 0);
    return isKnown && reported !== refused ? [`${name}: ${reported} of ${refused} refusals are reported`] : [];
  });
}

/** The units that nobody can know because of a fault: how many fewer and how many more may be held. */
function uncertain({ cost }: KeyRequest, fault: Fault | undefined): { low: number; high: number } {
  return fault === undefined ? { low: 0, high: 0 } : { low: cost, high: cost };
}
