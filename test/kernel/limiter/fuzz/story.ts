// Seeded stories of limiters in virtual time: what is asked, what goes wrong, and what came of it. oracle.ts judges.

import fc from "fast-check";
import type { LimitInput, PolicyInput } from "../../../../src/kernel/config/policy-input.ts";
import { algorithmOf } from "../../../../src/kernel/core/algorithms.ts";
import type { Decision } from "../../../../src/kernel/core/decision.ts";
import { Kind } from "../../../../src/kernel/core/layout.ts";
import { Flag, type KeyRequest, type TakeReply } from "../../../../src/kernel/core/take.ts";
import type { Limiter, PolicyTake } from "../../../../src/limiter.ts";
import { createPlaces, type Fault, inVirtualTime, type Places } from "../../../features/places/places.ts";
import { matchedBy } from "../../../support/matched.ts";
import { mulberry32 } from "../../../support/mulberry32.ts";

/** Nothing leaves these windows before a story ends: what the store holds in the end is all that was charged. */
const LIMITS: readonly ((limit: number) => LimitInput)[] = [
  (limit) => ({ limit, window: "1d" }),
  (limit) => ({ limit, window: "2h", buckets: 60, oldest: "whole" }),
  (limit) => ({ algorithm: "fixed-window", limit, window: "1d" }),
  (limit) => ({ algorithm: "token-bucket", limit, window: "31d" }),
  (limit) => ({ algorithm: "sliding-log", limit, window: "1d" }),
  (limit) => ({ algorithm: "concurrency", limit, timeout: "1d" }),
];
/** Those that can be leased come first. */
const LEASABLE = 4;
/** Longer than anything that an isolate does by itself after a request. */
const QUIET_MS = 30_000;
const BANS = [
  undefined,
  undefined,
  { after: 1, within: "10m", for: ["3s", "1m"] },
  { after: 3, within: "1m", for: "1d" },
];
/** For how long a reply may refuse other requests. */
const TRUSTED_MS = 5_000;

type Asked = { readonly isolate: number; readonly policies: readonly number[]; readonly cost: number };
export type Op =
  | ({ readonly op: "take"; readonly heldMs: number } & Asked)
  | ({ readonly op: "peek" } & Asked)
  | ({
      readonly op: "reserve";
      readonly more: readonly number[];
      readonly used: number;
      readonly gapMs: number;
    } & Asked)
  | { readonly op: "reset"; readonly isolate: number; readonly policies: readonly number[] }
  | { readonly op: "step"; readonly place: number; readonly byMs: number }
  | { readonly op: "fault"; readonly place: number; readonly fault: Fault; readonly calls: number };

export interface Story {
  readonly policies: readonly PolicyInput[];
  /** By policy: the place that counts it. */
  readonly placeOf: readonly number[];
  readonly places: number;
  readonly isolates: number;
  readonly slowestMs: number;
  readonly ops: readonly (Op & { readonly afterMs: number })[];
  readonly seed: number;
}

