/**
 * What limiters promise over several places (docs/consistency.md, "Several places"). It is less than linearizability:
 * the units of a request that another place has refused keep others out until they are back.
 *
 * - No limit is exceeded: at no instant do admitted requests hold more units of a policy than its limit. Under `local`
 *   an isolate may admit up to one limit more between two answers of the place.
 * - Each refusal is explained: by units of admitted requests, by units on their way back, or by units of which nobody
 *   knows whether they were charged.
 * - Nothing is given back that is still paid for: in the end every place holds at least what was admitted, and at most
 *   what may have been charged.
 * - A place is silent for a reason: a call of this isolate to the place had no answer, or a late one.
 */

import { ENFORCED, Flag, Kind } from "../../../src/core/layout.ts";
import {
  type CountedPolicy,
  type History,
  isStoreOperation,
  type LimiterOperation,
  type TakeOperation,
} from "./history.ts";
import { ms } from "./words.ts";

/** For how long an isolate over several places trusts a reply, with room for clocks that read whole ms. */
const TRUSTED_US = 1_050_000;
/** An isolate that waits longer for an answer may decide without it: half of its time budget, and less. */
const LATE_US = 250_000;

export interface JudgedPlaces {
  readonly decisions: number;
  readonly admitted: number;
  /** Refusals by the units of admitted requests alone. */
  readonly refusedByCounts: number;
  /** Refusals that only units on their way back explain, or units with an unknown outcome. */
  readonly refusedByReturning: number;
  /** Decisions of an isolate alone, and answers that nobody decided. */
  readonly alone: number;
  readonly violations: readonly string[];
}

type Decided = LimiterOperation & Required<Pick<LimiterOperation, "output" | "return">>;

/** Units of one decision under one key. */
interface Piece {
  readonly decision: Decided;
  readonly units: number;
  /** The place had no answer: the isolate admitted them alone. */
  readonly isAlone: boolean;
}

