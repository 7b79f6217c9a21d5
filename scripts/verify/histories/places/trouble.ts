/** Whether an isolate had a reason to decide without a place. */

import { type History, isStoreOperation } from "../history.ts";
import { type Decided, describe, type Keyed } from "./keyed.ts";

/** An isolate that waits longer for an answer may decide without it: half of its time budget, and less. */
const LATE_US = 250_000;

/** What an isolate may have known about a place at an instant of the recorder. */
export interface Trouble {
  /** Whether a call had failed before: it had no answer, or a late one. */
  hasFailed(isolate: number, place: string, before: number): boolean;
  /** Whether the isolate does not call the place at this instant. */
  isOpen(isolate: number, place: string, at: number): boolean;
}

export function troubleIn({ operations, breakers = [] }: History): Trouble {
  const failed = new Map<string, number>();
  for (const one of operations.filter(isStoreOperation)) {
    if (one.failed === undefined && (one.return ?? Number.POSITIVE_INFINITY) - one.call <= LATE_US) continue;
    const key = `${one.isolate} ${one.place}`;
    failed.set(key, Math.min(failed.get(key) ?? Number.POSITIVE_INFINITY, one.call));
  }
  return {
    hasFailed: (isolate, place, before) => (failed.get(`${isolate} ${place}`) ?? Number.POSITIVE_INFINITY) < before,
    isOpen: (isolate, place, at) =>
      breakers.findLast((one) => one.isolate === isolate && one.place === place && one.at <= at)?.to === "open",
  };
}

export function silentForNothing({ name, decisions, calls, policy }: Keyed, trouble: Trouble): string[] {
  const place = calls[0]?.place;
  return decisions.flatMap((decision): string[] => {
    const { isolate, output } = decision;
    const isSilent = output.silent.includes(name);
    if (isSilent && policy.onStoreFailure === "deny") {
      return [`${describe(decision)}, although the place of ${name} had not answered, and ${name} denies then`];
    }
    if (!isSilent || place === undefined || trouble.hasFailed(isolate, place, decision.return)) return [];
    return [`${describe(decision)} alone, although every call of this isolate to ${place} had its answer in time`];
  });
}

/** An answer that nobody decided is right only if a place of one of its policies had no answer. */
export function unavailableForNothing(
  decisions: readonly Decided[],
  keys: readonly Keyed[],
  trouble: Trouble,
): string[] {
  const places = new Map(keys.map(({ key, calls }) => [key, calls[0]?.place]));
  return decisions.flatMap((decision) => {
    const asked = Object.values(decision.input.keys).map((key) => places.get(key));
    // A key that was never called says nothing about its place: its breaker may have been open all the time.
    const isRight = asked.some((place) => {
      return place === undefined || trouble.hasFailed(decision.isolate, place, decision.return);
    });
    return !decision.output.unavailable || isRight ? [] : [`${describe(decision)}, although its places answered`];
  });
}
