/**
 * What one isolate knows about one place, which is a store that it shares with other isolates. It is plain data: it can
 * be copied, compared and printed. There is one record for each key of the store. Functions over it decide: they get
 * the memory, all keys of a request and the instant, and know no promise, timer, random number, clock or store. What
 * does know these is in flows/ and isolate.ts, and in what they are made of: breaker.ts, taker.ts, slots.ts and
 * timing.ts.
 */

import { countsBytes } from "../core/algorithms.ts";
import type { ConcurrencyLimit } from "../core/concurrency.ts";
import type { KeyRequest, TakeRequest } from "../core/take.ts";
import { bytesOf } from "../store/memory.ts";
import type { LeaseEvent } from "./listener.ts";
import { type Losses, newLosses } from "./losses.ts";
import { type KeyRecord, type OwnCounts, Room } from "./record.ts";
import { newStoreClock, type StoreClock } from "./store-clock.ts";
import { newTelling, type Telling } from "./telling.ts";

/**
 * The bound of a room in bytes, as `bytesOfRecord` estimates them. A room holds at least this much, and at most twice
 * as much. All rooms together stay below half of an isolate's 128 MiB (Node 24, 2026-11; bench/isolate-memory.ts).
 */
const ROOM_BYTES = [10_000_000, 10_000_000, 5_000_000, 12_000_000] as const;
/** Keys that one call repays, unless one of them has to be alone. */
export const KEYS_PER_CALL = 50;
/**
 * An answer comes within two budgets of a call. If it has not come this long after them, in ms, it never will: the
 * runtime has ended the request that waited for it.
 */
const NEVER_ANSWERED_MS = 10_000;
/** A store that has replied late is slow for this long, in ms. Then it may be dead: what it is told would be lost. */
const SLOW_MS = 1_500;
/** A record without counts, and what each lease adds to it. */
const RECORD_BYTES = 512;
const LEASE_BYTES = 512;

export interface Memory {
  /**
   * The last number that was given away. Calls, waiting requests, leases, debts, resets and clock steps are numbered in
   * one sequence, in the order in which they begin.
   */
  last: number;
  /** The number of the last step of a clock. Refusals and leases with a smaller number are void. */
  step: number;
  /** The largest number of a reset that was forgotten with its record. */
  forgottenReset: number;
  readonly clock: StoreClock;
  /** How long the last deciding call took, in ms. 0 before the first call. */
  callMs: number;
  /** After this many ms a call without an answer is forgotten. */
  readonly forgottenMs: number;
  readonly records: Map<string, KeyRecord>;
  /** By `Room`. */
  readonly rooms: { generation: number; bytes: number }[];
  /** The keys with leased units, and perhaps others that had some. */
  readonly leased: Set<string>;
  /** When all of them were last looked through for units to return, by the local clock. */
  lookedThroughAtMs: number;
  /** The keys that owe units. The key that was charged longest ago is first. */
  readonly owing: Set<string>;
  /** The keys of all repayments under way, by number, the oldest first. */
  readonly repaying: Map<number, readonly string[]>;
  /** How many of the next repayments have one key each: one of these keys may be what the store has refused. */
  lone: number;
  /** The keys of one call lie in several parts of the store: each is repaid by itself. */
  isApart: boolean;
  /** When the store was told last what it had missed, by the local clock. */
  tellingAtMs: number;
  /** When a reply came last, too late, while requests did not wait. Negative infinity: the newest reply was another. */
  slowAtMs: number;
  readonly telling: Telling;
  /** What the store must still get back, the oldest first. */
  readonly giveBacks: GiveBack[];
  /** What became of leased units since somebody has looked. undefined: nobody looks. */
  events: LeasedUnitsEvent[] | undefined;
  /** What the store has lost. All memories of one store share it. */
  readonly losses: Losses;
}

/** A key with its concurrency limits alone. */
export interface SlotKey extends KeyRequest {
  readonly limits: readonly ConcurrencyLimit[];
}

/** What one request gives back. */
export interface GiveBack {
  readonly request: TakeRequest;
  /** The last number that had been given away when it was noted: a later reset has removed the units. */
  readonly number: number;
  /** Until then it makes a difference, by the local clock, ms since the epoch. */
  readonly untilMs: number;
}

interface LeasedUnitsEvent {
  readonly key: string;
  readonly event: LeaseEvent;
  /** As for the listener. */
  readonly units: number;
}

