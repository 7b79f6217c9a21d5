/** What an isolate counts, and how it is handed on: the parts put together for a gateway. */

import type { CountedAnswer } from "../../features/meter/settled.ts";
import type { Decision } from "../../kernel/core/decision.ts";
import type { DecisionContext, OnDecision } from "../../kernel/limiter/on-decision.ts";
import { policyOf } from "../../kernel/limiter/store-key.ts";
import type { ListenerOf } from "../../kernel/place/listener.ts";
import type { Background } from "../../kernel/place/taker.ts";
import type { Store } from "../../kernel/store/store.ts";
import { countAnswer, countDecision, countWhere } from "./count.ts";
import { batchesOf, createHandOn } from "./hand-on.ts";
import { SECONDS_BOUNDS } from "./metrics.ts";
import { whereOf } from "./object/counts.ts";
import type { Stats } from "./object/door.ts";
import { Minutes } from "./tally.ts";

type OnCounted = (answer: CountedAnswer, background: Background | undefined) => void;

const MAX_REFUSED = 1_000;

export interface Counting {
  readonly onDecision: OnDecision;
  readonly onSettled: OnCounted;
  readonly listenerOf: ListenerOf;
  /** @param status a class, such as `2xx`; `none`: the origin has not answered. */
  onAnswer(status: string, background: Background | undefined): void;
  /** Called after `onDecision` with the same refusal, if it has a request. */
  onRefusal(decision: Decision, route: string, country: string): void;
}

/** What counts for a limiter. @param places by their names, in the order of the store's places. */
export function createStats(
  { add: send }: Stats,
  flushMs: number,
  places: readonly (readonly [name: string, Store])[],
): Counting {
  const minutes = new Minutes();
  const openPlaces = () => places.filter(([, place]) => place.breaker?.() === "open").map(([name]) => name);
  const handOn = createHandOn({
    collected: batchesOf(minutes, openPlaces, flushMs),
    flushMs,
    unsent: { event: "stats-unsent" },
    refused: { event: "stats-refused" },
    send,
  });

  /** The clients of refusals whose answers are being made. A WeakMap would take 1.5 µs more of each refusal. */
  const refused = new Map<Decision, DecisionContext["takes"]>();

  return {
    onDecision(decision, context) {
      const nowMs = Date.now();
      countDecision(minutes.at(nowMs), decision, context);
      handOn(context.background, nowMs);
      if (decision.allowed || context.peek) return;
      // Those that have no request, such as calls by RPC, are never asked for.
      if (refused.size >= MAX_REFUSED) refused.clear();
      refused.set(decision, context.takes);
    },

    onSettled(answer, background) {
      const nowMs = Date.now();
      countAnswer(minutes.at(nowMs), answer);
      // An answer may last longer than the request has waited for a flush.
      handOn(background, nowMs);
    },

    onAnswer(status, background) {
      const nowMs = Date.now();
      minutes.at(nowMs).add(["origin_responses", status], 1);
      // An origin may take longer than the request has waited for a flush.
      handOn(background, nowMs);
    },

    onRefusal(decision, route, country) {
      const takes = refused.get(decision);
      refused.delete(decision);
      if (takes) countWhere(minutes.at(Date.now()), decision, takes, whereOf(route, country));
    },

    listenerOf(at) {
      const place = places[at]![0];
      /** By policy, units that were reported as spent and then were not. The next units that are spent are these. */
      const unspent = new Map<string, number>();
      return {
        storeCall(outcome, tookMs) {
          if (outcome === "OPEN") return;
          // The clock may have stepped back.
          const ms = Math.max(0, tookMs);
          const labels = [place, outcome.toLowerCase()];
          const tally = minutes.at(Date.now());
          const le = SECONDS_BOUNDS.find((bound) => bound === "+Inf" || ms <= Number(bound) * 1_000)!;
          tally.add(["store_calls", ...labels], 1);
          tally.add(["store_seconds", ...labels, le], 1);
          tally.add(["store_seconds_sum", ...labels], Math.round(ms * 1_000));
        },

        leaseUnits(key, event, reported) {
          const policy = policyOf(key);
          let units = reported;
          if (event === "spent") {
            units -= unspent.get(policy) ?? 0;
            unspent.set(policy, Math.max(0, -units));
          }
          if (units > 0) minutes.at(Date.now()).add(["lease_units", policy, event], units);
        },
      };
    },
  };
}
