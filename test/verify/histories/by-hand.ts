// Histories by hand, in a few words. Instants are milliseconds from the beginning.

import {
  type CountedPolicy,
  FORMAT,
  type History,
  type LimiterOperation,
  type Operation,
  type ResetOperation,
  type TakeOperation,
} from "../../../scripts/verify/histories/history.ts";
import { ENFORCED, Kind } from "../../../src/kernel/core/layout.ts";
import { Flag, type KeyRequest, replyOf, type TakeRequest } from "../../../src/kernel/core/take.ts";

/** The beginning of a window. */
export const BEGIN_MS = 20_000 * 86_400_000;
const WINDOW_MS = 86_400_000;
export const LIMIT = 5;

/** When an operation was called and answered. Without the second its outcome is unknown. */
export type Span = readonly [callMs: number, returnMs?: number];

/** What is told about each key: the count, and with `refuses` that this limit refused. */
export type Told = number | { readonly refuses: number };

interface Asked {
  readonly flag?: Flag;
  /** Of which key how many units. Default 1 of `k`. */
  readonly of?: Readonly<Record<string, number>>;
  readonly process?: number;
  /** When the store decided. Default: in the middle of the span. */
  readonly atMs?: number;
  readonly untilMs?: number;
  readonly decision?: number;
  readonly isolate?: number;
  readonly place?: string;
}

function keyOf(key: string, cost: number): KeyRequest {
  return { key, group: ENFORCED, cost, limits: [{ kind: Kind.fixedWindow, limit: LIMIT, windowMs: WINDOW_MS }] };
}

/** A call whose reply says these counts, in the order of its keys. */
export function call(span: Span, told: readonly Told[], asked: Asked = {}): TakeOperation {
  const { flag = Flag.take, of = { k: 1 }, process = 0, untilMs, place = "store", decision, isolate } = asked;
  const [callMs, returnMs] = span;
  const nowMs = BEGIN_MS + (asked.atMs ?? Math.floor((callMs + (returnMs ?? callMs)) / 2));
  const newest = Math.floor(BEGIN_MS / WINDOW_MS);
  const replies = told.map((one) => {
    const count = typeof one === "number" ? one : one.refuses;
    return [{ refused: typeof one !== "number", view: { kind: Kind.fixedWindow, windowMs: WINDOW_MS, newest, count } }];
  });
  const endMs = returnMs ?? untilMs;
  const keys = Object.entries(of).map(([key, cost]) => keyOf(key, cost));
  const input: TakeRequest = { keys, flag, atMs: BEGIN_MS };
  // Some tests put another reply in its place.
  const isWhole = replies.length === keys.length;
  const output = isWhole ? replyOf(input, nowMs, replies) : { nowMs, allowed: true, keys: replies, charged: [] };
  return {
    process,
    place,
    op: "take",
    input,
    call: callMs * 1_000,
    clock: endMs === undefined ? [BEGIN_MS + callMs] : [BEGIN_MS + callMs, BEGIN_MS + endMs],
    ...(returnMs !== undefined && { return: returnMs * 1_000 + 1, output }),
    ...(untilMs !== undefined && { until: untilMs * 1_000 + 1 }),
    ...(decision !== undefined && { decision }),
    ...(isolate !== undefined && { isolate }),
  };
}

export const look = (span: Span, told: Told, asked: Asked = {}) => call(span, [told], { ...asked, flag: Flag.look });
export const giveBack = (span: Span, told: Told, asked: Asked = {}) => {
  return call(span, [told], { ...asked, flag: Flag.giveBack });
};

export function reset([callMs, returnMs]: readonly [number, number], keys: readonly string[] = ["k"]): ResetOperation {
  const clock = [BEGIN_MS + callMs, BEGIN_MS + returnMs] as const;
  const [called, returned] = [callMs * 1_000, returnMs * 1_000 + 1];
  return { process: 0, place: "store", op: "reset", input: keys, call: called, clock, return: returned };
}

export function historyOf(operations: readonly Operation[]): History {
  return { format: FORMAT, promise: "linearizable", about: "by hand", operations };
}

/** A decision of a limiter over several places: of policies `a`, `b`, … under keys of the same name. */
export function decide(
  decision: number,
  span: readonly [callMs: number, returnMs: number],
  units: number,
  output: {
    readonly by?: string;
    readonly silent?: readonly string[];
    readonly unavailable?: true;
  },
  names: readonly string[] = ["a"],
  isolate = 0,
): LimiterOperation {
  const { by, silent = [], unavailable } = output;
  const allowed = by === undefined && !unavailable;
  return {
    process: isolate,
    isolate,
    op: "decide",
    decision,
    input: { keys: Object.fromEntries(names.map((name) => [name, name])), units },
    call: span[0] * 1_000 + 2,
    return: span[1] * 1_000 + 3,
    output: {
      allowed,
      refusedBy: by === undefined ? [] : [by],
      silent,
      ...(unavailable && { unavailable }),
    },
  };
}

export function settle(
  decision: number,
  span: readonly [number, number],
  units: number,
  names = ["a"],
): LimiterOperation {
  const keys = Object.fromEntries(names.map((name) => [name, name]));
  const [call, returned] = [span[0] * 1_000 + 4, span[1] * 1_000 + 5];
  return { process: 0, isolate: 0, op: "settle", decision, input: { keys, units }, call, return: returned };
}

export function severalPlaces(
  operations: readonly Operation[],
  onStoreFailure: CountedPolicy["onStoreFailure"] = "deny",
): History {
  const policy: CountedPolicy = { limit: LIMIT, counts: "units", onStoreFailure };
  return { ...historyOf(operations), promise: "several-places", policies: { a: policy, b: policy } };
}
