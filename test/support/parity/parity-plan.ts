// Runs a case through src/kernel/core: the arguments to send to Redis, and what Redis must answer and store.

import { Kind, type LimitStatus } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, hasLimitKey, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { CalendarLimit } from "../../../src/kernel/core/calendar.ts";
import { onceKeyOf } from "../../../src/kernel/core/once.ts";
import { periodAt } from "../../../src/kernel/core/periods.ts";
import type { Log } from "../../../src/kernel/core/sliding-log.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  keysOfRequest,
  limitKeyOf,
  type TakeReply,
  type TakeRequest,
  take,
} from "../../../src/kernel/core/take.ts";
import { largestCostOf, spanOf } from "../cases/arbitrary-limits.ts";
import { argsOf, flatten } from "../redis/script-call.ts";
import type { BackTo, ParityCase, StepPlan } from "./parity-case.ts";
import { type Content, type KeyCommand, ParityStore } from "./parity-store.ts";

export interface PlannedStep {
  readonly request: TakeRequest;
  readonly nowMs: number;
  readonly keys: readonly string[];
  readonly args: readonly number[];
  /** Commands of another program before the step. */
  readonly damage: readonly KeyCommand[];
  readonly reply: readonly number[];
  /** For each key: what Redis must hold after the step, and the expiry if the step set it. */
  readonly stored: readonly (Content | undefined)[];
  readonly expiryMs: readonly (number | undefined)[];
}

/** Keys that are written under an injected clock live at least one day: lua/take.lua says why. */
const MIN_EXPIRY_MS = 86_400_000;
const MAX_COST = 1_000_000_000;
/** Damage can make a wait of any length. A wait above this is not waited for. */
const LONGEST_WAIT_MS = 1e13;

export function planCase({ startMs, keys, steps }: ParityCase): readonly PlannedStep[] {
  const store = new ParityStore();
  let nowMs = startMs;

  return steps.map((step, s): PlannedStep => {
    const requests = keys.map(({ group, configurations }, k): KeyRequest => {
      const limits = configurations[Math.floor((s * configurations.length) / steps.length)]!;
      const own = step.mixed?.[k];
      const once = step.once?.[k];
      return {
        key: String(k),
        group,
        cost: step.costs[k]!,
        limits,
        ...(once && { once }),
        ...(own && { flag: own.flag }),
      };
    });
    const targets = requests.flatMap((request, k) => request.limits.map((limit) => ({ ...request, k, limit })));
    const { k: about, key, limit } = targets[step.about % targets.length]!;

    nowMs = Math.max(1, nowMs + advanceMs(step, store, key, limit, nowMs));
    if (step.instead) {
      const { of, n } = step.instead;
      const { limits } = requests[about]!;
      const base =
        of === "limit" ? largestCostOf(limit) : least(store, key, of === "tightest" ? limits : [limit], nowMs);
      requests[about] = { ...requests[about]!, cost: Math.min(MAX_COST, Math.max(0, base + n)) };
    }
    const damage = step.damage ? store.damage(step.damage, key, limit, nowMs) : [];

    for (const [k, own] of step.mixed?.entries() ?? []) {
      const one = requests[k];
      if (!one || own?.flag !== Flag.giveBack) continue;
      const [first, ...others] = one.limits;
      const backToOf = (target: LimitSpec) => backTo(own.back, store, one.key, target, nowMs);
      // Every second time, limits beside the first name an instant of their own.
      const limits =
        own.back.n % 2 === 0 ? [first!, ...others.map((other) => ({ ...other, atMs: backToOf(other) }))] : one.limits;
      requests[k] = { ...one, limits, atMs: backToOf(k === about ? limit : first!) };
    }
    for (const [k, one] of requests.entries()) {
      // Every second time, units are charged anyway to a calendar period that may have ended, or not begun.
      const { flag = step.flag } = one;
      if (flag !== Flag.chargeAnyway || step.back.n % 2 === 0) continue;
      const limits = one.limits.map((limit) => {
        if (limit.kind !== Kind.calendar) return limit;
        return { ...limit, atMs: Math.max(0, nowMs - part((step.back.n % 2_500) - 1_000, limit)) };
      });
      requests[k] = { ...one, limits };
    }
    const atMs = backTo(step.back, store, key, limit, nowMs);
    const slot = targets.some(({ limit }) => limit.kind === Kind.concurrency) ? step.slot : 0;
    const request: TakeRequest = { keys: requests, flag: step.flag, atMs, slot };
    // A caller's clock that is up to a span and a half behind, or a span ahead.
    const boundsAtMs = Math.max(0, nowMs - part(step.back.n % 1_500, limit));
    const hasBounds = requests.every(({ limits }) =>
      limits.every((one) => one.kind !== Kind.calendar || isInPeriodOf(one, boundsAtMs, nowMs)),
    );
    const { reply, written } = hasBounds ? take(store.read, request, nowMs) : NOTHING_DONE;
    for (const one of written) store.write(one);

    const ids = new Set(written.flatMap(({ key, kind }) => (kind === "once" ? [key] : [])));
    const charged = new Set(reply && chargedKeys(reply, ids));
    const expiries = written.flatMap(({ key, kind, value, expiryMs }) =>
      kind === undefined || (value && (kind === "once" || charged.has(key))) ? [[key, expiryMs] as const] : [],
    );
    const expiryOf = new Map(expiries.map(([key, expiryMs]) => [key, Math.max(MIN_EXPIRY_MS, expiryMs)]));
    const all = keysOfRequest(request);
    return {
      request,
      nowMs,
      keys: all,
      args: argsOf(request, nowMs, boundsAtMs),
      damage,
      reply: reply ? flatten(reply, request) : [nowMs],
      stored: all.map((key) => store.contents.get(key)),
      expiryMs: all.map((key) => expiryOf.get(key)),
    };
  });
}