/** What happened to one key. */
interface Keyed {
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
interface Change {
  readonly at: number;
  readonly units: number;
}

export function checkPlaces(history: History): JudgedPlaces {
  const { operations, policies = {} } = history;
  const decisions = operations.filter((one): one is Decided => one.op === "decide" && one.output !== undefined);
  const keys = keyed(operations, policies, decisions);
  const trouble = troubleIn(history);
  const violations = unavailableForNothing(decisions, keys, trouble);
  const explained = { counts: new Set<Decided>(), returning: new Set<Decided>() };
  for (const one of keys) {
    violations.push(
      ...exceeded(one),
      ...exceededAlone(one),
      ...silentForNothing(one, trouble),
      ...heldWrongly(one, trouble),
    );
    for (const decision of one.decisions.filter(({ output }) => output.refusedBy.includes(one.name))) {
      const by = explanationOf(decision, one);
      if (by) explained[by].add(decision);
      else violations.push(unexplained(decision, one));
    }
  }
  const refusedByReturning = [...explained.returning].filter((one) => !explained.counts.has(one)).length;
  return {
    decisions: decisions.length,
    admitted: decisions.filter(({ output }) => output.allowed).length,
    refusedByCounts: explained.counts.size,
    refusedByReturning,
    alone: decisions.filter(({ output }) => output.unavailable || output.silent.length > 0).length,
    violations,
  };
}

function keyed(
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
const rootOf = ({ decision, input }: LimiterOperation) => input.extends ?? decision;

function piecesOf({ name, policy, decisions }: Keyed): Piece[] {
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
function givenBack(pieces: readonly Piece[], { policy, settled }: Keyed): Map<Piece, { at: number; units: number }> {
  const given = new Map<Piece, { at: number; units: number }>();
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

function changesOf(pieces: readonly Piece[], given: ReadonlyMap<Piece, Change>): (Change & { piece: Piece })[] {
  const changes = pieces.flatMap((piece) => {
    const back = given.get(piece);
    const taken = { at: piece.decision.return, units: piece.units, piece };
    return back ? [taken, { at: back.at, units: -back.units, piece }] : [taken];
  });
  return changes.toSorted((a, b) => a.at - b.at);
}

/** A request surely holds its units from its answer until it begins to settle. */
function exceeded(one: Keyed): string[] {
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const pieces = all.filter(({ isAlone }) => !isAlone);
  let held = 0;
  for (const { at, units } of changesOf(pieces, given)) {
    held += units;
    if (held > one.policy.limit) return [aboveLimit(one, pieces, given, at, held, "")];
  }
  return [];
}

/**
 * What an isolate admits alone it counts by itself, until an answer of the place replaces its counters. A slot stays
 * with the counters that gave it.
 */
function exceededAlone(one: Keyed): string[] {
  const { policy } = one;
  if (policy.onStoreFailure !== "local") return [];
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const alone = all.filter(({ isAlone }) => isAlone);
  return [...Map.groupBy(alone, ({ decision }) => decision.isolate)].flatMap(([isolate, own]) => {
    const answers = one.calls.flatMap((call) => (call.isolate === isolate && call.output ? [call.return!] : []));
    const outages =
      policy.counts === "slots"
        ? [own]
        : partedBy(
            own,
            answers.toSorted((a, b) => a - b),
          );
    return outages.flatMap((pieces) => {
      let held = 0;
      for (const { at, units } of changesOf(pieces, given)) {
        held += units;
        const who = `isolate ${isolate} alone: `;
        if (held > policy.limit) return [aboveLimit(one, pieces, given, at, held, who)];
      }
      return [];
    });
  });
}

/** The pieces between two answers each. One that an answer overtook belongs to neither side. */
function partedBy(pieces: readonly Piece[], answers: readonly number[]): Piece[][] {
  const before = (at: number) => answers.findLastIndex((answer) => answer < at);
  const whole = pieces.filter(({ decision }) => before(decision.call) === before(decision.return));
  return [...Map.groupBy(whole, ({ decision }) => before(decision.call)).values()];
}

function aboveLimit(
  one: Keyed,
  pieces: readonly Piece[],
  given: ReadonlyMap<Piece, Change>,
  at: number,
  held: number,
  who: string,
): string {
  const holding = pieces.flatMap((piece) => {
    const back = given.get(piece);
    const units = back && back.at <= at ? piece.units - back.units : piece.units;
    return piece.decision.return <= at && units > 0 ? [`  ${units} by ${describe(piece.decision)}`] : [];
  });
  const { limit, counts } = one.policy;
  return [`${who}${nameOf(one)}: at ${ms(at)} admitted requests hold ${held} ${counts} of ${limit}`, ...holding].join(
    "\n",
  );
}

/** What an isolate may have known about a place at an instant of the recorder. */
interface Trouble {
  /** Whether a call had failed before: it had no answer, or a late one. */
  hasFailed(isolate: number, place: string, before: number): boolean;
  /** Whether the isolate does not call the place at this instant. */
  isOpen(isolate: number, place: string, at: number): boolean;
}

function troubleIn({ operations, breakers = [] }: History): Trouble {
  const failed = new Map<string, number>();
  for (const one of operations.filter(isStoreOperation)) {
    if (one.failed === undefined && (one.return ?? Number.POSITIVE_INFINITY) - one.call <= LATE_US) continue;
    const key = `${one.isolate} ${one.place}`;
    failed.set(key, Math.min(failed.get(key) ?? Number.POSITIVE_INFINITY, one.call));
  }
  return {
    hasFailed: (isolate, place, before) => (failed.get(`${isolate} ${place}`) ?? Number.POSITIVE_INFINITY) < before,
    isOpen: (isolate, place, at) =>
      breakers.findLast((one) => one.isolate === isolate && one.place === place && one.at <= at)?.to === "open",
  };
}

function silentForNothing({ name, decisions, calls, policy }: Keyed, trouble: Trouble): string[] {
  const place = calls[0]?.place;
  return decisions.flatMap((decision): string[] => {
    const { isolate, output } = decision;
    const isSilent = output.silent.includes(name);
    if (isSilent && policy.onStoreFailure === "deny") {
      return [`${describe(decision)}, although the place of ${name} had not answered, and ${name} denies then`];
    }
    if (!isSilent || place === undefined || trouble.hasFailed(isolate, place, decision.return)) return [];
    return [`${describe(decision)} alone, although every call of this isolate to ${place} had its answer in time`];
  });
}

/** An answer that nobody decided is right only if a place of one of its policies had no answer. */
function unavailableForNothing(decisions: readonly Decided[], keys: readonly Keyed[], trouble: Trouble): string[] {
  const places = new Map(keys.map(({ key, calls }) => [key, calls[0]?.place]));
  return decisions.flatMap((decision) => {
    const asked = Object.values(decision.input.keys).map((key) => places.get(key));
    // A key that was never called says nothing about its place: its breaker may have been open all the time.
    const isRight = asked.some((place) => {
      return place === undefined || trouble.hasFailed(decision.isolate, place, decision.return);
    });
    return !decision.output.unavailable || isRight ? [] : [`${describe(decision)}, although its places answered`];
  });
}

/** The units that each call has charged or given back, at the earliest or latest instant that its answer allows. */
function possible(one: Keyed, isCounted: (call: TakeOperation) => boolean): Change[] {
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

function isRefused({ input, output }: TakeOperation, group: number): boolean {
  return input.keys.some((key, k) => {
    return (key.group === ENFORCED || key.group === group) && output!.keys[k]!.some(({ refused }) => refused);
  });
}

/** The most that may have been held at an instant of this span. */
function mostIn(changes: readonly Change[], from: number, to: number): number {
  let held = 0;
  let most = 0;
  for (const { at, units } of changes) {
    if (at > to) break;
    if (at > from) most = Math.max(most, held);
    held += units;
  }
  return Math.max(most, held);
}

function explanationOf(decision: Decided, one: Keyed): "counts" | "returning" | undefined {
  const { input } = decision;
  const units = one.policy.counts === "slots" ? Math.min(1, input.units) : input.units;
  const own = one.calls.find(
    (call) => call.decision === decision.decision && call.input.flag === Flag.take && call.output,
  );
  const span = own && own.return! <= decision.return ? [own.call, own.return!] : rememberedIn(decision, one);
  const [from, to] = span as [number, number];
  const admitted = new Set(one.decisions.flatMap(({ output, decision }) => (output.allowed ? [decision] : [])));
  const paid = possible(one, (call) => call.output !== undefined && admitted.has(call.decision ?? 0));
  if (mostIn(paid, from, to) + units > one.policy.limit) return "counts";
  const all = possible(one, () => true);
  if (mostIn(all, from, to) + units > one.policy.limit) return "returning";
  // An isolate alone begins with what it was told last, and adds what it has admitted itself.
  if (one.policy.onStoreFailure !== "local") return undefined;
  const mostAlone = mostIn(all, 0, decision.return) + aloneBefore(decision, one);
  return mostAlone + units > one.policy.limit ? "returning" : undefined;
}

/** What an isolate may have counted by itself: units that it admitted alone, and what was used beyond reservations. */
function aloneBefore({ isolate, return: before }: Decided, one: Keyed): number {
  const own = piecesOf(one).filter(({ decision }) => decision.isolate === isolate && decision.call < before);
  let units = own.reduce((sum, piece) => sum + (piece.isAlone ? piece.units : 0), 0);
  for (const [root, pieces] of Map.groupBy(own, ({ decision }) => rootOf(decision))) {
    const settlement = one.settled.get(root);
    if (!settlement || settlement.call > before || one.policy.counts === "slots") continue;
    units += Math.max(0, settlement.input.units - pieces.reduce((sum, piece) => sum + piece.units, 0));
  }
  return units;
}

/** When the replies were decided that the isolate may have remembered. */
function rememberedIn({ isolate, call, return: returned }: Decided, { calls }: Keyed): [number, number] {
  const since = call - TRUSTED_US;
  const replies = calls.filter(
    (one) => one.isolate === isolate && one.output && one.return! >= since && one.call < returned,
  );
  return [Math.min(since, ...replies.map((one) => one.call)), returned];
}

/** In the end the place holds at least what is still paid for, and at most what may have stayed charged. */
function heldWrongly(one: Keyed, trouble: Trouble): string[] {
  const look = one.calls.findLast(({ input, output, decision }) => {
    return decision === undefined && output && input.flag === Flag.look;
  });
  if (!look) return [];
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const paying = all.filter(({ isAlone }) => !isAlone);
  const keptOf = (pieces: readonly Piece[]) =>
    pieces.reduce((sum, piece) => sum + piece.units - (given.get(piece)?.units ?? 0), 0);
  const least = keptOf(paying);
  const most = mostKept(one, paying, keptOf, trouble);
  const held = heldIn(look, one.key);
  if (held >= least && held <= most) return [];
  const { counts } = one.policy;
  const expected = least === most ? `${least}` : `${least} to ${most}`;
  return [
    [
      `${nameOf(one)}: in the end ${look.place} holds ${held} ${counts}, expected are ${expected}`,
      ...paying.map((piece) => `  ${keptOf([piece])} of ${piece.units} by ${describe(piece.decision)}`),
    ].join("\n"),
  ];
}

/**
 * Units stay charged that are paid for, and those that are charged whatever the limit says: repayments, and what was
 * used beyond a reservation. If a call had no answer, came too late for its decision, or was left out because the
 * breaker was open, all units of that request may stay: they lapse with their window.
 */
function mostKept(
  one: Keyed,
  paying: readonly Piece[],
  keptOf: (pieces: readonly Piece[]) => number,
  trouble: Trouble,
): number {
  const returns = new Map(one.decisions.map((decided) => [decided.decision, decided]));
  const rootOfCall = ({ decision }: TakeOperation) => {
    const decided = returns.get(decision ?? 0);
    return decided ? rootOf(decided) : (decision ?? 0);
  };
  const payingBy = Map.groupBy(paying, ({ decision }) => rootOf(decision));
  let most = 0;
  for (const [root, calls] of Map.groupBy(one.calls, rootOfCall)) {
    const charging = calls.flatMap((call) => {
      const { cost, flag = call.input.flag, group } = call.input.keys.find(({ key }) => key === one.key)!;
      const isCharged = call.failed === undefined && (!call.output || flag !== Flag.take || !isRefused(call, group));
      const units = one.policy.counts === "slots" ? Math.min(1, cost) : cost;
      return isCharged && (flag === Flag.take || flag === Flag.chargeAnyway) ? [{ call, flag, units }] : [];
    });
    const decidedAt = (call: TakeOperation) => returns.get(call.decision ?? 0)?.return ?? Number.POSITIVE_INFINITY;
    const inTime = charging.every(({ call, flag }) => flag !== Flag.take || call.return! <= decidedAt(call));
    const settled = one.settled.get(root);
    const isCalled = calls.every(({ isolate, place, decision }) =>
      [returns.get(decision ?? 0)?.return, settled?.call, settled?.return].every((at) => {
        return at === undefined || !trouble.isOpen(isolate ?? -1, place, at);
      }),
    );
    const isClean = inTime && isCalled && calls.every((call) => call.output);
    for (const { flag, units } of charging) if (!isClean || flag === Flag.chargeAnyway) most += units;
    if (isClean) most += keptOf(payingBy.get(root) ?? []);
  }
  return most;
}

function heldIn({ input, output }: TakeOperation, key: string): number {
  const k = input.keys.findIndex((one) => one.key === key);
  const { view } = output!.keys[k]![0]!;
  if (view.kind === Kind.log) return view.used;
  if (view.kind === Kind.concurrency) return view.inFlight;
  if (view.kind === Kind.fixedWindow) return view.count;
  // A bucket gets back less than one unit while a history lasts.
  if (view.kind === Kind.bucket) return Math.ceil(view.debt / view.windowMs);
  return view.counts.reduce((sum, units) => sum + units, 0);
}

function unexplained(decision: Decided, one: Keyed): string {
  const [from, to] = rememberedIn(decision, one);
  const most = mostIn(
    possible(one, () => true),
    from,
    to,
  );
  const { limit, counts } = one.policy;
  return [
    `${describe(decision)}, and nothing explains the refusal by ${nameOf(one)}`,
    `  its place held at most ${most} ${counts} of ${limit} from ${ms(from)} to ${ms(to)}`,
  ].join("\n");
}

const nameOf = ({ name, key }: Keyed) => `${name} (${key.slice(-8).replace("}", "")})`;

function describe({ decision, isolate, process, input, output, call, return: returned }: Decided): string {
  const what = input.extends === undefined ? "asks for" : `extends decision ${input.extends} by`;
  const who = `decision ${decision} of process ${process} in isolate ${isolate}`;
  const names = Object.keys(input.keys).join(" and ");
  const refused = output.unavailable ? "unavailable" : `refused by ${output.refusedBy.join(" and ")}`;
  return `${who} ${what} ${input.units} of ${names} (${ms(call)} to ${ms(returned)}): ${output.allowed ? "admitted" : refused}`;
}
