/** One Redis through a client that the program has: ioredis, node-redis, or any other that sends a command as it is. */

import { setIdleTimeout } from "../../sleep.ts";
import { withinBudget } from "../../time-budget.ts";
import { type Commands, firstWord, type RedisClient, type RedisError, redisErrorOf } from "./client.ts";

/**
 * Sends a command as it is, once, and returns its reply: integers as numbers, texts as strings.
 *
 * @param args the command's name and its arguments.
 * @param key one of the command's keys, for clients of a cluster that route by it; empty if the command has none.
 */
export type RedisCommand = (args: [name: string, ...args: string[]], key: string) => Promise<unknown>;

/** @param timeoutMs as for `restClient`. */
export function commandClient({ command, timeoutMs }: { command: RedisCommand; timeoutMs: number }): RedisClient {
  const evaluate = (name: string) => (script: string, keys: string[], args: (string | number)[]) =>
    command([name, script, String(keys.length), ...keys, ...args.map(String)], keys[0] ?? "");
  const redis: Commands = {
    evalsha: evaluate("EVALSHA"),
    eval: evaluate("EVAL"),
    del: async (...keys) => await command(["DEL", ...keys], keys[0] ?? ""),
    ping: async () => await command(["PING"], ""),
    info: async (section) => await command(["INFO", section], ""),
  };

  async function run<T>(
    work: (redis: Commands) => Promise<T>,
    budgetMs = timeoutMs,
    set?: typeof setIdleTimeout,
  ): Promise<T> {
    try {
      return await withinBudget(work(redis), { budgetMs, timeoutMs, set });
    } catch (error) {
      // A mistake in `command`, which the console shows. (node-redis throws one before it has found a Sentinel.)
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      throw redisErrorOf(error, replyOf, codeOf);
    }
  }

  const runIdle: RedisClient["run"] = (work, budgetMs) => run(work, budgetMs, setIdleTimeout);
  return { isUpstash: false, run, runIdle, replyOf };
}

/**
 * Errors of a client that has no connection and did not send the command: ioredis and its Cluster, node-redis offline,
 * closed, with a full queue, and its cluster without a node. Texts of ioredis 5 and 6 and node-redis 4 to 6 (2026-11).
 *
 * Not among them: what both say of commands that wait for a reply, such as "Connection is closed." or "Reached the max
 * retries per request limit". Such a command may have run.
 */
const NOT_SENT =
  /^(Stream isn't writeable|Cluster isn't ready|The client is (offline|closed)$|The queue is full$|All the root nodes)/;
/** No connection was made. */
const NO_CONNECTION = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"];

/** The client has followed the cluster's redirections in vain. ioredis tells the last one, node-redis does not. */
const REDIRECTIONS = /^Too many Cluster redirections(?:\. Last error: (?:\w+: )?)?/;

function codeOf(error: unknown): RedisError["code"] {
  const { message = "", code = "" } = (error ?? {}) as { message?: string; code?: string };
  return NOT_SENT.test(message) || NO_CONNECTION.includes(code) ? "OFFLINE" : "NETWORK";
}

/** By the text alone: a bundler may change the names of a client's classes. Its own errors do not begin like these. */
function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  const last = message.replace(REDIRECTIONS, "");
  return last === "" && message !== "" ? "MOVED" : firstWord(last);
}
