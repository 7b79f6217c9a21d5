/** Limits as an operator writes them and as the program uses them, and the largest numbers of each algorithm. */

import type * as v from "valibot";
import { Kind } from "../core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../core/algorithms.ts";
import type { Limit } from "../core/policy.ts";
import { toWritten } from "../core/units.ts";
import { formatDuration } from "./duration.ts";
import type { LimitInput } from "./policy-input.ts";
import type { SCHEMAS } from "./policy-schema.ts";

/** A limit with its defaults filled in and its durations in milliseconds. */
export type ParsedLimit = v.InferOutput<(typeof SCHEMAS)["none"]["limit"]>;

export function specOf(limit: ParsedLimit): LimitSpec {
  switch (limit.algorithm) {
    case "sliding-window": {
      const { window: windowMs, buckets, oldest } = limit;
      return { kind: Kind[oldest], limit: limit.limit, bucketMs: windowMs / buckets, buckets };
    }
    case "fixed-window":
      return { kind: Kind.fixedWindow, limit: limit.limit, windowMs: limit.window };
    case "sliding-log":
      return { kind: Kind.log, limit: limit.limit, windowMs: limit.window };
    case "token-bucket":
    case "leaky-bucket": {
      const maxDelayMs = limit.algorithm === "leaky-bucket" ? limit.maxDelay : 0;
      const { window: windowMs, burst = limit.limit } = limit;
      return { kind: Kind.bucket, limit: limit.limit, windowMs, burst, maxDelayMs };
    }
    case "concurrency":
      return { kind: Kind.concurrency, limit: limit.limit, timeoutMs: limit.timeout };
  }
}

/** The limit as an operator could write it, with defaults filled in. */
export function writeLimit({ shadowLimit, ...limit }: Limit): LimitInput {
  const written = (units: number) => toWritten(units, limit.unit);
  return {
    ...writeSpec({ ...limit, limit: written(limit.limit) } as Limit),
    ...(shadowLimit !== undefined && { shadowLimit: written(shadowLimit) }),
  };
}

function writeSpec(limit: Limit): LimitInput {
  const { algorithm, scope } = limit;
  switch (limit.kind) {
    case Kind.weighted:
    case Kind.whole: {
      const oldest = limit.kind === Kind.whole ? "whole" : "weighted";
      const window = formatDuration(limit.bucketMs * limit.buckets);
      return { algorithm: "sliding-window", limit: limit.limit, window, buckets: limit.buckets, oldest, scope };
    }
    case Kind.fixedWindow:
      return { algorithm: "fixed-window", limit: limit.limit, window: formatDuration(limit.windowMs), scope };
    case Kind.log:
      return { algorithm: "sliding-log", limit: limit.limit, window: formatDuration(limit.windowMs), scope };
    case Kind.bucket: {
      const bucket = { limit: limit.limit, window: formatDuration(limit.windowMs), burst: limit.burst, scope };
      if (algorithm === "token-bucket") return { algorithm, ...bucket };
      return { algorithm: "leaky-bucket", ...bucket, maxDelay: formatDuration(limit.maxDelayMs) };
    }
    case Kind.concurrency:
      return { algorithm: "concurrency", limit: limit.limit, timeout: formatDuration(limit.timeoutMs), scope };
  }
}

/** The largest cost that the limit ever admits. A concurrency limit admits any cost. */
export function largestCost(limit: LimitSpec): number {
  const { quota, windowMs } = algorithmOf(limit).quota(limit);
  return windowMs === undefined ? Number.POSITIVE_INFINITY : quota;
}