/** The script was told periods that its clock is not in. */
const NOTHING_DONE = { reply: undefined, written: [] };

/** Whether this instant is in the period of another one, or in the next period. */
function isInPeriodOf(limit: CalendarLimit, boundsAtMs: number, nowMs: number): boolean {
  const { startsAtMs, endsAtMs } = periodAt(limit, boundsAtMs);
  return startsAtMs <= nowMs && nowMs < periodAt(limit, endsAtMs).endsAtMs;
}

/**
 * The limit keys of the limits that were charged, not only read or given units back.
 *
 * @param ids the keys of ids that were written: a settlement that writes none was settled before, and charges nothing.
 */
function chargedKeys({ charged }: TakeReply, ids: ReadonlySet<string>): string[] {
  const counted = charged.filter(({ key, cost, once }) => {
    const isSettledBefore = once?.settles !== undefined && !ids.has(onceKeyOf(key, once));
    return cost > 0 && !once?.isRepeat && !isSettledBefore;
  });
  return counted.flatMap(({ key, limits }) => limits.filter(hasLimitKey).map((limit) => limitKeyOf(key, limit)));
}

function look(
  store: ParityStore,
  key: string,
  limits: readonly LimitSpec[],
  cost: number,
  nowMs: number,
): LimitStatus[] {
  const { reply } = take(store.read, { keys: [{ key, group: ENFORCED, cost, limits }], flag: Flag.look }, nowMs);
  return reply.keys[0]!.map(({ refused, view }, l) => {
    return algorithmOf(limits[l]!).tell(view, limits[l]!, cost, refused, nowMs);
  });
}

/** What the tightest of some limits of a key has left. */
function least(store: ParityStore, key: string, limits: readonly LimitSpec[], nowMs: number): number {
  return Math.min(...look(store, key, limits, 0, nowMs).map(({ remaining }) => remaining));
}

function part(n: number, limit: LimitSpec): number {
  return Math.floor((n * spanOf(limit)) / 1000);
}

function advanceMs(
  { advance: { until, n } }: StepPlan,
  store: ParityStore,
  key: string,
  limit: LimitSpec,
  nowMs: number,
): number {
  if (until === "part") return part(n, limit);
  if (until === "back") return -part(n, limit);
  if (until === "boundary") return Math.max(0, spanOf(limit) - (nowMs % spanOf(limit)) + n);
  if (until === "now") return n;
  const waitMs = waitFor(store, key, limit, nowMs);
  return waitMs < LONGEST_WAIT_MS ? Math.max(0, waitMs + n) : n + 1;
}

/** The wait in ms until one more unit is admitted, or until the next slot is lost. */
function waitFor(store: ParityStore, key: string, limit: LimitSpec, nowMs: number): number {
  if (limit.kind !== Kind.concurrency) return look(store, key, [limit], 1, nowMs)[0]!.retryAfterMs!;
  const slots = (store.read(limitKeyOf(key, limit), limit.kind) ?? new Map()) as ReadonlyMap<number, number>;
  const lostAtMs = [...slots.values()].filter((atMs) => atMs > nowMs && Number.isInteger(atMs));
  return lostAtMs.length > 0 ? Math.min(...lostAtMs) - nowMs : 0;
}

function backTo({ to, n }: BackTo, store: ParityStore, key: string, limit: LimitSpec, nowMs: number) {
  const log = limit.kind === Kind.log ? ((store.read(limitKeyOf(key, limit), limit.kind) ?? []) as Log) : [];
  if (to === "entry" && log.length > 0) return log[n % log.length]!.atMs;
  return Math.max(0, nowMs - part(n, limit));
}
