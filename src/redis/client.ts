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
  readonly code: "TIMEOUT" | "NETWORK" | "MALFORMED_REPLY" | "REPLY";
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
