/** Takes under `strict`: the store makes every admission. A known refusal needs no call. */

import type { TakeRequest } from "../core/take.ts";
import type { KnownRefusals } from "./known-refusals.ts";
import type { PendingUnits } from "./pending-units.ts";
import { type Background, keepAlive, type SourcedReply } from "./reply-source.ts";
import type { StoreCalls } from "./store-calls.ts";
import { decisionBudget, type Timing } from "./timing.ts";

interface Parts {
  readonly calls: StoreCalls;
  readonly refusals: KnownRefusals;
  /** What requests of this isolate wait for. */
  readonly waiting: PendingUnits;
  readonly timing: Timing;
}

interface StrictTakes {
  /** The refusal that is known without a call, if there is one. */
  refusal(request: TakeRequest): SourcedReply | undefined;
  /** @throws {StoreError} */
  take(request: TakeRequest, background: Background | undefined): Promise<SourcedReply>;
}

export function createStrictTakes({ calls, refusals, waiting, timing }: Parts): StrictTakes {
  function refusedNow(request: TakeRequest, nowMs: number): SourcedReply | undefined {
    const refusal = refusals.refusal(request, nowMs);
    return refusal && { reply: refusal, source: "cache" };
  }

  /** Waits for another request's answer as long as that may answer this request, then calls the store. */
  async function waitOrCall(
    request: TakeRequest,
    background: Background | undefined,
    cameAtMs: number,
  ): Promise<SourcedReply> {
    const budget = decisionBudget(calls.timeoutMs, calls.lastMs, cameAtMs);
    for (;;) {
      const nowMs = timing.nowMs();
      const refused = refusedNow(request, nowMs);
      if (refused) return refused;
      const shared = refusals.refusedSince(request, cameAtMs, nowMs);
      if (shared) return { reply: shared, source: calls.kind };
      const waitMs = Math.min(refusals.callAfterMs(request, nowMs), budget.waitMs(nowMs));
      if (waitMs <= 0) {
        const reply = await calls.take(request, { background, budgetMs: budget.leftMs(nowMs) });
        return { reply, source: calls.kind };
      }
      const ends = request.keys.map(({ key, cost }) => waiting.begin(key, cost, nowMs));
      await timing.sleep(waitMs);
      for (const end of ends) end();
    }
  }

  return {
    refusal: (request) => refusedNow(request, timing.nowMs()),

    async take(request, background) {
      const nowMs = timing.nowMs();
      // A waiting request has been counted. Keep it alive until it is uncounted.
      return refusedNow(request, nowMs) ?? (await keepAlive(waitOrCall(request, background, nowMs), background));
    },
  };
}
