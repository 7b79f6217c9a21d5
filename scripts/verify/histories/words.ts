/** Operations in words, for the stories of violations. */

import { Flag } from "../../../src/kernel/core/layout.ts";
import type { LimitReply, TakeReply } from "../../../src/kernel/core/take.ts";
import type { StoreOperation } from "./history.ts";

/** Short names of keys, which are hashes. */
export type NamedKeys = ReadonlyMap<string, string>;

/** The key of the records, also for one of its limit keys. */
export const recordsKey = (key: string) => key.split("#", 1)[0]!;

/** The keys of records that a call touches. */
export function recordsKeysOf(call: StoreOperation): string[] {
  return call.op === "take" ? call.input.keys.map(({ key }) => key) : call.input.map(recordsKey);
}

export function nameKeys(calls: readonly StoreOperation[]): NamedKeys {
  const names = new Map<string, string>();
  for (const key of calls.flatMap(recordsKeysOf)) {
    if (!names.has(key)) names.set(key, shortName(key, names.size));
  }
  return names;
}

/** `hg:2:{p1:0123…}` is `p1:0123`. Another text stays if it is short. */
function shortName(key: string, number: number): string {
  const [, policy, partition] = /\{([^:}]+):([^}]+)\}/.exec(key) ?? [];
  if (policy) return `${policy}:${partition!.slice(0, 6)}`;
  return key.length <= 24 ? key : `key ${number}`;
}

const VERBS: Readonly<Record<Flag, string>> = {
  [Flag.take]: "takes",
  [Flag.chargeAnyway]: "charges whatever the limit says",
  [Flag.giveBack]: "gives back",
  [Flag.look]: "looks with a cost of",
};

export function describeOperation(operation: StoreOperation, names: NamedKeys): string {
  const { process, place, call, until } = operation;
  const last = until === undefined ? "no answer" : `no answer, dead at ${ms(until)}`;
  const end = operation.return === undefined ? last : ms(operation.return);
  const answer = operation.op === "take" && operation.output ? `: ${describeReply(operation.output)}` : "";
  return `process ${process} at ${place} ${askedOf(operation, names)} (${ms(call)} to ${end})${answer}`;
}

function askedOf(operation: StoreOperation, names: NamedKeys): string {
  const nameOf = (key: string) => names.get(recordsKey(key)) ?? key;
  if (operation.op === "reset") return `resets ${[...new Set(operation.input.map(nameOf))].join(" and ")}`;
  const { keys, flag: own, slot } = operation.input;
  const parts = keys.map(({ key, cost, flag = own }) => `${VERBS[flag]} ${cost} of ${nameOf(key)}`);
  return parts.join(" and ").concat(slot ? ` with slot ${slot}` : "");
}

export function describeReply({ nowMs, allowed, keys }: TakeReply): string {
  const views = keys.map((limits) => limits.map(describeLimit).join(", "));
  return `${allowed ? "admitted" : "refused"} at ${nowMs} with ${views.join(" | ")}`;
}

function describeLimit({ refused, view: { kind, ...view } }: LimitReply): string {
  const numbers = Object.entries(view).map(([name, value]) => `${name} ${value}`);
  return `${refused ? "(refuses) " : ""}${numbers.join(" ")}`;
}

/** Instants of a history are told in milliseconds. */
export const ms = (us: number) => `${(us / 1_000).toFixed(3)} ms`;
