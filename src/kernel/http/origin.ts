/** Where allowed requests go. Bodies stream in both directions: no code here reads them. */

import type { Origin } from "../config/settings.ts";
import { createLines } from "../lines.ts";
import { isStatus, withoutStatus } from "./passage.ts";
import { ProblemType, problemResponse } from "./problem.ts";

type Forward = (request: Request) => Response | Promise<Response>;

/**
 * Fields that belong to the connection between client and gateway (RFC 9110, section 7.6.1). workerd itself removes
 * `Connection`, `Keep-Alive`, `TE` and `Trailer`.
 */
const HOP_BY_HOP = ["proxy-authorization", "proxy-connection"];

/**
 * Fields by which some origins take another host or path than the one that was matched. In lower case, which workerd
 * finds in half the time.
 */
const OTHER_TARGET = ["forwarded", "x-original-url", "x-rewrite-url"];

const VIA = "Headgate-Via";

export type LoopGuard = ReturnType<typeof createLoopGuard>;

/**
 * Finds requests that come back to the gateway instead of reaching an origin: `ORIGIN_URL` names the gateway itself, or
 * `"route"` is used where there is no route.
 *
 * Every forwarded request carries a mark of this isolate, after the marks of gateways before it. `CDN-Loop` (RFC 8586)
 * does not help: Cloudflare counts its own passes in that field, and one gateway in front of another is not a loop.
 * The mark is random: clients cannot guess it. A client that learns it from an origin can only block itself.
 */
export function createLoopGuard() {
  // Made by the first request: Workers forbid randomness at module scope.
  let own: string | undefined;
  const write = createLines((line) => console.error(line));

  return {
    /** Marks a request that goes to the origin. */
    mark(outgoing: Headers): void {
      own ??= crypto.randomUUID();
      outgoing.append(VIA, own);
    },

    /** The answer to a request that this isolate itself has sent. Undefined: the isolate did not send the request. */
    refuse(request: Request): Response | undefined {
      const marks = request.headers.get(VIA);
      if (marks === null || !marks.split(",").some((mark) => mark.trim() === own)) return undefined;
      const { host } = new URL(request.url);
      const hint = "ORIGIN_URL or ORIGIN leads back to this gateway";
      write(() => ({ event: "origin-loop", at: new Date().toISOString(), host, hint }));
      return originProblem(request, 508, "Loop Detected", "This gateway's origin leads back to the gateway itself.");
    },
  };
}

/**
 * @param timeoutMs until the origin's header section has arrived. Only for requests without a body: an upload may take
 * any time. 0: no timeout.
 * @param loops marks every request that is sent. @param forged fields that only the gateway may write.
 * @returns a function that forwards a request and answers with the origin's response: 502 without one, 504 if it came
 * too late.
 */
export function createForward(
  origin: Origin,
  timeoutMs: number,
  loops: LoopGuard,
  forged: readonly string[] = [],
): Forward {
  if (origin.kind === "demo") return demoOrigin;
  const forward = forwardTo(origin, loops, [...OTHER_TARGET, ...forged]);
  const write = createLines((line) => console.error(line));
  return async (request) => {
    const late = timeoutMs > 0 && request.body === null ? new AbortController() : undefined;
    const timer = late && setTimeout(() => late.abort(), timeoutMs);
    try {
      const answer = await forward(request, late ? AbortSignal.any([request.signal, late.signal]) : request.signal);
      if (isStatus(answer)) return answer;
      await answer.body?.cancel();
      throw new Error(`the origin answered with status ${answer.status}: expected at most 599`);
    } catch (error) {
      // The error names hosts and addresses: only the log gets it. A client that went away is not an error.
      const timeout = late?.signal.aborted ?? false;
      if (!request.signal.aborted) {
        write(() => ({ event: "origin-error", at: new Date().toISOString(), timeout, error: String(error) }));
      }
      return withoutStatus(
        timeout
          ? originProblem(request, 504, "Gateway Timeout", "The origin server did not answer in time.")
          : originProblem(
              request,
              502,
              "Bad Gateway",
              "The origin server could not be reached, or gave no valid answer.",
            ),
      );
    } finally {
      if (timer !== undefined) clearTimeout(timer);
    }
  };
}

