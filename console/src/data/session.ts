/** Who is signed in. */

import { api, onSignedOut, Refused, type Session } from "../api.ts";
import { createValue } from "./value.ts";

type SessionState =
  | { readonly is: "unknown" }
  | { readonly is: "in"; readonly session: Session }
  /** `why` is for people; absent: nobody was signed in. */
  | { readonly is: "out"; readonly why?: string }
  | { readonly is: "failed"; readonly why: string };

export const session = createValue<SessionState>({ is: "unknown" });

onSignedOut(() => {
  if (session.get().is === "in") session.set({ is: "out", why: "Your session has ended. Sign in again." });
});

export async function loadSession(): Promise<void> {
  try {
    const found = await api.session();
    session.set(found.by === null ? { is: "out" } : { is: "in", session: found });
  } catch (error) {
    const { status, message } = error as Refused;
    session.set({ is: "failed", why: status === 404 ? NO_ADMIN : message });
  }
}

const NO_ADMIN = "This gateway has no admin API: set ADMIN_TOKEN, at least 32 characters, and open this page again.";

/** @returns why not, for people; undefined: signed in. */
export async function signIn(token: string): Promise<string | undefined> {
  try {
    await api.signIn(token);
    await loadSession();
    const state = session.get();
    if (state.is === "in") return undefined;
    return "The token is right, but the browser did not keep the session cookie: open this page over https.";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) return "The gateway does not accept this token.";
    if (error.status === 429) return `Too many wrong tokens. Try again in ${error.retryAfter} s.`;
    return error.message;
  }
}

export async function signOut(): Promise<void> {
  // First, so that nothing is asked for without the cookie.
  session.set({ is: "out", why: "You are signed out." });
  await api.signOut().catch(() => {
    session.set({ is: "out", why: "The gateway does not answer: this browser may still hold the session." });
  });
}
