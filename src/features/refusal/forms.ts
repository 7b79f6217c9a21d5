/** Refusals in the form that the caller's protocol reads. */

import { problemJson } from "../../kernel/http/problem.ts";
import type { Form, Reason } from "../../kernel/http/refusal.ts";
import { retryFields } from "../../kernel/http/sdk-errors.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";

/** RESOURCE_EXHAUSTED (github.com/grpc/grpc, doc/statuscodes.md). */
const GRPC_STATUS = "8";
/** A negative number: do not try again (gRFC A6). */
const NEVER = "-1";
const READING = ["GET", "HEAD"];
/** Marks the last message of a stream of Connect (connectrpc.com/docs/protocol). */
const END_OF_STREAM = 2;

/** The type as the caller names it, without parameters: what is sent back has a bounded length. */
const GRPC = /^application\/grpc(?:-web)?(?:-text)?(?:\+[\w.-]{1,32})?(?![\w.+-])/i;
const CONNECT_STREAM = /^application\/connect\+[\w.-]{1,32}(?![\w.+-])/i;

/** The refusal for gRPC, Connect or an event stream. Undefined: the request speaks none of them. */
export function formOf(request: RequestHead, reason: Reason): Form | undefined {
  const type = request.headers.get("Content-Type") ?? "";
  const [ofGrpc] = GRPC.exec(type) ?? [];
  if (ofGrpc !== undefined) return grpc(ofGrpc, reason);
  const [ofStream] = CONNECT_STREAM.exec(type) ?? [];
  if (ofStream !== undefined) return connectStream(ofStream, reason);
  if (isConnect(request)) return { status: reason.problem.status, body: JSON.stringify(connectError(reason)) };
  const isEvents = /\btext\/event-stream\b/i.test(request.headers.get("Accept") ?? "");
  // After any other answer than 200 an event source never connects again. Whoever changes something reads the answer as
  // it is: 200 would say that it is done.
  return isEvents && READING.includes(request.method) ? eventStream(reason) : undefined;
}

function grpc(type: string, reason: Reason): Form {
  return {
    status: 200,
    type,
    body: "",
    headers: {
      "grpc-status": GRPC_STATUS,
      // Its escapes are those of a URL.
      "grpc-message": encodeURI(reason.problem.detail),
      "grpc-retry-pushback-ms": waitOf(reason) ?? NEVER,
    },
  };
}

function isConnect({ headers, method, url }: RequestHead): boolean {
  return headers.has("Connect-Protocol-Version") || (method === "GET" && /[?&]connect=v1(?:&|$)/.test(url));
}

function connectError({ problem }: Reason) {
  return { code: "resource_exhausted", message: problem.detail };
}

/** One message: a byte of flags, the length in 4 bytes, and the error. */
function connectStream(type: string, reason: Reason): Form {
  const error = new TextEncoder().encode(JSON.stringify({ error: connectError(reason) }));
  const body = new Uint8Array(5 + error.length);
  body[0] = END_OF_STREAM;
  new DataView(body.buffer).setUint32(1, error.length);
  body.set(error, 5);
  return { status: 200, type, body };
}

function eventStream(reason: Reason): Form | undefined {
  const waitMs = waitOf(reason);
  if (waitMs === undefined) return undefined;
  const body = `retry: ${waitMs}\nevent: rate_limited\ndata: ${problemJson(reason.problem)}\n\n`;
  return { status: 200, type: "text/event-stream", body };
}

/** In ms. Undefined: never. */
function waitOf({ retryAfterMs }: Reason): string | undefined {
  return retryFields({ retryAfterMs })["retry-after-ms"];
}
