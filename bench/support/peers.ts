/**
 * The peers, loaded at run time from bench/peers/*.mjs. They live in bench/node_modules, which a clean clone does not
 * have. Therefore checking this project must not need their types.
 */

import type { Decision } from "./commands.ts";

export interface LimitOfPeer {
  readonly limit: number;
  readonly windowMs: number;
}

type RecordedPeer = (limits: readonly LimitOfPeer[]) => (key: string, cost: number) => Promise<Decision>;

/** The exports of bench/peers/recorded.mjs. */
export interface Recorded {
  upstash(
    limits: readonly LimitOfPeer[],
    algorithm: "slidingWindow" | "fixedWindow" | "tokenBucket",
  ): (key: string, cost: number) => Promise<Decision>;
  readonly honoRateLimiter: RecordedPeer;
  readonly rateLimiterFlexible: RecordedPeer;
  readonly incrExpire: RecordedPeer;
  readonly sortedSetLog: RecordedPeer;
  readonly hashBuckets: RecordedPeer;
}

const load = (name: string): Promise<unknown> => import(new URL(`../peers/${name}`, import.meta.url).href);

export const peers = {
  recorded: () => load("recorded.mjs") as Promise<Recorded>,
  scripts: () => load("scripts.mjs") as Promise<Readonly<Record<string, string>>>,
};
