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

/** How long an answer is waited for after its budget, only to learn from it. */
const LATE_ANSWER_MS = 2_000;

/** What is known of a call whose budget is spent. */
export interface LateAnswer<T> {
  /** The answer if it still arrives, `undefined` if it does not. Never rejects. */
  readonly answer: Promise<T | undefined>;
  /** This isolate was too busy to read answers: the service may be well. */
  readonly isIsolateBusy: boolean;
}

/**
 * A call that failed. The client's own error text holds the whole command, keys included, so that none of it gets
 * here: `reply` is the first word of what Redis said (`NOSCRIPT`, `READONLY`, …), only with code `REPLY`.
 */
export class RedisError extends Error {
  readonly code: "TIMEOUT" | "NETWORK" | "MALFORMED_REPLY" | "REPLY";
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
 * When the budget is spent, the requests go on for 2 s: an answer that arrives late is still worth knowing (`RedisError.timeout`).
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
      stop = spendBudget(LATE_ANSWER_MS, () => requests.abort());
      const answer = working.catch(() => undefined);
      reject(new RedisError("TIMEOUT", undefined, { answer, isIsolateBusy: isIsolateBusy() }));
    });
    working.then(resolve, (error) => reject(redisErrorOf(error))).finally(() => stop());
  });
}

function redisErrorOf(error: unknown): RedisError {
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

/** The first word of an error reply, `ERR` if it has none; undefined if `error` is no error reply. */
export function replyOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "UpstashError") return undefined;
  if (/^(ERR )?Unexpected flag/i.test(error.message)) return "UNEXPECTED_FLAG";
  if (/^(WRONGPASS|NOAUTH|Unauthorized|Invalid token)/i.test(error.message)) return "UNAUTHORIZED";
  // Upstash's own limits: refused before Redis saw it.
  if (/^(ERR )?(max .* exceeded|too many requests)/i.test(error.message)) return "EXCEEDED";
  if (/^ERR .*user_script/.test(error.message)) return "SCRIPT";
  return /^([A-Z]{3,16}) /.exec(error.message)?.[1] ?? "ERR";
}
