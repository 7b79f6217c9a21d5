/** One Redis over Upstash's REST protocol. It knows commands and failures, and nothing about rate limits. */

import { Redis } from "@upstash/redis/cloudflare";
import { type LateAnswer, OutOfTime, withinBudget } from "../time-budget.ts";

export interface RedisOptions {
  /** Base URL of the REST service, `https://…` or `http://…`. */
  readonly url: string;
  /** Its bearer token. */
  readonly token: string;
  /**
   * Time budget of one call in milliseconds, connection included. Time in which this isolate is too busy to read an
   * answer hardly counts (time-budget.ts).
   */
  readonly timeoutMs: number;
}

/**
 * A failed call. The error text of `@upstash/redis` contains the whole command with its keys: nothing of that text is
 * kept. `reply`, only with code `REPLY`, is the first word of Redis's error (`NOSCRIPT`, `READONLY`, …).
 */
export class RedisError extends Error {
  readonly code: "TIMEOUT" | "NETWORK" | "SUBREQUESTS" | "MALFORMED_REPLY" | "REPLY";
  readonly reply: string | undefined;
  /** Only with code `TIMEOUT`. */
  readonly timeout: LateAnswer<unknown> | undefined;

  constructor(code: RedisError["code"], reply?: string, timeout?: LateAnswer<unknown>) {
    super(`redis: ${code}${reply ? ` ${reply}` : ""}`);
    this.name = "RedisError";
    this.code = code;
    this.reply = reply;
    this.timeout = timeout;
  }
}

/**
 * Runs `work` with a client whose requests share one time budget. The client sends each request once: a charge that is
 * sent again may be charged twice.
 *
 * When the budget is spent, the requests go on for a second budget and 2 s: a late answer still says what was charged
 * (`RedisError.timeout`).
 *
 * @param budgetMs milliseconds; default `options.timeoutMs`.
 * @throws {RedisError} for every failure.
 */
export async function withRedis<T>(
  options: RedisOptions,
  work: (redis: Redis) => Promise<T>,
  budgetMs: number = options.timeoutMs,
): Promise<T> {
  const requests = new AbortController();
  const redis = new Redis({
    url: options.url,
    token: options.token,
    retry: { retries: 0 },
    // A function: the client turns the abort of a plain signal into a reply with status 200.
    signal: () => requests.signal,
    enableAutoPipelining: false,
    enableTelemetry: false,
    readYourWrites: false,
    automaticDeserialization: false,
    // Replies are integers and status lines, which need no base64.
    responseEncoding: false,
  });
  try {
    return await withinBudget(work(redis), {
      budgetMs,
      timeoutMs: options.timeoutMs,
      abort: () => requests.abort(),
    });
  } catch (error) {
    throw redisErrorOf(error);
  }
}

function redisErrorOf(error: unknown): RedisError {
  if (error instanceof OutOfTime) return new RedisError("TIMEOUT", undefined, error.late);
  // Cloudflare's error for a request that has made all the calls it may make. This call was not sent.
  if (error instanceof Error && /^too many subrequests/i.test(error.message)) return new RedisError("SUBREQUESTS");
  const reply = replyOf(error);
  if (reply !== undefined) return new RedisError("REPLY", reply);
  // The TypeErrors are what the client throws for the body `null` and for a body without the fields it expects.
  const malformed =
    error instanceof Error &&
    /^(UpstashJSONParseError|TypeError: (Request did not|Cannot (read|destructure)))/.test(
      `${error.name}: ${error.message}`,
    );
  return new RedisError(malformed ? "MALFORMED_REPLY" : "NETWORK");
}

/**
 * An error reply of a command inside the script. Redis up to 6.2, KeyDB and Dragonfly wrap its text like this. Redis
 * from 7.0 on keeps the text and puts the position in the script behind it.
 */
const WRAPPED = /^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )*-?(?!ERR )([A-Z]{3,16} )/;

/** Errors that their first word does not tell apart. Texts of Redis 6.0 to 7.4, Dragonfly 1.x and Upstash (2026-11). */
const TEXTS: readonly (readonly [text: RegExp, reply: string])[] = [
  [/^(ERR )?Unexpected flag/i, "UNEXPECTED_FLAG"],
  [/^(WRONGPASS|NOAUTH|Unauthorized|Invalid token)/i, "UNAUTHORIZED"],
  // Upstash's own limits, and Redis's limit of connections: the command did not run.
  [/^(ERR )?(max .* exceeded|max number of clients|too many requests)/i, "EXCEEDED"],
  // Dragonfly or Upstash is full. The text does not say which command of the script was refused.
  [/^ERR (Error running script .*: Out of memory|Out of memory|DB capacity quota exceeded)/i, "FULL"],
  [/^ERR .*Can not execute the command on a stale replica/, "MASTERDOWN"],
  [/^ERR .*(The user executing the script|ACL failure in script)/, "NOPERM"],
  [/^ERR (Error running script|.*user_script)/, "SCRIPT"],
];

/** The first word of an error reply, or a word of `TEXTS`; `ERR`: no such word; undefined: not an error reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "UpstashError") return undefined;
  // The client appends the whole command.
  const text = error.message.split(", command was: ", 1)[0]!.replace(WRAPPED, "$1");
  const known = TEXTS.find(([pattern]) => pattern.test(text));
  return known?.[1] ?? /^([A-Z]{3,16}) /.exec(text)?.[1] ?? "ERR";
}
