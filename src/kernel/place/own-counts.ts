/** While the store has no answer: this isolate's own counts. They begin with the counts of the store's last reply. */

import { Kind } from "../core/algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitSpec, type LimitValue } from "../core/algorithms.ts";
import { isConcurrency, type Slots, withoutSlots } from "../core/concurrency.ts";
import { MAX_UNITS } from "../core/layout.ts";
import { type Records, recordIdOf } from "../core/records.ts";
import type { LogLimit } from "../core/sliding-log.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  type LimitRequest,
  limitKeyOf,
  type Stored,
  type TakeReply,
  type TakeRequest,
  take,
} from "../core/take.ts";
import { debtsOf } from "./debts.ts";
import { isSlow, keep, type Memory, ownCountsOf, recordFor, recordOf } from "./memory.ts";
import { leftBy, partOf } from "./own-part.ts";
import { recentPending } from "./pending.ts";
import type { KeyRecord } from "./record.ts";
import { lacksDebts, lastReply } from "./replies.ts";
import { DRIFT, type Now } from "./store-clock.ts";

/**
 * Decides by the isolate's own counts. They know no ids: every request is charged.
 *
 * @param call the number of the request's own call, whose answer may still come. 0: it has none.
 */
export function takeAlone(memory: Memory, asked: TakeRequest, now: Now, call: number): TakeReply {
  const request = withoutIds(asked);
  const { localAtMs } = now;
  // The earliest instant of the store's clock: no unit that the store told leaves here sooner than there. A reply can
  // make the interval narrower: the isolate's own units then leave sooner, by less than a round trip.
  const nowMs = now.earliestMs ?? localAtMs;
  for (const { key } of request.keys) beginOwnCounts(memory, key, nowMs, localAtMs);
  if (request.flag !== Flag.take) return takeFromOwn(memory, request, nowMs);
  const unanswered = request.keys.flatMap((key) => unansweredBeside(memory, key, localAtMs, call));
  const decided = byEarliest(takeCountingUnanswered(memory, unanswered, request, nowMs), now);
  const reply = withoutOthers(memory, request, decided, nowMs);
  for (const { key } of reply.charged) {
    const own = recordOf(memory, key)?.pending?.unanswered?.get(call);
    if (own) own.isCounted = true;
  }
  return reply;
}

/** The earliest instant of the store's clock moves more slowly than the local clock: waits by it are longer. */
function byEarliest(reply: TakeReply, { earliestMs }: Now): TakeReply {
  if (reply.allowed || earliestMs === undefined) return reply;
  return { ...reply, keys: reply.keys.map((limits) => limits.map((one) => ({ ...one, driftPart: DRIFT }))) };
}

/** The reply, with what is surely used: the counts of some limits have units that are left to other isolates. */
function withoutOthers(memory: Memory, { keys }: TakeRequest, reply: TakeReply, nowMs: number): TakeReply {
  const othersOf = ({ key }: KeyRequest) => {
    const others = recordOf(memory, key)?.own?.others;
    return others && nowMs < others.untilMs ? others.units : 0;
  };
  if (!keys.some(othersOf)) return reply;
  const shown = keys.map((key, k) =>
    key.limits.map((limit, l) => {
      const { quota, remaining } = algorithmOf(limit);
      const one = reply.keys[k]![l]!;
      const used = quota(limit).quota - remaining(one.view, limit, nowMs) - othersOf(key);
      return { ...one, driftPart: DRIFT, used: Math.max(0, used) };
    }),
  );
  return { ...reply, keys: shown };
}

/**
 * A refusal by the store, with what the isolate owes under its keys: that is on its way to the store, or will be soon.
 * Without it the waits would be too short.
 */
export function refusalWithDebts(memory: Memory, request: TakeRequest, refusal: TakeReply, now: Now): TakeReply {
  const owes = ({ key }: KeyRequest) => {
    const record = recordOf(memory, key);
    return record !== undefined && lacksDebts(record, record.call);
  };
  if (!request.keys.some(owes)) return refusal;
  const nowMs = now.earliestMs ?? now.localAtMs;
  for (const { key } of request.keys) beginOwnCounts(memory, key, nowMs, now.localAtMs);
  const own = byEarliest(takeFromOwn(memory, { ...withoutIds(request), flag: Flag.look }, nowMs), now);
  const keys = refusal.keys.map((limits, k) =>
    limits.map((one, l) => (one.refused && own.keys[k]![l]!.refused ? own.keys[k]![l]! : one)),
  );
  return { ...refusal, nowMs, keys };
}

function withoutIds(request: TakeRequest): TakeRequest {
  if (!request.keys.some(({ once }) => once)) return request;
  return { ...request, keys: request.keys.map(({ once: _, ...key }) => key) };
}

/**
 * Charges what the store told last, what the isolate owes to it, and what is left to others. It does this once for each
 * reply of the store: later in the same outage, the isolate's own counts are the newer ones.
 */
