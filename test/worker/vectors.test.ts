// The stories of test/vectors over HTTP: each step is a request, and its answer is compared with the story. Time comes
// from the story: a store in front of the memory store passes the story's instants on.

import { describe, expect, it } from "vitest";
import { parsePolicies } from "../../src/features/configuration.ts";
import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { parseDurationMs } from "../../src/kernel/core/duration.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Store } from "../../src/kernel/store/store.ts";
import { limiterOf } from "../../src/limiter.ts";
import { storiesOf as storiesOfFile } from "../../src/testing/vectors.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createEnforce } from "../support/http/enforce.ts";
import fixedWindow from "../vectors/fixed-window.json" with { type: "json" };
import leakyBucket from "../vectors/leaky-bucket.json" with { type: "json" };
import slidingLog from "../vectors/sliding-log.json" with { type: "json" };
import slidingWindow from "../vectors/sliding-window.json" with { type: "json" };
import tokenBucket from "../vectors/token-bucket.json" with { type: "json" };
import { uniqueName } from "./support.ts";

interface Step {
  readonly atMs: number;
  readonly cost: number;
  readonly allowed: boolean;
  readonly remaining: number;
  /** null: never. */
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly delayMs?: number;
}

interface Story {
  readonly number: number;
  readonly algorithm: string;
  /** The limit as the configuration writes it. */
  readonly limit: PolicyInput["limits"][number];
  /** The largest cost that can pass. */
  readonly most: number;
  readonly steps: readonly Step[];
}

type Numbers = Record<string, string | number> & { readonly limit: number; readonly windowMs: number };

/** Leaky buckets delay in real time, so only stories with short delays run here. */
const LONGEST_STORY_MS = 12;

/** The longest delay that a configuration allows. */
const LONGEST_DELAY_MS = 60_000;

function isBriefAndAllowed({ steps, limit }: Story): boolean {
  const delayedMs = steps.reduce((sum, { delayMs = 0 }) => sum + delayMs, 0);
  const maxDelayMs = parseDurationMs(("maxDelay" in limit && limit.maxDelay) || 0)!;
  return delayedMs > 0 && delayedMs <= LONGEST_STORY_MS && maxDelayMs <= LONGEST_DELAY_MS;
}
const everyTwentieth = ({ number }: Story) => number % 20 === 1;

describe.each<[algorithm: string, stories: readonly Story[]]>([
  ["sliding-window", storiesOf("sliding-window", slidingWindow).filter(everyTwentieth)],
  ["fixed-window", storiesOf("fixed-window", fixedWindow).filter(everyTwentieth)],
  ["sliding-log", storiesOf("sliding-log", slidingLog).filter(everyTwentieth)],
  ["token-bucket", storiesOf("token-bucket", tokenBucket).filter(everyTwentieth)],
  ["leaky-bucket", storiesOf("leaky-bucket", leakyBucket).filter(isBriefAndAllowed).slice(0, 10)],
  ["calendar", calendarStories().filter(({ number }) => number % 25 === 1)],
])("stories of %s hold through HTTP", (_algorithm, stories) => {
  it("over the memory store", async () => {
    expect(stories.length).toBeGreaterThanOrEqual(10);
    for (const story of stories) await play(story);
  });
});

async function play(story: Story): Promise<void> {
  const store = memoryStore();
  const name = uniqueName("story");
  let nowMs = 0;
  // The kind is `memory`, so that the store is asked at every step: an isolate's memory would follow the real clock.
  const atStoryTime: Store = { ...store, kind: "memory", take: (request) => store.take(request, nowMs) };
  const limiter = limiterOf([storyPolicy(name, story)], { parts: [], store: atStoryTime });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "local" });

  // One comparison a story: one for each number of each step costs more than all that is tested.
  const told: unknown[] = [];
  for (const step of story.steps) {
    nowMs = step.atMs;
    const answer = await enforce(new Request(`https://gate.example/${step.cost}`), () => new Response("admitted"));
    const { states, legacy, retryAfter } = fieldsOf(answer);
    const { r: remaining, t } = states![name]!;
    // `remaining` grows before the refused cost fits, and before the limit is as new.
    const grows = t === undefined ? "never" : Number(t) <= latestGrowth(step, retryAfter) ? "in time" : `after ${t} s`;
    const retry = step.retryAfterMs === null ? ((await answer.json()) as { retry?: string }).retry : undefined;
    const limits = [legacy!.limit, legacy!.remaining];
    told.push({ status: answer.status, remaining, retryAfter, limits, grows, retry });
  }
  expect(told, `story ${story.number}`).toEqual(story.steps.map((step) => expected(story, step)));
}

function latestGrowth({ resetAfterMs }: Step, retryAfter = Number.POSITIVE_INFINITY): number {
  return Math.min(retryAfter, Math.ceil(resetAfterMs / 1000));
}

function expected({ most }: Story, { allowed, remaining, retryAfterMs }: Step): object {
  return {
    status: allowed ? 200 : 429,
    remaining,
    retryAfter: allowed || retryAfterMs === null ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1000)),
    limits: [most, remaining],
    grows: remaining === most ? "never" : "in time",
    retry: retryAfterMs === null ? "never" : undefined,
  };
}

/** A path names its cost. A configuration refuses a cost above the limit: the rules are added after the check. */
function storyPolicy(name: string, { limit, steps }: Story) {
  const parsed = parsePolicies([{ name, key: "global", limits: [limit] }], "policies");
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  const costs = new Set(steps.map(({ cost }) => cost));
  return { ...parsed.value[0]!, cost: [...costs].map((cost) => ({ path: [`/${cost}`], cost })) };
}

/** As src/testing makes them of the periods. Those of several steps. */
function calendarStories(): Story[] {
  return storiesOfFile("calendar").map(({ limit, steps }, i): Story => {
    if (limit.kind !== Kind.calendar) throw new Error("expected a calendar limit");
    const { window, zone, firstDay } = limit;
    const written = { algorithm: "calendar" as const, limit: limit.limit, window, zone };
    const weekStart = firstDay === 7 ? { weekStart: "sunday" as const } : {};
    const full = steps.map((step) => ({ cost: 1, retryAfterMs: 0, resetAfterMs: Number.POSITIVE_INFINITY, ...step }));
    return {
      number: i + 1,
      algorithm: "calendar",
      limit: { ...written, ...weekStart },
      most: limit.limit,
      steps: full,
    };
  });
}

function storiesOf(algorithm: string, { stories }: { readonly stories: readonly object[] }): Story[] {
  return stories.map((story, i): Story => {
    const { steps, ...numbers } = story as { readonly steps: readonly Step[] };
    const { windowMs, maxDelayMs, ...others } = numbers as Numbers;
    const delay = maxDelayMs !== undefined && { maxDelay: `${maxDelayMs}ms` };
    const limit = { algorithm, window: `${windowMs}ms`, ...others, ...delay };
    const most = Number(others.burst ?? others.limit);
    return { number: i + 1, algorithm, limit: limit as unknown as Story["limit"], most, steps };
  });
}
