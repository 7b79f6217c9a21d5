/** Limiters with all features, for tests of what policies do. test/limiter/features.test.ts is about the features. */

import { allFeatures } from "../../src/features/all.ts";
import * as limiter from "../../src/limiter.ts";

/** A test that needs the live document names all features itself: `createLimiter` would read it. */
const FEATURES = allFeatures().filter(({ name }) => name !== "live");

export function createLimiter(options: limiter.LimiterOptions): limiter.Limiter {
  return limiter.createLimiter({ features: FEATURES, ...options });
}

export const limiterOf: typeof limiter.limiterOf = (policies, options) =>
  limiter.limiterOf(policies, { features: allFeatures(), ...options });
