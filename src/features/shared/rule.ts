/**
 * The rule of `consistency = "shared"`: an isolate decides at once, by the counts of the last reply, by what it has
 * admitted since, and by what the others have probably admitted meanwhile. It assumes that the others do as it does:
 * with a tenth of the traffic, one unit admitted here stands for ten. Pure, apart from the record that it is given.
 *
 * The numbers were found by simulation (npm run simulate:shared; docs/decisions/0021-shared.md).
 */

import { Kind } from "../../kernel/core/algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitSpec, type LimitView } from "../../kernel/core/algorithms.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import { findRecord, recordIdOf } from "../../kernel/core/records.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  type LimitReply,
  type LimitRequest,
  type Receipt,
  type TakeReply,
} from "../../kernel/core/take.ts";
import { type BucketLimit, type BucketRecord, tokenBucket } from "../../kernel/core/token-bucket.ts";
import type { WindowRecord } from "../../kernel/core/window.ts";
import { debtsOf, isOfPeriod, type UntoldUnits } from "../../kernel/place/debts.ts";
import { keep, type Memory, ownCountsOf, recordFor, recordOf } from "../../kernel/place/memory.ts";
import { beginOwnCounts } from "../../kernel/place/own-counts.ts";
import type { KeyRecord, SharedPart } from "../../kernel/place/record.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import type { AskedKey, AskedRequest } from "../../kernel/place/taker.ts";
import { SPREAD } from "../../kernel/place/telling.ts";

/** From its admission to the reply that shows it, a unit waits for this part of `sync` on average. */
const LAG = (1 + SPREAD / 2) / 2;
/** What all charge is averaged over the longest window, but over at least and at most so many times `sync`. */
const AVERAGED_SYNCS = [5, 60] as const;
/** With so many recent units, an isolate's own admissions tell as much about those of the others as replies do. */
const TELLING_UNITS = 5;
/** So many own units are not trusted, if others charge too. */
const CHANCE_UNITS = 1;
/** The counts are close to a limit if they leave at most this part of it. */
const CLOSE_PART = 0.02;
/**
 * Nobody uses what is left if it is more than this part of the limit, and if it would last for more than so many `sync`
 * as the others charge now.
 */
const UNUSED_PART = 0.1;
const UNUSED_SYNCS = 4;
/** What others have charged then counts this much less, with each reply to an isolate that its part keeps from them. */
const FORGETS = 2;
/** No part becomes smaller: others may have charged for hours, and may be gone. */
const LEAST_PART = 1e-4;
/** While no limit was close for a window, a small part of the traffic may take this much more than its part. */
const SMALL_SHARE = 0.25;
/** A larger part is the whole: nobody else charges. */
const WHOLE_PART = 0.999;
/** The part is forgotten after so many times of the average without a reply in which one was likely. */
const FORGOTTEN = 2;
/** Waits are estimates: no refused client is told less, in ms. */
const LEAST_WAIT_MS = 1_000;

/** Whether the isolate knows its part of the traffic of this key. */
export function knowsPart(memory: Memory, key: string): boolean {
  return recordOf(memory, key)?.shared?.learned !== undefined;
}

/**
 * Whether newer counts are worth a call after a refusal: units are left by the isolate's counts and its part forbids
 * them, or the counts are old. A key that no reply has shown is told as soon as possible anyway.
 */
export function needsLook(
  memory: Memory,
  { key, syncMs = 0 }: AskedKey,
  localAtMs: number,
  trustedMs: number,
): boolean {
  const shared = recordOf(memory, key)?.shared;
  if (!shared?.learned) return false;
  return shared.isHeldBack || Math.abs(localAtMs - shared.heardAtMs) >= Math.max(trustedMs, syncMs);
}

/** A limit of a request, with its counts as the isolate estimates them, at one instant. */
interface EstimatedLimit {
  readonly limit: LimitSpec;
  readonly atMs: number;
  readonly counts: LimitRecord;
  readonly refused: boolean;
}

/**
 * Decides by the counts as the isolate estimates them, and charges them if all enforced limits admit.
 *
 * @param random a number from 0 to 1.
 */
