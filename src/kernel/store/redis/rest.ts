/** One Redis over Upstash's REST protocol. */

import { Redis } from "@upstash/redis/cloudflare";
import { withinBudget } from "../../time-budget.ts";
import { type Commands, firstWord, type RedisClient, type RedisError, redisErrorOf } from "./client.ts";

/**
 * On Upstash a script without `flags=allow-key-locking` locks the whole database. A host name under upstash.io gets the
 * variant with the flag.
 *
 * @param url the base URL of the REST service, `https://…` or `http://…`. @param token its bearer token.
 * @param timeoutMs the time budget of one call in milliseconds, connection included. Time in which this isolate is too
 * busy to read an answer hardly counts (time-budget.ts).
 */
export function restClient({ url, token, timeoutMs }: { url: string; token: string; timeoutMs: number }): RedisClient {
  /** Read when a command is sent, which is in the step in which it is called: `commandsOf` has just set it. */
  let signal: AbortSignal;
  // One client for all calls: a new one costs 14 KB, and a quarter of a decision's CPU.
  const redis = new Redis({
    url,
    token,
    retry: { retries: 0 },
    // A function: the client turns the abort of a plain signal into a reply with status 200.
    signal: () => signal,
    enableAutoPipelining: false,
    enableTelemetry: false,
    readYourWrites: false,
    automaticDeserialization: false,
    // Replies are integers and status lines, which need no base64.
    responseEncoding: false,
  });

  function commandsOf(own: AbortSignal): Commands {
    const sent = () => {
      signal = own;
      return redis;
    };
    return {
      evalsha: (...args) => sent().evalsha(...args),
      eval: (...args) => sent().eval(...args),
      del: (...keys) => sent().del(...keys),
      ping: () => sent().ping(),
      info: (section) => sent().exec(["INFO", section]),
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
  // Cloudflare's error for a request that has made all the calls it may make. This call was not sent.
  if (error instanceof Error && /^too many subrequests/i.test(error.message)) return "SUBREQUESTS";
  // The TypeErrors are what the client throws for the body `null` and for a body without the fields it expects.
  const malformed =
    error instanceof Error &&
    /^(UpstashJSONParseError|TypeError: (Request did not|Cannot (read|destructure)))/.test(
      `${error.name}: ${error.message}`,
    );
  return malformed ? "MALFORMED_REPLY" : "NETWORK";
}

/** `ERR`: an error reply without a first word. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "UpstashError") return undefined;
  // The client appends the whole command.
  return firstWord(error.message.split(", command was: ", 1)[0]!) ?? "ERR";
}