/** @param budgetMs the time budget of one call, in ms. @param isHeard somebody reads `events`. */
export function newMemory(budgetMs = 0, isHeard = false, losses = newLosses()): Memory {
  const room = () => ({ generation: 1, bytes: 0 });
  return {
    last: 0,
    step: 0,
    forgottenReset: 0,
    clock: newStoreClock(),
    callMs: 0,
    forgottenMs: 2 * budgetMs + NEVER_ANSWERED_MS,
    records: new Map(),
    rooms: [room(), room(), room(), room()],
    leased: new Set(),
    lookedThroughAtMs: Number.NEGATIVE_INFINITY,
    owing: new Set(),
    repaying: new Map(),
    lone: 0,
    isApart: false,
    tellingAtMs: Number.NEGATIVE_INFINITY,
    slowAtMs: Number.NEGATIVE_INFINITY,
    telling: newTelling(),
    giveBacks: [],
    events: isHeard ? [] : undefined,
    losses,
  };
}

/** Whether the store works, although requests do not wait for it: it replies too late. */
export function isSlow({ slowAtMs }: Memory, localAtMs: number): boolean {
  return Math.abs(localAtMs - slowAtMs) < SLOW_MS;
}

/** The record of a key, if there is one. Using a record keeps it. */
export function recordOf(memory: Memory, key: string): KeyRecord | undefined {
  const record = memory.records.get(key);
  if (record && record.generation < memory.rooms[record.room]!.generation) keep(memory, record);
  return record;
}

/** The record of a key. */
export function recordFor(memory: Memory, key: string): KeyRecord {
  const found = recordOf(memory, key);
  if (found) return found;
  // A record of this key may have been forgotten, and with it a reset.
  const record = newRecord(memory.forgottenReset);
  memory.records.set(key, record);
  keep(memory, record);
  return record;
}

/** A record before the first reply about its key. @param reset the number of its last reset. */
export function newRecord(reset: number): KeyRecord {
  // One literal without a spread: each new key makes one.
  return {
    room: Room.far,
    generation: 0,
    bytes: RECORD_BYTES,
    reset,
    receivedAtMs: 0,
    storeAtMs: 0,
    call: 0,
    heard: 0,
    cost: 0,
    limits: [],
    replies: [],
    hasSettled: false,
    mayRefuse: false,
    isBegun: false,
    addedAtMs: 0,
    leases: undefined,
    pending: undefined,
    own: undefined,
    sent: 0,
    shown: undefined,
    shared: undefined,
  };
}

/** Notes that a record was used or has changed. @param isResized whether its counts or leases have changed. */
export function keep(memory: Memory, record: KeyRecord, isResized = false): void {
  const { rooms } = memory;
  const room = roomOf(record);
  const from = rooms[record.room]!;
  if (record.generation === from.generation) {
    if (record.room === room && !isResized) return;
    from.bytes -= record.bytes;
  }
  if (isResized) record.bytes = bytesOfRecord(record);
  record.room = room;
  record.generation = rooms[room]!.generation;
  rooms[room]!.bytes += record.bytes;
  if (rooms[room]!.bytes >= ROOM_BYTES[room]) forgetOldest(memory, room);
}

/** What was not used since the room was full the last time is forgotten. Keys that owe units are never forgotten. */
function forgetOldest(memory: Memory, room: Room): void {
  const { records, rooms } = memory;
  const { generation } = rooms[room]!;
  for (const [key, record] of records) {
    if (record.room !== room || record.generation === generation || hasDebts(record)) continue;
    memory.forgottenReset = Math.max(memory.forgottenReset, record.reset);
    records.delete(key);
  }
  rooms[room] = { generation: generation + 1, bytes: 0 };
}

function roomOf({ leases, pending, mayRefuse, own }: KeyRecord): Room {
  if (leases) for (const { units, asks } of leases) if (units.length > 0 || asks) return Room.leased;
  if (pending) return Room.called;
  return mayRefuse || own ? Room.close : Room.far;
}

function hasDebts({ own }: KeyRecord): boolean {
  return own !== undefined && (own.debts.length > 0 || own.repaying.size > 0);
}

function bytesOfRecord({ replies, leases, own }: KeyRecord): number {
  let bytes = RECORD_BYTES;
  for (const { view } of replies) bytes += countsBytes(view);
  if (leases) bytes += leases.length * LEASE_BYTES;
  if (!own) return bytes;
  if (own.records) bytes += bytesOf(own.records);
  for (const value of own.values.values()) bytes += bytesOf(value);
  return bytes;
}

/** Notes what became of leased units, if somebody looks. */
export function noteUnits({ events }: Memory, key: string, event: LeaseEvent, units: number): void {
  if (units !== 0) events?.push({ key, event, units });
}

/** Own counts of a record, to be written. */
export function ownCountsOf(record: KeyRecord): OwnCounts {
  record.own ??= { records: undefined, values: new Map(), debts: [], repaying: new Map() };
  return record.own;
}
