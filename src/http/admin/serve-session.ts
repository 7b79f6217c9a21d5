/** Begins and ends a session, and tells who is signed in. */

import type { Context } from "hono";
import { answer, badRequest } from "./answer.ts";
import type { AdminApp } from "./calls.ts";
import type { Gate } from "./gate.ts";
import { ENDED, type Sessions } from "./session.ts";

/**
 * Tells the console's page who is signed in. Nobody is an answer too, and no 401: browsers report each 401 as an
 * error, and the page asks before anybody can have signed in.
 */
export function serveSignedIn(gate: Gate): (c: Context) => Promise<Response> {
  return async (c) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin.status === 401 ? answer({ by: null }) : admin;
    const { by, untilMs } = admin;
    return answer({ by, until: untilMs === undefined ? null : new Date(untilMs).toISOString() });
  };
}

/**
 * `/session`.
 *
 * @param sessions absent: there is no token to begin one with. Cloudflare Access has sessions of its own.
 */
export function serveSession(app: AdminApp, sessions: Sessions | undefined): void {
  app.post("/session", async (c) => {
    if (!sessions || !c.get("admin").hasToken) {
      return badRequest("A session begins with the admin token: Authorization: Bearer <token>.");
    }
    return empty(await sessions.begin(Date.now()));
  });

  app.delete("/session", async () => empty(ENDED));
}

function empty(cookie: string): Response {
  return new Response(null, { status: 204, headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" } });
}
