/** One client under every policy that counts it: by its raw key, or by its hash as far as that goes. */

import { useEffect, useState } from "preact/hooks";
import { api, type CountsAnswer } from "../api.ts";
import { wordsFor } from "../changes/client-changes.ts";
import { live, policies } from "../data/live.ts";
import { clientsOf, type Lookup, lookup } from "../data/lookup.ts";
import { useValue } from "../data/value.ts";
import { admin, Command } from "../parts/command.tsx";
import { Failed, Loading } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { ClientCard } from "./client-card.tsx";
import { HashedClient } from "./hashed-client.tsx";
import { LookupForm } from "./lookup-form.tsx";
import { Overrides } from "./overrides.tsx";

export function Clients({ rest }: { rest: readonly string[] }) {
  const known = useValue(policies);
  const wanted = useValue(lookup);
  const [policy, hash] = rest;
  // A look at another client's hash ends the look by raw key.
  useEffect(() => {
    if (policy !== undefined && hash !== undefined) lookup.set(undefined);
  }, [policy, hash]);
  if (!known) return <Loading />;
  return (
    <>
      <h1>Clients</h1>
      <LookupForm policies={known.policies} />
      {wanted ? (
        <Found wanted={wanted} hash={hash} />
      ) : policy !== undefined && hash !== undefined ? (
        <HashedClient policy={policy} hash={hash} />
      ) : (
        <AllOverrides />
      )}
    </>
  );
}

const UNREAD = "Which clients have an override is not known.";

function AllOverrides() {
  const state = useValue(live);
  if (state.is === "on") return <Overrides document={state.document} />;
  return state.is === "failed" ? <Failed error={state.why} holds={UNREAD} /> : null;
}

interface FoundState {
  readonly atMs: number;
  readonly counts: readonly (CountsAnswer | { readonly policy: string; readonly error: unknown })[];
}

function Found({ wanted, hash }: { wanted: Lookup; hash: string | undefined }) {
  const [found, setFound] = useState<FoundState>();
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    let isWanted = true;
    const looks = clientsOf(wanted).map((client) =>
      api.counts(client).catch((error: unknown) => ({ policy: client.policy, error })),
    );
    void Promise.all(looks).then((counts) => {
      if (isWanted) setFound({ atMs: Date.now(), counts });
    });
    return () => {
      isWanted = false;
    };
  }, [wanted, turn]);

  if (!found) return <Loading />;
  const isSame = found.counts.some((one) => "key" in one && one.key === hash);
  return (
    <section aria-live="polite">
      <h2 class="client">
        {wanted.kind} <code>{wanted.raw.join(" ")}</code>
      </h2>
      <p class="note">
        Looked up at <Time ms={found.atMs} exact />. A peek counts nothing, and the key is not stored.{" "}
        <button type="button" class="small" onClick={() => setTurn(turn + 1)}>
          Refresh
        </button>
      </p>
      {hash !== undefined && (
        <p class="note">{isSame ? "This is the client of that hash." : "This is not the client of that hash."}</p>
      )}
      {found.counts.length === 0 && <p>No policy counts by {wanted.kind}.</p>}
      <div class="cards">
        {found.counts.map((one) =>
          "error" in one ? (
            <section key={one.policy} class="card">
              <h3>{one.policy}</h3>
              <Failed error={one.error} />
            </section>
          ) : (
            <ClientCard key={one.policy} counts={one} raw={wanted.raw} onChanged={() => setTurn(turn + 1)} />
          ),
        )}
      </div>
      <Command
        label="The same on the command line"
        text={clientsOf(wanted)
          .map((client) => admin("counts", ...wordsFor(client)))
          .join("\n")}
      />
    </section>
  );
}
