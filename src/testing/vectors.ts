/**
 * The stories of test/vectors. They are made with exact rational arithmetic and search, not with the code under test.
 * The package has the files too, under the same path.
 */

import { expect } from "vitest";
import calendar from "../../test/vectors/calendar.json" with { type: "json" };
import concurrency from "../../test/vectors/concurrency.json" with { type: "json" };
import fixedWindow from "../../test/vectors/fixed-window.json" with { type: "json" };
import leakyBucket from "../../test/vectors/leaky-bucket.json" with { type: "json" };
import slidingLog from "../../test/vectors/sliding-log.json" with { type: "json" };
import slidingWindow from "../../test/vectors/sliding-window.json" with { type: "json" };
import tokenBucket from "../../test/vectors/token-bucket.json" with { type: "json" };
import { type AlgorithmName, type LimitSpec, NAMED } from "../kernel/core/algorithms.ts";
import type { Values } from "../kernel/core/named.ts";
import { Flag, type TakeReply, type TakeRequest } from "../kernel/core/take.ts";
import { firstStatus, keyRequest, type StoreCase } from "./store-case.ts";

/** A request at an instant, and what the client is told: the state after the step. */
export interface Step {
  readonly atMs: number;
  readonly allowed: boolean;
  readonly remaining: number;
  /** Absent in stories about concurrency. */
  readonly cost?: number;
  /** null: never. */
  readonly retryAfterMs?: number | null;
  readonly resetAfterMs?: number;
  /** In stories about leaky buckets. */
  readonly delayMs?: number;
  /** In stories about concurrency. A renewal is never refused: its step expects only `remaining`. */
  readonly op?: "acquire" | "renew" | "release";
  readonly slot?: number;
}

/** Steps in order of time, on a key that is new. */
export interface Story {
  readonly title: string;
  readonly limit: LimitSpec;
  readonly steps: readonly Step[];
}

/** A period of calendar.json, and an instant in it. */
interface Case {
  readonly zone: string;
  readonly window: string;
  readonly weekStart?: string;
  readonly atMs: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** Each story takes several calls. The other cases take one call each, which tells the end of the period. */
const CASES_PER_STORY = 10;

/** Stories of 2 units per period. */
function storiesOfPeriods(cases: readonly Case[]): readonly unknown[] {
  return cases.map(({ atMs, startMs, endMs, window, zone, weekStart = "monday" }, i) => {
    const one = { cost: 1, allowed: true, retryAfterMs: 0 };
    const inPeriod = { ...one, atMs, remaining: 1, resetAfterMs: endMs - atMs };
    const steps: Step[] = [
      { ...one, atMs: startMs - 1, cost: 2, remaining: 0, resetAfterMs: 1 },
      { ...one, atMs: startMs, remaining: 1, resetAfterMs: endMs - startMs },
      { atMs: endMs - 1, cost: 2, allowed: false, remaining: 1, retryAfterMs: 1, resetAfterMs: 1 },
      { ...one, atMs: endMs, cost: 2, remaining: 0 },
    ];
    const values = { limit: 2, window, zone, weekStart, monthDay: 1 };
    return { ...values, steps: i % CASES_PER_STORY === 0 ? steps : [inPeriod] };
  });
}

const FILES: Readonly<Record<AlgorithmName, { readonly stories: readonly unknown[] }>> = {
  "sliding-window": slidingWindow,
  "fixed-window": fixedWindow,
  "token-bucket": tokenBucket,
  "leaky-bucket": leakyBucket,
  "sliding-log": slidingLog,
  concurrency,
  calendar: { stories: storiesOfPeriods(calendar.cases as readonly Case[]) },
};

export const vectorFiles = Object.keys(FILES) as AlgorithmName[];

export function storiesOf(file: AlgorithmName): readonly Story[] {
  const stories = FILES[file].stories as readonly (Values & { readonly steps: readonly Step[] })[];
  return stories.map(({ steps, ...written }, i) => {
    // In the files, the names of durations end with `Ms`.
    const values = Object.entries(written).map(([name, value]) => [name.replace(/Ms$/, ""), value]);
    const limit = NAMED[file].limitOf(Object.fromEntries(values));
    return { title: `story ${i + 1}: ${JSON.stringify(written)}`, limit, steps };
  });
}

export function requestOf({ op, slot = 0, cost = 1 }: Step, { limit }: Story, key = "key"): TakeRequest {
  const flag = op === "renew" ? Flag.chargeAnyway : op === "release" ? Flag.giveBack : Flag.take;
  return { keys: [keyRequest(key, [limit], { cost })], flag, slot };
}

/** What the reply says about the properties that the step expects. Compare it with `expectedOf(step)`. */
export function answerOf(step: Step, { limit }: Story, reply: TakeReply): Partial<Step> {
  const { cost = 1 } = step;
  const { remaining, retryAfterMs = null, resetAfterMs, delayMs = 0 } = firstStatus(reply, limit, cost);
  const all: Partial<Step> = { allowed: reply.allowed, remaining, retryAfterMs, resetAfterMs, delayMs };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in expectedOf(step)));
}

export function expectedOf({ atMs: _atMs, cost: _cost, op, slot: _slot, ...expected }: Step): Partial<Step> {
  return op === "renew" ? { remaining: expected.remaining } : expected;
}

export const stories: readonly StoreCase[] = vectorFiles.map((file) => ({
  title: `tells every story of the vectors of ${file} as they do`,
  async run({ newKey, take }) {
    const tellings = await Promise.all(
      storiesOf(file).map(async (story) => {
        const key = newKey();
        const steps = [];
        for (const step of story.steps) {
          const { keys, ...asked } = requestOf(step, story, key);
          const reply = await take(keys, { ...asked, nowMs: step.atMs });
          steps.push({ answer: answerOf(step, story, reply), step });
        }
        return { title: story.title, steps };
      }),
    );
    const expected = storiesOf(file).map(({ title, steps }) => {
      return { title, steps: steps.map((step) => ({ answer: expectedOf(step), step })) };
    });
    expect(tellings).toEqual(expected);
  },
}));
