// The stories of test/vectors over HTTP: each step is a request, and its answer is compared with the story. Time comes
// from the story: a store in front of the memory store passes the story's instants on.

import { expect, it } from "vitest";
import { parsePolicies } from "../../src/features/configuration.ts";
import type { AlgorithmName } from "../../src/kernel/core/algorithms.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Store } from "../../src/kernel/store/store.ts";
import { limiterOf } from "../../src/limiter.ts";
import { type Step, type Story, storiesOf } from "../../src/testing/vectors.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createEnforce } from "../support/http/enforce.ts";
import { uniqueName } from "./support.ts";

/** Leaky buckets delay in real time, so only stories with short delays run here. */
const LONGEST_STORY_MS = 12;

const everyOf = (file: AlgorithmName, n: number) => storiesOf(file).filter((_, i) => i % n === 0);
const isBrief = ({ steps }: Story) => {
  const delayedMs = steps.reduce((sum, { delayMs = 0 }) => sum + delayMs, 0);
  return delayedMs > 0 && delayedMs <= LONGEST_STORY_MS;
};

it.each<[file: AlgorithmName, stories: readonly Story[]]>([
  ["sliding-window", everyOf("sliding-window", 4)],
  ["fixed-window", everyOf("fixed-window", 4)],
  ["sliding-log", everyOf("sliding-log", 4)],
  ["token-bucket", everyOf("token-bucket", 4)],
  ["leaky-bucket", storiesOf("leaky-bucket").filter(isBrief).slice(0, 10)],
  ["calendar", everyOf("calendar", 6)],
])("stories of %s hold through HTTP", async (file, stories) => {
  expect(stories.length).toBeGreaterThanOrEqual(10);
  for (const story of stories) await play(file, story);
});

async function play(file: AlgorithmName, story: Story): Promise<void> {
  const store = memoryStore();
  const name = uniqueName("story");
  let nowMs = 0;
  // The kind is `memory`, so that the store is asked at every step: an isolate's memory would follow the real clock.
  const atStoryTime: Store = { ...store, kind: "memory", take: (request) => store.take(request, nowMs) };
  const limiter = limiterOf([policyOf(name, file, story)], { parts: [], store: atStoryTime });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "local" });

  // One comparison a story: one for each number of each step costs more than all that is tested.
  const told: unknown[] = [];
  for (const step of story.steps) {
    nowMs = step.atMs;
    const answer = await enforce(new Request(`https://gate.example/${step.cost ?? 1}`), () => new Response("admitted"));
    const { states, legacy, retryAfter } = fieldsOf(answer);
    const { r: remaining, t } = states![name]!;
    // `remaining` grows before the refused cost fits, and before the limit is as new.
    const grows = t === undefined ? "never" : Number(t) <= latestGrowth(step, retryAfter) ? "in time" : `after ${t} s`;
    const retry = step.retryAfterMs === null ? ((await answer.json()) as { retry?: string }).retry : undefined;
    const limits = [legacy!.limit, legacy!.remaining];
    told.push({ status: answer.status, remaining, retryAfter, limits, grows, retry });
  }
  expect(told, story.title).toEqual(story.steps.map((step) => expected(story, step)));
}

/** A step that does not name the end of its period is in it. */
function latestGrowth({ resetAfterMs = Number.POSITIVE_INFINITY }: Step, retryAfter = Number.POSITIVE_INFINITY) {
  return Math.min(retryAfter, Math.ceil(resetAfterMs / 1000));
}

function expected({ limit }: Story, { allowed, remaining, retryAfterMs = 0 }: Step): object {
  const most = "burst" in limit ? limit.burst : limit.limit;
  return {
    status: allowed ? 200 : 429,
    remaining,
    retryAfter:
      allowed || retryAfterMs === null ? undefined : Math.min(Math.max(1, Math.ceil(retryAfterMs / 1000)), 86_400),
    limits: [most, remaining],
    grows: remaining === most ? "never" : "in time",
    retry: retryAfterMs === null ? "never" : undefined,
  };
}

/** A path names its cost. A configuration refuses a cost above the limit: the rules are added after the check. */
function policyOf(name: string, algorithm: AlgorithmName, { limit, steps }: Story) {
  const { value } = parsePolicies([{ name, key: "global", limits: [{ limit: 1, window: "1h" }] }], "policies");
  const costs = new Set(steps.map(({ cost = 1 }) => cost));
  const cost = [...costs].map((one) => ({ path: [`/${one}`], cost: one }));
  return { ...value![0]!, cost, limits: [{ id: name, scope: "global" as const, algorithm, ...limit }] };
}
