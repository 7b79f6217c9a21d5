// Overflows: what is charged is exactly what the payers were named for, in one place, in several, and in a cluster.
// With lost calls, late replies and dead places, each policy keeps its limit and a refusal leaves no trace.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { ENFORCED, Flag } from "../../../src/kernel/core/take.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { remainingOf } from "../../../src/testing/store-case.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { matchedBy } from "../../support/matched.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { type Call, createPlaces, type Fault, inVirtualTime, type Places, START_MS } from "./places.ts";

const WINDOW_MS = 60_000;
/** A chain of at most four; beside it a limit for all, and one in shadow. */
const CHAIN = ["a", "b", "c", "d"] as const;
const NAMES = [...CHAIN, "site", "watch"] as const;
type Name = (typeof NAMES)[number];
type Numbers = Readonly<Record<Name, number>>;

interface Story {
  /** The number of policies in the chain. */
  readonly length: number;
  readonly limits: Numbers;
  readonly placeOf: Numbers;
  readonly places: number;
  readonly isCluster: boolean;
  readonly isolates: number;
  /** When a request comes, ms after the beginning, and at which isolate. */
  readonly requests: readonly { readonly atMs: number; readonly isolate: number }[];
  readonly cost: number;
  /** Each request reserves its cost, and uses one unit. Absent: it takes. */
  readonly reserves?: true;
  /** Default: `fixed-window`. */
  readonly algorithm?: "token-bucket";
  readonly seed: number;
}

const each = (number: fc.Arbitrary<number>) =>
  fc.record(Object.fromEntries(NAMES.map((name) => [name, number]))) as unknown as fc.Arbitrary<Numbers>;

const stories = fc.integer({ min: 1, max: 3 }).chain(
  (places): fc.Arbitrary<Story> =>
    fc.record({
      length: fc.integer({ min: 2, max: 4 }),
      limits: each(fc.integer({ min: 1, max: 6 })).map((limits) => ({ ...limits, site: limits.site + 6 })),
      placeOf: each(fc.nat(places - 1)),
      places: fc.constant(places),
      isCluster: fc.boolean(),
      isolates: fc.integer({ min: 1, max: 3 }),
      requests: fc.array(fc.record({ atMs: fc.nat(3_000), isolate: fc.nat(2) }), { minLength: 8, maxLength: 24 }),
      cost: fc.constantFrom(1, 1, 2),
      seed: fc.nat(),
    }),
);

interface Lived {
  readonly decisions: readonly Decision[];
  /** The units that each policy holds in the end. */
  readonly held: Numbers;
  readonly places: Places;
}

type FaultOf = (random: () => number, flag: Flag) => Fault | undefined;

const chainIn = ({ length }: Story) => CHAIN.slice(0, length);
const nameIn = (key: string) => NAMES.find((name) => key.includes(`{${name}:`))!;

function policiesOf(story: Story, onStoreFailure: PolicyInput["onStoreFailure"]): PolicyInput[] {
  const policyOf = (name: Name, more: Partial<PolicyInput>): PolicyInput => ({
    name,
    key: "global",
    limits: [{ algorithm: story.algorithm ?? "fixed-window", limit: story.limits[name], window: `${WINDOW_MS}ms` }],
    ...more,
  });
  const chain = chainIn(story);
  return [
    ...chain.map((name, link) => {
      const overflow = chain[link + 1];
      // The others take over what happens without a store.
      return policyOf(name, { ...(overflow && { overflow }), ...(link === 0 && { onStoreFailure }) });
    }),
    policyOf("site", { onStoreFailure }),
    policyOf("watch", { mode: "shadow" }),
  ];
}

