// Random policies, places and requests, and what came of each request: the material of the properties beside this file.

import fc from "fast-check";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision, Hold } from "../../../src/kernel/core/decision.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { type Call, createPlaces, type Fault, inVirtualTime, type Places } from "./places.ts";

/** Small limits over short windows: a few requests use them up, and units come back while others are on their way. */
const LIMITS: readonly ((limit: number) => LimitInput)[] = [
  (limit) => ({ limit, window: "2s" }),
  (limit) => ({ limit, window: "5s", buckets: 5, oldest: "whole" }),
  (limit) => ({ algorithm: "fixed-window", limit, window: "3s" }),
  (limit) => ({ algorithm: "sliding-log", limit, window: "4s" }),
  (limit) => ({ algorithm: "token-bucket", limit, window: "6s" }),
  (limit) => ({ algorithm: "leaky-bucket", limit, window: "7s", maxDelay: "1s" }),
  (limit) => ({ algorithm: "concurrency", limit, timeout: "1m" }),
];
/** Those that can be leased. */
const LEASABLE = [0, 1, 2, 4];

export interface Op {
  readonly afterMs: number;
  readonly isolate: number;
  /** Which policies apply, one bit for each. */
  readonly policies: number;
  readonly cost: number;
  /** How long a slot is held, in ms. */
  readonly heldMs: number;
}

export interface Traffic {
  readonly policies: readonly PolicyInput[];
  /** By policy: the place of its global limits, and of those per region. */
  readonly placesOf: readonly (readonly [number, number])[];
  readonly clocksMs: readonly number[];
  readonly clusters: readonly boolean[];
  readonly isolates: number;
  readonly slowestMs: number;
  readonly ops: readonly Op[];
  readonly seed: number;
}

/** What happens to calls. */
export interface Network {
  /** The fault of a call; `random` is 0 … 1. */
  fault?(place: number, request: TakeRequest, random: () => number): Fault | undefined;
}

export interface Done {
  readonly number: number;
  readonly isolate: number;
  readonly cost: number;
  readonly decision: Decision;
  /** When the decision was told, in virtual time. */
  readonly toldAtMs: number;
  readonly names: readonly string[];
  /** The number of calls that it takes: one for each place, and in a cluster one for each slot. */
  readonly parts: number;
}

export interface Outcome {
  readonly done: readonly Done[];
  readonly places: Places;
  /** When the places are quiet: nothing is on its way. */
  readonly looks: readonly { readonly place: number; readonly key: KeyRequest; readonly reply: TakeReply }[];
  readonly endMs: number;
  placeOf(key: string): number;
}

/** @param kind `leased`: every policy is leased; `strict`: none is. */
export function traffics(kind: "strict" | "leased"): fc.Arbitrary<Traffic> {
  const limit = fc.record({
    of: kind === "leased" ? fc.constantFrom(...LEASABLE) : fc.nat(LIMITS.length - 1),
    limit: kind === "leased" ? fc.integer({ min: 2, max: 30 }) : fc.integer({ min: 1, max: 6 }),
    scope: fc.constantFrom("global" as const, "global" as const, "region" as const),
  });
  const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 3, selector: ({ of }) => of });
  const policy = fc.record({
    limits,
    mode: kind === "leased" ? fc.constant("enforce") : fc.constantFrom("enforce", "enforce", "shadow"),
    onStoreFailure: fc.constantFrom("local", "allow", "deny"),
  });
  return fc
    .record({
      // One place: a Redis that may be a cluster.
      places: fc.integer({ min: 1, max: 4 }),
      drawn: fc.array(policy, { minLength: 2, maxLength: 4 }),
      isolates: fc.integer({ min: 1, max: 3 }),
    })
    .chain(({ places, drawn, isolates }) => {
      const policies = drawn.map(({ limits, ...one }, p): PolicyInput => {
        const own = limits.map(({ of, limit, scope }) => ({ ...LIMITS[of]!(limit), scope }));
        return { name: `p${p}`, key: ["global"], consistency: kind, ...one, limits: own } as PolicyInput;
      });
      const place = fc.nat(places - 1);
      const op = fc.record({
        afterMs: fc.constantFrom(0, 0, 0, 1, 5, 30, 200, 900),
        isolate: fc.nat(isolates - 1),
        policies: fc.integer({ min: 1, max: 2 ** policies.length - 1 }),
        cost: fc.constantFrom(1, 1, 1, 2, 3),
        heldMs: fc.constantFrom(10, 300, 700),
      });
      return fc.record({
        policies: fc.constant(policies),
        placesOf: fc.array(fc.tuple(place, place), { minLength: policies.length, maxLength: policies.length }),
        clocksMs: fc.array(fc.integer({ min: -30_000, max: 30_000 }), { minLength: places, maxLength: places }),
        clusters: fc.array(fc.boolean(), { minLength: places, maxLength: places }),
        isolates: fc.constant(isolates),
        slowestMs: fc.constantFrom(0, 5, 40),
        ops: fc.array(op, { minLength: 5, maxLength: 40, size: "max" }),
        seed: fc.integer(),
      });
    });
}