export function beginOwnCounts(memory: Memory, key: string, nowMs: number, localAtMs: number): void {
  const record = lastReply(memory, key);
  if (!record) return;
  record.isBegun = true;
  // Nobody knows which requests hold slots at the store, and slots come back at any moment. Requests in flight are
  // counted from now on.
  const views = record.limits.flatMap((limit, l) => {
    const { view } = record.replies[l]!;
    return isConcurrency(view) ? [] : [{ limit, view, refused: false }];
  });
  if (views.length === 0) return;
  for (const one of record.pending?.unanswered?.values() ?? []) one.isCounted = false;
  const own = ownCountsOf(record);
  own.records = views.map(({ limit, view }): LimitRecord => {
    if (view.kind !== Kind.log) return view;
    const { kind, used } = view;
    const { windowMs } = limit as LogLimit;
    // The store does not tell when each unit was charged. All units count until the last one leaves.
    const newestAtMs = view.resetAtMs - windowMs;
    own.values.set(limitKeyOf(key, limit), [{ atMs: newestAtMs, cost: used }]);
    return { kind, windowMs, used, newestAtMs };
  });
  keep(memory, record, true);
  const counted = views.map(({ limit }) => limit);
  const charge = (cost: number, limits: readonly LimitRequest[]) =>
    takeFromOwn(memory, { keys: [{ key, group: ENFORCED, cost, limits }], flag: Flag.chargeAnyway }, nowMs);
  for (const { limits, units } of debtsOf(record, localAtMs, (number) => number > record.call)) {
    const atMs = (limit: LimitSpec) => limits.find((one) => recordIdOf(one) === recordIdOf(limit))?.atMs ?? 0;
    charge(
      units,
      counted.map((limit) => ({ ...limit, atMs: atMs(limit) })),
    );
  }
  const part = partOf(record, isSlow(memory, localAtMs));
  own.others = undefined;
  if (part === 1) return;
  const units = Math.floor(leftBy({ limits: counted }, views, nowMs) * (1 - part));
  const [replies] = charge(units, counted).keys;
  const ends = counted.map(
    (limit, l) => algorithmOf(limit).tell(replies![l]!.view, limit, 0, false, nowMs).resetAfterMs,
  );
  own.others = { units, untilMs: nowMs + Math.max(...ends) };
}

/** Units and requests without an answer under one key. */
interface Unanswered {
  readonly request: KeyRequest;
  readonly units: number;
  readonly requests: number;
}

/** What is unanswered under a key, without the units of the request's own call and without units that are counted. */
function unansweredBeside(memory: Memory, request: KeyRequest, localAtMs: number, call: number): Unanswered[] {
  const record = recordOf(memory, request.key);
  const all = record && recentPending(record, "unanswered", localAtMs, memory.forgottenMs);
  let [units, requests] = [0, 0];
  for (const [number, one] of all ?? []) {
    const others = one.units - (one.isCounted || number === call ? one.needed : 0);
    if (others <= 0) continue;
    units += others;
    requests++;
  }
  return units > 0 ? [{ request, units, requests }] : [];
}

/** A take. Calls without an answer may have been charged: they count for this one decision, and in its reply. */
function takeCountingUnanswered(
  memory: Memory,
  unanswered: readonly Unanswered[],
  request: TakeRequest,
  nowMs: number,
): TakeReply {
  if (unanswered.length === 0) return takeFromOwn(memory, request, nowMs);
  const { reply } = take(withUnanswered(storedOf(memory), unanswered, nowMs), request, nowMs);
  if (reply.charged.length > 0) {
    const charged = new Set(reply.charged.map(({ key }) => key));
    const keys = request.keys.filter(({ key }) => charged.has(key));
    takeFromOwn(memory, { ...request, keys, flag: Flag.chargeAnyway }, nowMs);
  }
  return reply;
}

/** The counts as they would be if all calls without an answer were charged. Writes nothing. */
function withUnanswered(counts: Stored, unanswered: readonly Unanswered[], nowMs: number): Stored {
  const changed = new Map<string, ReturnType<Stored>>();
  const stored: Stored = (key, kind) => (changed.has(key) ? changed.get(key) : counts(key, kind));
  for (const { request, units, requests } of unanswered) {
    for (const limit of request.limits.filter(isConcurrency)) {
      const ownKey = limitKeyOf(request.key, limit);
      const slots = Array.from({ length: requests }, (_, i) => [-1 - i, Number.POSITIVE_INFINITY] as const);
      changed.set(ownKey, new Map([...((stored(ownKey, limit.kind) as Slots | undefined) ?? []), ...slots]));
    }
    const limits = withoutSlots(request.limits);
    if (limits.length === 0) continue;
    const keys = [{ ...request, group: ENFORCED, cost: Math.min(units, MAX_UNITS), limits }];
    const { written } = take(stored, { keys, flag: Flag.chargeAnyway }, nowMs);
    for (const { key, value } of written) changed.set(key, value);
  }
  return stored;
}

/** A take from the own counts. */
function takeFromOwn(memory: Memory, request: TakeRequest, nowMs: number): TakeReply {
  const { reply, written } = take(storedOf(memory), request, nowMs);
  const changed = new Set<KeyRecord>();
  for (const { key, kind, value } of written) {
    const record = recordFor(memory, kind === undefined ? key : keyOfLimit(key));
    const own = ownCountsOf(record);
    if (kind === undefined) own.records = value as Records;
    else if (value) own.values.set(key, value as LimitValue);
    else own.values.delete(key);
    changed.add(record);
  }
  for (const record of changed) keep(memory, record, true);
  return reply;
}

function storedOf(memory: Memory): Stored {
  return (key, kind) => {
    if (kind === undefined) return recordOf(memory, key)?.own?.records;
    return recordOf(memory, keyOfLimit(key))?.own?.values.get(key);
  };
}

/** The key of the records beside a limit key. */
function keyOfLimit(limitKey: string): string {
  return limitKey.slice(0, limitKey.lastIndexOf("#"));
}
