/** What the memory notes about a call to the store: when it is made, when it is answered, and when it is void. */

import { isConcurrency } from "../core/concurrency.ts";
import { decides, Flag, type KeyRequest, type TakeRequest } from "../core/take.ts";
import type { HeardCall } from "./flows/place.ts";
import { keep, type Memory, newRecord, recordFor, recordOf } from "./memory.ts";
import { seePart } from "./own-part.ts";
import { beginPending, endPending, UNITS_FORGOTTEN_MS } from "./pending.ts";
import { forgetRefusals, remember } from "./replies.ts";
import { observe } from "./store-clock.ts";

/**
 * A call is made.
 *
 * @param call its number. @param atMs by the local clock, in ms since the epoch. @param needed for each key the units
 * that the request itself needs. Default: all that are asked for.
 */
export function beginCall(
  memory: Memory,
  request: TakeRequest,
  call: number,
  atMs: number,
  needed?: readonly number[],
): void {
  const { keys, flag } = request;
  // Remembered counts lack what this call charges above a limit. Their waits would be too short until its reply.
  if (!decides(flag)) {
    forgetRefusals(memory, keysChangedBy(Flag.chargeAnyway, request));
    for (const key of keysChangedBy(Flag.giveBack, request)) {
      const record = memory.records.get(key);
      if (record) record.addedAtMs = 0;
    }
    return;
  }
  for (const [k, { key, cost: units }] of keys.entries()) {
    const record = recordFor(memory, key);
    beginPending(record, "asked", call, { units, atMs }, UNITS_FORGOTTEN_MS);
    if (flag === Flag.take) {
      record.sent += units;
      const one = { units, needed: needed?.[k] ?? units, atMs, isCounted: false, sent: record.sent };
      beginPending(record, "unanswered", call, one, memory.forgottenMs);
    }
    keep(memory, record);
  }
}

/** A call has failed. Its units were hardly charged. */
export function failCall(memory: Memory, { keys }: TakeRequest, call: number): void {
  for (const { key, cost } of keys) {
    const record = recordOf(memory, key);
    if (record?.pending?.unanswered?.has(call) || record?.own?.repaying.has(call)) record.sent -= cost;
  }
}

/** The time budget of a call has ended, or an answer has come. @param mayComeLate the answer may still come. */
export function endCall(memory: Memory, { keys }: TakeRequest, call: number, mayComeLate: boolean): void {
  endPending(memory, keys, "asked", call);
  if (!mayComeLate) endPending(memory, keys, "unanswered", call);
}

/**
 * Requests begin to wait for the answer to another request.
 *
 * @param leases by key the number of the lease from which it hopes for units; 0: the key waits for nothing. Default: a
 * request under `strict`, which hopes for no leased units. @returns the number of the waiting request.
 */
export function beginWaiting(
  memory: Memory,
  keys: readonly KeyRequest[],
  atMs: number,
  leases?: readonly number[],
): number {
  const number = ++memory.last;
  for (const [k, { key, cost: units }] of keys.entries()) {
    const lease = leases?.[k] ?? 0;
    if (leases && lease === 0) continue;
    const record = recordFor(memory, key);
    beginPending(record, "waiting", number, { units, atMs, lease }, UNITS_FORGOTTEN_MS);
    keep(memory, record);
  }
  return number;
}

export function endWaiting(memory: Memory, keys: readonly KeyRequest[], number: number): void {
  endPending(memory, keys, "waiting", number);
}

/** Learns from a reply, even from a late one. */
export function learn(memory: Memory, heard: HeardCall, isLate = false): void {
  const { request, reply, call, sentAtMs, receivedAtMs } = heard;
  // Every reply tells the store's clock. Counts from before a reset mean nothing any more.
  if (!observe(memory.clock, sentAtMs, receivedAtMs, reply.nowMs)) {
    memory.step = ++memory.last;
    // The local clock was set back during the call: the instant of the request cannot be compared with later instants.
    if (receivedAtMs < sentAtMs) return;
  }
  if (isVoid(memory, request.keys, call)) return;
  remember(memory, request, reply, { receivedAtMs, call, heard: memory.last }, isLate);
  if (isLate) seeParts(memory, request, call);
}

/** A late reply shows which part of what all isolates charge is this one's. */
function seeParts(memory: Memory, { keys }: TakeRequest, call: number): void {
  for (const { key } of keys) {
    const record = recordOf(memory, key);
    // Another reply is newer.
    if (record?.call !== call) continue;
    const sent = (record.pending?.unanswered?.get(call) ?? record.own?.repaying.get(call))?.sent;
    if (sent !== undefined) seePart(record, sent);
    else record.shown = undefined;
  }
}

/** Whether a key was reset after the call was sent. */
export function isVoid(memory: Memory, keys: readonly KeyRequest[], call: number): boolean {
  return keys.some(({ key }) => wasReset(memory, key, call));
}

/** Whether a key was reset after this number was given away, or perhaps was. */
export function wasReset(memory: Memory, key: string, since: number): boolean {
  return (memory.records.get(key)?.reset ?? memory.forgottenReset) > since;
}

/** These keys are being reset: refusals end, and what has begun until now is void. */
export function voidKeys(memory: Memory, keys: readonly string[]): void {
  const reset = ++memory.last;
  for (const key of keys) {
    const record = recordOf(memory, key);
    if (!record) {
      // No call is in flight. Whatever has a number from before the reset is void if its record is forgotten later.
      memory.forgottenReset = reset;
      continue;
    }
    record.reset = reset;
    record.mayRefuse = false;
    keep(memory, record, true);
  }
}

/** These keys were reset: nothing is known about their counts, and they owe nothing. */
export function forgetCounts(memory: Memory, keys: readonly string[]): void {
  for (const key of keys) {
    memory.owing.delete(key);
    const record = recordOf(memory, key);
    if (!record) continue;
    const { room, generation, bytes, reset, leases, pending, sent, shown } = record;
    Object.assign(record, newRecord(reset), { room, generation, bytes, leases, pending, sent, shown });
    keep(memory, record, true);
  }
}

/** The keys whose units change by this flag. Renewing or releasing a slot changes none. */
function keysChangedBy(wanted: Flag, { keys, flag }: TakeRequest): string[] {
  return keys.flatMap(({ key, limits, flag: own = flag }) =>
    own === wanted && !limits.every(isConcurrency) ? [key] : [],
  );
}
