/** Reads what the body of a Node request calls, and leaves the body to the handlers behind. */

import { type BodyReading, callsInBytes, readingCalls } from "../json-rpc/body.ts";
import { callsIn, type RpcCalls, UNREAD } from "../json-rpc/calls.ts";

/** What a request of `node:http` and `node:http2` is beyond its head. */
export interface NodeBody {
  /** What an earlier middleware has made of the body, for example `express.json()`. */
  readonly body?: unknown;
  /** Whether somebody has read from the stream. */
  readonly readableDidRead?: boolean;
  readonly readableLength?: number;
  /** HTTP/2: whether there is no body. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
  /** `ended`: all pieces have arrived. No public property says it before the event `end`, when it is too late. */
  readonly _readableState?: { readonly ended: boolean };
  read?(): unknown;
  unshift?(bytes: Uint8Array): void;
  on?(name: "readable" | "close" | "error", listener: () => void): unknown;
  removeListener?(name: "readable" | "close" | "error", listener: () => void): unknown;
}

/** A second middleware finds here what the first one has read. */
const known = new WeakMap<object, Promise<RpcCalls | undefined>>();

/** @returns `undefined`: there is no body. It never rejects. */
export function callsOfNode(req: NodeBody, headers: Pick<Headers, "get">): Promise<RpcCalls | undefined> {
  let calls = known.get(req);
  if (!calls) {
    const isUnread = hasBody(req, headers) && req.readableDidRead === false;
    calls = isUnread ? readingCalls(headers, (reading) => peek(req, reading)) : earlierCalls(req, headers);
    known.set(req, calls);
  }
  return calls;
}

/** Without these fields a request of HTTP/1 has no body. What imitates one may have a body without them. */
function hasBody({ stream, readableLength = 0 }: NodeBody, headers: Pick<Headers, "get">): boolean {
  if (readableLength > 0) return true;
  const length = headers.get("Content-Length");
  if (length !== null) return Number(length) > 0;
  return headers.get("Transfer-Encoding") !== null || stream?.endAfterHeaders === false;
}

/** The handlers behind see what the earlier middleware has made of the body. */
async function earlierCalls(req: NodeBody, headers: Pick<Headers, "get">): Promise<RpcCalls | undefined> {
  const { body } = req;
  if (!hasBody(req, headers) && isEmpty(body)) return undefined;
  try {
    if (typeof body === "string") return callsIn(body);
    if (body instanceof Uint8Array) return callsInBytes(body);
    return typeof body === "object" && body !== null ? callsIn(JSON.stringify(body)) : UNREAD;
  } catch {
    return UNREAD;
  }
}

/** Parsers make an empty object of no body. */
function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || body === "" || Object.keys(body).length === 0;
}

/** Whether an empty body has arrived. */
function isOver({ _readableState, readableLength }: NodeBody): boolean {
  return _readableState!.ended && readableLength === 0;
}

/** Reads the stream, and puts back what was read before anybody learns that the stream has ended. */
function peek(req: NodeBody, reading: BodyReading): Promise<RpcCalls | undefined> {
  return new Promise((resolve) => {
    const pieces: Uint8Array[] = [];
    const end = (calls: RpcCalls | undefined) => {
      for (const name of ["close", "error"] as const) req.removeListener!(name, fail);
      req.removeListener!("readable", read);
      resolve(calls);
    };
    const fail = () => end(UNREAD);
    const read = () => {
      // After the last piece `read` lets the event `end` come, before a handler can listen to it.
      if (pieces.length === 0 && isOver(req)) return end(undefined);
      let isWanted = true;
      for (let piece = req.read!(); piece !== null; piece = isWanted ? req.read!() : null) {
        pieces.push(piece as Uint8Array);
        isWanted = reading.add(piece as Uint8Array);
      }
      if (isWanted && !req._readableState!.ended) return;
      if (pieces.length > 0) req.unshift!(Buffer.concat(pieces));
      end(isWanted ? reading.end() : UNREAD);
    };
    if (isOver(req)) return resolve(undefined);
    req.on!("readable", read);
    for (const name of ["close", "error"] as const) req.on!(name, fail);
  });
}
