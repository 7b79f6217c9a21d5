// Decisions over two places, told step by step. The policies of IN_A lie in place A, the others in place B. Two
// isolates, 10 ms one way. What is used is asked at the places themselves. Slots and late replies of several places are
// in the random stories of test/kernel/limiter/fuzz, and in test/kernel/place.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import type { VirtualTime } from "../../support/virtual-time.ts";
import { type Begin, createPlaces, type Fault, inVirtualTime } from "./places.ts";

const windows = { buckets: 60, oldest: "whole", window: "1h" } as const;
const policy = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit, ...windows }], ...more };
};
const POLICIES: readonly PolicyInput[] = [
  policy("user", 3),
  policy("site", 5),
  policy("team", 5, { onStoreFailure: "deny" }),
  // One policy over both places: what it counts per region lies in B.
  policy("both", 5, {
    mode: "shadow",
    limits: [
      { limit: 5, ...windows },
      { limit: 1, ...windows, scope: "region" },
    ],
  }),
  policy("second", 1, { limits: [{ algorithm: "fixed-window", limit: 1, window: "10s" }] }),
  policy("day", 1, { limits: [{ algorithm: "fixed-window", limit: 1, window: "1d" }] }),
  policy("tasks", 2, { limits: [{ algorithm: "concurrency", limit: 2, timeout: "1m" }] }),
];
const IN_A = ["second", "user", "both"];
const placeOf = (key: string) => {
  const [, name = "", , region] = /\{([^:]+):([^}]*)\}(.*)/.exec(key)!;
  return IN_A.includes(name) && !region ? 0 : 1;
};

/** By place; undefined: its calls are answered. */
interface Faults {
  A?: Fault | undefined;
  B?: Fault | undefined;
}

interface Step {
  readonly take?: readonly string[];
  readonly peek?: readonly string[];
  readonly reset?: string;
  /** Milliseconds, after the step. */
  readonly wait?: number;
  /** From now on: of calls to these places. */
  readonly faults?: Faults;
  /** Which of the two isolates; default the first. */
  readonly by?: 2;
  readonly cost?: number;
  /** The answer: what was decided, and by whom. */
  readonly is?: string;
  /** Takes that were sent to the places for it. */
  readonly calls?: number;
  /** Names of the limits in the decision. */
  readonly limits?: readonly string[];
  /** How long the refused client waits, in ms. */
  readonly waits?: number;
  /** Units that are used afterwards, in the places themselves. */
  readonly used?: Readonly<Record<string, number>>;
}

const both = ["user", "site"];

const STORIES: Readonly<Record<string, readonly Step[]>> = {
  "one place refuses: the other gets back what it charged": [
    { take: ["user"], cost: 3, is: "allowed by redis" },
    { take: both, by: 2, is: "refused by redis", limits: both, used: { user: 3, site: 0 } },
  ],
  "a refusal that this isolate knows: no place is called": [
    { take: ["user"], cost: 3, is: "allowed by redis" },
    // Nothing is known of the other place: it is asked, and the one that surely refuses is not.
    { take: both, is: "refused by cache", calls: 1, limits: both, used: { user: 3, site: 0 } },
    { take: both, is: "refused by cache", calls: 0, limits: both, used: { user: 3, site: 0 } },
    { take: ["user", "tasks"], is: "refused by cache", calls: 0, limits: ["user"] },
  ],
  "a refusal that this isolate knows tells the wait of the other place too, which refuses for longer": [
    { take: ["day"], by: 2, is: "allowed by redis" },
    { take: ["second"], is: "allowed by redis" },
    { take: ["second", "day"], is: "refused by redis", calls: 1, waits: 57_606_350 },
    { take: ["second", "day"], is: "refused by cache", calls: 0, waits: 57_606_306 },
  ],
  "a refusal that this isolate knows, and units of the other place that others may have taken: it is asked": [
    { take: ["site"], cost: 2, is: "allowed by redis" },
    { take: ["user"], cost: 3, is: "allowed by redis" },
    { take: both, cost: 3, is: "refused by cache", calls: 0, limits: both },
    { take: both, cost: 4, is: "refused by redis", calls: 1, limits: both },
  ],
  "a policy in shadow that refuses is charged nowhere, and blocks nothing": [
    { take: ["both"], is: "allowed by redis", used: { both: 1 } },
    { take: ["both", "site"], is: "allowed by redis", used: { both: 1, site: 1 } },
  ],
  "peek charges nothing, reset forgets in both places": [
    { take: ["both"], is: "allowed by redis", used: { both: 1 } },
    { peek: both, is: "allowed by redis", used: { user: 0, site: 0 } },
    { reset: "both", used: { both: 0 } },
    { take: ["both"], is: "allowed by redis", used: { both: 1 } },
  ],
  "B is silent, local: its limits are counted in the isolate, and A's answer stands": [
    { faults: { B: "known" } },
    { take: both, cost: 2, is: "allowed by redis", limits: ["user"], used: { user: 2, site: 0 } },
    { take: ["user"], cost: 2, is: "refused by redis", limits: ["user"], used: { user: 2, site: 0 } },
    { take: ["site"], cost: 3, is: "allowed by fallback", limits: ["site"] },
    { take: both, is: "refused by fallback", limits: both, used: { user: 2, site: 0 } },
    // B answers again: it is told what it has missed.
    { faults: { B: undefined } },
    { peek: ["site"], is: "allowed by redis" },
    { take: ["site"], cost: 0, by: 2 },
    { wait: 100, used: { user: 2, site: 5 } },
  ],
  "B is silent, deny: the request is refused, and A gets its units back": [
    { faults: { B: "known" } },
    { take: ["user", "team"], is: "unavailable by fallback", limits: [], used: { user: 0, team: 0 } },
    { faults: { B: undefined } },
    { take: ["user", "team"], is: "allowed by redis", used: { user: 1, team: 1 } },
  ],
};

