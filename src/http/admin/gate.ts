/** Lets admins in, before anything else of a request is looked at. */

import type { AdminSettings } from "../../config/admin.ts";
import type { Limiter } from "../../limiter.ts";
import { createLines } from "../../lines.ts";
import { toSeconds } from "../headers.ts";
import { clientKey } from "../key.ts";
import { problem } from "./answer.ts";
import { type Admin, createAuthenticate, type Stranger } from "./authenticate.ts";
import type { Sessions } from "./session.ts";

/** Wrong tokens for an address in any minute. Counted in the isolate. */
export const WRONG_TOKEN_POLICIES = [
  { name: "admin-wrong", limits: [{ algorithm: "sliding-log", limit: 5, window: "1m" }] },
] as const;

const READING = ["GET", "HEAD"];

/** The admin who asks, or the answer to anybody else. */
export type Gate = (request: Request) => Promise<Admin | Response>;

/**
 * @param wrongTokens a limiter of `WRONG_TOKEN_POLICIES` with a memory store. @param sessions absent: there is no token
 * to begin one with.
 */
export function createGate(settings: AdminSettings, wrongTokens: Limiter, sessions: Sessions | undefined): Gate {
  const authenticate = createAuthenticate(settings, sessions);
  const [policy] = wrongTokens.policies;
  // Five wrong tokens for an address are no bound: an attacker has many addresses.
  const write = createLines();

  async function refuse(request: Request, { wrong }: Stranger): Promise<Response> {
    if (wrong !== undefined) {
      const key = clientKey(["ip"], request, () => wrongTokens.region);
      const { allowed, retryAfterMs = 0 } = await wrongTokens.takeMatched(
        [{ policy: policy!, key, cost: 1 }],
        () => wrongTokens.region,
      );
      if (!allowed) {
        const wait = { "Retry-After": String(Math.max(1, toSeconds(retryAfterMs))) };
        return problem({ title: "Too Many Requests", status: 429, detail: "Too many wrong tokens." }, wait);
      }
      // The operator must be able to find out why somebody is not let in.
      write(() => ({ event: "admin-refused", at: new Date().toISOString(), code: wrong }));
    }
    const detail = "This needs the admin token, or a session.";
    return problem({ title: "Unauthorized", status: 401, detail }, { "WWW-Authenticate": "Bearer" });
  }

  return async (request) => {
    const presented = await authenticate(request);
    if (!("by" in presented)) return await refuse(request, presented);
    if (READING.includes(request.method) || presented.hasToken || isSameOrigin(request)) return presented;
    const detail = "A change without the bearer token must come from a page of this gateway.";
    return problem({ title: "Forbidden", status: 403, detail });
  };
}

/** Browsers send cookies of this gateway with the requests of other pages too. */
function isSameOrigin({ url, headers }: Request): boolean {
  const origin = headers.get("Origin");
  if (origin !== null) return origin === new URL(url).origin;
  return headers.get("Sec-Fetch-Site") === "same-origin";
}
