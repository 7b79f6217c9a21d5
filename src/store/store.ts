/**
 * What every store promises. `test/store/contract.ts` is this text as tests; a store is done when it passes them.
 *
 * A store holds counts and decides over them, atomically: of two takes that run at once, one sees all of the other's
 * charges or none. It owns the clock, so that callers whose clocks disagree still share one window.
 */

import type { KeyRequest, TakeReply, TakeRequest } from "../core/take.ts";

/** Where counts are held, made by `redisStore` or `memoryStore`. */
export interface Store {
  /** `memory`: limits hold for this isolate only. */
  readonly kind: "redis" | "memory";

  /** Secret material from which client keys are hashed when the operator gave no secret of their own. */
  readonly keySecret: string;

  /** Time budget of one call in milliseconds; absent: calls take no time worth a budget. */
  readonly timeoutMs?: number;

  /** Whether calls are made at all; absent: always. */
  breaker?(): "closed" | "open";

  /**
   * Checks every limit of the request, then charges all or none (core/take.ts has the law).
   *
   * `nowMs` replaces the store's clock, in ms since the epoch: tests and simulation only; absent: the store's clock.
   *
   * `budgetMs` is what the decision has left of its time, in milliseconds; absent: `timeoutMs`.
   *
   * @throws {StoreError} when there is no answer to be had. A refusal is an answer.
   */
  take(request: TakeRequest, nowMs?: number, budgetMs?: number): Promise<TakeReply>;

  /** Forgets the counts of these keys. @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;

  /** Answers when the store can; what it took is the latency. @throws {StoreError} */
  ping(): Promise<void>;
}

/** Why a store had no answer; goes into logs and health, never anything more of the failure's own text. */
export type StoreErrorCode =
  /** It was not asked: its breaker is open. */
  | "OPEN"
  /** No reply within the time budget. */
  | "TIMEOUT"
  /** The connection failed, or broke before the reply. */
  | "NETWORK"
  /** The REST service refused the token. */
  | "UNAUTHORIZED"
  /** This request has made as many calls as its platform allows. Others may still ask. */
  | "SUBREQUESTS"
  /** A reply that is none of the script's. */
  | "MALFORMED_REPLY"
  /** Keys of one decision lie in different slots of a Redis Cluster: only decisions over one policy work there. */
  | "CROSSSLOT"
  /** Anything else that Redis or the service answered; `redisCode` has its first word. */
  | "REDIS"
  /** The store threw something other than a `StoreError`; the console has it. It may have run. */
  | "UNKNOWN";

/** What a node of a cluster says of keys that are not its own: nothing was charged, and other keys are well. */
const OF_OTHER_NODES = "CROSSSLOT MOVED ASK TRYAGAIN";
/** Refused before the command ran: nothing was charged. */
const BEFORE_IT_RAN = "OPEN SUBREQUESTS UNAUTHORIZED DENIED EXCEEDED LOADING BUSY NOSCRIPT CLUSTERDOWN";
/** Refused with its first look (a stale replica) or its first write: nothing was charged either. lua/take.lua sees to the last. */
const BEFORE_IT_WROTE = "MASTERDOWN READONLY OOM MISCONF NOREPLICAS";

const NOT_RUN = `${OF_OTHER_NODES} ${BEFORE_IT_RAN} ${BEFORE_IT_WROTE}`.split(" ");
/** What is true of one command or request, and not of every other. */
const OF_ONE_COMMAND = `${OF_OTHER_NODES} SUBREQUESTS WRONGTYPE SCRIPT`.split(" ");

/** What is known of a take whose time budget is spent. */
export interface LateReply {
  /** The reply if it still arrives, `undefined` if it does not. Never rejects. */
  readonly answer: Promise<TakeReply | undefined>;
  /**
   * Whether the store has failed: no reply within a second budget, or within 2 s more if this isolate is too busy to read replies.
   * Never rejects.
   */
  readonly hasFailed: Promise<boolean>;
  /** What the store was asked for, if it was another cost than that of the decision: leases ask for more, or for less. */
  readonly asked?: readonly KeyRequest[];
}

/** A store without an answer. Its text holds no key, token, address or command body. */
export class StoreError extends Error {
  /** What happened, as far as it is known. */
  readonly code: StoreErrorCode;
  /** The first word of Redis's own error, for example `READONLY`. */
  readonly redisCode: string | undefined;
  /** Known not to have run. Otherwise it may have: never asked again, never charged again. */
  readonly notRun: boolean;
  /** The store is well: this request alone cannot be answered. */
  readonly isReply: boolean;
  /** Only with code `TIMEOUT`: what may still become of the call. */
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
