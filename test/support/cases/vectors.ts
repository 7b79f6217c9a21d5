// The stories of test/vectors. They are made with exact rational arithmetic and search, not with the code under test.

import { readFileSync } from "node:fs";
import { Kind } from "../../../src/core/algorithm.ts";
import type { LimitSpec } from "../../../src/core/algorithms.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../../src/core/take.ts";
import { keyRequest } from "../gateway/counter.ts";
import { toldBy } from "../parity/told.ts";

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

type Numbers = Readonly<Record<"limit" | "windowMs" | "buckets" | "burst" | "maxDelayMs" | "timeoutMs", number>> & {
  readonly oldest: "weighted" | "whole";
};

const LIMITS = {
  "sliding-window": ({ limit, windowMs, buckets, oldest }: Numbers) => {
    return { kind: Kind[oldest], limit, bucketMs: windowMs / buckets, buckets };
  },
  "fixed-window": ({ limit, windowMs }: Numbers) => ({ kind: Kind.fixedWindow, limit, windowMs }),
  "token-bucket": ({ limit, windowMs, burst }: Numbers) => ({
    kind: Kind.bucket,
    limit,
    windowMs,
    burst,
    maxDelayMs: 0,
  }),
  "leaky-bucket": ({ limit, windowMs, burst, maxDelayMs }: Numbers) => {
    return { kind: Kind.bucket, limit, windowMs, burst, maxDelayMs };
  },
  "sliding-log": ({ limit, windowMs }: Numbers) => ({ kind: Kind.log, limit, windowMs }),
  concurrency: ({ limit, timeoutMs }: Numbers) => ({ kind: Kind.concurrency, limit, timeoutMs }),
} satisfies Record<string, (numbers: Numbers) => LimitSpec>;

export type VectorFile = keyof typeof LIMITS;
export const vectorFiles = Object.keys(LIMITS) as VectorFile[];

export function storiesOf(file: VectorFile): readonly Story[] {
  const text = readFileSync(new URL(`../../vectors/${file}.json`, import.meta.url), "utf8");
  const { stories } = JSON.parse(text) as { stories: (Numbers & { steps: Step[] })[] };
  return stories.map(({ steps, ...numbers }, i) => {
    return { title: `story ${i + 1}: ${JSON.stringify(numbers)}`, limit: LIMITS[file](numbers as Numbers), steps };
  });
}

/** The request that a step describes. */
export function requestOf({ op, slot = 0, cost = 1 }: Step, { limit }: Story, key = "key"): TakeRequest {
  const flag = op === "renew" ? Flag.chargeAnyway : op === "release" ? Flag.giveBack : Flag.take;
  return { keys: [keyRequest(key, [limit], { cost })], flag, slot };
}

/** What the reply says about the properties that the step expects. Compare it with `expectedOf(step)`. */
export function answerOf(step: Step, { limit }: Story, reply: TakeReply): Partial<Step> {
  const { cost = 1 } = step;
  const { remaining, retryAfterMs = null, resetAfterMs, delayMs = 0 } = toldBy(reply, limit, cost);
  const all: Partial<Step> = { allowed: reply.allowed, remaining, retryAfterMs, resetAfterMs, delayMs };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in expectedOf(step)));
}

export function expectedOf({ atMs: _atMs, cost: _cost, op, slot: _slot, ...told }: Step): Partial<Step> {
  return op === "renew" ? { remaining: told.remaining } : told;
}
