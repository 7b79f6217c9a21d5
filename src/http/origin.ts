/** Where allowed requests go. Bodies stream both ways: nothing here reads them. */

import type { Origin } from "../config/settings.ts";
import { demoOrigin } from "./demo-origin.ts";
import type { LoopGuard } from "./loop.ts";
import { ProblemType, problemResponse } from "./problem.ts";

export type Forward = (request: Request) => Promise<Response>;

/**
 * Fields that belong to one connection (RFC 9110, section 7.6.1), which ends here. The others (`Connection`, `Keep-Alive`, `TE`,
 * `Trailer`) workerd does not send on; each call here costs about 2 µs.
 */
const HOP_BY_HOP = ["Proxy-Authorization", "Proxy-Connection"];

/** What Cloudflare says of the client: naming it in `Connection` must not hide it from an origin that goes by it. */
const SAYS_WHO = /^(cf-|x-forwarded-|forwarded$|true-client-ip$|x-real-ip$)/i;

/**
 * @param timeoutMs until the origin's header section has arrived; only for requests without a body, since an upload
 * takes as long as it takes. 0: none.
 * @param loops marks what is sent.
 * @returns what forwards a request and answers with the origin's response; 502 if there is none, 504 if it came too late.
 */
export function createForward(origin: Origin, timeoutMs: number, loops: LoopGuard): Forward {
  const forward = forwardTo(origin, loops);
  return async (request) => {
    const late = timeoutMs > 0 && request.body === null ? new AbortController() : undefined;
    const timer = late && setTimeout(() => late.abort(), timeoutMs);
    try {
      return await forward(request, late ? AbortSignal.any([request.signal, late.signal]) : request.signal);
    } catch (error) {
      // The error names hosts and addresses: it goes to the log, not to the client. One who has gone away is no error.
      const timeout = late?.signal.aborted ?? false;
      if (!request.signal.aborted) {
        console.error(JSON.stringify({ event: "origin-error", timeout, error: String(error) }));
      }
      return timeout
        ? originProblem(request, 504, "Gateway Timeout", "The origin server did not answer in time.")
        : originProblem(request, 502, "Bad Gateway", "The origin server could not be reached.");
    } finally {
      if (timer !== undefined) clearTimeout(timer);
    }
  };
}

function originProblem(request: Request, status: number, title: string, detail: string): Response {
  return problemResponse(request, { type: ProblemType.blank, title, status, detail });
}

/** Redirects are the client's to follow; a compressed body stays as it is, also where it is piped on its way (hold.ts). */
const AS_IT_IS = { redirect: "manual", encodeResponseBody: "manual" } as const;

function forwardTo(origin: Origin, loops: LoopGuard): (request: Request, signal: AbortSignal) => Promise<Response> {
  const marked = (request: Request) => {
    const outgoing = new Request(request);
    loops.mark(outgoing.headers);
    return outgoing;
  };
  switch (origin.kind) {
    case "demo":
      return async (request) => demoOrigin(request);
    case "route":
      return (request, signal) => fetch(marked(request), { ...AS_IT_IS, signal });
    case "service":
      return (request, signal) => origin.service.fetch(marked(request), { redirect: "manual", signal });
    case "url":
      return (request, signal) => {
        const outgoing = new Request(targetUrl(origin.url, request.url), request);
        dropHopByHop(outgoing.headers);
        loops.mark(outgoing.headers);
        return fetch(outgoing, { ...AS_IT_IS, signal });
      };
  }
}

/** The base's path goes in front, its host in place of ours; path and query stay as the client sent them. */
export function targetUrl(base: URL, requestUrl: string): string {
  const { pathname, search } = new URL(requestUrl);
  return `${base.origin}${base.pathname.replace(/\/$/, "")}${pathname}${search}`;
}

function dropHopByHop(headers: Headers): void {
  for (const name of HOP_BY_HOP) headers.delete(name);
  const named = headers.get("Connection")?.split(",") ?? [];
  for (const name of named.map((text) => text.trim())) {
    // It asks for a WebSocket.
    if (/^upgrade$/i.test(name)) continue;
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(name) && !SAYS_WHO.test(name)) headers.delete(name);
  }
}
