// The REST bridge's only connection to Redis. It sends each command at most once and turns replies into JSON.

import { Redis } from "ioredis";
import type { CommandLine } from "./bridge-request.ts";

/** How long an attempt to connect may take, in ms. */
const CONNECT_TIMEOUT_MS = 2_000;
/** How long Redis may be silent while a command waits, in ms. Then the connection and its commands are given up. */
const SILENCE_TIMEOUT_MS = 5_000;

type ReplyBody = { result: unknown } | { error: string };

/** The HTTP status for a single command, and the body `{result}` or `{error}`. */
export interface RunResult {
  status: number;
  body: ReplyBody;
}

interface RedisConnection {
  /** Whether the first attempt to connect succeeded. */
  reachable: boolean;
  /** Never rejects. Status 400: an error of Redis. Status 500: Redis cannot be reached or does not answer. */
  run(command: CommandLine, base64: boolean): Promise<RunResult>;
  /** Runs the commands as one transaction. Returns a body for each command, or one error if Redis discarded them. */
  transact(commands: readonly CommandLine[], base64: boolean): Promise<RunResult | { status: 200; body: ReplyBody[] }>;
  close(): void;
}

/** Connects. Resolves after the first attempt, successful or not. Throws a TypeError for a URL that is not Redis's. */
export async function connectRedis(url: string): Promise<RedisConnection> {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "redis:" && protocol !== "rediss:") {
    // The message does not quote the URL, because it may hold a password.
    throw new TypeError("expected a Redis URL such as redis://127.0.0.1:6379, found another kind of text");
  }
  const redis = new Redis(url, {
    protocol: 2, // Upstash replies with RESP2 types
    stringNumbers: true, // keeps integers above 2^53 exact; texts arrive as Buffers
    // No command waits for a connection, and no command is sent again: a command that may have run must not run twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(25 * times, 500),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // ioredis must not send INFO or CLIENT SETINFO: they would appear in statistics that tests read. Redis itself
    // reports LOADING.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  // Each waiting command reports a lost connection itself. Without a listener, ioredis would also print it.
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
      // Written at once, so that other requests' commands are before MULTI or behind EXEC.
      const sent = await Promise.allSettled(
        [["MULTI"], ...commands, ["EXEC"]].map((line) => send(line as CommandLine)),
      );
      const last = sent.at(-1)!;
      // A command that Redis refuses to queue makes EXEC fail too (EXECABORT).
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
  // ioredis's own text may change and does not help a client. A client must know that the command may have run.
  return { status: 500, body: { error: "ERR Redis did not answer the bridge; the command may have run" } };
}

function isReplyError(value: unknown): value is Error {
  return value instanceof Error && value.name === "ReplyError";
}

/**
 * A reply as Upstash writes it. With base64 every text is encoded, nested texts too. Only a whole reply `OK` stays as
 * it is, because `@upstash/redis` does not decode it. (A stored value "OK" is then returned correctly too.)
 *
 * Integers outside ±2^53 become texts, because `@upstash/redis` would round JSON numbers. An error inside an array,
 * which only scripts can return, becomes its text.
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
