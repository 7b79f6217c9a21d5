/** Runs the script of lua/ on a Redis: EVALSHA, and EVAL if Redis does not know the script. Chooses its variant. */

import type { Commands, RedisClient } from "./client.ts";

/** A script as it is sent, and its SHA-1 in hexadecimal. */
interface Script {
  readonly text: string;
  readonly sha1: string;
}

type Args = (string | number)[];

/** Runs a script. @throws {RedisError} */
type ScriptRunner = (
  keys: string[],
  args: Args,
  budgetMs?: number,
  /**
   * Other arguments after a reply that says that nothing was done: the script is run with them, once, within the same
   * budget. undefined: the reply is the answer.
   */
  again?: (reply: unknown) => Args | undefined,
) => Promise<unknown>;

/**
 * On Upstash a script without `flags=allow-key-locking` locks the whole database; Redis refuses that flag. If the
 * service refuses the flag, the plain variant replaces the one for Upstash.
 */
export function scriptRunner(
  { isUpstash, run, replyOf }: RedisClient,
  variants: { readonly plain: Script; readonly keyLocking: Script },
): ScriptRunner {
  let script = isUpstash ? variants.keyLocking : variants.plain;

  /** EVALSHA. If Redis does not know the script, nothing ran: then EVAL, once. */
  async function evaluate(redis: Commands, { text, sha1 }: Script, keys: string[], args: Args): Promise<unknown> {
    try {
      return await redis.evalsha(sha1, keys, args);
    } catch (error) {
      if (replyOf(error) !== "NOSCRIPT") throw error;
      return await redis.eval(text, keys, args);
    }
  }

  return (keys, args, budgetMs, again) => {
    async function evaluateVariant(redis: Commands): Promise<unknown> {
      const sent = script;
      try {
        const reply = await evaluate(redis, sent, keys, args);
        const others = again?.(reply);
        return others ? await evaluate(redis, sent, keys, others) : reply;
      } catch (error) {
        if (sent === variants.plain || replyOf(error) !== "UNEXPECTED_FLAG") throw error;
        // The script was refused before it ran: running it again charges once.
        script = variants.plain;
        return await evaluateVariant(redis);
      }
    }
    return run(evaluateVariant, budgetMs);
  };
}
