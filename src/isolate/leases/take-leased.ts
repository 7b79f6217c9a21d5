/**
 * Takes under `leased`: answered from units that this isolate has in stock. This file asks the store for units, and
 * gives units back.
 */

import { algorithmOf } from "../../core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type LimitReply, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { isStoreError, lateReplyOf } from "../../store/failure.ts";
import { StoreError } from "../../store/store.ts";
import type { KnownRefusals } from "../known-refusals.ts";
import type { IsolateListener } from "../listener.ts";
import type { OwnErrors } from "../own-errors.ts";
import { type Background, keepAlive, type SourcedReply } from "../reply-source.ts";
import type { StoreCalls } from "../store-calls.ts";
import type { StoreClock } from "../store-clock.ts";
import { type DecisionBudget, decisionBudget, type Timing } from "../timing.ts";
import type { Grant, Lease, LeaseRequest } from "./lease.ts";
import { createLeases } from "./leases.ts";

/** How often a request looks for the answer to another request's call. */
const POLL_MS = 4;
/**
 * Cloudflare ends the background work of a Worker 30 s after the answer (2026-11). Another request's background takes
 * over before that.
 */
const MAX_TENDED_MS = 20_000;
/** A background that tends a lease may be this late before another one takes over. */
const TENDING_LATE_MS = 1_000;
/**
 * The most calls of one request that give units back. Later requests give back the rest. On Cloudflare's free plan a
 * request may make 50 subrequests (10,000 on a paid plan, 2026-11), and the origin and the application need some of
 * them.
 */
const MAX_GIVE_BACKS = 10;
/** After this many calls that admitted nothing, a request asks only for what it needs, as under `strict`. */
const MAX_CALLS = 3;

interface Parts {
  readonly calls: StoreCalls;
  readonly refusals: KnownRefusals;
  readonly clock: StoreClock;
  readonly timing: Timing;
  readonly ownErrors: OwnErrors;
  readonly listener?: IsolateListener | undefined;
}

/** What a request wants from one key. */
interface Want {
  readonly key: KeyRequest;
  readonly lease: Lease;
  /** When the request came, by the local clock. */
  readonly cameAtMs: number;
}

/** The background of one request. */
interface RequestBackground {
  readonly background: Background;
  /** How many more times it may give units back. */
  giveBacksLeft: number;
}

/** Units that a request has taken out of a stock. */
interface Spent {
  readonly lease: Lease;
  readonly grants: readonly Grant[];
}

export interface LeasedTakes {
  /** The refusal that is known without a call, if there is one. */
  refusal(request: TakeRequest): SourcedReply | undefined;
  /** Every key of the request must be leasable and cost at least 1. @throws {StoreError} */
  take(request: TakeRequest, background: Background): Promise<SourcedReply>;
  /** What a look has told, as a take would be told it: units in stock are free. */
  looked(request: TakeRequest, reply: TakeReply): TakeReply;
  forget(keys: readonly string[]): void;
  clear(): void;
}

