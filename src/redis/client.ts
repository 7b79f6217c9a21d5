/** One Redis over Upstash's REST protocol. Knows commands and failures; nothing of rate limits. */

import { Redis } from "@upstash/redis/cloudflare";
import { isIsolateBusy, spendBudget } from "./budget.ts";

export interface RedisOptions {
  /** Base URL of the REST service, `https://…` or `http://…`. */
  readonly url: string;
  /** Its bearer token. */
  readonly token: string;
  /** Time budget in milliseconds, connection included. Time in which this isolate was too busy to read an answer hardly counts. */
  readonly timeoutMs: number;
}

/** How long an answer is waited for after two budgets, only to learn from it. */
const LATE_ANSWER_MS = 2_000;

/** What is known of a call whose budget is spent. */
export interface LateAnswer<T> {
  /** The answer if it still arrives, `undefined` if it does not. Never rejects. */
  readonly answer: Promise<T | undefined>;
  /**
   * Whether the service has failed: no answer within a second budget, or within 2 s more if this isolate is too busy to read answers.
   * Never rejects.
   */
  readonly hasFailed: Promise<boolean>;
}

/**
 * A call that failed. The client's own error text holds the whole command, keys included, so that none of it gets
 * here: `reply` is the first word of what Redis said (`NOSCRIPT`, `READONLY`, …), only with code `REPLY`.
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
 * Runs `work` with a client whose requests share one time budget. The client is made to try once: a retried charge may be
 * charged twice.
 *
 * When the budget is spent, the requests go on for a second budget and 2 s: an answer that arrives late is still worth knowing (`RedisError.timeout`).
 *
 * @param budgetMs milliseconds; default `options.timeoutMs`.
 * @throws {RedisError} whatever fails.
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
    // A function, because the client turns the abort of a plain signal into a reply.
    signal: () => requests.signal,
    enableAutoPipelining: false,
    enableTelemetry: false,
    readYourWrites: false,
    automaticDeserialization: false,
    // Replies are integers and status lines: nothing that base64 would have to protect.
    responseEncoding: false,
  });
  return await new Promise<T>((resolve, reject) => {
    const working = work(redis);
    let stop = spendBudget(budgetMs, () => {
      const answer = working.catch(() => undefined);
      const hasFailed = new Promise<boolean>((decide) => {
        working.then(
          () => decide(false),
          () => decide(true),
        );
        stop = spendBudget(options.timeoutMs, () => {
          if (!isIsolateBusy()) decide(true);
          stop = spendBudget(LATE_ANSWER_MS, () => requests.abort());
        });
      });
      reject(new RedisError("TIMEOUT", undefined, { answer, hasFailed }));
    });
    working.then(resolve, (error) => reject(redisErrorOf(error))).finally(() => stop());
  });
}

function redisErrorOf(error: unknown): RedisError {
  // Cloudflare's word for a request that has made as many calls as it may. The call is not sent.
  if (error instanceof Error && /^too many subrequests/i.test(error.message)) return new RedisError("SUBREQUESTS");
  const reply = replyOf(error);
  if (reply !== undefined) return new RedisError("REPLY", reply);
  // The last is what becomes of a body that is the JSON `null`.
  const malformed =
    error instanceof Error &&
    /^(UpstashJSONParseError|TypeError: (Request did not|Cannot (read|destructure)))/.test(
      `${error.name}: ${error.message}`,
    );
  return new RedisError(malformed ? "MALFORMED_REPLY" : "NETWORK");
}

/**
 * Redis up to 6.2, KeyDB and Dragonfly say so what a command of the script was refused with; from 7.0 on Redis says it as it is, and
 * the place behind it.
 */
const WRAPPED = /^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )*-?(?!ERR )([A-Z]{3,16} )/;

/** What is not told by its first word. Texts of Redis 6.0 to 7.4, Dragonfly 1.x and Upstash (2026-11). */
const TEXTS: readonly (readonly [text: RegExp, reply: string])[] = [
  [/^(ERR )?Unexpected flag/i, "UNEXPECTED_FLAG"],
  [/^(WRONGPASS|NOAUTH|Unauthorized|Invalid token)/i, "UNAUTHORIZED"],
  // Upstash's own limits, and Redis's on connections: refused before Redis saw the command.
  [/^(ERR )?(max .* exceeded|max number of clients|too many requests)/i, "EXCEEDED"],
  // Dragonfly and Upstash are full; which command of the script they refused is not known.
  [/^ERR (Error running script .*: Out of memory|Out of memory|DB capacity quota exceeded)/i, "FULL"],
  [/^ERR .*Can not execute the command on a stale replica/, "MASTERDOWN"],
  [/^ERR .*(The user executing the script|ACL failure in script)/, "NOPERM"],
  [/^ERR (Error running script|.*user_script)/, "SCRIPT"],
];

/** The first word of an error reply, `ERR` if it has none; undefined if `error` is no error reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "UpstashError") return undefined;
  // The client adds the whole command.
  const text = error.message.split(", command was: ", 1)[0]!.replace(WRAPPED, "$1");
  const known = TEXTS.find(([pattern]) => pattern.test(text));
  return known?.[1] ?? /^([A-Z]{3,16}) /.exec(text)?.[1] ?? "ERR";
}
