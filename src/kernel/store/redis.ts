/** One Redis as a store: runs lua/take.lua and lua/live.lua, over HTTP or through a client that the program has. */

import { isHttpUrl } from "../config/bindings.ts";
import { isCount } from "../core/algorithm.ts";
import { algorithmOf } from "../core/algorithms.ts";
import { Flag, HEAD_COSTS, HEAD_FLAGS, HEAD_LIMITS, HEAD_ONCE, liveKey } from "../core/layout.ts";
import { type Replied, repliedOf, sentOf } from "../core/once.ts";
import { recordIdOf } from "../core/records.ts";
import {
  decides,
  keysOfRequest,
  type LimitReply,
  type LimitRequest,
  replyOf,
  type TakeReply,
  type TakeRequest,
} from "../core/take.ts";
import { failureOf } from "./failure.ts";
import type { LiveStorage } from "./live.ts";
import { type RedisClient, RedisError } from "./redis/client.ts";
import { commandClient, type RedisCommand } from "./redis/command.ts";
import { restClient } from "./redis/rest.ts";
import { LIVE, LIVE_KEY_LOCKING, TAKE, TAKE_KEY_LOCKING } from "./redis/script.generated.ts";
import { scriptRunner } from "./redis/script.ts";
import { DEFAULT_TIMEOUT_MS, type LateReply, type Store, StoreError } from "./store.ts";

export type { RedisCommand };

/** Which Redis, and how long a call may take: see `RedisStoreOptions`. */
type RedisPlaceOptions = { readonly [O in "url" | "token" | "keySecret"]?: string } & {
  readonly command?: RedisCommand;
  readonly timeoutMs?: number;
};

interface RedisPlace extends Store {
  /** See `evictionOf`. A Redis without `maxmemory` is never full. */
  eviction(): Promise<string | undefined>;
}

/**
 * Every decision is one call of one atomic script, which reads the clock of Redis.
 *
 * No I/O until the first take: may be called at module scope.
 *
 * @throws {TypeError} if `url` is not an http(s) URL or holds credentials, if `token` is empty or holds white space, if
 * `keySecret` has less than 16 characters, if both or none of `url` and `command` are given, or if `timeoutMs` is not a
 * positive integer.
 */
export function redisPlace(options: RedisPlaceOptions): RedisPlace {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) {
    throw new TypeError(`redisStore: timeoutMs must be a positive integer, found ${String(timeoutMs)}`);
  }
  const { client, keySecret } = reach(options, timeoutMs);
  const run = scriptRunner(client, { plain: TAKE, keyLocking: TAKE_KEY_LOCKING });
  /** How far Redis's clock is ahead of the local one, in ms. Learned only when it has made a difference. */
  let aheadMs = 0;

  return {
    kind: "redis",
    keySecret,
    timeoutMs,

    async take(request, nowMs = 0, budgetMs) {
      const decode = (reply: unknown) => decodeReply(reply, request);
      const args = encodeRequest(request, nowMs, Date.now() + aheadMs - BOUNDS_SLACK_MS);
      const again = (reply: unknown) => {
        const clockMs = clockWithoutPeriod(reply);
        if (clockMs === undefined) return undefined;
        aheadMs = clockMs - Date.now();
        return encodeRequest(request, nowMs, clockMs);
      };
      try {
        return decode(await run(keysOfRequest(request), args, budgetMs, again));
      } catch (error) {
        return asStoreError(error, decode);
      }
    },

    async reset(keys) {
      if (keys.length > 0) await client.run((redis) => redis.del(...keys)).catch(asStoreError);
    },

    async ping() {
      const answer = await client.run((redis) => redis.ping()).catch(asStoreError);
      if (answer !== "PONG") throw new StoreError("MALFORMED_REPLY");
    },

    eviction,

    async warning() {
      const policy = (await eviction()) ?? "noeviction";
      if (policy === "noeviction") return undefined;
      return `Redis forgets counts when it is full, and clients then get more than their limits: set maxmemory-policy to noeviction, found ${policy}`;
    },

    live: redisLive(client),
  };

  async function eviction(): Promise<string | undefined> {
    // Not every Redis allows INFO, or says its policy there.
    const memory = String(await client.run((redis) => redis.info("memory")).catch(() => undefined));
    if (/^maxmemory:0\b/m.test(memory)) return "noeviction";
    return /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
  }
}

