/** What a store needs of one Redis, however it is reached. It knows commands and failures, and no rate limits. */

import { type LateAnswer, OutOfTime } from "../../time-budget.ts";

/** The commands that a store sends. Each is sent once: a charge that is sent again may be charged twice. */
export interface Commands {
  evalsha(sha1: string, keys: string[], args: (string | number)[]): Promise<unknown>;
  eval(text: string, keys: string[], args: (string | number)[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  info(section: string): Promise<unknown>;
}

/** One Redis: over HTTP (rest.ts), or through a client that the program has (command.ts). */
export interface RedisClient {
  /** Whether scripts are sent in the variant for Upstash until Redis refuses it. */
  readonly isUpstash: boolean;
  /**
   * Runs `work`, whose commands share one time budget. When the budget is spent, the commands go on for a second budget
   * and 2 s: a late answer still says what was charged (`RedisError.timeout`).
   *
   * @param budgetMs milliseconds; default: the budget that the client was made with.
   * @throws {RedisError} for every failure.
   */
  run<T>(work: (redis: Commands) => Promise<T>, budgetMs?: number): Promise<T>;
  /** The same where nobody waits for the answer: the process may end before. */
  runIdle: RedisClient["run"];
  /** The first word of an error that Redis has replied, or a word of `TEXTS`. undefined: it is not Redis's error. */
  replyOf(error: unknown): string | undefined;
}

/**
 * A failed call. The error of a client may contain the whole command with its keys: nothing of its text is kept.
 * `reply`, only with code `REPLY`, is the first word of Redis's error (`NOSCRIPT`, `READONLY`, …).
 */
export class RedisError extends Error {
  readonly code: "TIMEOUT" | "OFFLINE" | "NETWORK" | "SUBREQUESTS" | "MALFORMED_REPLY" | "REPLY";
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

/** What every client has in common. @param codeOf the code of an error that is no reply of Redis. */
export function redisErrorOf(
  error: unknown,
  replyOf: RedisClient["replyOf"],
  codeOf: (error: unknown) => RedisError["code"],
): RedisError {
  if (error instanceof OutOfTime) return new RedisError("TIMEOUT", undefined, error.late);
  const reply = replyOf(error);
  return reply === undefined ? new RedisError(codeOf(error)) : new RedisError("REPLY", reply);
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
  // Upstash has stopped the database: the command did not run.
  [/\b(has been|is) suspended\b/i, "SUSPENDED"],
  [/\b(has been|is) archived\b/i, "ARCHIVED"],
  // Upstash's own limits, and Redis's limit of connections: the command did not run.
  [/^(ERR )?(max .* exceeded|max number of clients|too many requests)/i, "EXCEEDED"],
  // Dragonfly or Upstash is full. The text does not say which command of the script was refused.
  [/^ERR (Error running script .*: Out of memory|Out of memory|DB capacity quota exceeded)/i, "FULL"],
  [/^ERR .*Can not execute the command on a stale replica/, "MASTERDOWN"],
  [/^ERR .*(The user executing the script|ACL failure in script)/, "NOPERM"],
  [/^ERR (Error running script|.*user_script)/, "SCRIPT"],
];

/** The first word of an error's text, or a word of `TEXTS`. undefined: the text has no such word. */
export function firstWord(error: string): string | undefined {
  const text = error.replace(WRAPPED, "$1");
  const known = TEXTS.find(([pattern]) => pattern.test(text));
  return known?.[1] ?? /^([A-Z]{3,16}) /.exec(text)?.[1];
}
