/**
 * A history: what concurrent processes asked of stores and limiters, and what they were told, with the instants of call
 * and return. docs/verification.md shows such a file, so that other checkers can read it.
 */

import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";

export const FORMAT = "headgate-history-1";

interface Timed {
  /** Who asks. A process makes one operation after another. */
  readonly process: number;
  /** Microseconds on the recorder's own clock. No two events of a history have the same instant. */
  readonly call: number;
  /** Absent: the outcome is unknown. The operation takes effect at any instant after `call`, or never. */
  readonly return?: number;
}

interface StoreCall extends Timed {
  /** Which store. Places share nothing. */
  readonly place: string;
  /** With `return`: it surely had no effect, for this reason. */
  readonly failed?: string;
  /** Only without `return`: it had no effect after this instant, because whoever ran it was dead. */
  readonly until?: number;
  /** The wall clock that all places share, ms since the epoch, at `call` and at `return` or `until`. */
  readonly clock: readonly [callMs: number, endMs?: number];
  /** The decision of a limiter for which the call was made. Absent: none. */
  readonly decision?: number;
  /** The isolate that made the call. Absent: none. */
  readonly isolate?: number;
}

/** A call of a store: what the core decides. */
export interface TakeOperation extends StoreCall {
  readonly op: "take";
  readonly input: TakeRequest;
  /** With `return`, unless it failed. */
  readonly output?: TakeReply;
}

/** A call of a store that forgets these keys. */
export interface ResetOperation extends StoreCall {
  readonly op: "reset";
  readonly input: readonly string[];
}

export type StoreOperation = TakeOperation | ResetOperation;

/** What is asked of a limiter over several places. */
export interface LimiterOperation extends Timed {
  readonly op: "decide" | "settle";
  readonly isolate: number;
  /** `decide`: its number. `settle`: the first number of what is settled. */
  readonly decision: number;
  readonly input: {
    /** By policy: its key in the store. */
    readonly keys: Readonly<Record<string, string>>;
    /** `decide`: the units that are asked for, of each policy. `settle`: the units that were used. */
    readonly units: number;
    /** Only of an extension: the number of the decision that it extends. */
    readonly extends?: number;
  };
  readonly output?: {
    readonly allowed: boolean;
    /** Policies of which a limit refused. */
    readonly refusedBy: readonly string[];
    /** Policies whose place had no answer. */
    readonly silent: readonly string[];
    /** Nobody decided: a policy says `deny` and its place had no answer. */
    readonly unavailable?: true;
  };
}

export type Operation = StoreOperation | LimiterOperation;

/** What a policy counts in histories over several places. Nothing of it comes back by itself while they last. */
export interface CountedPolicy {
  readonly limit: number;
  /** `slots`: each request counts 1, until it is settled. */
  readonly counts: "units" | "slots";
  readonly onStoreFailure: "local" | "allow" | "deny";
}

export interface BreakerChange {
  readonly isolate: number;
  readonly place: string;
  /** Microseconds on the recorder's clock. */
  readonly at: number;
  readonly to: "open" | "closed";
}

export interface History {
  readonly format: typeof FORMAT;
  /**
   * `linearizable`: every place answers as if it had made one operation after another. `several-places`: that too, and
   * the limiters over the places keep what docs/verification.md says.
   */
  readonly promise: "linearizable" | "several-places";
  /** How it was made, in words. */
  readonly about: string;
  /** Only of `several-places`. */
  readonly policies?: Readonly<Record<string, CountedPolicy>>;
  /** Only of `several-places`: when isolates stopped to call places, and called them again. */
  readonly breakers?: readonly BreakerChange[];
  readonly operations: readonly Operation[];
}

export function isStoreOperation(one: Operation): one is StoreOperation {
  return one.op === "take" || one.op === "reset";
}

/** JSON with one operation per line: programs that read lines need not parse the whole. */
export function writeHistory({ operations, ...head }: History): string {
  const lines = operations.map((one) => JSON.stringify(one)).join(",\n");
  return `${JSON.stringify(head).slice(0, -1)},"operations":[\n${lines}\n]}\n`;
}

/** @throws {TypeError} that says what was expected, and where. */
export function readHistory(text: string): History {
  const history = JSON.parse(text) as Partial<History>;
  if (history?.format !== FORMAT) {
    throw new TypeError(`format: expected ${JSON.stringify(FORMAT)}, found ${JSON.stringify(history?.format)}`);
  }
  const { promise, operations } = history;
  if (promise !== "linearizable" && promise !== "several-places") {
    throw new TypeError(`promise: expected "linearizable" or "several-places", found ${JSON.stringify(promise)}`);
  }
  if (promise === "several-places" && !history.policies) {
    throw new TypeError("policies: expected the policies by name, found none");
  }
  if (!Array.isArray(operations)) throw new TypeError("operations: expected a list");
  const instants = new Set<number>();
  for (const [i, one] of operations.entries()) {
    const where = `operations[${i}]`;
    if (!["take", "reset", "decide", "settle"].includes(one?.op)) {
      throw new TypeError(`${where}.op: expected take, reset, decide or settle, found ${JSON.stringify(one?.op)}`);
    }
    const { call, return: returned = Number.POSITIVE_INFINITY } = one;
    if (!Number.isFinite(call) || !(returned > call)) {
      throw new TypeError(`${where}: expected a call, and a return after it or none`);
    }
    for (const at of [call, returned]) {
      if (instants.has(at)) throw new TypeError(`${where}: expected an instant of its own, found ${at} twice`);
      if (at !== Number.POSITIVE_INFINITY) instants.add(at);
    }
    if (isStoreOperation(one) && typeof one.place !== "string") throw new TypeError(`${where}.place: expected a name`);
  }
  return history as History;
}