/** By which policy this Redis forgets keys when it is full. Undefined: it does not say, or is no Redis. */
export async function evictionOf(store: Store): Promise<string | undefined> {
  return await (store as Partial<RedisPlace>).eviction?.();
}

/** The client of this Redis, and the secret for hashing client keys. */
function reach(
  { url, token, command, keySecret }: RedisPlaceOptions,
  timeoutMs: number,
): { readonly client: RedisClient; readonly keySecret: string } {
  if (command !== undefined) {
    if (url !== undefined || token !== undefined) {
      throw new TypeError("redisStore: expected either command, or url and token, found both");
    }
    // Without one `createLimiter` must have it.
    if (keySecret !== undefined && (typeof keySecret !== "string" || keySecret.length < 16)) {
      throw new TypeError("redisStore: keySecret must have at least 16 characters, found a value that is not shown");
    }
    return { client: commandClient({ command, timeoutMs }), keySecret: keySecret ?? "" };
  }
  // With a bad URL every call would fail like a broken network.
  if (!isHttpUrl(url)) {
    const instead = "the REST URL, not redis://; over TCP give a command";
    throw new TypeError(`redisStore: url must be an http(s) URL without credentials (${instead})`);
  }
  if (typeof token !== "string" || !/^\S+$/.test(token)) {
    throw new TypeError("redisStore: token must not be empty, and hold no white space");
  }
  if (keySecret !== undefined) {
    throw new TypeError("redisStore: keySecret belongs to command; beside url and token give it to createLimiter");
  }
  return { client: restClient({ url, token, timeoutMs }), keySecret: token };
}

/**
 * The bounds of calendar limits are those of this long ago, and of the next period: two clocks that differ by less
 * never cost a second call.
 */
const BOUNDS_SLACK_MS = 60_000;

/** ARGV of lua/take.lua. @param clockMs as far as it is known, the clock that decides if `nowMs` is 0. */
export function encodeRequest(
  { keys, slot = 0, ...request }: TakeRequest,
  nowMs: number,
  clockMs = Date.now(),
): number[] {
  // Every argument costs Redis time: an instant and a slot are sent only where they say something.
  const args: number[] = [nowMs];
  for (const { group, cost, limits, once, flag = request.flag, atMs = request.atMs } of keys) {
    const beforeCost = group * HEAD_ONCE + Number(once !== undefined);
    args.push(((beforeCost * HEAD_COSTS + cost) * HEAD_LIMITS + limits.length) * HEAD_FLAGS + flag);
    if (once) args.push(once.forMs, sentOf(once, flag));
    for (const limit of limits) {
      const { encode, periods } = algorithmOf(limit);
      const [, , ...more] = encode(limit);
      args.push(limit.limit, recordIdOf(limit), ...more);
      if (periods) args.push(...periods.boundsAt(limit, nowMs || clockMs));
      if (!decides(flag)) args.push(...instantOf(limit, flag, atMs));
    }
  }
  if (slot) args.push(slot);
  return args;
}

/** The instant in what the script gets about a limit of a key that nobody decides about. */
function instantOf(limit: LimitRequest, flag: Flag, keyAtMs = 0): number[] {
  const { periods } = algorithmOf(limit);
  if (flag === Flag.chargeAnyway) return periods ? [limit.atMs ? periods.lastAtMs(limit, limit.atMs) : 0] : [];
  const atMs = limit.atMs ?? keyAtMs;
  return [periods ? periods.lastAtMs(limit, atMs) : atMs];
}

