/** Takes that are answered from units which this isolate holds already; here they are asked for, and given back. */

import { algorithmOf } from "../../core/algorithms.ts";
import { farAlgorithmOf } from "../../core/far-algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type LimitReply, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { StoreError } from "../../store/store.ts";
import type { KnownRefusals } from "../known-refusals.ts";
import { type Background, keepAlive, type SourcedReply } from "../reply-source.ts";
import type { StoreCalls } from "../store-calls.ts";
import type { StoreClock } from "../store-clock.ts";
import { type DecisionBudget, decisionBudget, type Timing } from "../timing.ts";
import type { Lease, LeaseAsk } from "./lease.ts";
import { createLeases } from "./leases.ts";

/** How often a request looks whether the ask of another one has come back. */
const POLL_MS = 4;
/** A Worker's background work is ended 30 s after its answer (Cloudflare, 2026-11): another request's goes on before that. */
const MAX_TENDED_MS = 20_000;
/** The request that tends a lease may be this late before another one takes over. */
const TENDING_LATE_MS = 1_000;
/**
 * Of one request: units are given back in so many calls at most, then in those of later requests. Of the 50 subrequests that a
 * request has on Cloudflare's free plan (10,000 on a paid one, 2026-11) the origin and the application need some.
 */
const MAX_GIVE_BACKS = 10;
/** After so many asks that came to nothing a request asks for itself alone, as under `strict`. */
const MAX_ASKS = 3;

interface Parts {
  readonly calls: StoreCalls;
  readonly refusals: KnownRefusals;
  readonly clock: StoreClock;
  readonly timing: Timing;
}

/** What a request wants of one key. */
interface Want {
  readonly key: KeyRequest;
  readonly lease: Lease;
  /** When the request came, by the local clock. */
  readonly cameAtMs: number;
}

/** Of one request. */
interface RequestBackground {
  readonly own: Background;
  /** How often units may still be given back in it. */
  giveBacksLeft: number;
}

export interface LeasedTakes {
  /** Every key of the request can be leased and costs at least 1. @throws {StoreError} */
  take(request: TakeRequest, background: Background): Promise<SourcedReply>;
  forget(keys: readonly string[]): void;
  clear(): void;
}