function originProblem(request: Request, status: number, title: string, detail: string): Response {
  return problemResponse(request, { type: ProblemType.blank, title, status, detail });
}

/** The client follows redirects itself. A compressed body stays compressed, also when keep-slots.ts pipes it. */
const AS_IT_IS = { redirect: "manual", encodeResponseBody: "manual" } as const;

function forwardTo(
  origin: Exclude<Origin, { kind: "demo" }>,
  loops: LoopGuard,
  unwanted: readonly string[],
): (request: Request, signal: AbortSignal) => Promise<Response> {
  const marked = (request: Request, outgoing = new Request(request), removed = unwanted) => {
    const { headers } = outgoing;
    // A request's URL is in normal form, and has no user: its host is between the second and the third slash.
    headers.set("X-Forwarded-Host", request.url.split("/", 3)[2]!);
    // Looking takes less time than a removal, which takes about 2 µs.
    for (const name of removed) if (headers.has(name)) headers.delete(name);
    loops.mark(headers);
    return outgoing;
  };
  switch (origin.kind) {
    case "route":
      return async (request, signal) => {
        if (isOnCloudflare(request)) return await fetch(marked(request), { ...AS_IT_IS, signal });
        throw new Error(
          'ORIGIN_URL = "route" needs Cloudflare: elsewhere a client chooses the host. Expected a base URL',
        );
      };
    case "service":
      return (request, signal) => origin.service.fetch(marked(request), { redirect: "manual", signal });
    case "url": {
      // The base URL's path is prefixed, and its host replaces ours. Path and query stay as the client sent them.
      const prefix = `${origin.url.origin}${origin.url.pathname.replace(/\/$/, "")}`;
      const removed = [...HOP_BY_HOP, ...unwanted];
      return (request, signal) => {
        const outgoing = new Request(prefix + pathAndQuery(request.url), request);
        return fetch(marked(request, outgoing, removed), { ...AS_IT_IS, signal });
      };
    }
  }
}

/**
 * Whether the request came through Cloudflare's network, where only the hosts of routes reach a Worker. A client can
 * write the field, but elsewhere than there and under `wrangler dev` no request has a data centre.
 */
function isOnCloudflare({ cf, headers }: Request): boolean {
  return typeof cf?.colo === "string" && headers.has("CF-Ray");
}

/** The origin while none is configured, to try limits with: it tells which request came, and sends a body back. */
function demoOrigin({ method, url, headers, body }: Request): Response {
  if (body === null) return Response.json({ origin: "headgate demo", method, path: pathAndQuery(url) });
  const type = headers.get("Content-Type") ?? "application/octet-stream";
  // A stream of its own, because `wrangler dev` reads the rest of a request's body as soon as there is an answer.
  return new Response(body.pipeThrough(new TransformStream()), { headers: { "Content-Type": type } });
}

function pathAndQuery(requestUrl: string): string {
  const { pathname, search } = new URL(requestUrl);
  return pathname + search;
}

/** Fields in which Cloudflare names the client. Naming them in `Connection` must not hide them from the origin. */
const SAYS_WHO = /^(cf-|x-forwarded-|forwarded$|true-client-ip$|x-real-ip$)/i;
/** Options of the connection itself, not names of fields. `Upgrade` asks for a WebSocket. */
const OPTION = /^(close|keep-alive|upgrade)$/i;

/**
 * Removes the fields that the client's `Connection` names, and these names. It comes first: whoever reads the request
 * afterwards sees what the origin gets, and a client cannot remove fields that are set here later.
 */
export function withoutNamedFields(request: Request): Request {
  const connection = request.headers.get("Connection");
  if (connection === null) return request;
  const names = connection.split(",").map((name) => name.trim());
  const named = names.filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !OPTION.test(name));
  if (named.length === 0) return request;
  const cleaned = new Request(request, { signal: request.signal });
  for (const name of named) if (!SAYS_WHO.test(name)) cleaned.headers.delete(name);
  cleaned.headers.delete("Connection");
  const options = names.filter((name) => OPTION.test(name));
  if (options.length > 0) cleaned.headers.set("Connection", options.join(", "));
  return cleaned;
}