const told = ({ allowed, unavailable, source }: Decision) =>
  `${allowed ? "allowed" : unavailable ? "unavailable" : "refused"} by ${source}`;

/** Two isolates, and an observer without a network, as the stories have them. */
async function twoIsolates(time: VirtualTime, begin: Begin, faults: Faults = {}) {
  let isWarm = false;
  const places = createPlaces(time, { clocksMs: [20_000, -7_000], placeOf, isWarm: () => isWarm });
  const link = (place: number) => ({ delayMs: () => 10, fault: () => (place === 0 ? faults.A : faults.B) });
  const isolates = [places.limiter(POLICIES, link), places.limiter(POLICIES, link)] as const;
  const observer = places.limiter(POLICIES, () => ({ delayMs: () => 0 }));
  const all = POLICIES.map(({ name }) => ({ policy: name }));
  await begin(async () => {
    for (const limiter of [...isolates, observer]) await limiter.peek(all);
    isWarm = true;
  });
  const used = async (name: string) => {
    const look = await observer.peek(name);
    const [limit] = [...look.limits, ...look.shadow];
    return limit!.limit.limit - limit!.remaining;
  };
  return { places, isolates, used };
}

it.each(Object.entries(STORIES))("%s", async (_name, steps) => {
  await inVirtualTime(async (time, begin) => {
    const faults: Faults = {};
    const { places, isolates, used: usedOf } = await twoIsolates(time, begin, faults);
    const background = { waitUntil() {} };

    for (const [s, step] of steps.entries()) {
      const { take, peek, reset, cost = 1, by = 1, is, calls, limits, used } = step;
      const limiter = isolates[by - 1]!;
      const named = (names: readonly string[]) => names.map((policy) => ({ policy, cost }));
      Object.assign(faults, step.faults);
      if (reset) await limiter.reset(reset);
      const decision = await places.as(s, async () => {
        if (take) return await limiter.take(named(take), { background });
        return peek && (await limiter.peek(named(peek)));
      });
      const made = places.calls.filter((call) => call.decision === s).length;
      // Give-backs and repayments arrive.
      await time.sleep(step.wait ?? 50);
      const where = `step ${s + 1}`;
      if (decision && is) expect(told(decision), where).toBe(is);
      if (decision && limits)
        expect(
          decision.limits.map(({ policy }) => policy.name),
          where,
        ).toEqual(limits);
      if (step.waits !== undefined) expect(decision!.retryAfterMs, where).toBe(step.waits);
      if (calls !== undefined) expect(made, where).toBe(calls);
      for (const [name, units] of Object.entries(used ?? {})) {
        expect(await usedOf(name), `${where}: ${name}`).toBe(units);
      }
    }
  });
});