async function live(
  story: Story,
  fault: FaultOf = () => undefined,
  onStoreFailure: PolicyInput["onStoreFailure"] = "local",
): Promise<Lived> {
  return await inVirtualTime(async (time, begin) => {
    let isWarm = false;
    let hasFaults = true;
    const random = mulberry32(story.seed);
    const places = createPlaces(time, {
      clocksMs: Array.from({ length: story.places }, () => 0),
      clusters: Array.from({ length: story.places }, () => story.isCluster),
      placeOf: (key) => story.placeOf[nameIn(key)],
      isWarm: () => isWarm,
    });
    const policies = policiesOf(story, onStoreFailure);
    const limiters = Array.from({ length: story.isolates }, () =>
      places.limiter(policies, () => ({
        delayMs: () => 1 + Math.floor(random() * 40),
        fault: ({ flag }) => (hasFaults ? fault(random, flag) : undefined),
      })),
    );
    const asked = ["a", "site", "watch"].map((policy) => ({ policy, cost: story.cost }));
    await begin(async () => {
      for (const limiter of limiters) for (const { name } of policies) await limiter.peek(name);
      isWarm = true;
    });
    const background = { waitUntil() {} };
    const decisions = await Promise.all(
      story.requests.map(async ({ atMs, isolate }, number) => {
        await time.sleep(atMs);
        const limiter = matchedBy(limiters[isolate % limiters.length]!);
        return await places.as(number, async () => {
          if (!story.reserves) return await limiter.take(asked, { background });
          const reservation = await limiter.reserve(asked, { background });
          const { decision, reserved } = reservation;
          const used = Object.keys(reserved).map((name) => [name, 1]);
          if (decision.allowed) await reservation.settle(Object.fromEntries(used));
          return decision;
        });
      }),
    );
    // Late replies have come, and what is to be given back has arrived. Then every isolate repays what it owes.
    await time.sleep(5_000);
    hasFaults = false;
    for (const limiter of limiters.flatMap((one) => Array<Limiter>(4).fill(one))) {
      for (const { name } of policies) await limiter.peek(name, { background });
      await time.sleep(1_000);
    }
    const held = await Promise.all(NAMES.map(async (name) => [name, await heldBy(places, story.placeOf[name], name)]));
    return { decisions, held: Object.fromEntries(held) as Numbers, places };
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

const paidFor = (decisions: readonly Decision[], { cost }: Story, name: string) =>
  decisions.filter(({ allowed, paidBy }) => allowed && paidBy === name).length * cost;
const admittedIn = (decisions: readonly Decision[], { cost }: Story) =>
  decisions.filter(({ allowed }) => allowed).length * cost;

/** Calls of one decision that take. */
const takesOf = (calls: readonly Call[], number: number) =>
  calls.filter(({ decision, request }) => decision === number && request.flag === Flag.take);

const lostOrLate: FaultOf = (random, flag) =>
  flag !== Flag.take || random() < 0.7 ? undefined : (["known", "late"] as const)[Math.floor(random() * 2)];

it.each<[string, FaultOf, PolicyInput["onStoreFailure"], reached: (lived: Lived) => number]>([
  ["without faults", () => undefined, "local", ({ decisions }) => decisions.filter(({ allowed }) => !allowed).length],
  [
    "while calls and replies get lost",
    lostOrLate,
    "local",
    ({ places }) => places.calls.filter(({ fault }) => fault === "late").length,
  ],
  [
    'under "deny"',
    lostOrLate,
    "deny",
    ({ decisions }) => decisions.filter(({ outcome }) => outcome === "unavailable").length,
  ],
])("%s places hold exactly what was admitted, by the policy that was named", async (what, fault, mode, reachedBy) => {
  const seen = { overflowed: 0, reached: 0 };
  const property = fc.asyncProperty(stories, async (story) => {
    const lived = await live(story, fault, mode);
    const { decisions, held } = lived;
    for (const name of chainIn(story)) expect(held[name], name).toBe(paidFor(decisions, story, name));
    expect(held.site).toBe(admittedIn(decisions, story));
    if (what === "without faults") {
      for (const name of chainIn(story)) expect(held[name], name).toBeLessThanOrEqual(story.limits[name]);
      const watched = decisions.filter(({ allowed, shadow }) => allowed && shadow[0]!.admitted).length;
      expect(held.watch).toBe(watched * story.cost);
    }
    seen.overflowed += decisions.filter(({ paidBy }) => paidBy !== undefined && paidBy !== "a").length;
    seen.reached += reachedBy(lived);
  });
  await fc.assert(property, draws(80));
  expectReached(seen.overflowed, 10);
  expectReached(seen.reached, 10);
});

it("one after the other, each pays until its limit is reached, and then the next", async () => {
  const property = fc.asyncProperty(stories, async (drawn) => {
    // Nothing that one request gets back is missing for the next one.
    const requests = drawn.requests.map((_, i) => ({ atMs: 2_000 * i, isolate: 0 }));
    const story: Story = { ...drawn, requests, isolates: 1, cost: 1 };
    const { decisions } = await live(story);
    const expected = chainIn(story).flatMap((name) => Array<string>(story.limits[name]).fill(name));
    const most = Math.min(expected.length, story.limits.site);
    // The window may end in the middle.
    const ofWindow = decisions.slice(0, Math.floor((WINDOW_MS - (START_MS % WINDOW_MS)) / 2_000));
    expect(ofWindow.map(({ paidBy }) => paidBy)).toEqual(ofWindow.map((_, i) => expected.slice(0, most)[i]));
  });
  await fc.assert(property, draws(60));
});

const CHAINED: Story = {
  ...{ length: 3, limits: { a: 3, b: 4, c: 2, d: 1, site: 11, watch: 6 } },
  ...{ places: 1, isCluster: false, placeOf: { a: 0, b: 0, c: 0, d: 0, site: 0, watch: 0 } },
  ...{ isolates: 1, cost: 1, seed: 1 },
  requests: Array.from({ length: 12 }, (_, i) => ({ atMs: 300 * i, isolate: 0 })),
};

describe("the calls of a decision", () => {
  const callsOf = ({ decisions, places }: Lived) => decisions.map((_, number) => takesOf(places.calls, number).length);
  const none = (count: number) => Array<undefined>(count).fill(undefined);
  const token = { algorithm: "token-bucket", cost: 2 } as const;
  const siteOf4 = { ...CHAINED.limits, b: 20, site: 4 };

  // A policy that is known to be spent is not asked. Where units may come back, it is asked again.
  it.each<[what: string, story: Partial<Story>, payers: string, calls: number[]]>([
    ["over one place are one for the payer", {}, "aaabbbbcc", [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]],
    // `a` has one unit left, so others could make its wait longer. The waits of `b` and `c` are known: nothing is left.
    ["with a cost above one ask for waits that are not certain", token, "abbc", Array(12).fill(1)],
    // The wait of `a` is not certain, but `b` would pay: the limit for all has a longer one.
    [
      "ask for no wait of the chain where only another policy refuses",
      { ...token, limits: siteOf4 },
      "ab",
      [1, 1, ...Array(10).fill(0)],
    ],
    ["that reserve, as under a meter", { reserves: true, cost: 2 }, "aabbbc", [1, 1, 2, 1, 1, 2, 1, 0, 0, 0, 0, 0]],
  ])("%s", async (_what, more, payers, calls) => {
    const lived = await live({ ...CHAINED, ...more });
    expect(lived.decisions.map(({ paidBy }) => paidBy)).toEqual([...payers, ...none(12 - payers.length)]);
    expect(callsOf(lived)).toEqual(calls);
    const last = takesOf(lived.places.calls, 11).flatMap(({ request }) => request.keys.map(({ key }) => nameIn(key)));
    expect(last).toEqual(calls[11] ? ["a", "site", "watch"] : []);
    const { source, limits } = lived.decisions[11]!;
    if (!calls[11] && !more.reserves) expect(source).toBe("cache");
    if (more.limits) expect(limits.map(({ policy }) => policy.name)).toEqual(["b", "site"]);
  });
});
