/** All algorithms by kind: the parts for a store far away. A limiter with the memory store does not carry this file. */

import type { LimitSpec, LimitView } from "./algorithms.ts";
import { concurrencyFar } from "./concurrency.ts";
import type { FarAlgorithm } from "./far-algorithm.ts";
import { fixedWindowFar } from "./fixed-window.ts";
import { Kind } from "./layout.ts";
import { slidingLogFar } from "./sliding-log.ts";
import { slidingWindowFar } from "./sliding-window.ts";
import { tokenBucketFar } from "./token-bucket.ts";

const FAR_ALGORITHMS = {
  [Kind.weighted]: slidingWindowFar,
  [Kind.whole]: slidingWindowFar,
  [Kind.fixedWindow]: fixedWindowFar,
  [Kind.bucket]: tokenBucketFar,
  [Kind.log]: slidingLogFar,
  [Kind.concurrency]: concurrencyFar,
};

/** Like `algorithmOf`: limits and views passed to it must be of this kind, and what it returns is of this kind too. */
export function farAlgorithmOf({ kind }: { readonly kind: Kind }): FarAlgorithm<LimitSpec, LimitView> {
  return FAR_ALGORITHMS[kind] as unknown as FarAlgorithm<LimitSpec, LimitView>;
}
