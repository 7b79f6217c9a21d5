// Chains over several places, in the corners where one thing more is there: a place that is silent, a link that an
// operator has blocked, a limit per region, a clock that is ahead.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parsePolicies } from "../../../src/features/configuration.ts";
import type { LiveDocument } from "../../../src/features/live/document.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { DecisionContext } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { limiterOf } from "../../support/limiter.ts";
import { type Matched, matchedBy } from "../../support/matched.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const hour = (limit: number, scope: "global" | "region" = "global") =>
  ({ algorithm: "fixed-window", limit, window: "1h", scope }) as const;

/** A program over several places. */
interface World {
  readonly limiter: Matched;
  /** The places that have no answer. */
  readonly silent: Set<number>;
  readonly contexts: DecisionContext[];
  /** What was to be done after the answers is done. */
  settled(): Promise<void>;
  readonly background: { waitUntil(work: Promise<unknown>): void };
  left(policy: string): Promise<number>;
}

/** @param placeOf where the keys of a policy lie; those of its region in the place of `<policy>:region`. @param aheadMs
 * how far the clock of each place is ahead. Default: all are right. */
async function world(
  policies: readonly PolicyInput[],
  placeOf: Readonly<Record<string, number>>,
  document?: (partitionOf: (policy: string) => Promise<string>) => Promise<Partial<LiveDocument>>,
  aheadMs: readonly number[] = [],
): Promise<World> {
  const parsed = parsePolicies(policies, "policies");
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  const silent = new Set<number>();
  const live = memoryLive();
  const place = (at: number): Store => {
    const store = memoryStore();
    return {
      ...{ ...store, kind: "redis", live },
      async take(request) {
        if (silent.has(at)) throw new StoreError("OPEN");
        return await store.take(request, Date.now() + (aheadMs[at] ?? 0));
      },
    };
  };
  const nameOf = (key: string) => {
    const [, name] = /\{(.+?):/.exec(key)!;
    return key.includes("}:") ? `${name}:region` : name!;
  };
  const places = Array.from({ length: Math.max(...Object.values(placeOf)) + 1 }, (_, at) => place(at));
  const store = splitStore(places, (key) => placeOf[nameOf(key)]!);
  const contexts: DecisionContext[] = [];
  const limiter = limiterOf(parsed.value, {
    ...{ store, keySecret: "a secret of sixteen", liveRefreshMs: 1_000 },
    onDecision: (_, context) => void contexts.push(context),
  });
  const given = await document?.(async (policy) => (await limiter.client(policy, {})).partition);
  if (given) await live.write(JSON.stringify({ policies: {}, overrides: [], ...given }), 0);
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  const settled = async () => {
    while (work.length > 0) await work.shift();
  };
  const left = async (policy: string) =>
    (await limiter.inspect(await limiter.client(policy, {}), "eu", background)).remaining!;
  return { limiter: matchedBy(limiter), silent, contexts, background, settled, left };
}

const plan: PolicyInput = { name: "plan", key: "global", limits: [hour(1)], overflow: "team" };
const team: PolicyInput = { name: "team", key: "global", limits: [hour(1)], overflow: "credits" };
const credits: PolicyInput = { name: "credits", key: "global", limits: [hour(1)] };
/** The team as the last of its chain. */
const last: PolicyInput = { name: "team", key: "global", limits: [hour(1)] };
const site: PolicyInput = { name: "site", key: "global", limits: [hour(9)] };

describe("a blocked overflow", () => {
  const document = async (partitionOf: (policy: string) => Promise<string>) => ({
    overrides: [{ policy: "team", kind: "global", key: await partitionOf("team"), block: true as const }],
  });

  it("is passed over, and the next pays, in several places", async () => {
    const { limiter, contexts } = await world([plan, team, credits], { plan: 0, team: 1, credits: 2 }, document);
    expect((await limiter.take([{ policy: "plan" }])).paidBy).toBe("plan");
    expect((await limiter.take([{ policy: "plan" }])).paidBy).toBe("credits");
    expect(contexts.at(-1)!.takes.map(({ link }) => link)).toEqual([0, 1]);
    expect((await limiter.take([{ policy: "plan" }])).allowed).toBe(false);
  });
});

describe("a place that is silent, under allow", () => {
  it("does not admit what a limit elsewhere refuses", async () => {
    const policies = [{ ...plan, limits: [hour(1), hour(9, "region")], onStoreFailure: "allow" as const }, last];
    const { limiter, silent } = await world(policies, { plan: 0, "plan:region": 1, team: 0 });
    expect((await limiter.take([{ policy: "plan" }])).paidBy).toBe("plan");
    expect((await limiter.take([{ policy: "plan" }])).paidBy).toBe("team");
    silent.add(1);
    expect((await limiter.take([{ policy: "plan" }])).allowed).toBe(false);
  });
});

describe("a place that is silent, under local", () => {
  it("has not decided what the chain refuses elsewhere, with its numbers", async () => {
    const { limiter, silent } = await world([plan, last, site], { plan: 0, team: 0, site: 1, x: 2 });
    silent.add(1);
    const take = [{ policy: "plan" }, { policy: "team" }, { policy: "site" }];
    for (const [from, policy] of [
      ["redis", "plan"],
      ["redis", "team"],
      ["cache", "plan"],
    ]) {
      const { source, limits } = await limiter.take(take);
      expect([source, limits.map((one) => one.policy.name)]).toEqual([from, [policy]]);
    }
  });
});

it.each([
  { first: "1h", second: "10m", aheadMs: -7_200_000 },
  { first: "10m", second: "1h", aheadMs: 7_200_000 },
] as const)("the shortest wait is told, although the clock of the first place is $aheadMs ms ahead", async (one) => {
  const bucket = (window: "10m" | "1h") => ({ algorithm: "token-bucket", limit: 1, window }) as const;
  const policies: readonly PolicyInput[] = [
    { name: "first", key: "global", overflow: "second", limits: [bucket(one.first)] },
    { name: "second", key: "global", limits: [bucket(one.second)] },
  ];
  const { limiter, settled, background } = await world(policies, { first: 0, second: 1 }, undefined, [one.aheadMs, 0]);
  const take = () => limiter.take([{ policy: "first" }], { background });
  expect([(await take()).paidBy, (await take()).paidBy]).toEqual(["first", "second"]);
  expect(await take()).toMatchObject({ outcome: "refused", retryAfterMs: 600_000 });
  await settled();
});
