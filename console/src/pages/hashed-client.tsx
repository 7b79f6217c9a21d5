/** A client of whom only the hash is known: its counts need the raw key, its override does not. */

import { fieldsOf } from "../../../src/features/live/fields.ts";
import { overrideOf } from "../data/entries.ts";
import { live, policyNamed } from "../data/live.ts";
import { RECENT_MINUTES, stats } from "../data/stats.ts";
import { useValue } from "../data/value.ts";
import { Copy } from "../parts/command.tsx";
import { count, plural } from "../parts/numbers.ts";
import { ClientActions } from "./client-actions.tsx";
import { OverrideText, Unread } from "./overrides.tsx";
import { Places } from "./places.tsx";

export function HashedClient({ policy, hash }: { policy: string; hash: string }) {
  const { recent, history, minutes } = useValue(stats);
  const state = useValue(live);
  const kinds = policyNamed(policy)?.key ?? [];
  const kind = kinds[0];
  if (kind === undefined) return <p>No policy is named {policy}.</p>;
  const client = { policy, kind, hash };
  const override = state.is === "on" ? (overrideOf(state.document, client) ?? null) : undefined;
  const refusedNow = recent?.top[policy]?.find((one) => one.key === hash)?.refused;
  const whole = history?.top[policy]?.find((one) => one.key === hash);
  return (
    <section class="card" aria-label={`${policy}: ${hash}`}>
      <h2>
        <code class="hash">{hash}</code> <Copy text={hash} what="hash" />
      </h2>
      <p>
        A client of <b>{policy}</b>
        {refusedNow !== undefined && (
          <>
            {", "}
            <span class="refused">
              {plural(refusedNow, "refusal")} in {RECENT_MINUTES} min
            </span>
          </>
        )}
        {whole && `, ${count(whole.refused)} in ${minutes} min`}.
      </p>
      {whole && (
        <div>
          <b>Where</b> <Places client={whole} />
        </div>
      )}
      <p>
        <b>Override</b> {override === undefined ? <Unread /> : <OverrideText override={override} />}
      </p>
      <p class="note">
        Only its hash is known here: the gateway keeps no raw keys. To see what is left, look the client up by its raw
        key (see your origin's log). Overrides work by hash.
        {kinds.length > 1 &&
          ` The hash does not say which kind of key it is (${kinds.join(", ")}): it is saved as ${kind}.`}
      </p>
      <ClientActions client={client} before={fieldsOf(override)} onChanged={() => {}} />
    </section>
  );
}
