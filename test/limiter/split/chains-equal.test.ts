// Several places decide as one place does: the same payers, the same numbers, the same waits; with two chains, limits
// per region, ids, reservations that are extended, looks and resets.

import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/config/policy-input.ts";
import type { Decision } from "../../../src/core/decision.ts";
import { withIsolate } from "../../../src/isolate/isolate.ts";
import { splitStore } from "../../../src/limiter/stores/split-store.ts";
import { createLimiter, type Limiter, type PolicyTake } from "../../../src/limiter.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const PLACES = 3;
/** What an isolate refuses by itself tells a wait by its own idea of the clock, ms. */
const CLOCK_MS = 200;

const limits = fc.uniqueArray(
  fc.record({
    algorithm: fc.constantFrom("fixed-window", "sliding-window", "token-bucket"),
    limit: fc.integer({ min: 1, max: 6 }),
    window: fc.constantFrom("1s", "10s", "1m"),
    scope: fc.constantFrom("global", "region"),
  }),
  { minLength: 1, maxLength: 2, selector: (one) => Object.values({ ...one, limit: 0 }).join() },
);
const action = fc.record({
  does: fc.constantFrom("take", "take", "take", "peek", "reset", "reserve"),
  /** Of the first chain, and of the second. */
  costs: fc.tuple(...[0, 0].map(() => fc.constantFrom(1, 1, 1, 2, 0, 7, 3))),
  id: fc.constantFrom(undefined, undefined, "i", "j"),
  afterMs: fc.constantFrom(0, 0, 1, 500, 900, 3_000, 11_000),
  some: fc.nat(8),
  isBesideSite: fc.boolean(),
});
const story = fc.record({
  limits: fc.array(limits, { minLength: 7, maxLength: 7 }),
  lengths: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(3)),
  hasIds: fc.boolean(),
  siteIsInShadow: fc.boolean(),
  hasIsolates: fc.boolean(),
  /** Where the n-th key lies. */
  places: fc.array(fc.nat(PLACES - 1), { minLength: 15, maxLength: 15 }),
  actions: fc.array(action, { minLength: 5, maxLength: 25 }),
});
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;
type Action = Story["actions"][number];

const NAMES = ["a0", "a1", "a2", "a3", "b0", "b1", "b2"];
const chainsOf = ({ lengths: [a, b] }: Story) => [NAMES.slice(0, a), NAMES.slice(4, 4 + b)];

function policiesOf(told: Story): PolicyInput[] {
  const chained = chainsOf(told).flatMap((chain) =>
    chain.map((name, link): PolicyInput => {
      const overflow = chain[link + 1];
      const once = link === 0 && told.hasIds && ({ once: "header:id", onceFor: "10s", repeats: 2 } as const);
      const own = { name, key: "global", limits: told.limits[NAMES.indexOf(name)] as PolicyInput["limits"] };
      return { ...own, ...(overflow && { overflow }), ...once };
    }),
  );
  const mode = told.siteIsInShadow ? "shadow" : "enforce";
  return [...chained, { name: "site", key: "global", limits: [{ limit: 8, window: "10s" }], mode }];
}

/** Who pays, what is told, and what is charged. Of a refusal only what it tells: its other numbers come back later. */
function whatIsTold({ decision, extended, reserved }: Done) {
  if (!decision?.allowed) return { outcome: decision?.outcome };
  const numbers = decision.limits.map(({ limit, policy: _, ...one }) => ({ id: limit.id, ...one }));
  const shadow = decision.shadow.map(({ admitted, remaining }) => [admitted, remaining]);
  return { paidBy: decision.paidBy, numbers, shadow, extended, reserved };
}

interface Done {
  readonly decision?: Decision;
  readonly extended?: boolean;
  readonly reserved?: Readonly<Record<string, number>>;
}

async function act(limiter: Limiter, told: Story, { does, costs, id, some, isBesideSite }: Action): Promise<Done> {
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  const takes: PolicyTake[] = chainsOf(told).flatMap((chain, c) =>
    chain.map((policy) => ({ policy, cost: costs[c]!, ...(told.hasIds && id !== undefined && { once: id }) })),
  );
  if (isBesideSite) takes.push({ policy: "site" });
  const done = await doIt();
  while (work.length > 0) await work.shift();
  return done;

  async function doIt(): Promise<Done> {
    if (does === "take") return { decision: await limiter.take(takes, { background }) };
    if (does === "peek") return { decision: await limiter.peek(takes) };
    if (does === "reset") {
      await limiter.reset(takes[some % takes.length]!.policy);
      return {};
    }
    const reservation = await limiter.reserve(takes, { background });
    const { decision, reserved } = reservation;
    if (!decision.allowed) return { decision };
    const each = (units: number) => Object.fromEntries(Object.keys(reserved).map((name) => [name, units]));
    const { allowed: extended } = await reservation.extend(each(some % 3));
    const charged = reservation.reserved;
    await reservation.settle(each(some % 5));
    return { decision, extended, reserved: charged };
  }
}

it("several places decide as one", async () => {
  const seen = { overflowed: 0, refused: 0, repeated: 0, extended: 0 };
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const policies = policiesOf(told);
      const places = new Map<string, number>();
      const placeOf = (key: string) => {
        const records = key.split("!", 1)[0]!;
        const place = places.get(records) ?? told.places[places.size % told.places.length]!;
        places.set(records, place);
        return place;
      };
      const place = () => (told.hasIsolates ? withIsolate({ ...memoryStore(), timeoutMs: 250 }) : memoryStore());
      const keySecret = "a secret of sixteen";
      const one = createLimiter({ policies, keySecret, store: memoryStore() });
      const store = splitStore(Array.from({ length: PLACES }, place), placeOf);
      const several = createLimiter({ policies, keySecret, store });
      for (const action of told.actions) {
        vi.setSystemTime(Date.now() + action.afterMs);
        const expected = await act(one, told, action);
        const found = await act(several, told, action);
        expect(whatIsTold(found)).toEqual(whatIsTold(expected));
        const waits = [expected, found].map(({ decision }) => decision?.retryAfterMs ?? Number.POSITIVE_INFINITY);
        if (waits[0] !== waits[1]) expect(Math.abs(waits[0]! - waits[1]!)).toBeLessThanOrEqual(CLOCK_MS);
        const { decision, extended } = expected;
        if (/[ab][123]/.test(decision?.paidBy ?? "")) seen.overflowed++;
        if (decision?.limits.some(({ repeated }) => repeated)) seen.repeated++;
        if (decision?.outcome === "refused") seen.refused++;
        if (extended) seen.extended++;
      }
    }),
    draws(150),
  );
  expectReached(seen.overflowed, 50);
  expectReached(seen.refused, 50);
  expectReached(seen.repeated, 10);
  expectReached(seen.extended, 10);
});