/** A decision about units, from its beginning to what was settled. Instants are in virtual time. */
export interface Done {
  readonly number: number;
  readonly isolate: number;
  readonly op: "take" | "reserve" | "extend";
  readonly names: readonly string[];
  readonly cost: number;
  readonly decision: Decision;
  /** The units that each policy was to pay in the end. */
  readonly paid: Readonly<Record<string, number>>;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

/** An answer, and what a reader of all counts knows when it is given. */
export interface Answer extends Pick<Done, "number" | "isolate" | "op" | "names" | "cost" | "decision"> {
  /**
   * The isolate knows everything: no other isolate exists, no call is on its way, no outcome is unknown, every place
   * has answered, no reset is fresh, and a reply has come since a clock has stepped.
   */
  readonly isQuiet: boolean;
  /** What the places say at this instant about the same request. */
  readonly truth: readonly {
    readonly key: KeyRequest;
    /** The policy is one of a chain, of which one has to admit. */
    readonly isLink: boolean;
    readonly refused: boolean;
    readonly retryAfterMs: number;
  }[];
}

export interface Held {
  readonly kind: Kind;
  readonly limit: number;
  readonly units: number;
}

export interface Outcome {
  readonly done: readonly Done[];
  readonly answers: readonly Answer[];
  /** By policy, in virtual time: when resets began and ended. */
  readonly resets: readonly { readonly name: string; readonly beganAtMs: number; readonly endedAtMs: number }[];
  readonly places: Places;
  /** What the program wrote to the console about errors of its own. */
  readonly bugs: readonly string[];
  readonly isLeased: boolean;
  /** The policies with a ban. */
  readonly banning: readonly string[];
  /** What each policy holds when everything is over: by limit, units or slots. */
  readonly held: ReadonlyMap<string, readonly Held[]>;
}

/** An operation that is drawn this often, with members that are drawn. */
export function drawn<K extends string, T>(weight: number, op: K, members: { [M in keyof T]: fc.Arbitrary<T[M]> }) {
  return {
    weight,
    arbitrary: fc.record({ op: fc.constant(op), ...members }) as unknown as fc.Arbitrary<{ op: K } & T>,
  };
}

/** @param kind `crowded`: strict too, with one small limit, and calls that overtake each other within a millisecond. */
export function stories(kind: "strict" | "leased" | "crowded"): fc.Arbitrary<Story> {
  const [isLeased, isCrowded] = [kind === "leased", kind === "crowded"];
  const consistency = isLeased ? "leased" : "strict";
  const limit = fc.record({
    of: fc.nat((isLeased ? LEASABLE : LIMITS.length) - 1),
    limit: isLeased ? fc.integer({ min: 5, max: 60 }) : fc.oneof(fc.integer({ min: 2, max: 9 }), fc.constant(30)),
  });
  const policy = fc.record({
    limits: fc.uniqueArray(limit, { minLength: 1, maxLength: 2, selector: ({ of }) => of }),
    onStoreFailure: fc.constantFrom("local" as const, "allow" as const, "deny" as const),
    ban: fc.constantFrom(...BANS),
  });
  return fc
    .record({
      drawn: fc.array(policy, { minLength: 1, maxLength: isCrowded ? 1 : 3 }),
      places: fc.integer({ min: 1, max: isCrowded ? 1 : 3 }),
      isolates: fc.integer({ min: 1, max: isCrowded ? 1 : 2 }),
      // The chain begins at the first policy. 1: there is none.
      chained: fc.constantFrom(1, 1, 2, 3),
    })
    .chain(({ drawn: all, places, isolates, chained }) => {
      const policies = all.map(({ limits, onStoreFailure, ban }, p): PolicyInput => {
        const own = limits.map(({ of, limit }) => LIMITS[of]!(limit));
        const overflow = p + 1 < Math.min(chained, all.length) && { overflow: `p${p + 1}` };
        // An overflow has what the policy before it says about its store.
        const failure = (p === 0 || p >= chained) && { onStoreFailure };
        const bans = ban && (chained === 1 || p >= chained) && { ban };
        const more = { consistency, ...failure, ...overflow, ...bans, limits: own };
        return { name: `p${p}`, key: ["global"], ...more } as PolicyInput;
      });
      const isolate = fc.nat(isolates - 1);
      const some = fc.subarray([...policies.keys()], { minLength: 1 });
      const asked = { isolate, policies: some, cost: fc.constantFrom(1, 1, 2, 3) };
      const place = fc.nat(places - 1);
      const more = fc.array(fc.constantFrom(1, 2), { maxLength: 7 });
      const gapMs = isCrowded ? fc.constant(0) : fc.constantFrom(0, 20, 130_000);
      const fault = fc.constantFrom<Fault>("known", "ran", "lost", "late");
      const op = fc.oneof(
        drawn(8, "take", { ...asked, heldMs: fc.constantFrom(5, 400, 40_000) }),
        drawn(4, "reserve", { ...asked, more, used: fc.nat(9), gapMs }),
        drawn(1, "peek", { ...asked }),
        drawn(2, "reset", { isolate, policies: some }),
        drawn(1, "step", { place, byMs: fc.constantFrom(-50, -150_000, -90_000_000) }),
        drawn(1, "fault", { place, fault, calls: fc.constantFrom(1, 3) }),
      );
      const ops = fc.tuple(
        op,
        isCrowded ? fc.constantFrom(0, 0, 1) : fc.constantFrom(0, 0, 0, 1, 6, 60, 1_500, 20_000),
      );
      return fc.record({
        policies: fc.constant(policies),
        placeOf: fc.array(fc.nat(places - 1), { minLength: policies.length, maxLength: policies.length }),
        places: fc.constant(places),
        isolates: fc.constant(isolates),
        slowestMs: isCrowded ? fc.constant(2) : fc.constantFrom(0, 3, 30),
        ops: fc
          .array(ops, { minLength: 3, maxLength: 30, size: "max" })
          .map((list) => list.map(([one, afterMs]) => ({ ...one, afterMs }))),
        seed: fc.integer(),
      });
    });
}

export async function live(story: Story): Promise<Outcome> {
  const { policies, placeOf, isolates, slowestMs, ops, seed } = story;
  const policyIn = (key: string) => Number(/\{p(\d)/.exec(key)![1]);
  const clocksMs = Array.from({ length: story.places }, () => 0);
  const bugs: string[] = [];
  const { error } = console;
  console.error = (...texts: unknown[]) => void bugs.push(texts.map(String).join(" "));
  return await inVirtualTime(async (time, begin) => {
    const random = mulberry32(seed);
    let isWarm = false;
    const placeOfKey = (key: string) => placeOf[policyIn(key)]!;
    const places = createPlaces(time, { clocksMs, placeOf: placeOfKey, isWarm: () => isWarm });
    const faults = clocksMs.map((): Fault[] => []);
    /** By place: when its clock has stepped last, in virtual time. */
    const steppedAtMs: number[] = [];
    const link = (place: number) => ({
      delayMs: () => slowestMs * random(),
      fault: () => faults[place]!.shift(),
    });
    const limiters = Array.from({ length: isolates }, () => places.limiter(policies, link));
    await begin(async () => {
      const all = policies.map(({ name }) => ({ policy: name }));
      for (const limiter of limiters) await limiter.peek(all);
      isWarm = true;
    });

    const [done, answers, resets] = [[] as Done[], [] as Answer[], [] as Outcome["resets"][number][]];
    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    let [deciding, numbers] = [0, 0];
    /** Until then a reply from the time of a reset may be remembered. */
    let forgottenAtMs = 0;
    let hasUnknown = false;

    const isLink = (name: string) => policies.some((one) => one.overflow && [one.name, one.overflow].includes(name));

    /** The requests by which the store knows the policies, or their bans, as far as any call has named them. */
    function keysOf(names: readonly string[], of: typeof isOf = isOf): KeyRequest[] {
      return names.flatMap((name) => {
        const named = places.calls.flatMap(({ request }) => request.keys.filter(({ key }) => of(name, key)));
        // Some calls name a part of the limits only.
        return named.toSorted((a, b) => b.limits.length - a.limits.length).slice(0, 1);
      });
    }

    async function truthOf(names: readonly string[], cost: number): Promise<Answer["truth"]> {
      return await Promise.all(
        [...keysOf(names), ...keysOf(names, isBanOf)].map(async (key) => {
          const one = { ...key, group: 0, cost };
          const reply = await places.at(placeOfKey(key.key), { keys: [one], flag: Flag.look });
          return { key: one, isLink: isLink(`p${policyIn(key.key)}`), ...refusalOf(one, reply) };
        }),
      );
    }

    async function decided(
      op: Done["op"],
      isolate: number,
      names: readonly string[],
      cost: number,
      ask: (number: number) => Promise<Decision>,
    ): Promise<Decision> {
      const number = ++numbers;
      const isAlone = deciding === 0 && places.pending.size === 0;
      deciding++;
      const decision = await places.as(number, () => ask(number)).finally(() => deciding--);
      hasUnknown ||= places.calls.some(({ fault }) => fault === "ran" || fault === "lost");
      const isUnseen = (atMs: number, place: number) =>
        !places.calls.some((call) => call.place === place && call.repliedAtMs !== undefined && call.ranAtMs! >= atMs);
      const isQuiet =
        isolates === 1 &&
        isAlone &&
        time.nowMs() > forgottenAtMs &&
        !places.calls.some((call) => call.decision === number && call.fault) &&
        deciding === 0 &&
        places.pending.size === 0 &&
        !hasUnknown &&
        !steppedAtMs.some(isUnseen);
      answers.push({ number, isolate, op, names, cost, decision, isQuiet, truth: await truthOf(names, cost) });
      return decision;
    }

    /** The policies that requests match: no request matches an overflow. */
    const heads = (of: readonly number[]) => {
      const overflows = policies.flatMap(({ overflow }) => overflow ?? []);
      const matching = of.map((p) => `p${p}`).filter((name) => !overflows.includes(name));
      return matching.length > 0 ? matching : ["p0"];
    };
    /** Those, with their overflows. */
    const withOverflows = (names: readonly string[]) => {
      const overflows = names.includes("p0") ? policies.flatMap(({ overflow }) => overflow ?? []) : [];
      return [...names, ...overflows];
    };
    /** Whether a policy pays for an admitted request. Of a chain one does. */
    const pays = (name: string, { paidBy }: Decision) => !isLink(name) || paidBy === name;

    async function take({ isolate, policies: of, cost, heldMs }: Op & { op: "take" }): Promise<void> {
      const asked = heads(of);
      const names = withOverflows(asked);
      const beganAtMs = time.nowMs();
      const takes = asked.map((policy) => ({ policy, cost }));
      const ask = () => matchedBy(limiters[isolate]!).take(takes, { background });
      const decision = await decided("take", isolate, names, cost, ask);
      const number = numbers;
      const isPaid = (name: string) => decision.allowed && pays(name, decision);
      const paid = Object.fromEntries(names.map((name) => [name, isPaid(name) ? cost : 0]));
      done.push({ number, isolate, op: "take", names, cost, decision, paid, beganAtMs, endedAtMs: time.nowMs() });
      if (!decision.hold) return;
      await time.sleep(heldMs);
      await places.as(number, () => decision.hold!.release());
    }

    async function reserve({ isolate, policies: of, cost, more, used, gapMs }: Op & { op: "reserve" }): Promise<void> {
      const asked = heads(of);
      const names = withOverflows(asked);
      const beganAtMs = time.nowMs();
      const limiter = matchedBy(limiters[isolate]!);
      const takes = asked.map((policy): PolicyTake => ({ policy, cost }));
      let reservation!: Awaited<ReturnType<Limiter["reserve"]>>;
      const decision = await decided("reserve", isolate, names, cost, async () => {
        reservation = await limiter.reserve(takes, { background });
        return reservation.decision;
      });
      const number = numbers;
      const paying = names.filter((name) => pays(name, decision));
      if (decision.allowed) {
        for (const units of more) {
          await time.sleep(gapMs);
          const wanted = Object.fromEntries(paying.map((name) => [name, units]));
          await decided("extend", isolate, paying, units, () => reservation.extend(wanted));
        }
        await time.sleep(gapMs);
        const settled = Object.fromEntries(names.map((name) => [name, used]));
        await places.as(number, () => (used === 0 ? reservation.release() : reservation.settle(settled)));
      }
      // A decision that admits may still have charged nothing, if a place did not answer.
      const isPaid = (name: string) => decision.allowed && pays(name, decision);
      const paid = Object.fromEntries(names.map((name) => [name, isPaid(name) ? used : 0]));
      done.push({ number, isolate, op: "reserve", names, cost, decision, paid, beganAtMs, endedAtMs: time.nowMs() });
    }

    async function peek({ isolate, policies: of, cost }: Op & { op: "peek" }): Promise<void> {
      const list = heads(of).map((policy) => ({ policy, cost }));
      await places.as(++numbers, () => matchedBy(limiters[isolate]!).peek(list));
    }

    async function reset({ isolate, policies: of }: Op & { op: "reset" }): Promise<void> {
      const beganAtMs = time.nowMs();
      forgottenAtMs = Number.POSITIVE_INFINITY;
      await Promise.all(of.map((p) => limiters[isolate]!.reset(`p${p}`)));
      forgottenAtMs = time.nowMs() + TRUSTED_MS;
      for (const p of of) resets.push({ name: `p${p}`, beganAtMs, endedAtMs: time.nowMs() });
    }

    for (const one of ops) {
      if (one.afterMs > 0) await time.sleep(one.afterMs);
      if (one.op === "take") works.push(take(one));
      else if (one.op === "reserve") works.push(reserve(one));
      else if (one.op === "peek") works.push(peek(one));
      else if (one.op === "reset") works.push(reset(one));
      else if (one.op === "step") {
        clocksMs[one.place]! += one.byMs;
        steppedAtMs[one.place] = time.nowMs();
      } else faults[one.place]!.push(...Array.from({ length: one.calls }, () => one.fault));
    }
    // Every reservation and every slot ends. What each isolate then remembers has to be true.
    while (works.length > 0) await Promise.all(works.splice(0));
    for (const list of faults) list.length = 0;
    for (const isolate of limiters.keys()) {
      for (const p of policies.keys()) await take({ op: "take", isolate, policies: [p], cost: 1, heldMs: 0 });
    }
    // Each isolate tells the store what it has missed.
    for (let round = 0; round < 3; round++) {
      for (const limiter of limiters) {
        for (const { name } of policies) await limiter.peek(name, { background });
      }
      await time.sleep(QUIET_MS);
      while (works.length > 0) await Promise.all(works.splice(0));
    }

    const held = new Map<string, Held[]>();
    for (const { name } of policies) {
      for (const key of keysOf([name])) {
        const one = { ...key, group: 0, cost: 0 };
        const reply = await places.at(placeOfKey(key.key), { keys: [one], flag: Flag.look });
        held.set(name, heldBy(one, reply));
      }
    }
    const isLeased = policies[0]!.consistency === "leased";
    const banning = policies.flatMap(({ name, ban }) => (ban ? [name] : []));
    return { done, answers, resets, places, bugs, isLeased, banning, held };
  }).finally(() => {
    console.error = error;
  });
}

/** Whether a key of the store has the counts of a policy, or its bans. */
export const isOf = (name: string, key: string) => key.includes(`{${name}:`) && !key.endsWith("!ban");
export const isBanOf = (name: string, key: string) => key.includes(`{${name}:`) && key.endsWith("!ban");

/** Whether a place would refuse a cost, and for how long. */
function refusalOf({ limits, cost }: KeyRequest, { nowMs, keys }: TakeReply) {
  const refusing = limits.flatMap((limit, l) => {
    const { refused, view } = keys[0]![l]!;
    if (!refused) return [];
    return [algorithmOf(limit).tell(view, limit, cost, true, nowMs).retryAfterMs ?? Number.POSITIVE_INFINITY];
  });
  return { refused: refusing.length > 0, retryAfterMs: Math.max(0, ...refusing) };
}

export function heldBy({ limits }: KeyRequest, { keys }: TakeReply): Held[] {
  return limits.map(({ kind, limit }, l): Held => {
    const { view } = keys[0]![l]!;
    if (view.kind === Kind.log) return { kind, limit, units: view.used };
    if (view.kind === Kind.concurrency) return { kind, limit, units: view.inFlight };
    if ("count" in view) return { kind, limit, units: view.count };
    // A story is too short for a unit of a bucket to come back.
    if (view.kind === Kind.bucket) return { kind, limit, units: Math.round(view.debt / view.windowMs) };
    return { kind, limit, units: view.counts.reduce((sum, units) => sum + units, 0) };
  });
}