export function createLeasedTakes({ calls, refusals, clock, timing }: Parts): LeasedTakes {
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
    const keys = wants.map((want) => replyToKey(want, nowMs, allowed));
    return { nowMs, allowed: !isRefusal(keys), keys };
  }

  /** @param counts those that were told; default: last to this lease. */
  function replyToKey(
    { key: { cost, limits }, lease }: Want,
    nowMs: number,
    allowed: boolean,
    counts?: readonly LimitReply[],
  ): readonly LimitReply[] {
    return leases.views(lease, nowMs, counts).map((view, l): LimitReply => {
      const refused = !allowed && farAlgorithmOf(limits[l]!).recall(view, limits[l]!, nowMs, cost, cost)!.refused;
      return { view, refused };
    });
  }

  /** Refused by what is remembered, or was told another request since this one came, if what is held does not suffice. */
  function refusal(wants: readonly Want[], nowMs: number): SourcedReply | undefined {
    const rest = wants.flatMap(({ key, lease }) => {
      const cost = key.cost - leases.held(lease, nowMs);
      return cost > 0 ? [{ ...key, cost }] : [];
    });
    const request = { keys: rest, flag: Flag.take };
    const remembered = refusals.refusal(request, nowMs);
    const refused = remembered ?? refusals.refusedSince(request, wants[0]!.cameAtMs, nowMs);
    if (!refused) return undefined;
    // Waits are those of the whole cost: what is held here goes back before they are over.
    const keys = wants.map((want) => {
      const known = rest.findIndex(({ key }) => key === want.key.key);
      return replyToKey(want, refused.nowMs, known < 0, refused.keys[known]);
    });
    if (!isRefusal(keys)) return undefined;
    return { reply: { ...refused, keys }, source: remembered ? "cache" : calls.kind };
  }

  /** Refused although the counts may admit: a moment ago this isolate asked and got less than it needs. */
  function heldBack(wants: readonly Want[], nowMs: number): TakeReply | undefined {
    const isHeld = ({ key, lease }: Want) => lease.heldBackUntilMs > nowMs && leases.held(lease, nowMs) < key.cost;
    const storeTime = clock.at(nowMs);
    if (!storeTime || !wants.some(isHeld) || wants.some(({ lease }) => !lease.replies)) return undefined;
    const { nowMs: atMs, keys } = replyTo(wants, storeTime.earliestMs, false);
    const heldBackMs = Math.ceil(Math.max(...wants.filter(isHeld).map(({ lease }) => lease.heldBackUntilMs)) - nowMs);
    // The counts refuse for longer: how long the store has to say.
    const isRefusedLonger = ({ key: { limits, cost } }: Want, w: number) =>
      limits.some((limit, l) => {
        const { view, refused } = keys[w]![l]!;
        if (!refused) return false;
        const { retryAfterMs = Number.POSITIVE_INFINITY } = algorithmOf(limit).tell(view, limit, cost, true, atMs);
        return retryAfterMs > heldBackMs;
      });
    if (wants.some(isRefusedLonger)) return undefined;
    const held = wants.map((want, w) => {
      return keys[w]!.map((reply) =>
        isHeld(want) ? { ...reply, refused: true, heldBackMs } : { ...reply, refused: false },
      );
    });
    return { nowMs: atMs, allowed: false, keys: held };
  }

  /** Sends what is asked for, and books what comes of it. Callers see to it that it goes on if the client goes away. */
  async function send(
    asks: readonly LeaseAsk[],
    background: RequestBackground,
    budgetMs?: number,
  ): Promise<{ allowed: boolean; late: boolean; nowMs: number }> {
    const sent = asks.filter(({ key }) => key.cost > 0);
    let reply: TakeReply | undefined;
    // Units that were held for the request have ended before the reply: they must not be spent together with it.
    let late = false;
    try {
      const answer = await calls.take(
        { flag: Flag.take, keys: sent.map(({ key }) => key) },
        { background: background.own, ...(budgetMs !== undefined && { budgetMs }) },
      );
      reply = answer;
      const { allowed, nowMs, keys } = answer;
      late = allowed && asks.some((one) => hasEnded(one, keys[sent.indexOf(one)], nowMs));
      return { allowed, late, nowMs };
    } finally {
      for (const one of asks)
        leases.settle(one, reply && { ...reply, late }, reply?.keys[sent.indexOf(one)], timing.nowMs());
      for (const { lease } of asks) tend(lease, background, timing.nowMs());
    }
  }

  /** With its bucket, or with a reset. @param replies of a take that admitted, to this key if it was asked for at all. */
  function hasEnded(
    { lease, key, reserved }: LeaseAsk,
    replies: readonly LimitReply[] | undefined,
    nowMs: number,
  ): boolean {
    if (reserved.length === 0) return false;
    const wasReset = replies !== undefined && leases.wasReset(lease, key.cost, replies, nowMs);
    return wasReset || reserved.some(({ endsAtMs }) => endsAtMs <= nowMs);
  }

  /** @returns undefined: the request is not answered yet, what is held or remembered has to be looked at again. */
  async function askFor(
    wants: readonly Want[],
    background: RequestBackground,
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
  function renew({ key, lease }: Want, background: RequestBackground): void {
    const nowMs = timing.nowMs();
    if (leases.isAsking(lease, nowMs) || !leases.isLow(lease, nowMs)) return;
    const more = leases.ask(lease, { ...key, cost: 0 }, nowMs, true);
    if (more.key.cost > 0) background.own.waitUntil(send([more], background).catch(ignoreStoreError));
    else leases.settle(more, undefined, undefined, nowMs);
  }

  /** Gives back what is not used, when its time comes. One request's background does it for all, as long as it may. */
  function tend(lease: Lease, background: RequestBackground, startMs: number): void {
    if (lease.tendedUntilMs > startMs || background.giveBacksLeft === 0) return;
    if (leases.reviewAfterMs(lease, startMs) === undefined) return;
    const tending = async () => {
      while (background.giveBacksLeft > 0) {
        const nowMs = timing.nowMs();
        const waitMs = leases.reviewAfterMs(lease, nowMs);
        if (waitMs === undefined || nowMs + waitMs > startMs + MAX_TENDED_MS) break;
        lease.tendedUntilMs = nowMs + waitMs + TENDING_LATE_MS;
        await timing.sleep(waitMs);
        const unused = leases.unused(lease, timing.nowMs(), background.giveBacksLeft);
        background.giveBacksLeft -= unused.length;
        await Promise.all(unused.map((one) => giveBack(lease, one.units, one.chargedAtMs)));
      }
      lease.tendedUntilMs = 0;
    };
    background.own.waitUntil(tending());
  }

  /** Once: if it is not known whether that worked, the units lapse with their window. */
  async function giveBack(lease: Lease, units: number, chargedAtMs: number): Promise<void> {
    const keys = [{ key: lease.key, group: ENFORCED, cost: units, limits: lease.limits }];
    try {
      const reply = await calls.take({ keys, flag: Flag.giveBack, atMs: chargedAtMs });
      if (leases.wasReset(lease, 0, reply.keys[0]!, reply.nowMs)) leases.end(lease);
    } catch (error) {
      ignoreStoreError(error);
    }
  }

  /** From what is held or known here. */
  function answerNow(wants: readonly Want[], background: RequestBackground, nowMs: number): SourcedReply | undefined {
    const spent = spend(wants, nowMs);
    if (spent) {
      for (const want of wants) {
        renew(want, background);
        tend(want.lease, background, nowMs);
      }
      return { reply: spent, source: "lease" };
    }
    const refused = refusal(wants, nowMs);
    if (refused) return refused;
    const held = heldBack(wants, nowMs);
    return held && { reply: held, source: "lease" };
  }

  /** From an ask, this request's or another one's. */
  async function waitFor(
    wants: readonly Want[],
    background: RequestBackground,
    startMs: number,
  ): Promise<SourcedReply> {
    const request = { keys: wants.map(({ key }) => key), flag: Flag.take };
    const budget = decisionBudget(calls.timeoutMs, Math.max(...wants.map(({ lease }) => lease.askMs)), startMs);
    for (let asks = 0; asks < MAX_ASKS; ) {
      const nowMs = timing.nowMs();
      const asking = wants.filter(({ lease }) => leases.isAsking(lease, nowMs));
      const mayWaitMs = budget.waitMs(nowMs);
      if (asking.length > 0 && mayWaitMs <= 0) break;
      const waitMs = Math.min(asking.length > 0 ? POLL_MS : refusals.callAfterMs(request, nowMs), mayWaitMs);
      if (waitMs > 0) {
        for (const { key, lease } of asking) lease.waiting += key.cost;
        await timing.sleep(waitMs);
        for (const { key, lease } of asking) lease.waiting -= key.cost;
      } else {
        asks++;
        const reply = await askFor(wants, background, asks < MAX_ASKS, budget);
        if (reply) return { reply, source: calls.kind };
      }
      const answer = answerNow(wants, background, timing.nowMs());
      if (answer) return answer;
    }
    return {
      reply: await calls.take(request, { background: background.own, budgetMs: budget.leftMs(timing.nowMs()) }),
      source: calls.kind,
    };
  }

  return {
    async take({ keys }, own) {
      const nowMs = timing.nowMs();
      const background = { own, giveBacksLeft: MAX_GIVE_BACKS };
      const wants = keys.map((key): Want => ({ key, lease: leases.of(key), cameAtMs: nowMs }));
      for (const { key, lease } of wants) leases.want(lease, key.cost, nowMs);
      // Who waits has said so, and must live to take it back.
      return answerNow(wants, background, nowMs) ?? (await keepAlive(waitFor(wants, background, nowMs), own));
    },
    forget: leases.forget,
    clear: leases.clear,
  };
}

function isRefusal(keys: readonly (readonly LimitReply[])[]): boolean {
  return keys.some((replies) => replies.some(({ refused }) => refused));
}

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}
