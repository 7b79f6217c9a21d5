/**
 * Finds who answers a limiter's takes: several places, an isolate for one place, or the store as it is. Only a program
 * whose store may be several places carries the code for them (features/places).
 */

import type { Policy } from "../core/policy.ts";
import { isolateOf, type Takers, type TakersOptions } from "../place/isolate.ts";
import type { ListenerOf } from "../place/listener.ts";
import { plainTaker } from "../place/plain.ts";
import type { Inquiry, Taker } from "../place/taker.ts";
import type { Store } from "../store/store.ts";
import type { AppliedPolicy } from "./decide.ts";
import type { InsideFeature } from "./feature.ts";
import type { MoreOfKey } from "./keys.ts";
import type { PartOf } from "./part.ts";

/** A store that may be several places, or whose keys may lie in several parts of it. */
export interface StoreWithSplit extends Store {
  /** The stores that it is made of. */
  readonly places: readonly Store[];
  /** Makes what one limiter of this isolate keeps beside the places. */
  split(options: TakersOptions): Takers;
}

/** Who answers about these policies: the strongest consistency of them holds for all. */
export type TakerFor = (takes: readonly AppliedPolicy[], flag: Inquiry["flag"]) => Taker;

interface LimiterTakers {
  readonly strict: Taker;
  readonly takerFor: TakerFor;
  /** What their wraps say about keys of the store. */
  readonly asks: readonly MoreOfKey[];
}

/**
 * Who answers takes: the wraps that a policy asks for, and the store. The live document changes no consistency.
 *
 * @param parts those that are used.
 */
export function takersFor(
  policies: readonly Policy[],
  features: readonly InsideFeature[],
  parts: readonly PartOf[],
  store: Store,
  listenerOf: ListenerOf | undefined,
): LimiterTakers {
  const all = features.flatMap(({ wrap }) => wrap ?? []);
  const asked = all.filter((wrap) => policies.some(({ consistency }) => consistency === wrap.consistency));
  const wraps = asked.map((wrap) => parts.reduce((inner, part) => part.wrap?.(inner) ?? inner, wrap));
  const takers = takersOf(store, { listenerOf, wraps });
  const { strict } = takers;
  if (wraps.length === 0) return { strict, takerFor: () => strict, asks: [] };
  const wrapped = wraps.map((wrap) => ({ wrap, taker: takers.wrapped(wrap) }));
  return {
    strict,
    takerFor(takes, flag) {
      if (takes.some(({ isStrict }) => isStrict)) return strict;
      return wrapped.find(({ wrap }) => wrap.suits(takes, flag))?.taker ?? strict;
    },
    asks: wraps.flatMap(({ ask }) => ask ?? []),
  };
}

/** Who answers for a limiter: several places, an isolate for one place, or the store itself. */
export function takersOf(store: Store, options: TakersOptions = {}): Takers {
  const split = (store as Partial<StoreWithSplit>).split?.(options);
  if (split) return split;
  const isolate = isolateOf(store, { listener: options.listenerOf?.(0), wraps: options.wraps });
  if (isolate) return isolate;
  const plain = plainTaker(store);
  return { strict: plain, wrapped: () => plain };
}

/** The places of a store. One place: the store itself. */
export function placesOf(store: Store): readonly Store[] {
  return (store as Partial<StoreWithSplit>).places ?? [store];
}

/** A Worker opens six connections at once (Cloudflare, 2026-11): a seventh call waits, and its budget runs. */
const AT_A_TIME = 6;

/** Does the work for all of them. @throws the first error, when all are done. */
export async function sixAtATime<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (let at = 0; at < all.length; at += AT_A_TIME) {
    const done = await Promise.allSettled(all.slice(at, at + AT_A_TIME).map(work));
    for (const one of done) if (one.status === "rejected") failures.push(one.reason);
  }
  if (failures.length > 0) throw failures[0];
}
