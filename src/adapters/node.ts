/**
 * A request and an answer of `node:http`, of `node:http2` and of what is built on them, without their types: what
 * enforcing needs of a request, and how header fields get into an answer that somebody else writes.
 */

import { type Held, keepParts } from "../features/slots/keep-slots.ts";
import type { AnswerHeaders } from "../kernel/http/headers.ts";
import { LINGER_MS } from "../kernel/http/linger.ts";
import type { Matched, Matcher } from "../kernel/http/match.ts";
import { Passage, withoutStatus } from "../kernel/http/passage.ts";
import type { Background } from "../kernel/place/taker.ts";
import type { RequestHead } from "../kernel/request/request-head.ts";
import type { ReadAddress } from "../kernel/request/sources.ts";
import { setIdleTimeout } from "../kernel/sleep.ts";

/** A request of `node:http`, `node:http2`, Connect or Express. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** What the client has sent, where a router shortens `url` to what is behind its own path. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** True: the server has handed its socket over, to be a WebSocket for example. */
  readonly upgrade?: boolean | undefined;
  readonly socket: {
    readonly remoteAddress?: string | undefined;
    readonly destroyed?: boolean;
    destroy?(): unknown;
    once?(name: "close", listener: () => void): unknown;
  };
  /** HTTP/2: whether there is no body. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
  /** What a parser in front has made of the body. */
  readonly body?: unknown;
}

type FieldValue = number | string | readonly string[];

/** An answer of `node:http`, `node:http2`, Connect or Express. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  /** True when the answer has ended, and when nobody will get it. */
  readonly destroyed?: boolean;
  /** null: an earlier answer on the connection has not ended. */
  readonly socket?: object | null | undefined;
  /** HTTP/2, where the answer itself does not know. */
  readonly stream?: { readonly destroyed?: boolean };
  getHeader(name: string): FieldValue | undefined;
  getHeaders(): Readonly<Record<string, FieldValue | undefined>>;
  setHeader(name: string, value: string | readonly string[]): unknown;
  removeHeader(name: string): void;
  writeHead(statusCode: number): unknown;
  end(body: Uint8Array): unknown;
  destroy(error?: Error): unknown;
  once(name: "close", listener: () => void): unknown;
}

/** A program that serves with Node goes on after an answer. What fails there has been handled. */
const BACKGROUND: Background = {
  waitUntil(work) {
    work.catch(() => undefined);
  },
};

/** A request in front of handlers that write the answer themselves. They get our fields when they write its head. */
export class NodePassage<Req extends NodeRequest = NodeRequest> extends Passage {
  readonly req: Req;
  readonly res: NodeResponse;
  readonly #next: () => void;
  /** Whether the handlers answer. */
  isHandled = false;
  /** Called when they have been called. Absent: nobody waits for that. */
  handled?: () => void;
  /** Resolves the status of an answer whose client has left before its head was written. */
  #left = (resolve: (answer: Response) => void): void => resolve(UNHEARD);

  constructor(req: Req, res: NodeResponse, next: () => void, addressOf?: ReadAddress) {
    // What features in front of Node look at is in the head.
    const head = headOf(req) as Request;
    const address = addressOf && (() => addressOf(head, { incoming: req }));
    super(head, req as unknown as Request, { background: BACKGROUND, c: { req, res }, address });
    this.req = req;
    this.res = res;
    this.#next = next;
  }

  isGone(): boolean {
    return isClosed(this.req, this.res);
  }

  leaving(): AbortSignal {
    const left = new AbortController();
    whenClosed(this.req, this.res, () => left.abort());
    return left.signal;
  }

  unread(): Request {
    return this.outgoing;
  }

  withHeader(outgoing: Request, name: string, value: string | undefined): Request {
    setHeader(this.req, name, value);
    return outgoing;
  }

