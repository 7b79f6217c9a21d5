/**
 * Requests that come back to the gateway instead of reaching an origin: `ORIGIN_URL` names the gateway itself, or `"route"` is used
 * where there is no route (`wrangler dev`).
 *
 * What is forwarded carries a mark of this isolate, after those of gateways before it. `CDN-Loop` (RFC 8586) is not used: Cloudflare
 * counts its own passes there, and one gateway in front of another is no loop.
 */

import { ProblemType, problemResponse } from "./problem.ts";

const FIELD = "Headgate-Via";

export interface LoopGuard {
  /** Marks a request that goes to the origin. */
  mark(outgoing: Headers): void;
  /** The answer to a request that this isolate has sent itself; undefined: it is none. */
  refuse(request: Request): Response | undefined;
}

/** The mark is random: a client cannot know it, and if an origin tells it, it can refuse no more than its own requests. */
export function createLoopGuard(): LoopGuard {
  // Made by the first request: at module scope there is no randomness.
  let own: string | undefined;

  return {
    mark(outgoing) {
      own ??= crypto.randomUUID();
      outgoing.append(FIELD, own);
    },

    refuse(request) {
      const marks = own && request.headers.get(FIELD);
      if (!marks?.split(",").some((mark) => mark.trim() === own)) return undefined;
      const { host } = new URL(request.url);
      console.error(
        JSON.stringify({ event: "origin-loop", host, hint: "ORIGIN_URL or ORIGIN leads back to this gateway" }),
      );
      return problemResponse(request, {
        type: ProblemType.blank,
        title: "Loop Detected",
        status: 508,
        detail: "This gateway's origin leads back to the gateway itself.",
      });
    },
  };
}
