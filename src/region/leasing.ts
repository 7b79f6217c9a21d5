/** Takes that are answered from units which this isolate holds already; here they are asked for, and given back. */

import { algorithmOf } from "../core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type LimitReply, type TakeReply, type TakeRequest } from "../core/take.ts";
import { type Store, StoreError } from "../store/store.ts";
import { type Answer, type Background, kept } from "./answers.ts";
import type { StoreClock } from "./clock.ts";
import type { Lease, LeaseAsk } from "./lease.ts";
import { createLeases } from "./leases.ts";
import type { RememberedCounts } from "./remembered.ts";
import { type DecisionBudget, decisionBudget, type Timing } from "./timing.ts";

/** How often a request looks whether the ask of another one has come back. */
const POLL_MS = 4;
/** A Worker's background work is ended 30 s after its answer (Cloudflare, 2026-11): another request's goes on before that. */
const MAX_TENDED_MS = 20_000;
/** The request that tends a lease may be this late before another one takes over. */
const TENDING_LATE_MS = 1_000;
/** After so many asks that came to nothing a request asks for itself alone, as under `strict`. */
const MAX_ASKS = 3;

interface Parts {
  /** Takes from the store, and learns from its reply. @throws {StoreError} */
  readonly ask: (request: TakeRequest, background: Background, budgetMs?: number) => Promise<TakeReply>;
  readonly store: Store;
  readonly counts: RememberedCounts;
  readonly clock: StoreClock;
  readonly timing: Timing;
}

/** What a request wants of one key. */
interface Want {
  readonly key: KeyRequest;
  readonly lease: Lease;
}

export interface Leasing {
  /** Every key of the request can be leased and costs at least 1. @throws {StoreError} */
  take(request: TakeRequest, background: Background): Promise<Answer>;
  forget(keys: readonly string[]): void;
  clear(): void;
}