export function takeShared(memory: Memory, request: AskedRequest, now: Now, random: () => number): TakeReply {
  const { localAtMs } = now;
  const nowMs = now.earliestMs ?? localAtMs;
  const refused = new Set<number>();
  const asked = request.keys.map((key) => {
    beginOwnCounts(memory, key.key, nowMs, localAtMs);
    const record = recordFor(memory, key.key);
    const shared = partOf(record, key, localAtMs);
    const units = neededUnits(shared, key, localAtMs, random);
    const estimates = key.limits.map((limit, l): EstimatedLimit => {
      const atMs = nowMs + lagMs(limit, shared);
      const counts = countsAt(record, l, limit, atMs);
      return { limit, atMs, counts, refused: !algorithmOf(limit).admits(counts, limit, units, atMs) };
    });
    if (estimates.some((one) => one.refused)) {
      refused.add(key.group);
      const isFull = estimates.some(
        ({ limit, counts, atMs }) => !algorithmOf(limit).admits(counts, limit, key.cost, atMs),
      );
      if (!isFull) shared.isHeldBack = true;
    }
    return { key, record, shared, estimates };
  });
  const allowed = !refused.has(ENFORCED);
  const charged: Receipt[] = [];
  const keys = asked.map(({ key, record, shared, estimates }) => {
    const isCharged = request.flag === Flag.take && allowed && !refused.has(key.group) && key.cost > 0;
    const counts = isCharged ? chargeShared(memory, record, shared, key.cost, estimates, localAtMs) : undefined;
    if (isCharged) charged.push({ ...key, atMs: nowMs });
    const own = isCharged ? key.cost : 0;
    return estimates.map(({ limit, counts: before, refused }, l): LimitReply => {
      const view = algorithmOf(limit).view(counts?.[l] ?? before, limit, key.cost, refused);
      const reply = { refused, view, leastWaitMs: LEAST_WAIT_MS };
      return key.isWarned ? { ...reply, used: usedOf(record, l, limit, own, now) } : reply;
    });
  });
  return { nowMs, allowed, keys, charged };
}

/**
 * The units that are certainly used: those that the newest reply has shown, and what this isolate has admitted since.
 *
 * @param units of the request itself.
 */
function usedOf(record: KeyRecord, l: number, limit: LimitSpec, units: number, { earliestMs, localAtMs }: Now): number {
  const { read, charge, remaining, quota } = algorithmOf(limit);
  const atMs = earliestMs ?? localAtMs;
  const views = record.replies.map(({ view }) => view as LimitRecord);
  const shown = read(findRecord(views, l, limit), undefined, limit, atMs) as LimitRecord & LimitView;
  // Of a call without an answer nobody knows whether a later reply shows its units.
  const untold = debtsOf(record, localAtMs, (number) => number > record.call);
  const own = Math.min(MAX_UNITS, unitsIn(untold, limit, shown) + units);
  const counts = charge(shown, limit, own, present(atMs)) as LimitView;
  return quota(limit).quota - remaining(counts, limit, atMs);
}

/** The units that a limit counts. What was admitted in a calendar period that has ended counts no more. */
function unitsIn(untold: readonly UntoldUnits[], limit: LimitSpec, counts: LimitView): number {
  const isCounted = (one: LimitRequest) => recordIdOf(one) !== recordIdOf(limit) || isOfPeriod(one, counts);
  return untold.reduce((sum, { units, limits }) => (limits.every(isCounted) ? sum + units : sum), 0);
}

/** The units that must be left for a request: as many as its units stand for. */
function neededUnits(
  shared: SharedPart,
  { cost, limits }: KeyRequest,
  localAtMs: number,
  random: () => number,
): number {
  if (shared.part === 1 || cost === 0) return cost;
  if (Math.abs(localAtMs - shared.roundedAtMs) >= longestMs(limits)) {
    shared.rounding = random();
    shared.roundedAtMs = localAtMs;
  }
  // If less is left than one unit stands for, one isolate of several may still admit one.
  return Math.min(MAX_UNITS, Math.max(cost, Math.ceil(((1 - shared.rounding) * cost) / shared.part)));
}

