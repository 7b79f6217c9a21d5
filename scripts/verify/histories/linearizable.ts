/**
 * Whether a store answered as if it had made one call after another. What a call does and answers says the core itself:
 * `take` of src/kernel/core, at the instant that the store's reply names.
 */

import { isDeepStrictEqual } from "node:util";
import type { LimitValue } from "../../../src/kernel/core/algorithms.ts";
import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import { Flag, Kind } from "../../../src/kernel/core/layout.ts";
import { periodAt } from "../../../src/kernel/core/periods.ts";
import type { Records } from "../../../src/kernel/core/records.ts";
import { type LimitRequest, replyOf, type TakeRequest, take } from "../../../src/kernel/core/take.ts";
import { type History, isStoreOperation, type StoreOperation } from "./history.ts";
import { type Candidate, type Model, type Stuck, search } from "./search.ts";
import { describeOperation, describeReply, type NamedKeys, nameKeys, recordsKey, recordsKeysOf } from "./words.ts";

type Value = Records | LimitValue;

/** What a store holds. Never changed in place. */
interface Counts {
  readonly values: ReadonlyMap<string, Value>;
  /** By key: the last call that has run. */
  readonly last: ReadonlyMap<string, Last>;
  /** The values as text. */
  readonly held: string;
}

interface Last {
  /** The latest instant so far, ms since the epoch by the store's clock. */
  readonly atMs: number;
  /** The latest call so far, by the recorder's clock. */
  readonly call: number;
}

type Call = StoreOperation & Candidate & { readonly keys: readonly string[] };

export interface Judged {
  /** Store calls that were checked. */
  readonly calls: number;
  /** Of these, calls with an unknown outcome. */
  readonly unknown: number;
  /** Groups of keys that no call touches together: each is searched by itself. */
  readonly groups: number;
  /** Pairs of what has run and what is held that the searches came through. */
  readonly pairs: number;
  /** What is wrong, each as a story of a few lines. Empty: the history is as promised. */
  readonly violations: readonly string[];
}

/**
 * The wall clock was not set back while the history was recorded: instants of one place never decrease, and lie within
 * their calls.
 */
export function checkLinearizable({ operations }: History): Judged {
  // What surely did not run had no effect, and says nothing.
  const calls = operations.filter(isStoreOperation).filter(({ failed }) => failed === undefined);
  const violations = calls.flatMap(wrongInstant);
  const groups = groupsOf(calls.flatMap(byKey));
  let pairs = 0;
  for (const group of groups) {
    const found = search(group, modelOf(group));
    pairs += found.pairs;
    if (found.stuck) violations.push(storyOf(found.stuck, group));
  }
  const unknown = calls.filter((call) => call.return === undefined).length;
  return { calls: calls.length, unknown, groups: groups.length, pairs, violations };
}

function keysOf(call: StoreOperation): string[] {
  return recordsKeysOf(call).map((key) => `${call.place} ${key}`);
}

/** Calls of keys that no call touches together do not depend on each other: an order of each is an order of all. */
function groupsOf(calls: readonly StoreOperation[]): Call[][] {
  const parents = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let up = parents.get(root); up !== undefined && up !== root; up = parents.get(root)) root = up;
    parents.set(key, root);
    return root;
  };
  for (const call of calls) {
    const [first, ...others] = keysOf(call);
    for (const key of others) parents.set(rootOf(key), rootOf(first!));
  }
  const groups = Map.groupBy(calls, (call) => rootOf(keysOf(call)[0]!));
  return [...groups.values()].map((own) =>
    own.map((call) => ({ ...call, keys: recordsKeysOf(call), text: JSON.stringify([call.input, call.until]) })),
  );
}

/**
 * A call whose flags decide nothing (it charges whatever the limits say, gives back or looks) does to each of its keys
 * what it would do to it alone: it is checked key by key. Otherwise one repayment of 50 keys would join all of them.
 */
function byKey(call: StoreOperation): StoreOperation[] {
  if (call.op === "reset" || call.input.keys.length === 1) return [call];
  const { input, output } = call;
  if (input.keys.some(({ flag = input.flag }) => flag === Flag.take)) return [call];
  return input.keys.map((key, k) => {
    const replies = output?.keys[k];
    const own = { ...input, keys: [key] };
    return { ...call, input: own, ...(replies && { output: replyOf(own, output!.nowMs, [replies]) }) };
  });
}

function wrongInstant(call: StoreOperation): string[] {
  if (call.op === "reset" || !call.output) return [];
  const { output, clock } = call;
  if (output.nowMs >= clock[0] && output.nowMs <= clock[1]!) return [];
  const names = nameKeys([call]);
  const said = `the store says that it decided at ${output.nowMs}`;
  return [`${describeOperation(call, names)}\n  ${said}, but the call lasted from ${clock[0]} to ${clock[1]}`];
}

