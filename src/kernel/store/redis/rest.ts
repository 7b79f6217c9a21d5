/** One Redis over Upstash's REST protocol: a command is a JSON array, and its reply is `{ result }` or `{ error }`. */

import { withinBudget } from "../../time-budget.ts";
import { type Commands, firstWord, type RedisClient, type RedisError, redisErrorOf } from "./client.ts";

/** An error that Redis has replied, in its own words. */
export class ReplyError extends Error {}

/** What the REST service answers. `null` and others without a member do not come from it. */
type Reply = { readonly result?: unknown; readonly error?: unknown } | null;

/**
 * On Upstash a script without `flags=allow-key-locking` locks the whole database. A host name under upstash.io gets the
 * variant with the flag.
 *
 * Not `@upstash/redis`: it adds 17 KiB (gzip) to a Worker, and its defaults send a command again.
 *
 * @param url the base URL of the REST service, `https://…` or `http://…`. @param token its bearer token.
 * @param timeoutMs the time budget of one call in milliseconds, connection included. Time in which this isolate is too
 * busy to read an answer hardly counts (time-budget.ts).
 */
export function restClient({ url, token, timeoutMs }: { url: string; token: string; timeoutMs: number }): RedisClient {
  const base = url.replace(/\/$/, "");
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

  function commandsOf(signal: AbortSignal): Commands {
    /** Sends a command, once. */
    async function send(...command: readonly (string | number)[]): Promise<unknown> {
      const answer = await fetch(base, { method: "POST", headers, body: JSON.stringify(command), signal });
      const reply: Reply = await answer.json();
      if (answer.ok && reply && !reply.error && reply.result !== undefined) return reply.result;
      const isReply = reply && (reply.error || !answer.ok);
      throw isReply ? new ReplyError(String(reply.error)) : new SyntaxError("a reply without a result");
    }
    return {
      evalsha: (sha1, keys, args) => send("evalsha", sha1, keys.length, ...keys, ...args),
      eval: (text, keys, args) => send("eval", text, keys.length, ...keys, ...args),
      del: (...keys) => send("del", ...keys),
      ping: () => send("ping"),
      info: (section) => send("info", section),
    };
  }

  return {
    isUpstash: /(^|\.)upstash\.io$/.test(new URL(url).hostname),
    async run(work, budgetMs = timeoutMs) {
      const requests = new AbortController();
      try {
        const abort = () => requests.abort();
        return await withinBudget(work(commandsOf(requests.signal)), { budgetMs, timeoutMs, abort });
      } catch (error) {
        throw redisErrorOf(error, replyOf, codeOf);
      }
    },
    replyOf,
  };
}

function codeOf(error: unknown): RedisError["code"] {
  // The answer is no JSON, or no reply: something else than the REST service has given it.
  if (error instanceof SyntaxError) return "MALFORMED_REPLY";
  // Cloudflare's error for a request that has made all the calls it may make. This call was not sent.
  const isTooMany = error instanceof Error && /^too many subrequests/i.test(error.message);
  return isTooMany ? "SUBREQUESTS" : "NETWORK";
}

/** `ERR`: an error reply without a first word. */
export function replyOf(error: unknown): string | undefined {
  return error instanceof ReplyError ? (firstWord(error.message) ?? "ERR") : undefined;
}
