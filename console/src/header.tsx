/** The top of every page: where, how the stores are, which live version, the pages, and the field that looks up. */

import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { now } from "./api.ts";
import { live, policies } from "./data/live.ts";
import { kindOf, kindsOf, lookup } from "./data/lookup.ts";
import { signOut } from "./data/session.ts";
import { RECENT_MINUTES } from "./data/stats.ts";
import { latency, within } from "./data/sums.ts";
import { useValue } from "./data/value.ts";
import { useView } from "./data/view.ts";
import { duration, milliseconds } from "./parts/numbers.ts";
import { goTo, hrefOf, PAGES, route } from "./route.ts";

const NAMES = {
  overview: "Overview",
  policies: "Policies",
  clients: "Clients",
  changes: "Changes",
  explain: "Explain",
};

export function Header({ field, onHelp }: { field: RefObject<HTMLInputElement | null>; onHelp(): void }) {
  const { page } = useValue(route);
  const version = useValue(policies)?.version;
  const state = useValue(live);
  const deployed = version === undefined ? "" : version > 0 ? `live v${version}` : "as deployed";
  return (
    <header>
      <div class="top">
        <a class="brand" href={hrefOf("overview")}>
          headgate
        </a>
        <Status />
        <span class="live">{state.is === "off" ? "live: off" : deployed}</span>
        <button type="button" class="link" onClick={onHelp} aria-keyshortcuts="?">
          Keys
        </button>
        <button type="button" class="link" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
      <div class="bar">
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a key={name} href={hrefOf(name)} aria-current={page === name ? "page" : undefined}>
              {NAMES[name]}
            </a>
          ))}
        </nav>
        <LookUp field={field} />
      </div>
    </header>
  );
}

/** Regions that were heard, and how the stores do. */
function Status() {
  const view = useView();
  if (!view) return <span class="status" />;
  const { points, stats, span } = view.numbers;
  const regions = [...new Set(points.map((point) => point.region))].sort();
  const places = [...Map.groupBy(within(stats.calls, span), ({ place }) => place)].sort();
  const open = new Set(stats.open.map(({ place }) => place));
  const old = lastHeard(stats.heard, stats.flush);
  return (
    <span class="status">
      {regions.length > 0 && <span class="regions">{regions.join(" ")}</span>}
      {places.map(([place, calls]) => (
        <span key={place} class={open.has(place) ? "place refused" : "place"}>
          {place} <span aria-hidden="true">{open.has(place) ? "○" : "●"}</span>{" "}
          {open.has(place) ? "no answer" : milliseconds(latency(calls)!.mean)}
        </span>
      ))}
      {view.state.recent!.points.length === 0 ? (
        <span>no requests in the last {RECENT_MINUTES} minutes</span>
      ) : (
        old && <strong>{old}</strong>
      )}
      {view.state.failure && <strong>no answer: numbers stand still</strong>}
    </span>
  );
}

function LookUp({ field }: { field: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState("");
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const known = policies.get();
          if (text.trim() === "" || !known) return;
          const kind = kindOf(text, kindsOf(known.policies));
          lookup.set({ kind, raw: kind.includes("+") ? text.trim().split(/[\s,]+/) : [text.trim()] });
          setText("");
          field.current?.blur();
          goTo("clients");
        }}
      >
        <input
          ref={field}
          type="search"
          aria-label="Look up a client by its raw key"
          aria-keyshortcuts="/"
          placeholder="/ look up a client"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </form>
    </search>
  );
}

/** Older than two flushes, although there were requests a moment ago: something may not hand on. */
function lastHeard(heard: string | null, flush: number): string | undefined {
  if (heard === null) return undefined;
  const ageMs = now() - Date.parse(heard);
  return ageMs > flush * 2_000 ? `last heard ${duration(ageMs)} ago` : undefined;
}
