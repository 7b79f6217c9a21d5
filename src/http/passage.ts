/** A request in front of a fetch handler: in the gateway, `withRateLimit` and Hono. */

import type { Background } from "../limiter.ts";
import type { Passage } from "./feature.ts";
import type { Matched } from "./match.ts";
import { isStatus } from "./status.ts";

export type Next = (request: Request) => Response | Promise<Response>;

/** What a middleware knows beside the request. */
export interface Given {
  /** Default: the request. */
  readonly c?: unknown;
  readonly platform?: unknown;
  /** The request with a body that nobody has read. Absent: the request that was given. */
  readonly unread?: () => Promise<Request>;
}

export class FetchPassage implements Passage {
  readonly request: Request;
  outgoing: Request;
  readonly same: Request;
  readonly background: Background | undefined;
  readonly c: unknown;
  readonly platform: unknown;
  matched: readonly Matched[] = [];
  decidedAtMs = 0;
  region!: Passage["region"];
  addFields!: Passage["addFields"];
  readonly #next: Next;
  readonly #unread: Given["unread"];

  constructor(
    request: Request,
    next: Next,
    background: Background | undefined,
    { c = request, platform, unread }: Given = {},
  ) {
    this.request = request;
    this.outgoing = request;
    this.same = request;
    this.background = background;
    this.c = c;
    this.platform = platform;
    this.#next = next;
    this.#unread = unread;
  }

  isGone(): boolean {
    return this.request.signal.aborted;
  }

  leaving(): AbortSignal {
    return this.request.signal;
  }

  unread(): Request | Promise<Request> {
    return this.#unread?.() ?? this.request;
  }

  /** A request that goes on as it came may have been read. */
  async withHeader(outgoing: Request, name: string, value: string | undefined): Promise<Request> {
    const copy = copyOf(outgoing === this.request ? await this.unread() : outgoing);
    if (value === undefined) copy.headers.delete(name);
    else copy.headers.set(name, value);
    return copy;
  }

  async handle(outgoing: Request): Promise<Response> {
    return await this.#next(outgoing);
  }

  complete(answer: Response): Response {
    // The program's answer goes on as it is: it can get no fields.
    if (!isStatus(answer)) return answer;
    const response = changeable(answer);
    this.addFields(response.headers);
    return response;
  }
}

/** A program that has read the body itself has it already: its copy is without one. */
function copyOf(request: Request): Request {
  const { url, method, headers, signal, cf, bodyUsed, body } = request;
  if (!bodyUsed && !body?.locked) return new Request(request, { signal });
  return new Request(url, { method, headers, signal, ...(cf && { cf }) } as RequestInit);
}

/** A response of another program may be immutable, or be returned twice. A copy shares the body and the WebSocket. */
export function changeable(response: Response): Response {
  return new Response(response.body, response);
}
