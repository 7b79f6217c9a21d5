/** Cells: one for each key of each place, with its policy, its counts at the store, and its account. */

import { algorithmOf } from "../../../src/kernel/core/algorithms.ts";
import type { CalendarRecord } from "../../../src/kernel/core/calendar.ts";
import type { Slots } from "../../../src/kernel/core/concurrency.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { type OnceValue, onceKeyOf } from "../../../src/kernel/core/once.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  keysOfRequest,
  limitKeyOf,
  type TakeReply,
} from "../../../src/kernel/core/take.ts";
import type { FixedWindowRecord, WindowRecord } from "../../../src/kernel/core/window.ts";
import type { PolicyKey } from "../../../src/kernel/limiter/decide.ts";
import { type Counts, createCounts } from "../../../src/kernel/store/memory.ts";
import { IdAccount } from "./ids.ts";
import { Ledger } from "./ledger.ts";
import { type Mode, type ModePolicy, WINDOW_MS } from "./modes.ts";
import { policyOf } from "./policies.ts";
import { SlotAccount } from "./slots.ts";

export interface Cell {
  /** The position in the list of cells, and in the mode's list of policies. */
  readonly index: number;
  /** The position in the list of places. */
  readonly place: number;
  readonly key: string;
  readonly rules: ModePolicy;
  /** The number that the limit has now. */
  limit: number;
  /** All counts of the place. */
  readonly counts: Counts;
  /** The account of its units. A concurrency limit has none. */
  readonly ledger: Ledger;
  /** The account of its slots. undefined: it is no concurrency limit. */
  readonly slots: SlotAccount | undefined;
  /** The account of the ids of its requests. undefined: ids mean nothing here. */
  readonly ids: IdAccount | undefined;
}

export function newCells(mode: Mode, places: readonly Counts[]): Cell[] {
  return mode.policies.map((rules, index) => {
    const { place, name, limit } = rules;
    const ledger = new Ledger(index, rules, mode.isolates);
    const slots = rules.algorithm === "concurrency" ? new SlotAccount(limit, WINDOW_MS) : undefined;
    const ids = rules.once && new IdAccount(rules.once);
    return { index, place, key: name, rules, limit, counts: places[place]!, ledger, slots, ids };
  });
}

export function policyNow({ rules, limit }: Cell): Policy {
  return policyOf(rules, limit);
}

/** What a limiter asks about these cells. @param id of the request. 0: it has none. */
export function policyKeysOf(cells: readonly Cell[], cost: number, id = 0): PolicyKey[] {
  return cells.map((cell, take) => {
    const policy = policyNow(cell);
    const { once } = cell.rules;
    const group = policy.mode === "shadow" ? 1 : ENFORCED;
    const named = once && id > 0 && { once: { ...once, id: String(id) } };
    const { limits, syncMs } = policy;
    const sync = syncMs !== undefined && { syncMs };
    const request = { key: cell.key, group, cost, limits, ...named, ...sync };
    const onFailure = group !== ENFORCED && policy.onStoreFailure === "deny" ? "allow" : policy.onStoreFailure;
    return { take, policy, limits, request, onFailure };
  });
}

/** The units that a cost charges. A slot is no unit: its account is its own. */
export function unitsIn({ slots }: Cell, cost: number): number {
  return slots ? 0 : cost;
}

/** The slots at the store, each with the instant at which it lapses. */
export function slotsIn(cell: Cell): Slots {
  const [limit] = policyNow(cell).limits;
  return (cell.counts.read(limitKeyOf(cell.key, limit!)) ?? new Map()) as Slots;
}

/** What the store keeps of each id that requests may have. */
export function idsIn({ counts, key, rules }: Cell, ids: readonly number[]): [string, OnceValue | undefined][] {
  return ids.map((one) => {
    const id = String(one);
    return [id, counts.read(onceKeyOf(key, { id, ...rules.once! })) as OnceValue | undefined];
  });
}

/** The units of each bucket at the store, the newest first. */
export function chargedIn({ counts, key, ledger }: Cell, nowMs: number): number[] {
  const [record] = (counts.read(key) ?? []) as readonly (FixedWindowRecord | WindowRecord | CalendarRecord)[];
  const charged = new Array<number>(ledger.kept).fill(0);
  if (!record) return charged;
  const newest = record.kind === Kind.calendar ? ledger.bucketOf(record.endsAtMs - 1) : record.newest;
  const passed = ledger.bucketOf(nowMs) - newest;
  const stored = "counts" in record ? record.counts : [record.count];
  return charged.map((_, age) => stored[age - passed] ?? 0);
}

/** When the store admits one unit again or a slot lapses, if nothing else happens. undefined: it would admit it now. */
export function admitsAgainAtMs(cell: Cell, nowMs: number): number | undefined {
  if (cell.slots) return Math.min(...[...slotsIn(cell).values()].filter((atMs) => atMs > nowMs));
  const [{ request }] = policyKeysOf([cell], 1) as [PolicyKey];
  const { allowed, keys } = lookAt(cell, request, nowMs);
  const [limit] = request.limits;
  if (allowed) return undefined;
  return nowMs + algorithmOf(limit!).tell(keys[0]![0]!.view, limit!, 1, true, nowMs).retryAfterMs!;
}

/** Whether the store would admit by one key alone. */
export function admitsAt(cell: Cell, request: KeyRequest, atMs: number): boolean {
  return lookAt(cell, { ...request, group: ENFORCED }, atMs).allowed;
}

/** What the store would say about a key at an instant. */
function lookAt({ counts }: Cell, request: KeyRequest, atMs: number): TakeReply {
  const copy = createCounts(10);
  for (const one of keysOfRequest({ keys: [request], flag: Flag.look })) copy.write(one, counts.read(one));
  return copy.take({ keys: [request], flag: Flag.look }, atMs);
}
