/** Signed out: a field for the token. Signed in: the header and one page. */

import { useEffect, useRef } from "preact/hooks";
import { history } from "./changes/history.ts";
import { LastChange } from "./changes/last-change.tsx";
import { loadLive } from "./data/live.ts";
import { lookup } from "./data/lookup.ts";
import { loadSession, session } from "./data/session.ts";
import { watchStats } from "./data/stats.ts";
import { useValue } from "./data/value.ts";
import { Header } from "./header.tsx";
import { Help, useKeys } from "./keys.tsx";
import { Changes } from "./pages/changes.tsx";
import { Clients } from "./pages/clients.tsx";
import { Explain } from "./pages/explain.tsx";
import { Overview } from "./pages/overview.tsx";
import { Policies } from "./pages/policies.tsx";
import { PolicyPage } from "./pages/policy.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { type Route, route } from "./route.ts";

export function App() {
  const state = useValue(session);
  useEffect(() => void loadSession(), []);
  if (state.is === "unknown") return <main class="sign-in" aria-busy="true" />;
  if (state.is === "failed") {
    return (
      <main class="sign-in">
        <h1>headgate</h1>
        <p class="failed" role="alert">
          {state.why}
        </p>
        <button type="button" onClick={() => void loadSession()}>
          Try again
        </button>
      </main>
    );
  }
  return state.is === "in" ? <SignedIn /> : <SignIn why={state.why} />;
}

function SignedIn() {
  const field = useRef<HTMLInputElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);
  const shown = useValue(route);
  const help = () => (dialog.current?.open ? dialog.current.close() : dialog.current?.showModal());
  useKeys(field, help);
  useEffect(() => {
    void loadLive();
    const stop = watchStats();
    return () => {
      stop();
      // The next one to sign in here may be somebody else.
      lookup.set(undefined);
      history.set([]);
    };
  }, []);
  useEffect(() => {
    document.title = `${shown.rest[0] ?? shown.page} · headgate`;
    scrollTo(0, 0);
  }, [shown]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        To the content
      </button>
      <Header field={field} onHelp={help} />
      <main ref={main} id="main" tabIndex={-1}>
        <LastChange />
        <Page {...shown} />
      </main>
      <Help dialog={dialog} />
    </>
  );
}

function Page({ page, rest }: Route) {
  switch (page) {
    case "overview":
      return <Overview />;
    case "policies":
      return rest[0] === undefined ? <Policies /> : <PolicyPage name={rest[0]} />;
    case "clients":
      return <Clients rest={rest} />;
    case "changes":
      return <Changes />;
    case "explain":
      return <Explain />;
  }
}