function averagedMs(limits: readonly LimitSpec[], syncMs: number): number {
  const [least, most] = AVERAGED_SYNCS;
  return Math.max(least * syncMs, Math.min(most * syncMs, longestMs(limits)));
}

/** @returns the charged counts. */
function chargeShared(
  memory: Memory,
  record: KeyRecord,
  shared: SharedPart,
  cost: number,
  estimates: readonly EstimatedLimit[],
  localAtMs: number,
): readonly LimitRecord[] {
  const units = cost / shared.part + shared.rest;
  const whole = Math.min(MAX_UNITS, Math.floor(units));
  shared.rest = units - Math.floor(units);
  decayRecent(shared, localAtMs, LAG * shared.syncMs);
  shared.recent += cost;
  const counts = estimates.map(({ limit, atMs, counts }) => {
    return algorithmOf(limit).charge(counts, limit, whole, present(atMs)) as LimitRecord;
  });
  ownCountsOf(record).records = counts;
  keep(memory, record, true);
  return counts;
}

/** Takes admitted units out of the counts again: another place has refused the request. */
export function returnShared(memory: Memory, charged: readonly Receipt[]): void {
  for (const { key, cost, limits, atMs: nowMs } of charged) {
    const record = recordOf(memory, key);
    const { shared } = record ?? {};
    if (!record?.own?.records || !shared) continue;
    shared.recent = Math.max(0, shared.recent - cost);
    const units = Math.min(MAX_UNITS, Math.floor(cost / shared.part));
    record.own.records = limits.map((limit, l) => {
      const atMs = nowMs + lagMs(limit, shared);
      return algorithmOf(limit).giveBack(countsAt(record, l, limit, atMs), limit, units, instant(atMs)) as LimitRecord;
    });
  }
}

/** A reply about one key. Instants are by the local clock, in ms since the epoch. */
export interface Heard {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** By the store's clock as the isolate knows it: another window may have begun since the reply. */
  readonly nowMs: number;
  /** The units that the call has charged. */
  readonly charged: number;
  /** The units of this isolate that the reply lacks. */
  readonly untold: readonly UntoldUnits[];
}

/**
 * Learns from the newest reply about a key, which its record has already: the isolate's part of what all charge, and
 * the counts with which the isolate goes on.
 */
export function learnShared(
  memory: Memory,
  record: KeyRecord,
  { sentAtMs, receivedAtMs, nowMs, charged, untold }: Heard,
): void {
  const { shared, limits, replies, storeAtMs } = record;
  if (!shared) return;
  const views = replies.map(({ view }) => view);
  /** For how long, on average, the others have charged what this reply lacks. */
  const missingMs = LAG * shared.syncMs + receivedAtMs - sentAtMs;
  shared.delayMs = (receivedAtMs - sentAtMs) / 2;
  decayRecent(shared, receivedAtMs, missingMs);
  const left = Math.min(
    ...limits.map((limit, l) => {
      const { read, remaining } = algorithmOf(limit);
      return remaining(read(views[l] as LimitRecord, undefined, limit, storeAtMs) as LimitView, limit, storeAtMs);
    }),
  );
  learnPart(shared, limits, views, { charged, left, storeAtMs, missingMs });
  const missing = missingUnits(shared, missingMs);
  const { part = 1, isFirst = false } = shared.learned ?? {};

  let isClose = false;
  ownCountsOf(record).records = limits.map((limit, l) => {
    const { read, charge, remaining, capacity } = algorithmOf(limit);
    const atMs = nowMs + lagMs(limit, shared);
    const before = read(views[l] as LimitRecord, undefined, limit, atMs) as LimitRecord & LimitView;
    // Old counts make the others look busier than they are. The isolate may still try one unit.
    const ofOthers = isFirst ? Math.min(missing, Math.floor(remaining(before as LimitView, limit, atMs) / 2)) : missing;
    const units = Math.min(MAX_UNITS, Math.round(unitsIn(untold, limit, before) + ofOthers));
    const counts = charge(before, limit, units, present(atMs));
    isClose ||= remaining(counts as LimitView, limit, atMs) <= CLOSE_PART * capacity(limit).units;
    return counts as LimitRecord;
  });
  record.isBegun = true;
  if (isClose) shared.closeAtMs = receivedAtMs;
  const isFree = receivedAtMs - shared.closeAtMs > longestMs(limits);
  const free = isFree ? Math.max(part, SMALL_SHARE * Math.sqrt(part)) : part;
  shared.part = free >= WHOLE_PART ? 1 : free;
  shared.heardAtMs = receivedAtMs;
  // Without another unit to tell, there would be no second reply.
  if (isFirst) shared.rounding = 1;
  shared.roundedAtMs = isFirst ? receivedAtMs : Number.NEGATIVE_INFINITY;
  shared.isHeldBack = false;
  keep(memory, record, true);
}

