// How often Redis ran which command, those inside scripts included: what Upstash bills.

import type { Redis } from "ioredis";

/** Only for a Redis that nobody else uses meanwhile. */
export async function commandsOf(redis: Redis, work: () => Promise<unknown>): Promise<Record<string, number>> {
  await redis.config("RESETSTAT");
  await work();
  const info = await redis.info("commandstats");
  const counts = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]);
  const { "config|resetstat": _, ...rest } = Object.fromEntries(counts) as Record<string, number>;
  return rest;
}