  /** What a handler writes to a client that has left has no head: its status is read when it ends the answer. */
  lingering<T>(answer: () => Promise<T>): Promise<T> {
    const { res } = this;
    this.#left = (resolve) => {
      this.#left = () => {};
      // A head that was written has been heard.
      if (res.headersSent) return;
      whenEnded(res, (isEnded) => {
        if (isEnded && !res.headersSent) this.addFields(fieldsOf(res, () => {}));
        resolve(isEnded ? ({ status: res.statusCode } as Response) : UNHEARD);
      });
    };
    return answer();
  }

  handle(): Promise<Response> {
    this.isHandled = true;
    // What `next` throws is no error of ours: it must not be given to `next` again.
    Promise.resolve()
      .then(() => this.#next())
      .finally(() => this.handled?.());
    // Nothing was decided: nothing waits for the status.
    if (!this.decision) return Promise.resolve(UNHEARD);
    return new Promise((resolve) => {
      const written = (status: number) => resolve({ status } as Response);
      beforeHead(this.res, (fields) => this.addFields(fields), written);
      whenClosed(this.req, this.res, () => this.#left(resolve));
    });
  }

  complete(answer: Response): Response {
    return answer;
  }
}

/** An answer whose status nobody has learned. */
const UNHEARD = withoutStatus({ status: 0 } as Response);

/**
 * Keeps slots until the answer has ended, or its client has left: of a WebSocket until its socket has closed. Nobody
 * writes a head there, so a handshake counts as ended when the handlers have been called.
 */
export async function keepUntilClosed(
  passage: Passage,
  held: Held,
  answer: () => Promise<Response>,
): Promise<Response> {
  const node = passage as NodePassage;
  const { req, res, background } = node;
  const end = keepParts(held, background, (error) => cut(node, error));
  if (req.upgrade) node.handled = () => end(({ sockets }) => sockets === "handshake");
  whenClosed(req, res, () => {
    // A handler works on although its client has left, and a slot is for its work. That of a socket ends with it.
    if (node.isHandled && !res.headersSent && !req.upgrade) whenEnded(res, () => end());
    else end();
  });
  return await answer();
}

/** Ends a request. One that has become a WebSocket has no answer: its socket ends. */
function cut({ req, res }: NodePassage, error: Error): void {
  if (req.upgrade) req.socket.destroy?.();
  else res.destroy(error);
}

/** The head of a request, with the URL that `URL` can read. */
export function headOf(request: NodeRequest): RequestHead {
  const { method = "GET", url, originalUrl = url, headers } = request;
  const body = hasBody(request) ? request : null;
  return { method, url: `${hostOf(headers)}${pathOf(originalUrl)}`, headers: sentFields(headers), body };
}

/** Whether a request has a body. One of HTTP/1 has none without these fields. */
export function hasBody({ headers, stream }: NodeRequest): boolean {
  const length = headers["content-length"];
  if (length !== undefined) return Number(length) > 0;
  return headers["transfer-encoding"] !== undefined || stream?.endAfterHeaders === false;
}

/** Changes what handlers find among the headers of a request. @param value undefined: it goes. */
export function setHeader({ headers }: NodeRequest, name: string, value: string | undefined): void {
  const changed = headers as Record<string, string | string[] | undefined>;
  if (value === undefined) delete changed[name.toLowerCase()];
  else changed[name.toLowerCase()] = value;
}

/** Changes the target that handlers find, of which a router may have shortened the path. */
export function setTarget(request: NodeRequest, target: string): void {
  if (target !== request.url) Reflect.set(request, "url", target);
}

/** The fields that the client has sent, as `Headers` has them. */
function sentFields(headers: NodeRequest["headers"]): RequestHead["headers"] {
  const get = (name: string) => {
    const value = headers[name.toLowerCase()] as unknown;
    // An object without own fields still has a `constructor`.
    return typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : null;
  };
  return { get, has: (name) => get(name) !== null };
}

/** Node lets any text pass as a host. One with a slash would move the path; one that is no host counts as none. */
function hostOf(headers: NodeRequest["headers"]): string {
  const host = headers[":authority"] ?? headers.host;
  const url = `http://${host}`;
  return host !== undefined && !/[\s/?#@\\]/.test(String(host)) && URL.canParse(url) ? url : "http://invalid";
}

/** The target of a request line: a path, a whole URL of which routers read the path only, or `*`. */
function pathOf(target = "/"): string {
  if (target.startsWith("/")) return target;
  const path = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "");
  return /^[/?#]/.test(path) ? path : `/${path}`;
}

/** Cheap, and rarely true of a request that means no harm. */
const MAY_BE_RESOLVED = /\/\.|%2e|\\/i;
/** What `URL` resolves: segments of dots in any spelling, and backslashes. */
const RESOLVED = /(?<=\/)(?:\.|%2e){1,2}(?=\/|$)|\\/gi;

/**
 * The policies that match the path with its dots resolved, and those that match the path as it was sent. Routers of
 * Node do not resolve dots: `/files/../login` runs the handler of `/files/*`. What that handler asks may resolve them.
 */
export function matchAsSent(match: Matcher, head: RequestHead): readonly Matched[] {
  const matched = match(head);
  const { url } = head;
  if (!MAY_BE_RESOLVED.test(url)) return matched;
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  const sent = path.replace(RESOLVED, (found) => (found === "\\" ? "%5C" : "%252E"));
  if (sent === path) return matched;
  const all = new Map(matched.map((one) => [one.policy, one]));
  for (const one of match({ ...head, url: `${sent}${end < 0 ? "" : url.slice(end)}` })) {
    const known = all.get(one.policy);
    all.set(one.policy, known ? higher(known, one) : one);
  }
  return [...all.values()];
}

/** Two readings of one request under one policy: each cost is the higher one. */
function higher(one: Matched, { cost, costBy: other }: Matched): Matched {
  const { costBy } = one;
  const both: Matched["costBy"] = costBy && other && ((verdictOf) => max(costBy(verdictOf), other(verdictOf)));
  return { ...one, cost: Math.max(one.cost, cost), ...(both && { costBy: both }) };
}

function max(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

/** The fields that are set on an answer, as `Headers` has them. @param change called before a field is set. */
function fieldsOf(res: NodeResponse, change: (name: string) => void): AnswerHeaders {
  const get = (name: string) => {
    const value = res.getHeader(name);
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : String(value);
  };
  const set = (name: string, value: string) => {
    change(name);
    res.setHeader(name, value);
  };
  return {
    get,
    set,
    delete(name) {
      change(name);
      res.removeHeader(name);
    },
    append(name, value) {
      const before = get(name);
      set(name, before === null ? value : `${before}, ${value}`);
    },
  };
}

/**
 * Calls `add` when the head of the answer is written, whoever writes it: after all fields of the handler, and after
 * error handlers that remove all fields. Then calls `written` once, with the status.
 *
 * A head that cannot be written, because of its status or a field, throws. An error handler then writes another.
 */
function beforeHead(res: NodeResponse, add: (headers: AnswerHeaders) => void, written: (status: number) => void): void {
  const { writeHead } = res;
  let isAdded = false;
  res.writeHead = function writeHeadWithFields(status: number, ...rest: unknown[]) {
    if (isAdded || res.headersSent) return Reflect.apply(writeHead, res, [status, ...rest]) as unknown;
    const fields = rest.find((one) => typeof one === "object" && one !== null);
    if (fields) setAll(res, fields);
    const before = new Map<string, FieldValue | undefined>();
    isAdded = true;
    add(fieldsOf(res, (name) => before.has(name) || before.set(name, res.getHeader(name))));
    const texts = rest.filter((one) => typeof one === "string");
    let result: unknown;
    try {
      result = Reflect.apply(writeHead, res, [status, ...texts]);
    } catch (error) {
      for (const [name, value] of before) {
        if (value === undefined) res.removeHeader(name);
        else res.setHeader(name, typeof value === "number" ? String(value) : value);
      }
      isAdded = false;
      throw error;
    }
    written(status);
    return result;
  };
}

/** Sets what a handler gives to `writeHead`: an object, pairs, or names and values in turn. A name may come twice. */
function setAll(res: NodeResponse, given: object): void {
  const list = Array.isArray(given) ? (given as unknown[]) : Object.entries(given);
  const pairs = Array.isArray(list[0]) ? (list as [string, FieldValue][]) : pairsOf(list as FieldValue[]);
  const fields = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of pairs) {
    if (value === undefined) continue;
    const known = fields.get(name.toLowerCase()) ?? { name, values: [] };
    known.values.push(...[value].flat().map(String));
    fields.set(name.toLowerCase(), known);
  }
  for (const { name, values } of fields.values()) res.setHeader(name, values.length === 1 ? values[0]! : values);
}

function pairsOf(list: readonly FieldValue[]): [string, FieldValue][] {
  return list.flatMap((name, i) => (i % 2 === 0 ? [[String(name), list[i + 1]!] as [string, FieldValue]] : []));
}

/** The fields that earlier middleware has set. */
export function earlierFields(res: NodeResponse): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(res.getHeaders())) {
    for (const one of [value ?? []].flat()) headers.append(name, String(one));
  }
  return headers;
}

