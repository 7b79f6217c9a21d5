/** All overrides of the live document. */

import type { LiveDocument, Override } from "../api.ts";
import { now } from "../api.ts";
import { effectOf, effectText } from "../changes/client-changes.ts";
import { overridesOf } from "../data/entries.ts";
import { plural, shortHash } from "../parts/numbers.ts";
import { relative, Time } from "../parts/time.tsx";
import { hrefOf } from "../route.ts";

export function Overrides({ document }: { document: LiveDocument }) {
  const overrides = overridesOf(document);
  if (overrides.length === 0) return <p class="muted">No client has an override.</p>;
  return (
    <table>
      <caption>{plural(overrides.length, "override")}: clients with other limits</caption>
      <thead>
        <tr>
          <th scope="col">Client</th>
          <th scope="col">Policy</th>
          <th scope="col">Effect</th>
          <th scope="col">Until</th>
          <th scope="col">Note</th>
          <th scope="col">
            <span class="unseen">Open</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {overrides.map((override) => {
          const { policy, kind, key, until, note } = override;
          return (
            <tr key={policy + key}>
              <th scope="row">
                {kind} <code title={key}>{shortHash(key)}</code>
              </th>
              <td data-of="Policy">{policy}</td>
              <td data-of="Effect">{effectText(override, policy)}</td>
              <td data-of="Until">{until ? <Until instant={until} /> : "removed by hand"}</td>
              <td data-of="Note">{note ?? <span class="muted">none</span>}</td>
              <td>
                <a
                  class="button small"
                  href={hrefOf("clients", policy, key)}
                  aria-label={`Change ${key} under ${policy}`}
                >
                  Change
                </a>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Until({ instant }: { instant: string }) {
  const ms = Date.parse(instant);
  return (
    <>
      <Time ms={ms} /> <small class="muted">{ms <= now() ? "ended" : relative(ms)}</small>
    </>
  );
}

/** What it does, until when, and why. */
export function OverrideText({ override }: { override: Override | null }) {
  const effect = effectOf(override);
  if (!effect) return <span class="muted">none: the policy's own limits hold</span>;
  return (
    <>
      <span class={effect.block ? "refused" : ""}>{effectText(effect, override!.policy)}</span>
      {effect.until && (
        <>
          {", until "}
          <Until instant={effect.until} />
        </>
      )}
      {effect.note && <span class="muted"> “{effect.note}”</span>}
    </>
  );
}
