// The REST bridge's one connection to Redis: commands go out at most once, replies become JSON.

import { Redis } from "ioredis";
import type { CommandLine } from "./bridge-request.ts";

/** Bound on a connection attempt, in ms. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Bound on Redis's silence while a command waits, in ms; then the connection is given up with all that wait on it. */
const SILENCE_TIMEOUT_MS = 5_000;

export type ReplyBody = { result: unknown } | { error: string };

/** The HTTP status of a command sent alone, and the `{result}` or `{error}` it is answered with. */
export interface RunResult {
  status: number;
  body: ReplyBody;
}

export interface RedisConnection {
  /** Whether the first attempt to connect succeeded. */
  reachable: boolean;
  /** Never rejects. Redis's own errors are 400, a Redis that cannot be reached or does not answer is 500. */
  run(command: CommandLine, base64: boolean): Promise<RunResult>;
  /** As one transaction: a body for each command, or one error if Redis has discarded them all. */
  transact(commands: readonly CommandLine[], base64: boolean): Promise<RunResult | { status: 200; body: ReplyBody[] }>;
  close(): void;
}

/** Connects; resolves after the first attempt, whatever its outcome. Throws TypeError on a URL that is not Redis's. */
export async function connectRedis(url: string): Promise<RedisConnection> {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "redis:" && protocol !== "rediss:") {
    // Not quoted: it may hold a password.
    throw new TypeError("expected a Redis URL such as redis://127.0.0.1:6379, found another kind of text");
  }
  const redis = new Redis(url, {
    protocol: 2, // Upstash replies in RESP2's types
    stringNumbers: true, // so that integers above 2^53 arrive whole; texts arrive as Buffers
    // Nothing waits for a connection, and nothing is sent again on the next one: what may have run is never repeated.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(25 * times, 500),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // No INFO and CLIENT SETINFO of our own: they would appear in the statistics tests look at. LOADING is Redis's to
    // say.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  // Each command in flight reports the loss of the connection itself; without a listener ioredis would print it too.
  redis.on("error", () => {});
  const reachable = await new Promise<boolean>((resolve) => {
    redis.once("ready", () => resolve(true));
    redis.once("close", () => resolve(false));
  });

  const send = ([name, ...args]: CommandLine) => redis.callBuffer(name, args);

  return {
    reachable,
    async run(command, base64) {
      if (redis.status !== "ready") return NOT_SENT;
      try {
        return { status: 200, body: { result: toJson(await send(command), base64, true) } };
      } catch (error) {
        return failed(error);
      }
    },
    async transact(commands, base64) {
      if (redis.status !== "ready") return NOT_SENT;
      // Written in one go: commands of other requests go before MULTI or behind EXEC.
      const sent = await Promise.allSettled(
        [["MULTI"], ...commands, ["EXEC"]].map((line) => send(line as CommandLine)),
      );
      const last = sent.at(-1)!;
      // What Redis refuses to queue makes EXEC fail too (EXECABORT).
      if (last.status === "rejected") return failed(last.reason);
      const replies = last.value as unknown[];
      const body = replies.map((reply) =>
        isReplyError(reply) ? { error: reply.message } : { result: toJson(reply, base64, true) },
      );
      return { status: 200, body };
    },
    close: () => redis.disconnect(),
  };
}

const NOT_SENT: RunResult = {
  status: 500,
  body: { error: "ERR the bridge has no connection to Redis; the command was not sent" },
};

function failed(error: unknown): RunResult {
  if (isReplyError(error)) return { status: 400, body: { error: error.message } };
  // ioredis's own text is of no use to a client and may change; that the command may have run matters.
  return { status: 500, body: { error: "ERR Redis did not answer the bridge; the command may have run" } };
}

function isReplyError(value: unknown): value is Error {
  return value instanceof Error && value.name === "ReplyError";
}

/**
 * A reply as Upstash writes it. With base64 every text is encoded, nested ones too, except a whole reply of `OK`: the
 * one text that `@upstash/redis` takes as it is. (A value of "OK" reads the same either way, so the two need no telling
 * apart.)
 *
 * Integers outside ±2^53 become texts, which `@upstash/redis` hands on unharmed; as JSON numbers it would round them.
 * Errors inside an array, which only scripts can make, become their text.
 */
function toJson(reply: unknown, base64: boolean, isWhole: boolean): unknown {
  if (Buffer.isBuffer(reply)) {
    if (!base64) return reply.toString();
    return isWhole && reply.length === 2 && reply.toString("latin1") === "OK" ? "OK" : reply.toString("base64");
  }
  if (typeof reply === "string") {
    const integer = Number(reply);
    return Number.isSafeInteger(integer) ? integer : toJson(Buffer.from(reply), base64, false);
  }
  if (Array.isArray(reply)) return reply.map((item) => toJson(item, base64, false));
  if (reply instanceof Error) return toJson(Buffer.from(reply.message), base64, false);
  return reply ?? null;
}