/** When the store says that it decided, ms since the epoch. */
const instantOf = (call: StoreOperation) => (call.op === "take" ? call.output?.nowMs : undefined);

const EMPTY: Counts = { values: new Map(), last: new Map(), held: "[]" };

function textOf(values: ReadonlyMap<string, Value>): string {
  const sorted = [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(sorted.map(([key, value]) => [key, value instanceof Map ? [...value].toSorted() : value]));
}

/** What is held after a call that has left these values. */
function after({ last }: Counts, values: ReadonlyMap<string, Value>, { keys, call }: Call, nowMs: number): Counts {
  const now = new Map(last);
  for (const key of keys) {
    const before = last.get(key) ?? { atMs: 0, call: 0 };
    now.set(key, { atMs: Math.max(before.atMs, nowMs), call: Math.max(before.call, call) });
  }
  return { values, last: now, held: textOf(values) };
}

function run({ values }: Counts, request: TakeRequest, nowMs: number) {
  const { reply, written } = take((key) => values.get(key), request, nowMs);
  const next = () => {
    const changed = new Map(values);
    for (const { key, value } of written) {
      if (value) changed.set(key, value as Value);
      else changed.delete(key);
    }
    return changed;
  };
  return { reply, next };
}

function modelOf(group: readonly Call[]): Model<Call, Counts> {
  const telling = tellingInstants(group);

  function afterUnknown(counts: Counts, call: Call, open: readonly Call[]): Counts[] {
    const last = call.keys.map((key) => counts.last.get(key) ?? { atMs: 0, call: 0 });
    if (last.some((one) => one.call > (call.until ?? Number.POSITIVE_INFINITY))) return [];
    const fromMs = Math.max(call.clock[0], ...last.map(({ atMs }) => atMs));
    if (call.op === "reset") {
      const next = after(counts, without(counts, call.input), call, fromMs);
      return next.held === counts.held ? [] : [next];
    }
    const { input, clock } = call;
    const toMs = Math.min(clock[1] ?? Number.POSITIVE_INFINITY, earliestOf(open) ?? fromMs);
    const looks: TakeRequest = { ...input, keys: input.keys.map((key) => ({ ...key, flag: Flag.look })) };
    const found = new Map<string, Counts>();
    for (const nowMs of instantsOf(input, fromMs, toMs, telling)) {
      const next = after(counts, run(counts, input, nowMs).next(), call, nowMs);
      if (next.held === counts.held) continue;
      // Whatever comes next comes at `toMs` or later, or is another unknown call: the earliest leaves it most room.
      const entries = [...next.values].filter(([key]) => key !== recordsKey(key));
      const seen = JSON.stringify([run(next, looks, toMs).reply, entries.map(([, value]) => [...value])]);
      if (!found.has(seen)) found.set(seen, next);
    }
    return [...found.values()];
  }

  return {
    initial: EMPTY,
    seen,
    textOf: ({ held, last }) => `${held} ${[...last.values()].map(({ atMs }) => atMs)}`,
    nexts(counts, call, open) {
      if (call.return === undefined) return afterUnknown(counts, call, open);
      if (call.op === "reset") return [after(counts, without(counts, call.input), call, 0)];
      const { input, output } = call;
      if (isTooEarly(counts, call) || output!.nowMs > earliestOf(open)!) return [];
      const { reply, next } = run(counts, input, output!.nowMs);
      return isDeepStrictEqual(reply, output) ? [after(counts, next(), call, output!.nowMs)] : [];
    },
  };
}

/** Calls of keys that are asked about next, and calls of keys that those have in common with others, and so on. */
function seen(open: readonly Call[], waiting: readonly Call[]): Call[] {
  const keys = new Set(open.flatMap((call) => call.keys));
  const found = new Set<Call>();
  for (let size = -1; size < found.size; ) {
    size = found.size;
    for (const call of waiting.filter((one) => one.keys.some((key) => keys.has(key)))) {
      found.add(call);
      for (const key of call.keys) keys.add(key);
    }
  }
  return waiting.filter((call) => found.has(call));
}

function without({ values }: Counts, keys: readonly string[]): ReadonlyMap<string, Value> {
  return new Map([...values].filter(([key]) => !keys.includes(key)));
}

function isTooEarly({ last }: Counts, call: Call): boolean {
  return call.keys.some((key) => (last.get(key)?.atMs ?? 0) > instantOf(call)!);
}

/** Where the clock cannot be later than when the next of these has run. */
function earliestOf(open: readonly Call[]): number | undefined {
  const instants = open.flatMap((call) => instantOf(call) ?? []);
  return instants.length > 0 ? Math.min(...instants) : undefined;
}

/**
 * The instants to try for a call without a reply. At any other instant it would have left counts that no reply can tell
 * from those of one of these.
 */
function instantsOf({ keys }: TakeRequest, fromMs: number, toMs: number, telling: readonly number[]): number[] {
  if (fromMs > toMs) return [];
  const instants = new Set([fromMs, toMs, ...telling.filter((at) => at > fromMs && at < toMs)]);
  for (const limit of keys.flatMap(({ limits }) => limits)) {
    if (limit.kind === Kind.calendar) {
      const { endsAtMs } = periodAt(limit, fromMs);
      if (endsAtMs <= toMs) instants.add(endsAtMs - 1).add(endsAtMs);
    }
    const stepMs = bucketMsOf(limit);
    if (stepMs === undefined) continue;
    // Within a bucket a weighted window admits more and more: its end stands for admitting, its beginning for the rest.
    for (let at = (Math.floor(fromMs / stepMs) + 1) * stepMs; at <= toMs; at += stepMs) instants.add(at - 1).add(at);
  }
  return [...instants].toSorted((a, b) => a - b);
}

function bucketMsOf(limit: LimitRequest): number | undefined {
  if (limit.kind === Kind.fixedWindow) return limit.windowMs;
  return limit.kind === Kind.weighted || limit.kind === Kind.whole ? limit.bucketMs : undefined;
}

/** Instants of charges that replies of the group show, or that decide whether a unit still counts at a later reply. */
function tellingInstants(group: readonly Call[]): number[] {
  const leastMs = Math.min(...group.map(({ clock }) => clock[0]));
  const instants = new Set<number>();
  for (const call of group) {
    if (call.op === "reset") continue;
    const { input, output } = call;
    for (const [k, { limits, atMs = input.atMs ?? 0 }] of input.keys.entries()) {
      instants.add(atMs);
      for (const [l, limit] of limits.entries()) {
        instants.add(limit.atMs ?? 0);
        if (!output) continue;
        const { view } = output.keys[k]![l]!;
        const { nowMs } = output;
        // The last instant of a unit that this reply no longer counts: the later, the more likely it was admitted.
        const until = (lengthMs: number) => instants.add(nowMs - lengthMs).add(nowMs - lengthMs + 1);
        if (isConcurrency(limit)) until(limit.timeoutMs);
        if (limit.kind === Kind.log && view.kind === Kind.log) {
          until(limit.windowMs);
          for (const at of [view.retryAtMs, view.growsAtMs, view.resetAtMs]) instants.add(at - limit.windowMs);
        }
        if (limit.kind === Kind.bucket && view.kind === Kind.bucket) {
          // A bucket pays back from its first charge on: `units` charged since then leave this debt.
          for (let units = Math.ceil(view.debt / limit.windowMs); ; units++) {
            const sinceMs = (units * limit.windowMs - view.debt) / limit.limit;
            if (nowMs - sinceMs < leastMs) break;
            if (Number.isInteger(sinceMs)) instants.add(nowMs - sinceMs);
          }
        }
      }
    }
  }
  return [...instants].filter((at) => at >= leastMs).toSorted((a, b) => a - b);
}

/** How many calls before the place where the search was stuck are told. */
const TOLD_BEFORE = 6;

function storyOf({ order, state, open }: Stuck<Call, Counts>, group: readonly Call[]): string {
  const names = nameKeys(group);
  const lines = [`no order of ${group.length} calls of ${[...names.values()].join(", ")} explains their answers`];
  if (order.length > TOLD_BEFORE) lines.push(`  … ${order.length - TOLD_BEFORE} calls fit before these`);
  for (const call of order.slice(-TOLD_BEFORE)) lines.push(`  then ${describeOperation(call, names)}`);
  lines.push(`  now it holds ${heldIn(state, names)}`);
  for (const call of open) {
    lines.push(`  next may be ${describeOperation(call, names)}`);
    lines.push(`    but ${misfit(state, call, open)}`);
  }
  return lines.join("\n");
}

function misfit(state: Counts, call: Call, open: readonly Call[]): string {
  if (call.op === "reset") return "what comes after it fits nowhere";
  const { input, output } = call;
  const { nowMs } = output!;
  if (isTooEarly(state, call)) return `its instant ${nowMs} is before that of a call before it`;
  if (nowMs > earliestOf(open)!) return `its instant ${nowMs} is after that of another call that may be next`;
  const { reply } = run(state, input, nowMs);
  if (isDeepStrictEqual(reply, output)) return "what comes after it fits nowhere";
  return `the core would answer: ${describeReply(reply)}`;
}

function heldIn({ values }: Counts, names: NamedKeys): string {
  if (values.size === 0) return "nothing";
  return [...values]
    .map(([key, value]) => {
      const name = names.get(recordsKey(key)) ?? key;
      return `${name}: ${JSON.stringify(value instanceof Map ? [...value] : value)}`;
    })
    .join("; ");
}
