// Chains: what is charged is exactly what the payers were named for, in one place, in several, and in a cluster; with
// lost calls, late replies and dead places, each link keeps its limit and a refusal leaves no trace.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../../src/config/policy-input.ts";
import type { Decision } from "../../../src/core/decision.ts";
import { ENFORCED, Flag } from "../../../src/core/take.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { remainingOf } from "../../../src/testing/requests.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { createPlaces, type Fault, inVirtualTime, type Places, START_MS } from "./places.ts";

const LIMITS = { plan: 3, team: 4, credits: 2, site: 11 } as const;
type Name = keyof typeof LIMITS;
const NAMES = Object.keys(LIMITS) as Name[];

const WINDOW_MS = 60_000;
const policyOf = (name: Name, more: Partial<PolicyInput> = {}): PolicyInput => ({
  name,
  key: "global",
  limits: [{ algorithm: "fixed-window", limit: LIMITS[name], window: `${WINDOW_MS}ms` }],
  ...more,
});
/** A plan that overflows to a team, and that to credits; beside it a limit for all. */
const POLICIES: readonly PolicyInput[] = [
  policyOf("plan", { overflow: "team" }),
  policyOf("team", { overflow: "credits" }),
  policyOf("credits"),
  policyOf("site"),
];

/** They take over what happens without a store. */
const OVERFLOWS = ["team", "credits"];

const TAKE = [{ policy: "plan" }, { policy: "team" }, { policy: "credits" }, { policy: "site" }];

interface Story {
  /** Where each key lies, by the first letter of its policy. */
  readonly placeOf: Readonly<Record<Name, number>>;
  readonly places: number;
  readonly isCluster: boolean;
  readonly isolates: number;
  /** When a request comes, ms after the beginning, and at which isolate. */
  readonly requests: readonly { readonly atMs: number; readonly isolate: number }[];
  readonly seed: number;
}

const stories = fc.integer({ min: 1, max: 3 }).chain(
  (places): fc.Arbitrary<Story> =>
    fc.record({
      placeOf: fc.record({
        plan: fc.nat(places - 1),
        team: fc.nat(places - 1),
        credits: fc.nat(places - 1),
        site: fc.nat(places - 1),
      }),
      places: fc.constant(places),
      isCluster: fc.boolean(),
      isolates: fc.integer({ min: 1, max: 3 }),
      requests: fc.array(fc.record({ atMs: fc.nat(3_000), isolate: fc.nat(2) }), { minLength: 8, maxLength: 24 }),
      seed: fc.nat(),
    }),
);

const ONE_PLACE = { places: 1, isCluster: false, placeOf: { plan: 0, team: 0, credits: 0, site: 0 } };

interface Lived {
  readonly decisions: readonly Decision[];
  /** The units that each policy holds in the end. */
  readonly held: Readonly<Record<Name, number>>;
  readonly places: Places;
}

const nameIn = (key: string) => NAMES.find((name) => key.includes(`{${name}:`))!;

async function live(
  story: Story,
  fault: (random: () => number, flag: Flag) => Fault | undefined = () => undefined,
  onStoreFailure: PolicyInput["onStoreFailure"] = "local",
): Promise<Lived> {
  return await inVirtualTime(async (time, begin) => {
    let isWarm = false;
    const policies = POLICIES.map((one) => (OVERFLOWS.includes(one.name) ? one : { ...one, onStoreFailure }));
    let hasFaults = true;
    const random = mulberry32(story.seed);
    const places = createPlaces(time, {
      clocksMs: Array.from({ length: story.places }, () => 0),
      clusters: Array.from({ length: story.places }, () => story.isCluster),
      placeOf: (key) => story.placeOf[nameIn(key)],
      isWarm: () => isWarm,
    });
    const limiters = Array.from({ length: story.isolates }, () =>
      places.limiter(policies, () => ({
        delayMs: () => 1 + Math.floor(random() * 40),
        fault: ({ flag }) => (hasFaults ? fault(random, flag) : undefined),
      })),
    );
    await begin(async () => {
      await Promise.all(limiters.map((limiter) => limiter.peek(TAKE)));
      isWarm = true;
    });
    const background = { waitUntil() {} };
    const decisions = await Promise.all(
      story.requests.map(async ({ atMs, isolate }) => {
        await time.sleep(atMs);
        return await limiters[isolate % limiters.length]!.take(TAKE, { background });
      }),
    );
    // Late replies have come, and what is to be given back has arrived. Then every isolate repays what it owes.
    await time.sleep(5_000);
    hasFaults = false;
    for (const limiter of limiters.flatMap((one) => Array<Limiter>(4).fill(one))) {
      // A look at the chain may end before its last place, which is owed too.
      for (const look of [TAKE, ...OVERFLOWS]) await limiter.peek(look, { background });
      await time.sleep(1_000);
    }
    const held = await Promise.all(NAMES.map(async (name) => [name, await heldBy(places, story.placeOf[name], name)]));
    return { decisions, held: Object.fromEntries(held) as Lived["held"], places };
  });
}

/** More than any policy holds. */
const MANY = 1_000;

/** The units that a place holds of a policy. What was admitted without the place may exceed the limit. */
async function heldBy(places: Places, place: number, name: Name): Promise<number> {
  const asked = places.calls.flatMap(({ request }) => request.keys).find(({ key }) => nameIn(key) === name);
  if (!asked) return 0;
  const limits = asked.limits.map((limit) => ({ ...limit, limit: MANY }));
  const look = [{ key: asked.key, group: ENFORCED, cost: 0, limits }];
  const [remaining] = remainingOf(await places.at(place, { keys: look, flag: Flag.look }), look);
  return MANY - remaining!;
}