/** What a reply says of the units of a key. */
interface Shown {
  /** The units that the call has charged. */
  readonly charged: number;
  /** The units that the limit with the fewest has left. */
  readonly left: number;
  readonly storeAtMs: number;
  readonly missingMs: number;
}

/** Learns what this isolate and what all have charged since the reply before. */
function learnPart(
  shared: SharedPart,
  limits: readonly LimitSpec[],
  views: readonly LimitView[],
  { charged, left, storeAtMs, missingMs }: Shown,
): void {
  const { syncMs, learned: before, isHeldBack } = shared;
  if (charged === 0 && (!before || before.isFirst)) {
    // Without units of its own the isolate would have no part.
    if (before) shared.learned = { ...before, atMs: storeAtMs, limits, views };
    return;
  }
  // The first reply shows what the others have charged, but not when: only later ones show what they charge now.
  const isFirst = !before && left > 0;
  const known = before?.isFirst ? undefined : before;
  const overMs = averagedMs(limits, syncMs);
  const sinceMs = before ? Math.max(1, storeAtMs - before.atMs) : syncMs;
  const all = Math.max(charged, ...limits.map((limit, l) => chargedSince(before, limit, views[l]!, storeAtMs)));
  const othersPerMs = (all - charged) / Math.max(sinceMs, syncMs);
  const busyAtMs = all > 0 ? storeAtMs : before!.busyAtMs;
  // While nobody charges because the limit is used up, the parts stay as they are.
  const isPaused = storeAtMs - busyAtMs > FORGOTTEN * overMs;
  const kept = isPaused ? 1 : Math.exp(-sinceMs / overMs);
  let others = Math.max(0, (known?.others ?? 0) * kept + all - charged);
  let { own, ownAtMs, surely } = known ?? { own: 0, ownAtMs: storeAtMs - sinceMs, surely: 0 };
  surely *= kept;
  if (isPaused) ownAtMs += sinceMs;
  if (charged > 0) {
    const ownSinceMs = Math.max(1, storeAtMs - ownAtMs);
    const ownKept = Math.exp(-ownSinceMs / overMs);
    own = own * ownKept + charged;
    ownAtMs = storeAtMs;
    // The average is at its highest when the isolate has charged: the mean until the next time counts.
    const mean = (own * (1 - ownKept) * overMs) / ownSinceMs;
    // A few units of one isolate among many may be chance. Without others every unit is its own.
    surely = others > 0 ? (mean * mean) / (mean + CHANCE_UNITS) : mean;
  }
  surely = Math.max(surely, LEAST_PART * Math.max(1, others));
  // Those who have charged what is counted may be gone.
  const isUnused = left > Math.max(UNUSED_PART * fewestUnits(limits), UNUSED_SYNCS * othersPerMs * syncMs);
  if (isHeldBack && charged === 0 && isUnused) others /= FORGETS;
  const learned = { atMs: storeAtMs, limits, views, own, ownAtMs, surely, others, othersPerMs, busyAtMs, isFirst };
  shared.learned = { ...learned, part: known?.part ?? surely / (surely + others) };
  shared.learned.part = surely / (surely + others + missingUnits(shared, missingMs));
}

/**
 * The units that the reply lacks of the others: what they charge in this time by the last two replies, or what they
 * have admitted if they did as this isolate did. Only the second follows a sudden demand, and only many units tell it.
 */
function missingUnits({ learned, recent }: SharedPart, missingMs: number): number {
  if (!learned) return 0;
  const { part, othersPerMs } = learned;
  const trusted = recent / (recent + TELLING_UNITS);
  return trusted * ((1 - part) / part) * recent + (1 - trusted) * othersPerMs * missingMs;
}

