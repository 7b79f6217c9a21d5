/**
 * Finds requests that come back to the gateway instead of reaching an origin: `ORIGIN_URL` names the gateway itself, or
 * `"route"` is used where there is no route (`wrangler dev`).
 *
 * Every forwarded request carries a mark of this isolate, after the marks of gateways before it. `CDN-Loop` (RFC 8586)
 * does not help: Cloudflare counts its own passes in that field, and one gateway in front of another is not a loop.
 */

import { createLines } from "../lines.ts";
import { ProblemType, problemResponse } from "./problem.ts";

const FIELD = "Headgate-Via";

export interface LoopGuard {
  /** Marks a request that goes to the origin. */
  mark(outgoing: Headers): void;
  /** The answer to a request that this isolate itself has sent. Undefined: the isolate did not send the request. */
  refuse(request: Request): Response | undefined;
}

/** The mark is random: clients cannot guess it. A client that learns it from an origin can only block itself. */
export function createLoopGuard(): LoopGuard {
  // Made by the first request: Workers forbid randomness at module scope.
  let own: string | undefined;
  const write = createLines((line) => console.error(line));

  return {
    mark(outgoing) {
      own ??= crypto.randomUUID();
      outgoing.append(FIELD, own);
    },

    refuse(request) {
      const marks = own && request.headers.get(FIELD);
      if (!marks?.split(",").some((mark) => mark.trim() === own)) return undefined;
      const { host } = new URL(request.url);
      const hint = "ORIGIN_URL or ORIGIN leads back to this gateway";
      write(() => ({ event: "origin-loop", at: new Date().toISOString(), host, hint }));
      return problemResponse(request, {
        type: ProblemType.blank,
        title: "Loop Detected",
        status: 508,
        detail: "This gateway's origin leads back to the gateway itself.",
      });
    },
  };
}