/** Redis's clock, if it is in none of the periods that it was told. Then the script has done nothing. */
function clockWithoutPeriod(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 1) return undefined;
  return isCount(reply[0]) ? reply[0] : undefined;
}

const NOTHING: Replied = {};

/** Reads the flat reply of lua/take.lua. @throws {StoreError} if the reply is something else. */
function decodeReply(reply: unknown, request: TakeRequest): TakeReply {
  if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger)) throw new StoreError("MALFORMED_REPLY");
  const integers: number[] = reply;
  const [nowMs = -1] = integers;
  let at = 1;
  let isOurs = nowMs >= 0;
  const decoded = request.keys.map(({ limits, once }) => {
    const repetition = once ? repliedOf(integers[at++]!) : NOTHING;
    isOurs &&= repetition !== undefined;
    return limits.map((limit): LimitReply => {
      const algorithm = algorithmOf(limit);
      const from = at;
      at += 1 + algorithm.viewLength(limit);
      const mark = integers[from]!;
      const view = integers.slice(from + 1, at);
      isOurs &&= Math.abs(mark) === recordIdOf(limit) && view.every((integer) => integer >= 0);
      return { refused: mark < 0, view: algorithm.decode(view, limit), ...repetition };
    });
  });
  if (!isOurs || at !== integers.length) {
    // Redis's clock has stepped between two calls.
    throw new StoreError(clockWithoutPeriod(reply) === undefined ? "MALFORMED_REPLY" : "REJECTED");
  }
  return replyOf(request, nowMs, decoded);
}

/** The live document: runs lua/live.lua. */
function redisLive(client: RedisClient): LiveStorage {
  const scripts = { plain: LIVE, keyLocking: LIVE_KEY_LOCKING };
  // What waits for the document has a timer of its own.
  const look = scriptRunner({ ...client, run: client.runIdle }, scripts);
  const change = scriptRunner(client, scripts);
  /** The mark of the text that was read or written last, by key. */
  const marks = new Map<string, string>();
  return {
    async read(known, budgetMs, namespace = "") {
      const key = liveKey(namespace);
      const earlier = marks.get(key) ?? "";
      const asked = look([key], [known ?? 0, known === undefined ? "" : earlier], budgetMs);
      const [version, mark, text] = decodeLive(await asked.catch(asStoreError));
      const last = typeof mark === "string" ? mark : "";
      marks.set(key, last);
      if (version === known && last === earlier) return undefined;
      return { version, text: typeof text === "string" ? text : undefined };
    },
    async write(text, version, namespace = "") {
      const [key, mark] = [liveKey(namespace), crypto.randomUUID()];
      const [written] = decodeLive(await change([key], [version, mark, text]).catch(asStoreError));
      if (written === 0) return undefined;
      marks.set(key, mark);
      return written;
    },
  };
}

/** @throws {StoreError} if it is no reply of lua/live.lua. */
function decodeLive(reply: unknown): [version: number, mark?: unknown, text?: unknown] {
  const [version, mark, text] = Array.isArray(reply) ? reply : [];
  if (!Number.isSafeInteger(version) || version < 0) throw new StoreError("MALFORMED_REPLY");
  return [version, mark, text];
}

/** @param decode reads a reply that arrives after its budget. Absent: such a reply says nothing of use. */
function asStoreError(error: unknown, decode?: (reply: unknown) => unknown): never {
  if (!(error instanceof RedisError)) throw failureOf(error);
  const { code, reply, timeout } = error;
  if (timeout && decode) {
    // No reply, or not one of the script: nothing is known.
    const answer = timeout.answer.then(decode).catch(() => undefined);
    throw new StoreError("TIMEOUT", undefined, { ...timeout, answer } as LateReply);
  }
  if (code !== "REPLY") throw new StoreError(code);
  if (reply === "UNAUTHORIZED" || reply === "CROSSSLOT") throw new StoreError(reply);
  throw new StoreError("REDIS", reply);
}