/** The units that all have charged since the reply before, as one limit has counted them. */
function chargedSince(before: SharedPart["learned"], limit: LimitSpec, view: LimitView, nowMs: number): number {
  const l = before ? before.limits.findIndex((one) => recordIdOf(one) === recordIdOf(limit)) : -1;
  const old = before?.views[l];
  if (view.kind === Kind.bucket) {
    const { debt } = tokenBucket.read(old as BucketRecord | undefined, undefined, limit as BucketLimit, nowMs);
    return Math.max(0, view.debt - debt) / view.windowMs;
  }
  if ("count" in view) {
    const { chargedAtMs, lease } = algorithmOf(limit);
    const isSamePeriod = old && chargedAtMs(old, limit) === chargedAtMs(view, limit);
    return isSamePeriod ? Math.max(0, view.count - lease!.inBucket!(old)) : view.count;
  }
  if (!("newest" in view)) return 0;
  const { newest = 0, counts = [] } = (old ?? {}) as Partial<WindowRecord>;
  // Without a reply before, the bucket before the window says nothing about the present.
  const seen = old ? view.counts : view.counts.slice(0, -1);
  return seen.reduce((sum, units, age) => sum + Math.max(0, units - (counts[age - (view.newest - newest)] ?? 0)), 0);
}

/** The part of a key, or a new one that counts alone. */
function partOf(record: KeyRecord, { limits, syncMs = 0 }: AskedKey, localAtMs: number): SharedPart {
  const known = record.shared;
  if (known) {
    known.syncMs = syncMs;
    const unheardMs = Math.abs(localAtMs - known.heardAtMs);
    if (!known.learned || unheardMs < forgottenMs(known.part, limits, syncMs)) return known;
  }
  record.shared = {
    syncMs,
    delayMs: 0,
    part: 1,
    learned: undefined,
    heardAtMs: localAtMs,
    recent: 0,
    recentAtMs: localAtMs,
    closeAtMs: localAtMs,
    rounding: 0,
    roundedAtMs: Number.NEGATIVE_INFINITY,
    rest: 0,
    isHeldBack: false,
  };
  return record.shared;
}

/** A part that admits less than one unit per window is silent for longer. */
function forgottenMs(part: number, limits: readonly LimitSpec[], syncMs: number): number {
  return FORGOTTEN * Math.max(1, FORGOTTEN / (part * fewestUnits(limits))) * (averagedMs(limits, syncMs) + syncMs);
}

function countsAt(record: KeyRecord, l: number, limit: LimitSpec, atMs: number): LimitRecord {
  const found = findRecord(record.own?.records ?? [], l, limit);
  return algorithmOf(limit).read(found, undefined, limit, atMs) as LimitRecord;
}

/**
 * A unit is told some time after its admission, and leaves its window as much too late. The isolate looks at windows
 * that slide as they will be then. (Windows of the clock and buckets lose nothing by it.)
 */
function lagMs({ kind }: LimitSpec, { syncMs, delayMs }: SharedPart): number {
  return kind === Kind.weighted || kind === Kind.whole ? Math.round(LAG * syncMs + delayMs) : 0;
}

function decayRecent(part: SharedPart, localAtMs: number, missingMs: number): void {
  part.recent *= Math.exp(-Math.max(0, localAtMs - part.recentAtMs) / missingMs);
  part.recentAtMs = localAtMs;
}

function longestMs(limits: readonly LimitSpec[]): number {
  return Math.max(...limits.map((limit) => algorithmOf(limit).capacity(limit).windowMs));
}

/** The smallest of the limits, in units. */
function fewestUnits(limits: readonly LimitSpec[]): number {
  return Math.min(...limits.map((limit) => algorithmOf(limit).capacity(limit).units));
}

/** For a charge to the newest bucket, also if the clock has stepped back. */
const present = (nowMs: number) => ({ nowMs, atMs: 0, slot: 0 });
/** For giving back what was charged at this instant. */
const instant = (nowMs: number) => ({ nowMs, atMs: nowMs, slot: 0 });