/** @param quietMs how long nothing is asked at the end, before the places are looked at. */
export async function live(traffic: Traffic, { fault }: Network = {}, quietMs = 1_000): Promise<Outcome> {
  const { policies, placesOf, clocksMs, clusters, isolates, slowestMs, ops } = traffic;
  const placeOf = (key: string) => {
    const [, p, region] = /\{p(\d):[^}]*\}(.*)/.exec(key)!;
    return placesOf[Number(p)]![region ? 1 : 0];
  };
  return await inVirtualTime(async (time, begin) => {
    const random = mulberry32(traffic.seed);
    let isWarm = false;
    const places = createPlaces(time, { clocksMs, clusters, placeOf, isWarm: () => isWarm });
    const link = (place: number) => ({
      delayMs: () => slowestMs * random(),
      fault: (request: TakeRequest) => fault?.(place, request, random),
    });
    const limiters = Array.from({ length: isolates }, () => places.limiter(policies, link));
    await begin(async () => {
      for (const limiter of limiters) await limiter.peek(policies.map(({ name }) => ({ policy: name })));
      isWarm = true;
    });

    const done: Done[] = [];
    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const holdFor = async (hold: Hold, heldMs: number) => {
      await time.sleep(heldMs);
      await hold.release();
    };
    const ask = async ({ isolate, policies: bits, cost, heldMs }: Op, number: number) => {
      const names = policies.flatMap(({ name }, p) => (bits & (2 ** p) ? [name] : []));
      const takes = names.map((policy) => ({ policy, cost }));
      const decision = await places.as(number, () => limiters[isolate]!.take(takes, { background }));
      const applied = policies.map(({ limits }, p) =>
        limits.map(({ scope }) => {
          const place = placesOf[p]![scope === "region" ? 1 : 0];
          return clusters[place] ? `${place} {p${p}}` : place;
        }),
      );
      const { size } = new Set(applied.filter((_, p) => bits & (2 ** p)).flat());
      done.push({ number, isolate, cost, decision, toldAtMs: time.nowMs(), names, parts: size });
      if (decision.hold) await places.as(number, () => holdFor(decision.hold!, heldMs));
    };
    for (const [number, op] of ops.entries()) {
      if (op.afterMs > 0) await time.sleep(op.afterMs);
      works.push(ask(op, number));
    }
    await time.sleep(quietMs);
    const keys = new Map(
      places.calls.flatMap(({ request, place }) => request.keys.map((key) => [key.key, { place, key }])),
    );
    // Calls may name some limits of a key only: the longest list names all.
    for (const { request, place } of places.calls) {
      for (const key of request.keys) {
        if (key.limits.length > keys.get(key.key)!.key.limits.length) keys.set(key.key, { place, key });
      }
    }
    const looks: Outcome["looks"][number][] = [];
    for (const { place, key } of keys.values()) {
      const one = { ...key, group: ENFORCED, cost: 0 };
      looks.push({ place, key: one, reply: await places.at(place, { keys: [one], flag: Flag.look }) });
    }
    const endMs = time.nowMs();
    // What rejects is heard of.
    await time.sleep(10_000);
    await Promise.all(works);
    return { done, places, looks, endMs, placeOf };
  });
}

/** The calls of one decision that asked for units, and those that gave units back. */
export function callsOf({ calls }: Places, decision: number): { takes: Call[]; giveBacks: Call[] } {
  const own = calls.filter((call) => call.decision === decision);
  return {
    takes: own.filter(({ request }) => request.flag === Flag.take),
    giveBacks: own.filter(({ request }) => request.flag === Flag.giveBack),
  };
}
