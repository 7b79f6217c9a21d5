/** Runs lua/ on a Redis: EVALSHA, EVAL when the script is not known there, and the right one of its two variants. */

import type { Redis } from "@upstash/redis/cloudflare";
import { type RedisOptions, replyOf, withRedis } from "./client.ts";

/** A script as it is sent, and its SHA-1 in hexadecimal. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

/**
 * On Upstash a script without `flags=allow-key-locking` locks the whole database; Redis refuses that flag. The host
 * name tells which it is, and if it does not, Redis's refusal does.
 *
 * @returns what runs the script and answers with its reply; throws `RedisError`.
 */
export function scriptRunner(
  options: RedisOptions,
  variants: { readonly plain: Script; readonly keyLocking: Script },
): (keys: string[], args: number[], budgetMs?: number) => Promise<unknown> {
  let script = /(^|\.)upstash\.io$/.test(new URL(options.url).hostname) ? variants.keyLocking : variants.plain;

  return (keys, args, budgetMs) =>
    withRedis(
      options,
      async (redis) => {
        try {
          return await evaluate(redis, script, keys, args);
        } catch (error) {
          if (replyOf(error) !== "UNEXPECTED_FLAG") throw error;
          // Refused before it ran: asking again charges once.
          script = variants.plain;
          return await evaluate(redis, script, keys, args);
        }
      },
      budgetMs,
    );
}

/** EVALSHA; when Redis does not know the script, which then did not run, EVAL, once. */
async function evaluate(redis: Redis, { text, sha1 }: Script, keys: string[], args: number[]): Promise<unknown> {
  try {
    return await redis.evalsha(sha1, keys, args);
  } catch (error) {
    if (replyOf(error) !== "NOSCRIPT") throw error;
    return await redis.eval(text, keys, args);
  }
}
