/** A request on its way through the limiter, and its answer. */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { MatchedReservation } from "../limiter/reservation.ts";
import type { Background } from "../place/taker.ts";
import { type AnswerHeaders, addRateLimitFields, isForMany } from "./headers.ts";
import { linger } from "./linger.ts";
import type { Matched } from "./match.ts";

/** What is known beside a request. */
export interface PassageOptions {
  /** Where work goes on after the answer: releasing slots, taking leases ahead of demand. */
  readonly background?: Background | undefined;
  /** The argument of the program's own functions. Default: the request. */
  readonly c?: unknown;
  /** Reads the address that the key `ip` counts. Absent: it is where Cloudflare's edge says it. */
  readonly address?: (() => string | null | undefined) | undefined;
}

/** Where the work of a request to a Hono app may go on. Undefined: outside of a Worker there is no such place. */
export function backgroundOf<B extends Background>(c: { readonly executionCtx: B }): B | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

/** A request on its way. Whoever has the request makes it. What a feature knows of it, the feature keeps on it. */
export abstract class Passage {
  /** As it is counted. Elsewhere than in front of fetch handlers it has no more than the head. */
  declare readonly request: Request;
  /** What goes on to the handler. */
  declare outgoing: Request;
  /** The same object for every middleware around one request. */
  declare readonly same: object;
  declare readonly background: Background | undefined;
  declare readonly c: unknown;
  declare readonly address: PassageOptions["address"];
  /** The policies of the request. */
  declare matched: readonly Matched[];
  declare decision?: Decision;
  declare decidedAtMs: number;
  /** Some policy of the request settles afterwards: its units are reserved. */
  declare isReserving?: boolean;
  /** Absent: what is charged stays charged. */
  declare reservation?: MatchedReservation;
  /** The region that answers. */
  declare region: () => string;
  declare rateLimitHeaders: RateLimitHeaders;
  /** Answers that shared caches may keep get our fields, too. */
  declare isForCaches: boolean;
  /** What features keep. */
  [kept: symbol]: unknown;

  constructor(request: Request, outgoing: Request, { background, c = request, address }: PassageOptions) {
    this.request = request;
    this.outgoing = outgoing;
    this.same = outgoing;
    this.background = background;
    this.c = c;
    this.address = address;
  }

  /** Whether the client has left. */
  abstract isGone(): boolean;
  /** Aborted when the client leaves. */
  abstract leaving(): AbortSignal;
  /** The outgoing request with a body that nobody has read. Default: the request as it came. */
  abstract unread(outgoing?: Request): Request | Promise<Request>;
  /** The outgoing request with another value of a header field. undefined: without the field. */
  abstract withHeader(outgoing: Request, name: string, value: string | undefined): Request | Promise<Request>;
  /** Runs `answer`. When the client has left, the status of the handler is waited for, for up to 20 s. */
  abstract lingering<T>(answer: () => Promise<T>): Promise<T>;
  /** Lets the handler answer. Of an answer that the handler writes itself, only the status is known. */
  abstract handle(outgoing: Request): Response | Promise<Response>;
  /** The handler's answer with our fields, if it has not got them yet. */
  abstract complete(answer: Response): Response;

  /** Has `look` called with each head of the handler's answer, before our fields are added. It may change fields. */
  beforeFields(look: (headers: AnswerHeaders) => void): void {
    const { addFields } = this;
    this.addFields = (headers) => {
      look(headers);
      addFields.call(this, headers);
    };
  }

  /**
   * Adds our fields after the answer's own. Call it when the answer begins, once for each head. A fallback decision
   * knows no true numbers and gets no fields, nor does an answer that a cache may keep for other clients.
   */
  addFields(headers: AnswerHeaders): void {
    const { request, decidedAtMs, rateLimitHeaders } = this;
    const { source, limits, allowed }: Decision = this.decision!;
    if (source === "fallback" || (!this.isForCaches && isForMany(headers, Date.now()))) return;
    // The waits of a refusal begin with its decision, as that of `Retry-After` does: both name the same second. The
    // clock may have stepped back.
    const elapsedMs = allowed ? Math.max(0, Date.now() - decidedAtMs) : 0;
    const fields = addRateLimitFields(headers, rateLimitHeaders, limits, decidedAtMs, elapsedMs);
    // Pages of another origin may read our fields: the CORS headers of the origin server do not name them.
    if (fields.length > 0 && request.headers.has("Origin")) {
      headers.append("Access-Control-Expose-Headers", fields.join(", "));
    }
  }
}

/** What a feature keeps on a passage. Nobody else finds it. A WeakMap would take 5 µs of each request on Node. */
export class Kept<T> {
  readonly #key = Symbol();

  of(passage: Passage): T | undefined {
    return passage[this.#key] as T | undefined;
  }

  set(passage: Passage, value: T | undefined): void {
    passage[this.#key] = value;
  }
}

export type Next = (request: Request) => Response | Promise<Response>;

/** A request in front of a fetch handler: in the gateway, `withRateLimit` and Hono. */
export class FetchPassage extends Passage {
  declare readonly handle: Next;
  declare private readonly unreadAgain: (() => Promise<Request>) | undefined;

  /** @param unread makes the request with a body that nobody has read. Absent: it is the request that was given. */
  constructor(request: Request, next: Next, given: PassageOptions = {}, unread?: () => Promise<Request>) {
    super(request, request, given);
    this.handle = next;
    this.unreadAgain = unread;
  }

  isGone(): boolean {
    return this.request.signal.aborted;
  }

  leaving(): AbortSignal {
    return this.request.signal;
  }

  /** A request that goes on as it came may have been read. */
  unread(outgoing: Request = this.request): Request | Promise<Request> {
    return outgoing === this.request ? (this.unreadAgain?.() ?? outgoing) : outgoing;
  }

  async withHeader(outgoing: Request, name: string, value: string | undefined): Promise<Request> {
    const copy = copyOf(await this.unread(outgoing));
    if (value === undefined) copy.headers.delete(name);
    else copy.headers.set(name, value);
    return copy;
  }

  async lingering<T>(answer: () => Promise<T>): Promise<T> {
    const { signal, until } = linger(this.request.signal);
    this.outgoing = copyOf(await this.unread(this.outgoing), signal);
    return await until(answer);
  }

  complete(answer: Response): Response {
    // The program's answer goes on as it is: it can get no fields.
    if (!isStatus(answer)) return answer;
    // It may be immutable, or be returned twice. A copy shares the body and the WebSocket.
    const response = new Response(answer.body, answer);
    this.addFields(response.headers);
    return response;
  }
}

/** A program that has read the body itself has it already: its copy is without one. */
function copyOf(request: Request, signal = request.signal): Request {
  const { url, method, headers, cf, bodyUsed, body } = request;
  if (!bodyUsed && !body?.locked) return new Request(request, { signal });
  return new Request(url, { method, headers, signal, ...(cf && { cf }) } as RequestInit);
}

/** Answers that stand in for a status that nobody has learned. */
const unlearned = new WeakSet<Response>();

/** Marks an answer of our own in place of an origin that has told no status: it may have done its work. */
export function withoutStatus(answer: Response): Response {
  unlearned.add(answer);
  return answer;
}

/** Whether nobody has learned the status that the answer stands for. */
export function isUnlearned(answer: Response): boolean {
  return unlearned.has(answer);
}

/** Whether HTTP has the status of an answer. With any other one, which `fetch` may give, no `Response` can be made. */
export function isStatus({ status }: Response): boolean {
  return status <= 599;
}