/** Writes a whole answer, in place of every field that is set. */
export async function writeAnswer(res: NodeResponse, answer: Response): Promise<void> {
  const body = new Uint8Array(await answer.arrayBuffer());
  if (res.headersSent) return;
  for (const name of Object.keys(res.getHeaders())) res.removeHeader(name);
  for (const [name, value] of answer.headers) if (name !== "set-cookie") res.setHeader(name, value);
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) res.setHeader("Set-Cookie", cookies);
  res.statusCode = answer.status;
  res.end(body);
}

/** Whether the answer has ended, or its client has left. */
export function isClosed({ socket }: NodeRequest, res: NodeResponse): boolean {
  const { destroyed, stream } = res;
  return destroyed === true || stream?.destroyed === true || (isQueued(res) && socket.destroyed === true);
}

/**
 * Calls `listener` when that is so, once or twice.
 *
 * An answer that waits for an earlier one on its connection may never close: Node 20 tells it nothing of the end of the
 * connection. So a client that pipelines requests and leaves would keep all their slots. Nor does one whose socket was
 * taken from it, to be a WebSocket.
 */
function whenClosed(req: NodeRequest, res: NodeResponse, listener: () => void): void {
  if (isClosed(req, res)) {
    listener();
    return;
  }
  res.once("close", listener);
  if (isQueued(res) || req.upgrade) whenDisconnected(req, res, listener);
}

/** Calls `listener` when a handler ends an answer that nobody gets any more, or 20 s later with false. */
function whenEnded(res: NodeResponse, listener: (isEnded: boolean) => void): void {
  const timer = setIdleTimeout(() => listener(false), LINGER_MS);
  const { end } = res;
  res.end = function endUnheard(...rest: unknown[]) {
    clearTimeout(timer);
    listener(true);
    return Reflect.apply(end, res, rest) as unknown;
  };
}

function whenDisconnected({ socket }: NodeRequest, res: NodeResponse, listener: () => void): void {
  const listeners = disconnected.get(socket) ?? new Set();
  if (!disconnected.has(socket)) {
    disconnected.set(socket, listeners);
    socket.once?.("close", () => {
      for (const one of listeners) one();
    });
  }
  listeners.add(listener);
  res.once("close", () => listeners.delete(listener));
}

/** What is called at the end of a connection. Node warns of many listeners, so one calls them all. */
const disconnected = new WeakMap<NodeRequest["socket"], Set<() => void>>();

/** Whether the answer waits for an earlier one on its connection. HTTP/2 has no such answers. */
function isQueued({ socket }: NodeResponse): boolean {
  return socket === null;
}
