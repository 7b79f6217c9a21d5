/**
 * The contract of every store. `describeStore` (src/testing) is this contract as tests: a store must pass them.
 *
 * A store holds counts and decides with them, atomically: a take that runs beside another take sees all of its charges
 * or none. The store owns the clock: callers whose clocks disagree still share one window.
 */

import type { TakeReply, TakeRequest } from "../core/take.ts";
import type { LiveStorage } from "./live.ts";

/**
 * The place that holds the counts: what `redisStore` or `memoryStore` makes, or a store of your own. A store that is
 * far away gets from `remoteStore` what an instance adds: see docs/stores.md.
 */
export interface Store {
  /**
   * The store's own word, which decisions name as their `source`: `redis`, `memory`, or any other word but `cache`,
   * `lease`, `shared`, `fallback` and `live`.
   */
  readonly kind: string;

  /** The secret for hashing client keys when the operator gives none. Empty: the operator must. */
  readonly keySecret: string;

  /** Time budget of one call in milliseconds; absent: calls need no budget. */
  readonly timeoutMs?: number;

  /** `open`: the store is only probed at the moment, about once a second; absent: it is always called. */
  breaker?(): "closed" | "open";

  /**
   * Checks every limit of the request, then counts under all of them or none (the rules: kernel/core/take.ts).
   *
   * `nowMs` replaces the store's clock, in ms since the epoch: tests and simulation only; absent: the store's clock.
   *
   * `budgetMs` is the time that the decision has left, in milliseconds; absent: `timeoutMs`.
   *
   * @throws {StoreError} if the store does not answer. A refusal is an answer.
   */
  take(request: TakeRequest, nowMs?: number, budgetMs?: number): Promise<TakeReply>;

  /** Forgets the counts of these keys. @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;

  /** Makes one round trip: its duration is the latency. @throws {StoreError} */
  ping(): Promise<void>;

  /** What its operator must change, a sentence for health and log. Undefined: nothing. @throws {StoreError} */
  warning?(): Promise<string | undefined>;

  /** Where the live document lies; absent: this store keeps none. */
  readonly live?: LiveStorage;
}

/** The time budget of one call of a store that is far away, in milliseconds, unless another one is given. */
export const DEFAULT_TIMEOUT_MS = 250;

/** Why a store gave no answer. Logs and health show this code, and nothing of the failure's own text. */
export type StoreErrorCode =
  /** The store was not called: its breaker is open. */
  | "OPEN"
  /** No reply within the time budget. */
  | "TIMEOUT"
  /**
   * The request made no call: it waited for the answer to another call until its time budget ended, or the store had no
   * answer to an earlier attempt of the same decision.
   */
  | "WAITED"
  /** There is no connection to the store: the call was not sent. */
  | "OFFLINE"
  /** The connection failed, or broke before the reply: the take may have run. */
  | "NETWORK"
  /** The store has refused the call because it has too many: the take did not run. */
  | "OVERLOADED"
  /**
   * The store works, and does not take this request: nothing was counted. It is wrong, or newer than the store: while a
   * deploy goes on, an older Durable Object meets new kinds of limits.
   */
  | "REJECTED"
  /** The REST service refused the token. */
  | "UNAUTHORIZED"
  /** This request has made all the calls that its platform allows. Other requests may still call the store. */
  | "SUBREQUESTS"
  /** The reply does not have the form of the script's replies. */
  | "MALFORMED_REPLY"
  /** The keys of one call lie in several hash slots of a Redis Cluster: it did not run. `redisStore` then asks each. */
  | "CROSSSLOT"
  /** Any other error of Redis or the service; `redisCode` is its first word. */
  | "REDIS"
  /** The store threw an error that is not a `StoreError`; the console shows it. The take may have run. */
  | "UNKNOWN";

/** Errors of a cluster node about keys of other nodes: nothing was charged, and the node can serve its own keys. */
const OF_OTHER_NODES = "CROSSSLOT MOVED ASK TRYAGAIN";
/** Refused before the command ran: nothing was charged. */
const BEFORE_IT_RAN =
  "OPEN WAITED OFFLINE OVERLOADED REJECTED SUBREQUESTS UNAUTHORIZED DENIED EXCEEDED SUSPENDED ARCHIVED LOADING BUSY NOSCRIPT CLUSTERDOWN";
/** Refused at the first read (a stale replica) or the first write: nothing was charged (lua/take.lua sees to it). */
const BEFORE_IT_WROTE = "MASTERDOWN READONLY OOM MISCONF NOREPLICAS";

const NOT_RUN = `${OF_OTHER_NODES} ${BEFORE_IT_RAN} ${BEFORE_IT_WROTE}`.split(" ");
/** Errors that concern one command or request, and say nothing about the next. */
const OF_ONE_COMMAND = `${OF_OTHER_NODES} REJECTED SUBREQUESTS WRONGTYPE SCRIPT`.split(" ");

/** What is known about a take whose time budget is spent. */
export interface LateReply {
  /** The reply if it still arrives; `undefined` if it does not. Never rejects. */
  readonly answer: Promise<TakeReply | undefined>;
  /**
   * Whether the store has failed: no reply within a second budget, or, if this instance is too busy to read replies,
   * within 2 s more. Never rejects.
   */
  readonly hasFailed: Promise<boolean>;
  /** The number of the call in the memory of the instance that has made it. */
  readonly call?: number;
}

/** A store gave no answer. The text of this error has no key, token, address or command body. */
export class StoreError extends Error {
  /** Why there is no answer, as far as it is known. */
  readonly code: StoreErrorCode;
  /** The first word of Redis's error, for example `READONLY`. */
  readonly redisCode: string | undefined;
  /** True: the take did not run. False: it may have run, and is never sent or counted again. */
  readonly notRun: boolean;
  /** True: the store works, and only this request cannot be answered. */
  readonly isReply: boolean;
  /** Only with code `TIMEOUT`: what is known later about the call. */
  readonly timeout: LateReply | undefined;

  constructor(code: StoreErrorCode, redisCode?: string, timeout?: LateReply) {
    super(redisCode ? `store: ${code} (${redisCode})` : `store: ${code}`);
    this.name = "StoreError";
    this.code = code;
    this.redisCode = redisCode;
    this.notRun = NOT_RUN.includes(redisCode ?? code);
    this.isReply = OF_ONE_COMMAND.includes(redisCode ?? code);
    this.timeout = timeout;
  }
}
