// What a split decision promises, over adversarial interleavings: several isolates, two to four places with clocks of
// their own, every algorithm, policies in shadow, slots and costs; then with lost calls, late replies and dead places.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import type { BucketLimit } from "../../../src/kernel/core/token-bucket.ts";
import { createCounts } from "../../../src/kernel/store/memory.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { type Call, START_MS } from "./places.ts";
import { callsOf, type Done, live, type Outcome, type Traffic, traffics } from "./traffic.ts";

const RUNS = draws(60);
const isBucket = ({ kind }: { readonly kind: Kind }) => kind === Kind.bucket;

/** Whether a policy refused nowhere, as far as the decision tells. */
function isKept({ decision }: Done, { key }: KeyRequest): boolean {
  const [, name] = /\{([^:]+):/.exec(key)!;
  return decision.allowed && !decision.shadow.some(({ policy, admitted }) => policy.name === name && !admitted);
}

/** The keys that a take has charged. */
function chargedBy({ request, reply }: Call): KeyRequest[] {
  if (!reply?.allowed) return [];
  const refused = request.keys.flatMap(({ group }, k) =>
    reply.keys[k]!.some((limit) => limit.refused) ? [group] : [],
  );
  return request.keys.filter(({ group, cost }) => cost > 0 && !refused.includes(group));
}

interface Event {
  readonly place: number;
  readonly atMs: number;
  readonly key: KeyRequest;
  readonly slot: number;
  readonly units: number;
  readonly flag: Flag;
}

/** What admitted requests have charged, and the slots that they have given back, by place, in order. */
function admissions({ done, places }: Outcome): Event[] {
  const byNumber = new Map(done.map((one) => [one.number, one]));
  return places.calls.flatMap((call): Event[] => {
    const one = byNumber.get(call.decision);
    const { request, reply, place } = call;
    if (!one?.decision.allowed || !reply) return [];
    const event = { place, atMs: reply.nowMs, slot: request.slot ?? 0, flag: request.flag };
    if (request.flag === Flag.take) {
      return chargedBy(call).flatMap((key) => (isKept(one, key) ? [{ ...event, key, units: key.cost }] : []));
    }
    const isRelease = request.flag === Flag.giveBack && request.keys.every(({ limits }) => limits.every(isConcurrency));
    return isRelease ? request.keys.map((key) => ({ ...event, key, units: 0 })) : [];
  });
}

/** Stores that have seen the admitted requests alone. Each of them has to have room for every request. */
function ledgerOf(outcome: Outcome) {
  const ledgers = new Map<number, ReturnType<typeof createCounts>>();
  const at = (place: number) => ledgers.get(place) ?? ledgers.set(place, createCounts(1_000)).get(place)!;
  for (const { place, key, atMs, slot, flag } of admissions(outcome)) {
    // Buckets have a rule of their own, below.
    const limits = key.limits.filter((limit) => !isBucket(limit));
    if (limits.length === 0) continue;
    const { allowed } = at(place).take({ keys: [{ ...key, group: ENFORCED, limits }], flag, slot }, atMs);
    expect(allowed, `${key.key} at ${atMs}`).toBe(true);
  }
  return at;
}

/** The most that is admitted in any time: the burst, what comes back meanwhile, and what was on its way before. */
function expectBucketsWithin(outcome: Outcome): void {
  const admitted = admissions(outcome).filter(({ flag }) => flag === Flag.take);
  const booked = outcome.places.calls.flatMap((call): { key: string; atMs: number; units: number }[] => {
    const { request, reply } = call;
    if (!reply) return [];
    const [keys, sign] = request.flag === Flag.giveBack ? [request.keys, -1] : [chargedBy(call), 1];
    // The release of a slot names no bucket.
    const counted = keys.filter(({ limits }) => limits.some(isBucket));
    return counted.map(({ key, cost }) => ({ key, atMs: reply.nowMs, units: sign * cost }));
  });
  for (const [key, own] of Map.groupBy(admitted, ({ key }) => key.key)) {
    const bucket = own[0]!.key.limits.find(isBucket) as BucketLimit | undefined;
    if (!bucket) continue;
    const { limit, burst, windowMs, maxDelayMs } = bucket;
    const bookedHere = booked.filter((one) => one.key === key);
    const before = (list: readonly { readonly atMs: number; readonly units: number }[], atMs: number) =>
      list.reduce((sum, one) => sum + (one.atMs < atMs ? one.units : 0), 0);
    for (const [from, { atMs: fromMs }] of own.entries()) {
      const held = before(bookedHere, fromMs) - before(own, fromMs);
      let sum = 0;
      for (const { atMs, units } of own.slice(from)) {
        sum += units;
        const most = burst + held + (limit * (atMs - fromMs + maxDelayMs)) / windowMs;
        expect(sum).toBeLessThanOrEqual(most);
      }
    }
  }
}

/** What a decision has charged and not given back, by key. */
function net({ places }: Outcome, number: number): Map<string, number> {
  const { takes, giveBacks } = callsOf(places, number);
  const sums = new Map<string, number>();
  const add = (key: string, units: number) => sums.set(key, (sums.get(key) ?? 0) + units);
  for (const call of takes) {
    for (const { key } of call.request.keys) add(key, 0);
    for (const { key, cost } of chargedBy(call)) add(key, cost);
  }
  for (const { request, reply } of giveBacks) {
    // The end of a slot is no return of units.
    for (const { key, cost, limits } of request.keys) if (reply && !limits.every(isConcurrency)) add(key, -cost);
  }
  return sums;
}

it("nothing lost: the places hold exactly what was admitted, and no limit was exceeded", async () => {
  const seen = { undone: 0, refused: 0, admitted: 0, shadow: 0 };
  await fc.assert(
    fc.asyncProperty(traffics("strict"), async (traffic) => {
      const outcome = await live(traffic);
      const { done, looks, places } = outcome;
      expect(done).toHaveLength(traffic.ops.length);
      const at = ledgerOf(outcome);
      expectBucketsWithin(outcome);
      for (const { place, key, reply } of looks) {
        const keep = key.limits.map((limit) => !isBucket(limit));
        const limits = key.limits.filter((_, l) => keep[l]);
        if (limits.length === 0) continue;
        const ledger = at(place).take({ keys: [{ ...key, limits }], flag: Flag.look }, reply.nowMs);
        expect([key.key, reply.keys[0]!.filter((_, l) => keep[l])]).toEqual([key.key, ledger.keys[0]]);
      }
      for (const one of done) {
        seen[one.decision.allowed ? "admitted" : "refused"]++;
        if (one.decision.shadow.some(({ admitted }) => !admitted) && one.decision.allowed) seen.shadow++;
        const { giveBacks } = callsOf(places, one.number);
        if (giveBacks.some(({ request }) => request.keys.some(({ limits }) => !limits.every(isConcurrency))))
          seen.undone++;
      }
    }),
    RUNS,
  );
  // Without them nothing would be proved.
  expectReached(seen.undone, 10);
  expectReached(seen.admitted, 30);
  expectReached(seen.refused, 30);
  expectReached(seen.shadow, 2);
});

it("a refusal without a call is by a reply of the last second, and charges nothing", async () => {
  let cached = 0;
  await fc.assert(
    fc.asyncProperty(traffics("strict"), async (traffic) => {
      const heard: [Done, string][] = [];
      const { done, places } = await live(traffic);
      for (const one of done) {
        if (one.decision.source !== "cache") continue;
        if (callsOf(places, one.number).takes.length > 0) continue;
        cached++;
        for (const { policy, admitted } of one.decision.limits) if (!admitted) heard.push([one, policy.name]);
      }
      for (const [{ isolate, toldAtMs }, name] of heard) {
        const replies = places.calls.filter(
          (call) =>
            call.isolate === isolate &&
            call.request.flag === Flag.take &&
            call.request.keys.some(({ key }) => key.includes(`{${name}:`)) &&
            call.repliedAtMs !== undefined &&
            call.repliedAtMs <= toldAtMs,
        );
        // One place trusts its replies for 5 s until it is known to be a cluster.
        const trustedMs = traffic.clocksMs.length > 1 ? 1_000 : 5_000;
        expect(toldAtMs - Math.max(...replies.map(({ repliedAtMs }) => repliedAtMs!))).toBeLessThanOrEqual(trustedMs);
      }
    }),
    RUNS,
  );
  expectReached(cached, 5);
});

it("returns are lost: still no limit is exceeded, and the excess is gone with its window", async () => {
  let lost = 0;
  await fc.assert(
    fc.asyncProperty(traffics("strict"), async (traffic) => {
      const isReturn = ({ flag, keys }: { flag: Flag; keys: readonly KeyRequest[] }) =>
        flag === Flag.giveBack && keys.some(({ limits }) => !limits.some(isConcurrency));
      const outcome = await live(
        traffic,
        { fault: (_place, request, random) => (isReturn(request) && random() < 0.5 ? "lost" : undefined) },
        // Every window has passed twice, and the last slot is released.
        15_000,
      );
      lost += outcome.places.calls.filter(({ fault }) => fault === "lost").length;
      ledgerOf(outcome);
      expectBucketsWithin(outcome);
      for (const { key, reply } of outcome.looks) {
        for (const [l, limit] of key.limits.entries()) {
          const asked = { keys: [{ ...key, limits: [limit], cost: 0 }], flag: Flag.look };
          const asNew = createCounts(1).take(asked, reply.nowMs);
          if (!isBucket(limit)) expect(reply.keys[0]![l]).toEqual(asNew.keys[0]![0]);
          else expect((reply.keys[0]![l]!.view as { debt: number }).debt).toBe(0);
        }
      }
    }),
    RUNS,
  );
  expectReached(lost, 5);
});

it("places fail: each policy is obeyed, and what answered is charged exactly for what was admitted", async () => {
  const seen = { mixed: 0, unavailable: 0, late: 0, local: 0 };
  await fc.assert(
    fc.asyncProperty(traffics("strict"), async (traffic) => {
      const outcome = await live(traffic, {
        fault: (_place, { flag }, random) => {
          if (flag !== Flag.take || random() < 0.7) return undefined;
          return (["known", "ran", "lost", "late"] as const)[Math.floor(random() * 4)];
        },
      });
      expect(outcome.done).toHaveLength(traffic.ops.length);
      for (const one of outcome.done) expectObeyed(traffic, outcome, one, seen);
    }),
    RUNS,
  );
  expectReached(seen.mixed, 10);
  expectReached(seen.unavailable, 5);
  expectReached(seen.late, 5);
  expectReached(seen.local, 1);
});

/** What a request must be told when some of its calls had no answer, and what may stay charged. */
function expectObeyed(
  traffic: Traffic,
  outcome: Outcome,
  one: Done,
  seen: { mixed: number; unavailable: number; late: number; local: number },
): void {
  const { decision, number } = one;
  const { takes } = callsOf(outcome.places, number);
  const silent = takes.filter(({ fault }) => fault !== undefined);
  if (silent.length === 0) return;
  const policyOf = ({ key }: KeyRequest) => traffic.policies.find(({ name }) => key.includes(`{${name}:`))!;
  const answered = takes.filter(({ fault }) => fault === undefined);
  const silentPolicies = silent.flatMap(({ request }) => request.keys.map(policyOf));
  const enforced = silentPolicies.filter(({ mode }) => mode !== "shadow");
  const isDenied = enforced.some(({ onStoreFailure }) => onStoreFailure === "deny");
  const isLocal = enforced.some(({ onStoreFailure }) => onStoreFailure === "local");
  const hasRefused = answered.some(({ reply }) => !reply!.allowed);
  if (answered.length > 0) seen.mixed++;

  // A place may also refuse by what the isolate knows, or has been told for another request: without a call.
  const isKnown = takes.length < one.parts;
  if (hasRefused || isDenied) expect(decision.allowed).toBe(false);
  if (!isKnown) expect(decision.unavailable === true).toBe(isDenied && !hasRefused);
  if (decision.unavailable) {
    seen.unavailable++;
    expect(isDenied).toBe(true);
  }
  if (!decision.allowed && !decision.unavailable && !hasRefused && !isKnown) {
    seen.local++;
    expect([isLocal, decision.source]).toEqual([true, "fallback"]);
  }
  if (enforced.length === 0 && !hasRefused && !isKnown) expect(decision.allowed).toBe(true);

  // Whether the own counters have refused a policy in shadow is not told.
  const isCertain = (key: KeyRequest) => policyOf(key).mode !== "shadow" || !silentPolicies.includes(policyOf(key));
  const charged = net(outcome, number);
  for (const { fault, request } of takes) {
    if (fault === "late") seen.late++;
    // Its reply is lost: nobody knows that it ran.
    if (fault === "ran") continue;
    for (const key of request.keys) {
      if (key.limits.every(isConcurrency) || !isCertain(key)) continue;
      const units = charged.get(key.key);
      if (!isKept(one, key)) expect([key.key, units]).toEqual([key.key, 0]);
      else if (fault === undefined) expect([key.key, units]).toEqual([key.key, key.cost]);
    }
  }
}

it("a dead place: each isolate admits no more than one limit of it, and the others hold what was admitted", async () => {
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("strict"), async (drawn) => {
      const policies = drawn.policies.map((policy) => ({
        ...policy,
        mode: "enforce" as const,
        onStoreFailure: "local" as const,
      }));
      const traffic = { ...drawn, policies };
      const outcome = await live(traffic, { fault: (place) => (place === 0 ? "known" : undefined) });
      ledgerOf(outcome);
      const own = Array.from({ length: traffic.isolates }, () => createCounts(1_000));
      const dead = new Map(
        outcome.places.calls.flatMap(({ place, request: { keys } }) =>
          place === 0 && keys.some(({ limits }) => !limits.some(isConcurrency))
            ? keys.map((key) => [key.key, key])
            : [],
        ),
      );
      for (const { decision, isolate, names, cost, toldAtMs } of outcome.done) {
        if (!decision.allowed) continue;
        for (const key of dead.values()) {
          if (!names.some((name) => key.key.includes(`{${name}:`)) || key.limits.some(isConcurrency)) continue;
          locally++;
          const keys = [{ ...key, group: ENFORCED, cost }];
          const { allowed } = own[isolate]!.take({ keys, flag: Flag.take }, Math.floor(toldAtMs));
          expect(allowed, `${key.key} ${toldAtMs - START_MS}`).toBe(true);
        }
      }
    }),
    RUNS,
  );
  expectReached(locally, 10);
});

it("leased: what was charged is what was admitted, whatever was spent from a stock and refused elsewhere", async () => {
  const seen = { lease: 0, refused: 0, mixed: 0 };
  await fc.assert(
    fc.asyncProperty(traffics("leased"), async (traffic) => {
      // The stocks have been given back.
      const { done, places } = await live(traffic, {}, 30_000);
      const left = new Map<string, number>();
      const add = (key: string, units: number) => left.set(key, (left.get(key) ?? 0) + units);
      for (const { request, reply } of places.calls) {
        if (!reply?.allowed) continue;
        const sign = request.flag === Flag.giveBack ? -1 : 1;
        for (const { key, cost } of request.keys) add(key, sign * cost);
      }
      const keys = [...left.keys()];
      for (const { decision, names, cost } of done) {
        seen[decision.allowed ? "lease" : "refused"] += decision.source === "lease" || !decision.allowed ? 1 : 0;
        if (!decision.allowed) continue;
        for (const name of names) for (const key of keys.filter((one) => one.includes(`{${name}:`))) add(key, -cost);
      }
      expect([...left].filter(([, units]) => units !== 0)).toEqual([]);
    }),
    RUNS,
  );
  expectReached(seen.lease, 2);
  expectReached(seen.refused, 10);
});
