/** What happened to one key, as far as the calls of its place and the answers of limiters tell it. */

import { Flag } from "../../../../src/kernel/core/layout.ts";
import {
  type CountedPolicy,
  type History,
  isStoreOperation,
  type LimiterOperation,
  type TakeOperation,
} from "../history.ts";
import { ms } from "../words.ts";

export type Decided = LimiterOperation & Required<Pick<LimiterOperation, "output" | "return">>;

/** Units of one decision under one key. */
export interface Piece {
  readonly decision: Decided;
  readonly units: number;
  /** The place had no answer: the isolate admitted them alone. */
  readonly isAlone: boolean;
}

/** What happened to one key. */
export interface Keyed {
  readonly key: string;
  readonly name: string;
  readonly policy: CountedPolicy;
  /** Calls of its place that name it, by `call`. */
  readonly calls: readonly TakeOperation[];
  /** By `call`. */
  readonly decisions: readonly Decided[];
  /** By the first decision of what was settled. */
  readonly settled: ReadonlyMap<number, LimiterOperation>;
}

/** The count changes by so much at this instant of the recorder. */
export interface Change {
  readonly at: number;
  readonly units: number;
}

export function keyed(
  operations: History["operations"],
  policies: Readonly<Record<string, CountedPolicy>>,
  decisions: readonly Decided[],
): Keyed[] {
  const names = new Map(decisions.flatMap(({ input }) => Object.entries(input.keys).map(([name, key]) => [key, name])));
  const calls = Map.groupBy(
    operations
      .filter((one) => isStoreOperation(one) && one.op === "take")
      .flatMap((call) => call.input.keys.map(({ key }) => ({ key, call }))),
    ({ key }) => key,
  );
  const decided = Map.groupBy(
    decisions.flatMap((decision) => Object.values(decision.input.keys).map((key) => ({ key, decision }))),
    ({ key }) => key,
  );
  const settled = new Map(operations.flatMap((one) => (one.op === "settle" ? [[one.decision, one]] : [])));
  return [...names].map(([key, name]) => ({
    key,
    name,
    policy: policies[name]!,
    calls: (calls.get(key) ?? []).map(({ call }) => call),
    decisions: (decided.get(key) ?? []).map(({ decision }) => decision),
    settled,
  }));
}

/** The decision that an extension extends, or itself. */
export const rootOf = ({ decision, input }: LimiterOperation) => input.extends ?? decision;

export function piecesOf({ name, policy, decisions }: Keyed): Piece[] {
  return decisions.flatMap((decision): Piece[] => {
    const { output, input } = decision;
    if (!output.allowed || input.units === 0) return [];
    // An extension holds no slot of its own.
    if (policy.counts === "slots" && input.extends !== undefined) return [];
    const units = policy.counts === "slots" ? 1 : input.units;
    return [{ decision, units, isAlone: output.silent.includes(name) }];
  });
}

/** What settling takes from each piece: the newest first. */
export function givenBack(pieces: readonly Piece[], { policy, settled }: Keyed): Map<Piece, Change> {
  const given = new Map<Piece, Change>();
  for (const [root, own] of Map.groupBy(pieces, ({ decision }) => rootOf(decision))) {
    const settlement = settled.get(root);
    if (!settlement) continue;
    const total = own.reduce((sum, { units }) => sum + units, 0);
    let unused = policy.counts === "slots" ? total : Math.max(0, total - settlement.input.units);
    for (const piece of own.toReversed()) {
      const units = Math.min(unused, piece.units);
      unused -= units;
      given.set(piece, { at: settlement.call, units });
    }
  }
  return given;
}

/** The units that each call has charged or given back, at the earliest or latest instant that its answer allows. */
export function possible(one: Keyed, isCounted: (call: TakeOperation) => boolean): Change[] {
  const changes: Change[] = [];
  /** By number: slots that are surely held until they are given back. */
  const slots = new Map<number, number>();
  const isSlots = one.policy.counts === "slots";
  for (const call of one.calls) {
    if (call.failed !== undefined) continue;
    const { input, output } = call;
    const asked = input.keys.find(({ key }) => key === one.key)!;
    const { cost, flag = input.flag } = asked;
    if (cost === 0 || flag === Flag.look) continue;
    if (flag === Flag.giveBack) {
      if (!output) continue;
      // A slot of which nobody knows whether it was taken may still be taken after it was given back.
      const units = isSlots ? (slots.get(input.slot ?? 0) ?? 0) : cost;
      if (isSlots) slots.delete(input.slot ?? 0);
      if (units > 0 && isCounted(call)) changes.push({ at: call.return!, units: -units });
      continue;
    }
    const isCharged = !output || flag === Flag.chargeAnyway || !isRefused(call, asked.group);
    // Renewing a slot takes no other.
    if (!isCharged || (isSlots && slots.has(input.slot ?? 0))) continue;
    if (isSlots && output) slots.set(input.slot ?? 0, 1);
    if (isCounted(call)) changes.push({ at: call.call, units: isSlots ? 1 : cost });
  }
  return changes.toSorted((a, b) => a.at - b.at);
}

export function isRefused({ input, output }: TakeOperation, group: number): boolean {
  return (
    !output!.allowed ||
    input.keys.some((key, k) => key.group === group && output!.keys[k]!.some(({ refused }) => refused))
  );
}

/** The most that may have been held at an instant of this span. */
export function mostIn(changes: readonly Change[], from: number, to: number): number {
  let held = 0;
  let most = 0;
  for (const { at, units } of changes) {
    if (at > to) break;
    if (at > from) most = Math.max(most, held);
    held += units;
  }
  return Math.max(most, held);
}

export const nameOf = ({ name, key }: Keyed) => `${name} (${key.slice(-8).replace("}", "")})`;

export function describe({ decision, isolate, process, input, output, call, return: returned }: Decided): string {
  const what = input.extends === undefined ? "asks for" : `extends decision ${input.extends} by`;
  const who = `decision ${decision} of process ${process} in isolate ${isolate}`;
  const names = Object.keys(input.keys).join(" and ");
  const refused = output.unavailable ? "unavailable" : `refused by ${output.refusedBy.join(" and ")}`;
  return `${who} ${what} ${input.units} of ${names} (${ms(call)} to ${ms(returned)}): ${output.allowed ? "admitted" : refused}`;
}
