/**
 * Stories in which the store misses something, and in which nobody can doubt what it has charged: replies come late,
 * and calls are refused before they run. In the end the store must hold exactly what was paid.
 *
 * Two isolates share the store: with one configuration, with two as in the middle of a deploy, or as two deployments,
 * each in a namespace of its own.
 */

import fc from "fast-check";
import type { PolicyInput } from "../../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../../src/kernel/core/take.ts";
import { createPlaces, type Fault, inVirtualTime } from "../../../features/places/places.ts";
import { matchedBy } from "../../../support/matched.ts";
import { mulberry32 } from "../../../support/mulberry32.ts";
import { drawn, heldBy } from "./story.ts";

/** So long after the last request nothing happens any more, in ms. A lease keeps units for recent demand, for 90 s. */
const QUIET_MS = 180_000;
/** The one that is asked for in the end, so that the isolates hear of the store. */
const LAST = "strict";

/** No limit is reached: what is refused is refused because the store was not heard. */
const policies = (window: "1d" | "12h"): PolicyInput[] => [
  { name: LAST, key: ["global"], limits: [{ limit: 5_000, window }] },
  { name: "other", key: ["global"], limits: [{ algorithm: "fixed-window", limit: 5_000, window }] },
  { name: "deny", key: ["global"], onStoreFailure: "deny", limits: [{ limit: 5_000, window }] },
  { name: "leased", key: ["global"], consistency: "leased", limits: [{ limit: 5_000, window }] },
  { name: "slots", key: ["global"], limits: [{ algorithm: "concurrency", limit: 50, timeout: "1d" }] },
];
const NAMES = policies("1d").map(({ name }) => name);

type Op =
  | { readonly op: "take"; readonly isolate: number; readonly policy: string; readonly cost: number }
  | { readonly op: "reserve"; readonly isolate: number; readonly policy: string; readonly used: number }
  | { readonly op: "fault"; readonly isolate: number; readonly fault: Fault; readonly calls: number };

/** What the second isolate has of its own: nothing, a configuration, or a namespace. */
const SECONDS = ["same", "deploy", "namespace"] as const;

export interface Missed {
  readonly second: (typeof SECONDS)[number];
  /** Whether each reply is late in the end, when the store is told what it missed. */
  readonly isLateAtLast: boolean;
  readonly ops: readonly (Op & { readonly afterMs: number })[];
  readonly seed: number;
}

export function missedStories(): fc.Arbitrary<Missed> {
  const isolate = fc.nat(1);
  const policy = fc.constantFrom(...NAMES);
  const fault = fc.constantFrom<Fault>("known", "moved", "late");
  const op = fc.oneof(
    drawn(8, "take", { isolate, policy, cost: fc.constantFrom(1, 2) }),
    drawn(2, "reserve", { isolate, policy, used: fc.nat(6) }),
    drawn(2, "fault", { isolate, fault, calls: fc.constantFrom(1, 3, 8) }),
  );
  const ops = fc.tuple(op, fc.constantFrom(0, 0, 1, 60, 400, 3_000, 9_000));
  return fc.record({
    second: fc.constantFrom(...SECONDS),
    isLateAtLast: fc.boolean(),
    ops: fc
      .array(ops, { minLength: 10, maxLength: 40, size: "max" })
      .map((list) => list.map(([one, afterMs]) => ({ ...one, afterMs }))),
    seed: fc.integer(),
  });
}

/** @returns what the store holds in the end, and what was paid, where they differ. */
export async function differences({ second, isLateAtLast, ops, seed }: Missed): Promise<string[]> {
  return await inVirtualTime(async (time, begin) => {
    const random = mulberry32(seed);
    let [isWarm, isLast] = [false, false];
    const places = createPlaces(time, { clocksMs: [0], placeOf: () => 0, isWarm: () => isWarm });
    const faults: Fault[][] = [[], []];
    const configurations = [policies("1d"), policies(second === "deploy" ? "12h" : "1d")];
    const limiters = configurations.map((list, isolate) => {
      const fault = () => (isLast && isLateAtLast ? "late" : faults[isolate]!.shift());
      const namespace = second === "namespace" ? ["production", "staging"][isolate] : undefined;
      return places.limiter(list, () => ({ delayMs: () => 5 * random(), fault }), namespace);
    });
    await begin(async () => {
      for (const limiter of limiters) await limiter.peek(NAMES.map((policy) => ({ policy })));
      isWarm = true;
    });

    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const settled = async () => {
      while (works.length > 0) await Promise.all(works.splice(0));
    };
    /** By isolate and policy. */
    const paid = limiters.map(() => new Map<string, number>());
    const pay = (isolate: number, policy: string, units: number) =>
      paid[isolate]!.set(policy, (paid[isolate]!.get(policy) ?? 0) + units);

    async function take(isolate: number, policy: string, cost: number): Promise<void> {
      const decision = await matchedBy(limiters[isolate]!).take([{ policy, cost }], { background });
      if (decision.allowed) pay(isolate, policy, cost);
      if (!decision.hold) return;
      await time.sleep(300);
      await decision.hold.release();
    }
    async function reserve(isolate: number, policy: string, wanted: number): Promise<void> {
      const reservation = await matchedBy(limiters[isolate]!).reserve([{ policy, cost: 3 }], { background });
      await time.sleep(700);
      // What was admitted alone may be charged before it is settled: what was not used of it stays charged.
      const used = reservation.decision.source === "fallback" ? Math.max(3, wanted) : wanted;
      if (reservation.decision.allowed) pay(isolate, policy, used);
      await reservation.settle({ [policy]: used });
    }

    for (const one of ops) {
      if (one.afterMs > 0) await time.sleep(one.afterMs);
      if (one.op === "take") works.push(take(one.isolate, one.policy, one.cost));
      else if (one.op === "reserve") works.push(reserve(one.isolate, one.policy, one.used));
      else faults[one.isolate]!.push(...Array.from({ length: one.calls }, () => one.fault));
    }
    await settled();
    for (const list of faults) list.length = 0;
    isLast = true;
    // Requests of another policy: nobody asks for the other keys any more.
    for (let i = 0; i < 30; i++) {
      for (const isolate of limiters.keys()) works.push(take(isolate, LAST, 1));
      await time.sleep(QUIET_MS / 30);
      await settled();
    }

    const found: string[] = [];
    for (const [isolate, list] of configurations.entries()) {
      for (const { name } of list) {
        const key = places.calls
          .flatMap((call) => (call.isolate === isolate ? call.request.keys : []))
          .findLast((one) => one.key.includes(`{${name}:`));
        if (!key) continue;
        const payers = second === "same" ? paid : [paid[isolate]!];
        const due = name === "slots" ? 0 : payers.reduce((all, each) => all + (each.get(name) ?? 0), 0);
        const { once: _, ...own } = key;
        const one = { ...own, group: 0, cost: 0 };
        const held = heldBy(one, await places.at(0, { keys: [one], flag: Flag.look }))[0]!.units;
        if (held !== due) found.push(`isolate ${isolate}, ${name}: ${held} are held, ${due} were paid`);
      }
    }
    return found;
  });
}
