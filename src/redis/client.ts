/** One Redis over Upstash's REST protocol. Knows commands and failures; nothing of rate limits. */

import { Redis } from "@upstash/redis/cloudflare";

export interface RedisOptions {
  /** Base URL of the REST service, `https://…` or `http://…`. */
  readonly url: string;
  /** Its bearer token. */
  readonly token: string;
  /** Time budget in milliseconds, connection included. */
  readonly timeoutMs: number;
}

/**
 * A call that failed. The client's own error text holds the whole command, keys included, so that none of it gets
 * here: `reply` is the first word of what Redis said (`NOSCRIPT`, `READONLY`, …), only with code `REPLY`.
 */
export class RedisError extends Error {
  readonly code: "TIMEOUT" | "NETWORK" | "SUBREQUESTS" | "MALFORMED_REPLY" | "REPLY";
  readonly reply: string | undefined;

  constructor(code: RedisError["code"], reply?: string) {
    super(`redis: ${code}${reply ? ` ${reply}` : ""}`);
    this.name = "RedisError";
    this.code = code;
    this.reply = reply;
  }
}

/**
 * Runs `work` with a client whose requests all end at the same deadline. The client is made to try once: a retried
 * charge may be charged twice.
 *
 * @throws {RedisError} whatever fails.
 */
export async function withRedis<T>(options: RedisOptions, work: (redis: Redis) => Promise<T>): Promise<T> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const redis = new Redis({
    url: options.url,
    token: options.token,
    retry: { retries: 0 },
    // A function, because the client turns the abort of a plain signal into a reply.
    signal: () => deadline,
    enableAutoPipelining: false,
    enableTelemetry: false,
    readYourWrites: false,
    automaticDeserialization: false,
    // Replies are integers and status lines: nothing that base64 would have to protect.
    responseEncoding: false,
  });
  try {
    return await work(redis);
  } catch (error) {
    if (deadline.aborted) throw new RedisError("TIMEOUT");
    // Cloudflare's word for a request that has made as many as it may; it is not sent.
    if (error instanceof Error && /^too many subrequests/i.test(error.message)) throw new RedisError("SUBREQUESTS");
    const reply = replyOf(error);
    if (reply !== undefined) throw new RedisError("REPLY", reply);
    // The last is what becomes of a body that is the JSON `null`.
    const malformed =
      error instanceof Error &&
      /^(UpstashJSONParseError|TypeError: (Request did not|Cannot (read|destructure)))/.test(
        `${error.name}: ${error.message}`,
      );
    throw new RedisError(malformed ? "MALFORMED_REPLY" : "NETWORK");
  }
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