export function leasing({ ask, store, counts, clock, timing }: Parts): Leasing {
  const leases = createLeases(clock);

  /** From units that are held under every key of the request. */
  function spend(wants: readonly Want[], nowMs: number): TakeReply | undefined {
    const storeTime = clock.at(nowMs);
    if (!storeTime || !wants.every(({ key, lease }) => leases.held(lease, nowMs) >= key.cost)) return undefined;
    for (const { key, lease } of wants) leases.spend(lease, key.cost, nowMs);
    return replyTo(wants, storeTime.earliestMs, true);
  }

  /** What the counts that were told last mean for the request, without what is held here. */
  function replyTo(wants: readonly Want[], nowMs: number, allowed: boolean): TakeReply {
    const keys = wants.map(({ key: { cost, limits }, lease }) =>
      leases.views(lease, nowMs).map((view, l): LimitReply => {
        const refused = !allowed && algorithmOf(limits[l]!).recall(view, limits[l]!, nowMs, cost, cost)!.refused;
        return { view, refused };
      }),
    );
    return { nowMs, allowed: !keys.some((replies) => replies.some(({ refused }) => refused)), keys };
  }

  /** Refused by what is remembered, if what is held does not suffice. */
  function refusal(wants: readonly Want[], nowMs: number): TakeReply | undefined {
    const rest = wants.flatMap(({ key, lease }) => {
      const cost = key.cost - leases.held(lease, nowMs);
      return cost > 0 ? [{ ...key, cost }] : [];
    });
    const refused = counts.refusal({ keys: rest, flag: Flag.take }, nowMs);
    if (!refused) return undefined;
    const keys = wants.map((want) => {
      const known = rest.findIndex(({ key }) => key === want.key.key);
      return known >= 0 ? refused.keys[known]! : replyTo([want], refused.nowMs, true).keys[0]!;
    });
    return { ...refused, keys };
  }

  /** Refused although the counts may admit: a moment ago this isolate asked and got less than it needs. */
  function heldBack(wants: readonly Want[], nowMs: number): TakeReply | undefined {
    const isHeld = ({ key, lease }: Want) => lease.heldBackUntilMs > nowMs && leases.held(lease, nowMs) < key.cost;
    const storeTime = clock.at(nowMs);
    if (!storeTime || !wants.some(isHeld) || wants.some(({ lease }) => !lease.replies)) return undefined;
    const { keys } = replyTo(wants, storeTime.earliestMs, true);
    const held = wants.map((want, w) => {
      const heldBackMs = Math.ceil(want.lease.heldBackUntilMs - nowMs);
      return isHeld(want) ? keys[w]!.map((reply) => ({ ...reply, refused: true, heldBackMs })) : keys[w]!;
    });
    return { nowMs: storeTime.earliestMs, allowed: false, keys: held };
  }

  /** Sends what is asked for, and books what comes of it. Callers see to it that it goes on if the client goes away. */
  async function send(
    asks: readonly LeaseAsk[],
    background: Background,
    budgetMs?: number,
  ): Promise<{ allowed: boolean; late: boolean; nowMs: number }> {
    const sent = asks.filter(({ key }) => key.cost > 0);
    let reply: TakeReply | undefined;
    // Units that were held for the request have ended before the reply: they must not be spent together with it.
    let late = false;
    try {
      reply = await ask({ flag: Flag.take, keys: sent.map(({ key }) => key) }, background, budgetMs);
      const { allowed, nowMs } = reply;
      late = allowed && asks.some(({ reserved }) => reserved.some(({ endsAtMs }) => endsAtMs <= nowMs));
      return { allowed, late, nowMs };
    } finally {
      for (const one of asks)
        leases.settle(one, reply && { ...reply, late }, reply?.keys[sent.indexOf(one)], timing.nowMs());
      for (const { lease } of asks) tend(lease, background);
    }
  }

  /** @returns undefined: the request is not answered yet, what is held or remembered has to be looked at again. */
  async function askFor(
    wants: readonly Want[],
    background: Background,
    ahead: boolean,
    budget: DecisionBudget,
  ): Promise<TakeReply | undefined> {
    const asks = wants.map(({ key, lease }) => leases.ask(lease, key, timing.nowMs(), ahead));
    const { allowed, late, nowMs } = await send(asks, background, budget.leftMs(timing.nowMs()));
    if (late) return undefined;
    const reply = replyTo(wants, nowMs, allowed);
    // Else it was too much together: what the request needs is still there, and now it is known how much else.
    return allowed || !reply.allowed ? reply : undefined;
  }

  /** Asks for more while there still is some. */
  function renew({ key, lease }: Want, background: Background): void {
    const nowMs = timing.nowMs();
    if (leases.isAsking(lease, nowMs) || !leases.isLow(lease, nowMs)) return;
    const more = leases.ask(lease, { ...key, cost: 0 }, nowMs, true);
    if (more.key.cost > 0) background.waitUntil(send([more], background).catch(ignoreStoreError));
    else leases.settle(more, undefined, undefined, nowMs);
  }

  /** Gives back what is not used, when its time comes. One request's background does it for all. */
  function tend(lease: Lease, background: Background): void {
    const startMs = timing.nowMs();
    if (lease.tendedUntilMs > startMs || leases.reviewAfterMs(lease, startMs) === undefined) return;
    const tending = async () => {
      for (;;) {
        const nowMs = timing.nowMs();
        const waitMs = leases.reviewAfterMs(lease, nowMs);
        if (waitMs === undefined || nowMs + waitMs > startMs + MAX_TENDED_MS) break;
        lease.tendedUntilMs = nowMs + waitMs + TENDING_LATE_MS;
        await timing.sleep(waitMs);
        const unused = leases.unused(lease, timing.nowMs());
        await Promise.all(unused.map((one) => giveBack(lease, one.units, one.chargedAtMs)));
      }
      lease.tendedUntilMs = 0;
    };
    background.waitUntil(tending());
  }

  /** Once: if it is not known whether that worked, the units lapse with their window. */
  async function giveBack({ key, limits }: Lease, units: number, chargedAtMs: number): Promise<void> {
    const keys = [{ key, group: ENFORCED, cost: units, limits }];
    await store.take({ keys, flag: Flag.giveBack, atMs: chargedAtMs }).catch(ignoreStoreError);
  }

  /** From what is held or known here. */
  function answerNow(wants: readonly Want[], background: Background, nowMs: number): Answer | undefined {
    const spent = spend(wants, nowMs);
    if (spent) {
      for (const want of wants) renew(want, background);
      return { reply: spent, source: "lease" };
    }
    const refused = refusal(wants, nowMs);
    if (refused) return { reply: refused, source: "cache" };
    const held = heldBack(wants, nowMs);
    return held && { reply: held, source: "lease" };
  }

  /** From an ask, this request's or another one's. */
  async function waitFor(wants: readonly Want[], background: Background, startMs: number): Promise<Answer> {
    const request = { keys: wants.map(({ key }) => key), flag: Flag.take };
    const budget = decisionBudget(store.timeoutMs, Math.max(...wants.map(({ lease }) => lease.askMs)), startMs);
    for (let asks = 0; asks < MAX_ASKS; ) {
      const nowMs = timing.nowMs();
      const asking = wants.filter(({ lease }) => leases.isAsking(lease, nowMs));
      const mayWaitMs = budget.waitMs(nowMs);
      if (asking.length > 0 && mayWaitMs <= 0) break;
      const waitMs = Math.min(asking.length > 0 ? POLL_MS : counts.askAfterMs(request, nowMs), mayWaitMs);
      if (waitMs > 0) {
        for (const { key, lease } of asking) lease.waiting += key.cost;
        await timing.sleep(waitMs);
        for (const { key, lease } of asking) lease.waiting -= key.cost;
      } else {
        asks++;
        const reply = await askFor(wants, background, asks < MAX_ASKS, budget);
        if (reply) return { reply, source: store.kind };
      }
      const answer = answerNow(wants, background, timing.nowMs());
      if (answer) return answer;
    }
    return { reply: await ask(request, background, budget.leftMs(timing.nowMs())), source: store.kind };
  }

  return {
    async take({ keys }, background) {
      const nowMs = timing.nowMs();
      const wants = keys.map((key): Want => ({ key, lease: leases.of(key) }));
      for (const { key, lease } of wants) leases.want(lease, key.cost, nowMs);
      // Who waits has said so, and must live to take it back.
      return answerNow(wants, background, nowMs) ?? (await kept(waitFor(wants, background, nowMs), background));
    },
    forget: leases.forget,
    clear: leases.clear,
  };
}

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}