const paidFor = (decisions: readonly Decision[], name: Name) =>
  decisions.filter(({ allowed, paidBy }) => allowed && paidBy === name).length;

describe("without faults", () => {
  it("exactly one link of a chain is charged, in order, and a refusal leaves no trace", async () => {
    const seen = { credits: 0, refused: 0, rounds: 0 };
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { decisions, held, places } = await live(story);
        const admitted = decisions.filter(({ allowed }) => allowed).length;
        for (const name of ["plan", "team", "credits"] as const) {
          expect(held[name], name).toBe(paidFor(decisions, name));
          expect(held[name], name).toBeLessThanOrEqual(LIMITS[name]);
        }
        expect(held.plan + held.team + held.credits).toBe(admitted);
        expect(held.site).toBe(admitted);
        seen.credits += held.credits;
        seen.refused += decisions.length - admitted;
        if (new Set(places.calls.map(({ place }) => place)).size > 1) seen.rounds++;
      }),
      draws(60),
    );
    expectReached(seen.credits, 10);
    expectReached(seen.refused, 10);
    expectReached(seen.rounds, 5);
  });

  it("one place: the whole chain is one call, and the wait told is the shortest", async () => {
    const story: Story = {
      ...{ placeOf: { plan: 0, team: 0, credits: 0, site: 0 }, places: 1, isCluster: false, isolates: 1, seed: 1 },
      requests: Array.from({ length: 12 }, (_, i) => ({ atMs: 100 * i, isolate: 0 })),
    };
    const { decisions, places } = await live(story);
    expect(decisions.map(({ paidBy }) => paidBy)).toEqual([
      ...["plan", "plan", "plan", "team", "team", "team", "team", "credits", "credits"],
      ...[undefined, undefined, undefined],
    ]);
    // The last two refusals are known.
    expect(places.calls.filter(({ request }) => request.flag === Flag.take).length).toBeLessThanOrEqual(10);
    expect(decisions.slice(10).map(({ source }) => source)).toEqual(["cache", "cache"]);
    const endsMs = WINDOW_MS - (START_MS % WINDOW_MS);
    expect(Math.abs(decisions[9]!.retryAfterMs! - (endsMs - 900))).toBeLessThan(100);
  });

  it("three places: one round more for each next link", async () => {
    const story: Story = {
      ...{ placeOf: { plan: 0, team: 1, credits: 2, site: 0 }, places: 3, isCluster: false, isolates: 1, seed: 1 },
      requests: Array.from({ length: 9 }, (_, i) => ({ atMs: 200 * i, isolate: 0 })),
    };
    const { decisions, places } = await live(story);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    // 3 requests that the plan pays, 4 with one more call, 2 with two more.
    expect(places.calls.filter(({ request }) => request.flag === Flag.take)).toHaveLength(3 + 4 * 2 + 2 * 3);
  });
});

describe("with faults", () => {
  it("in the end places hold exactly what was admitted, by the policy that was named", async () => {
    const seen = { fallback: 0, late: 0 };
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const fault = (random: () => number, flag: Flag) =>
          flag !== Flag.take || random() < 0.7 ? undefined : (["known", "late"] as const)[Math.floor(random() * 2)];
        const { decisions, held, places } = await live(story, fault);
        const admitted = decisions.filter(({ allowed }) => allowed).length;
        for (const name of ["plan", "team", "credits"] as const) {
          expect(held[name], name).toBe(paidFor(decisions, name));
        }
        expect(held.site).toBe(admitted);
        seen.fallback += decisions.filter(({ source }) => source === "fallback").length;
        seen.late += places.calls.filter((call) => call.fault === "late").length;
      }),
      draws(60),
    );
    expectReached(seen.fallback, 10);
    expectReached(seen.late, 10);
  });

  it('under "allow" the first link owes what nobody has counted', async () => {
    let uncounted = 0;
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const fault = (random: () => number, flag: Flag) =>
          flag === Flag.take && random() < 0.3 ? "known" : undefined;
        const { decisions, held } = await live({ ...story, ...ONE_PLACE }, fault, "allow");
        const admitted = decisions.filter(({ allowed }) => allowed);
        const unseen = admitted.filter(({ limits }) => limits.length === 0);
        expect(unseen.every(({ paidBy }) => paidBy === "plan")).toBe(true);
        uncounted += unseen.length;
        // No isolate owes more units of a key than its limit.
        if (unseen.length <= LIMITS.plan) expect(held.plan).toBe(paidFor(decisions, "plan"));
        expect(held.plan).toBeLessThanOrEqual(paidFor(decisions, "plan"));
        expect(held.team + held.credits).toBe(paidFor(decisions, "team") + paidFor(decisions, "credits"));
      }),
      draws(30),
    );
    expectReached(uncounted, 10);
  });

  it('under "deny" nothing stays charged for a request without an answer', async () => {
    let unavailable = 0;
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const fault = (random: () => number, flag: Flag) =>
          flag !== Flag.take || random() < 0.7 ? undefined : (["known", "late"] as const)[Math.floor(random() * 2)];
        const { decisions, held } = await live(story, fault, "deny");
        unavailable += decisions.filter(({ outcome }) => outcome === "unavailable").length;
        for (const name of ["plan", "team", "credits"] as const) {
          expect(held[name], name).toBe(paidFor(decisions, name));
        }
        expect(held.site).toBe(decisions.filter(({ allowed }) => allowed).length);
      }),
      draws(30),
    );
    expectReached(unavailable, 10);
  });
});
