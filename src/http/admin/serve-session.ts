/** `/session`: begins and ends a session, and tells who is signed in. */

import { answer, badRequest } from "./answer.ts";
import type { AdminApp } from "./calls.ts";
import { ENDED, type Sessions } from "./session.ts";

/** @param sessions absent: there is no token to begin one with. Cloudflare Access has sessions of its own. */
export function serveSession(app: AdminApp, sessions: Sessions | undefined): void {
  app.get("/session", async (c) => {
    const { by, untilMs } = c.get("admin");
    return answer({ by, until: untilMs === undefined ? null : new Date(untilMs).toISOString() });
  });

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