export function createLeasedTakes({ calls, refusals, clock, timing, ownErrors, listener }: Parts): LeasedTakes {
  const { attempt } = ownErrors;
  const leases = createLeases(clock, listener);

  /** Answers from the stock if it suffices under every key of the request. */
  function spend(wants: readonly Want[], own: RequestBackground, nowMs: number): SourcedReply | undefined {
    const storeTime = clock.at(nowMs);
    if (!storeTime || !wants.every(({ key, lease }) => leases.inStock(lease, nowMs) >= key.cost)) return undefined;
    const spent = wants.map(({ key, lease }) => ({ lease, grants: leases.spend(lease, key.cost, nowMs) }));
    const reply = replyTo(wants, storeTime.earliestMs, true);
    return { reply, source: "lease", unspend: () => unspend(spent, own) };
  }

  function unspend(spent: readonly Spent[], own: RequestBackground): void {
    for (const { lease, grants } of spent) {
      leases.unspend(lease, grants);
      tend(lease, own, timing.nowMs());
    }
  }

  /** What the counts of the last replies mean for the request, without the units in stock. */
  function replyTo(wants: readonly Want[], nowMs: number, allowed: boolean): TakeReply {
    const keys = wants.map((want) => replyToKey(want, nowMs, allowed));
    return { nowMs, allowed: !isRefusal(keys), keys };
  }

  /** @param counts what the store told. Default: the last reply to this lease. */
  function replyToKey(
    { key: { cost, limits }, lease }: Want,
    nowMs: number,
    allowed: boolean,
    counts?: readonly LimitReply[],
  ): readonly LimitReply[] {
    return leases.views(lease, nowMs, counts).map((view, l): LimitReply => {
      const refused = !allowed && algorithmOf(limits[l]!).recall(view, limits[l]!, nowMs, cost, cost)!.refused;
      return { view, refused };
    });
  }

  /** A refusal of what the stock does not cover: known, or told to another request since this one came. */
  function refusal(wants: readonly Want[], nowMs: number): SourcedReply | undefined {
    const rest: KeyRequest[] = [];
    for (const { key, lease } of wants) {
      const cost = key.cost - leases.inStock(lease, nowMs);
      if (cost > 0) rest.push(cost === key.cost ? key : { ...key, cost });
    }
    const request = { keys: rest, flag: Flag.take };
    const known = refusals.refusal(request, nowMs);
    const refused = known ?? refusals.refusedSince(request, wants[0]!.cameAtMs, nowMs);
    if (!refused) return undefined;
    // The waits are those of the whole cost: the stock is given back before they end.
    const keys = wants.map((want) => {
      const r = rest.findIndex(({ key }) => key === want.key.key);
      return replyToKey(want, refused.nowMs, r < 0, refused.keys[r]);
    });
    if (!isRefusal(keys)) return undefined;
    return { reply: { ...refused, keys }, source: known ? "cache" : calls.kind };
  }

  /**
   * A refusal although the counts may admit: this isolate got fewer units than it needs a moment ago, and does not ask
   * again yet.
   */
  function paused(wants: readonly Want[], nowMs: number): TakeReply | undefined {
    const isPaused = ({ key, lease }: Want) => lease.pausedUntilMs > nowMs && leases.inStock(lease, nowMs) < key.cost;
    const storeTime = clock.at(nowMs);
    if (!storeTime || !wants.some(isPaused) || wants.some(({ lease }) => !lease.replies)) return undefined;
    const { nowMs: atMs, keys } = replyTo(wants, storeTime.earliestMs, false);
    const pausedMs = Math.ceil(Math.max(...wants.filter(isPaused).map(({ lease }) => lease.pausedUntilMs)) - nowMs);
    // The counts refuse for longer than the pause: only the store can tell the wait.
    const isRefusedLonger = ({ key: { limits, cost } }: Want, w: number) =>
      limits.some((limit, l) => {
        const { view, refused } = keys[w]![l]!;
        if (!refused) return false;
        const { retryAfterMs = Number.POSITIVE_INFINITY } = algorithmOf(limit).tell(view, limit, cost, true, atMs);
        return retryAfterMs > pausedMs;
      });
    if (wants.some(isRefusedLonger)) return undefined;
    const replies = wants.map((want, w) => {
      return keys[w]!.map((reply) =>
        isPaused(want) ? { ...reply, refused: true, pausedMs } : { ...reply, refused: false },
      );
    });
    return { nowMs: atMs, allowed: false, keys: replies };
  }

  /** Makes the call and books the answer. The caller must keep it alive if the client goes away. */
  async function send(
    requests: readonly LeaseRequest[],
    own: RequestBackground,
    budgetMs?: number,
  ): Promise<{ allowed: boolean; late: boolean; nowMs: number; replies: readonly (readonly LimitReply[])[] }> {
    const { background } = own;
    const sent = requests.filter(({ key }) => key.cost > 0);
    let reply: TakeReply | undefined;
    // Units that were reserved for the request ended before the reply, so they must not be spent together with it.
    let late = false;
    try {
      const request = { flag: Flag.take, keys: sent.map(({ key }) => key) };
      const callers = sent.map(({ caller, needed }) => ({ key: caller, needed }));
      const answer = await calls.take(request, { background, callers, ...(budgetMs !== undefined && { budgetMs }) });
      reply = answer;
      const { allowed, nowMs, keys } = answer;
      late = allowed && requests.some((one) => hasEnded(one, keys[sent.indexOf(one)], nowMs));
      return { allowed, late, nowMs, replies: requests.map((one) => keys[sent.indexOf(one)] ?? []) };
    } catch (error) {
      const timeout = lateReplyOf(error);
      if (!timeout) throw error;
      background.waitUntil(timeout.answer.then((answer) => attempt(() => answer && settleLate(sent, answer, own))));
      // The caller's fallback settles what the caller needed.
      const asked = sent.map(({ key, needed }) => ({ ...key, cost: needed }));
      throw new StoreError("TIMEOUT", undefined, { ...timeout, asked });
    } finally {
      for (const one of requests) {
        const replies = reply?.keys[sent.indexOf(one)];
        attempt(() => leases.settle(one, reply && { ...reply, late }, replies, timing.nowMs()));
        attempt(() => tend(one.lease, own, timing.nowMs()));
      }
    }
  }

  /**
   * Books an answer that came too late for its requests: the counts are learned, and the units for the stock go into
   * the stocks. The fallback settles the units that the requests needed.
   */
  function settleLate(sent: readonly LeaseRequest[], answer: TakeReply, own: RequestBackground): void {
    for (const [k, request] of sent.entries()) {
      leases.settleLate(request, answer, answer.keys[k]!);
      tend(request.lease, own, timing.nowMs());
    }
  }

  /**
   * Whether reserved units have ended, with their bucket or with a reset. @param replies to this key, of a take that
   * was admitted.
   */
  function hasEnded(
    { lease, key, reserved }: LeaseRequest,
    replies: readonly LimitReply[] | undefined,
    nowMs: number,
  ): boolean {
    if (reserved.length === 0) return false;
    const wasReset = replies !== undefined && leases.wasReset(lease, key.cost, replies, nowMs);
    if (wasReset) return true;
    return reserved.some(({ endsAtMs, chargedAtMs }) => endsAtMs <= nowMs || chargedAtMs <= lease.worthlessToMs);
  }

  /** @returns undefined: the request has no answer yet. Look at the stock and at the known refusals again. */
  async function takeFromStore(
    wants: readonly Want[],
    own: RequestBackground,
    ahead: boolean,
    budget: DecisionBudget,
  ): Promise<SourcedReply | undefined> {
    const requests = wants.map(({ key, lease }) => leases.request(lease, key, timing.nowMs(), ahead));
    const { allowed, late, nowMs, replies } = await send(requests, own, budget.leftMs(timing.nowMs()));
    if (late) return undefined;
    const reply = replyTo(wants, nowMs, allowed);
    // The refusal may be due to the units for the stock. The request alone may still fit.
    if (!allowed) return reply.allowed ? undefined : { reply, source: calls.kind };
    const spent = ({ lease, needed, reserved }: LeaseRequest, r: number): Spent => {
      return { lease, grants: needed > 0 ? [...reserved, leases.grant(lease, needed, nowMs, replies[r]!)] : reserved };
    };
    return { reply, source: calls.kind, unspend: () => unspend(requests.map(spent), own) };
  }

  /** Asks for more before the stock runs out. */
  function renew({ key, lease }: Want, own: RequestBackground): void {
    const nowMs = timing.nowMs();
    if (leases.isCalling(lease, nowMs) || !leases.isLow(lease, nowMs)) return;
    const more = leases.request(lease, { ...key, cost: 0 }, nowMs, true);
    if (more.key.cost > 0) own.background.waitUntil(send([more], own).catch(ignoreStoreError));
    else leases.settle(more, undefined, undefined, nowMs);
  }

  /**
   * Gives unused units back when their time comes. The background of one request does it for all, for as long as it
   * may.
   */
  function tend(lease: Lease, own: RequestBackground, startMs: number): void {
    if (lease.tendedUntilMs > startMs || own.giveBacksLeft === 0) return;
    if (leases.reviewAfterMs(lease, startMs) === undefined) return;
    const tending = async () => {
      while (own.giveBacksLeft > 0) {
        const nowMs = timing.nowMs();
        const waitMs = leases.reviewAfterMs(lease, nowMs);
        if (waitMs === undefined || nowMs + waitMs > startMs + MAX_TENDED_MS) break;
        // A later request takes over in time: this background may end before the key is quiet.
        const relievedAtMs = Math.min(nowMs + waitMs + TENDING_LATE_MS, startMs + MAX_TENDED_MS / 2);
        leases.tend(lease, Math.max(lease.tendedUntilMs, relievedAtMs));
        await timing.sleep(waitMs);
        const unused = leases.unused(lease, timing.nowMs(), own.giveBacksLeft);
        own.giveBacksLeft -= unused.length;
        await Promise.all(unused.map((one) => giveBack(lease, one.units, one.bucketAtMs)));
      }
      leases.tend(lease, 0);
    };
    own.background.waitUntil(tending());
  }

  /** Gives units back with one call, never repeated. If the outcome is not known, the units lapse with their window. */
  async function giveBack(lease: Lease, units: number, bucketAtMs: number): Promise<void> {
    const keys = [{ key: lease.key, group: ENFORCED, cost: units, limits: lease.limits }];
    try {
      const reply = await calls.take({ keys, flag: Flag.giveBack, atMs: bucketAtMs });
      listener?.leaseUnits(lease.key, "returned", units);
      if (leases.wasReset(lease, 0, reply.keys[0]!, reply.nowMs)) leases.end(lease, reply.nowMs);
    } catch (error) {
      ignoreStoreError(error);
      listener?.leaseUnits(lease.key, "lapsed", units);
    }
  }

  /** Answers from the stock, or from what is known in this isolate. */
  function answerNow(wants: readonly Want[], own: RequestBackground, nowMs: number): SourcedReply | undefined {
    const spent = spend(wants, own, nowMs);
    if (spent) {
      for (const want of wants) {
        renew(want, own);
        tend(want.lease, own, nowMs);
      }
      return spent;
    }
    return refusedNow(wants, nowMs);
  }

  function refusedNow(wants: readonly Want[], nowMs: number): SourcedReply | undefined {
    const refused = refusal(wants, nowMs);
    if (refused) return refused;
    const reply = paused(wants, nowMs);
    return reply && { reply, source: "lease" };
  }

  function wantsOf({ keys }: TakeRequest, nowMs: number): Want[] {
    return keys.map((key) => ({ key, lease: leases.of(key), cameAtMs: nowMs }));
  }

  /** Waits for another request's answer as long as that may answer this request, then calls the store. */
  async function waitOrCall(wants: readonly Want[], own: RequestBackground, cameAtMs: number): Promise<SourcedReply> {
    const request = { keys: wants.map(({ key }) => key), flag: Flag.take };
    const budget = decisionBudget(calls.timeoutMs, Math.max(...wants.map(({ lease }) => lease.callMs)), cameAtMs);
    for (let made = 0; made < MAX_CALLS; ) {
      const nowMs = timing.nowMs();
      const calling = wants.filter(({ lease }) => leases.isCalling(lease, nowMs));
      const mayWaitMs = budget.waitMs(nowMs);
      if (calling.length > 0 && mayWaitMs <= 0) break;
      const waitMs = Math.min(calling.length > 0 ? POLL_MS : refusals.callAfterMs(request, nowMs), mayWaitMs);
      if (waitMs > 0) {
        for (const { key, lease } of calling) leases.addWaiting(lease, key.cost);
        await timing.sleep(waitMs);
        for (const { key, lease } of calling) leases.addWaiting(lease, -key.cost);
      } else {
        made++;
        const reply = await takeFromStore(wants, own, made < MAX_CALLS, budget);
        if (reply) return reply;
      }
      const answer = answerNow(wants, own, timing.nowMs());
      if (answer) return answer;
    }
    const { background } = own;
    const reply = await calls.take(request, { background, budgetMs: budget.leftMs(timing.nowMs()) });
    return { reply, source: calls.kind };
  }

  return {
    refusal(request) {
      const nowMs = timing.nowMs();
      return refusedNow(wantsOf(request, nowMs), nowMs);
    },

    async take(request, background) {
      const nowMs = timing.nowMs();
      const own = { background, giveBacksLeft: MAX_GIVE_BACKS };
      const wants = wantsOf(request, nowMs);
      for (const { key, lease } of wants) leases.addDemand(lease, key.cost, nowMs);
      // A waiting request has been counted. Keep it alive until it is uncounted.
      return answerNow(wants, own, nowMs) ?? (await keepAlive(waitOrCall(wants, own, nowMs), background));
    },

    looked({ keys }, reply) {
      const atMs = timing.nowMs();
      const replies = keys.map((key, k): readonly LimitReply[] => {
        const lease = leases.find(key);
        if (!lease) return reply.keys[k]!;
        const isInStock = leases.inStock(lease, atMs) >= Math.max(1, key.cost);
        return replyToKey({ key, lease, cameAtMs: atMs }, reply.nowMs, isInStock, reply.keys[k]);
      });
      return { ...reply, allowed: !isRefusal(replies), keys: replies };
    },

    forget: leases.forget,
    clear: leases.clear,
  };
}

function isRefusal(keys: readonly (readonly LimitReply[])[]): boolean {
  return keys.some((replies) => replies.some(({ refused }) => refused));
}

function ignoreStoreError(error: unknown): void {
  if (!isStoreError(error)) throw error;
}
