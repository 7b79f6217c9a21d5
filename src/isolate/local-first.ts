/** A store as this isolate sees it: what is known already is answered at once, everything else is asked for. */

import { Flag, type TakeReply, type TakeRequest } from "../core/take.ts";
import { lateReplyOf } from "../store/failure.ts";
import type { Store } from "../store/store.ts";
import { createKnownCounts } from "./known-counts.ts";
import { leasing } from "./leases/take-leased.ts";
import { countPendingUnits } from "./pending-units.ts";
import { type Background, kept, type ReplySource, type SourcedReply } from "./reply-source.ts";
import { createStoreClock } from "./store-clock.ts";
import { decisionBudget, LOCAL_TIMING, type Timing } from "./timing.ts";

export function localFirst(store: Store, timing: Timing = LOCAL_TIMING): ReplySource {
  const clock = createStoreClock();
  const inFlight = countPendingUnits();
  const waiting = countPendingUnits();
  const counts = createKnownCounts(clock, inFlight, waiting);

  /** Takes from the store, and learns from its reply. A reply that comes too late for the request still teaches. */
  async function ask(request: TakeRequest, background?: Background, budgetMs?: number): Promise<TakeReply> {
    const sentAtMs = timing.nowMs();
    const ends = request.keys.map(({ key, cost }) => inFlight.begin(key, cost, sentAtMs));
    try {
      const reply = await store.take(request, undefined, budgetMs);
      askMs = timing.nowMs() - sentAtMs;
      learn(request, reply, sentAtMs);
      return reply;
    } catch (error) {
      const late = lateReplyOf(error)?.answer;
      if (late) background?.waitUntil(late.then((reply) => reply && learn(request, reply, sentAtMs)));
      throw error;
    } finally {
      for (const end of ends) end();
    }
  }

  function learn(request: TakeRequest, reply: TakeReply, sentAtMs: number): void {
    const receivedAtMs = timing.nowMs();
    if (!clock.observe(sentAtMs, receivedAtMs, reply.nowMs)) {
      counts.clear();
      leased.clear();
    }
    counts.learn(request, reply, sentAtMs, receivedAtMs);
  }

  /** How long the last ask took. */
  let askMs = 0;
  const leased = leasing({ ask, store, counts, clock, timing });

  async function takeStrictly(request: TakeRequest, background: Background | undefined): Promise<SourcedReply> {
    const nowMs = timing.nowMs();
    // Who waits has said so, and must live to take it back.
    return refusedNow(request, nowMs) ?? (await kept(waitFor(request, background, nowMs), background));
  }

  function refusedNow(request: TakeRequest, nowMs: number): SourcedReply | undefined {
    const refusal = counts.refusal(request, nowMs);
    return refusal && { reply: refusal, source: "cache" };
  }

  /** From an ask, this request's or another one's. */
  async function waitFor(
    request: TakeRequest,
    background: Background | undefined,
    cameAtMs: number,
  ): Promise<SourcedReply> {
    const budget = decisionBudget(store.timeoutMs, askMs, cameAtMs);
    for (;;) {
      const nowMs = timing.nowMs();
      const refused = refusedNow(request, nowMs);
      if (refused) return refused;
      const told = counts.refusedSince(request, cameAtMs, nowMs);
      if (told) return { reply: told, source: store.kind };
      const waitMs = Math.min(counts.askAfterMs(request, nowMs), budget.waitMs(nowMs));
      if (waitMs <= 0) return { reply: await ask(request, background, budget.leftMs(nowMs)), source: store.kind };
      const ends = request.keys.map(({ key, cost }) => waiting.begin(key, cost, nowMs));
      await timing.sleep(waitMs);
      for (const end of ends) end();
    }
  }

  return {
    async take(request, background, mayLease = true) {
      if (request.flag === Flag.take) {
        return await (background && mayLease ? leased.take(request, background) : takeStrictly(request, background));
      }
      // Renewing and releasing ask for some limits of a key only: nothing to learn.
      const asked = request.flag === Flag.look ? ask(request, background) : store.take(request);
      return { reply: await kept(asked, background), source: store.kind };
    },
    async reset(keys) {
      const forget = () => {
        counts.forget(keys);
        leased.forget(keys);
      };
      forget();
      await store.reset(keys);
      // A refusal that was on its way meanwhile must not bring the old counts back.
      forget();
    },
  };
}
