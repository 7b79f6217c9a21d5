/** Limiters with all features, for tests of what policies do. test/features/library.test.ts is about the features. */

import { partsWith } from "../../src/features/default.ts";
import { allFeatures } from "../../src/features/index.ts";
import type { Policy } from "../../src/kernel/core/policy.ts";
import * as limiter from "../../src/limiter.ts";

/** A test that needs the live document names all features itself: `createLimiter` would read it. */
const FEATURES = allFeatures().filter(({ name }) => name !== "live");

export function createLimiter(options: limiter.LimiterOptions): limiter.Limiter {
  return limiter.createLimiter({ features: FEATURES, ...options });
}

type Options = Parameters<typeof limiter.limiterOf>[1];

export const limiterOf = (policies: readonly Policy[], options: Omit<Options, "parts">) => {
  const features = options.features ?? allFeatures();
  return limiter.limiterOf(policies, { ...options, parts: partsWith(features), features });
};
