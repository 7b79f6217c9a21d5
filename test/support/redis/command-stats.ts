// How often Redis ran each command, including the commands inside scripts. Upstash bills these commands.

import type { Redis } from "ioredis";

/** Only for a Redis that nobody else uses at the same time. */
export async function commandsOf(redis: Redis, work: () => Promise<unknown>): Promise<Record<string, number>> {
  await redis.config("RESETSTAT");
  await work();
  const info = await redis.info("commandstats");
  const counts = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]);
  const { "config|resetstat": _, ...rest } = Object.fromEntries(counts) as Record<string, number>;
  return rest;
}
