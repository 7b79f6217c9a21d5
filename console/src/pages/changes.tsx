/** The live document: what it changes, its overrides, a draft with its diff, who changed what, and this session. */

import { useEffect } from "preact/hooks";
import { POLICY_ENTRIES } from "../../../src/features/live/fields.ts";
import { isTable } from "../../../src/kernel/config/bindings.ts";
import type { LiveAnswer } from "../api.ts";
import { policyChangesOf } from "../data/entries.ts";
import { live, loadLive } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { Failed, Loading, Notice } from "../parts/notice.tsx";
import { hrefOf } from "../route.ts";
import { Draft } from "./draft.tsx";
import { MadeChanges } from "./made-changes.tsx";
import { Overrides } from "./overrides.tsx";
import { SessionChanges } from "./session-changes.tsx";

export function Changes() {
  const state = useValue(live);
  useEffect(() => void loadLive(), []);
  return (
    <>
      <h1>Changes</h1>
      <SessionChanges />
      {state.is === "unknown" && <Loading />}
      {state.is === "failed" && <Failed error={state.why} holds="The last good document stays in force." />}
      {state.is === "off" && (
        <Notice title="This gateway reads no live document">
          <p>
            <code>LIVE_REFRESH</code> is <code>0s</code>: policies are as they were deployed. Counts can still be looked
            up and reset. To change limits while the gateway runs, set <code>LIVE_REFRESH = "30s"</code> and deploy.
          </p>
        </Notice>
      )}
      {state.is === "on" && <Document document={state.document} />}
    </>
  );
}

function Document({ document }: { document: LiveAnswer }) {
  const { version, ignored = [], notes = [] } = document;
  const policies = policyChangesOf(document);
  return (
    <>
      <h2>Live document{version > 0 ? `, version ${version}` : ""}</h2>
      {version === 0 && <p class="muted">There is none yet: everything is as deployed. The first change makes it.</p>}
      {notes.map((note) => (
        <p key={note} class="failed">
          {note}
        </p>
      ))}
      {policies.length > 0 && (
        <table>
          <caption>Policies that differ from what was deployed</caption>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              {POLICY_ENTRIES.map(([name, { label }]) => (
                <th key={name} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {policies.map(([policy, changes]) => (
              <tr key={policy}>
                <th scope="row">
                  <a href={hrefOf("policies", policy)}>{policy}</a>
                </th>
                {POLICY_ENTRIES.map(([name, { is, label }]) => (
                  <td key={name} data-of={label}>
                    <Changed value={changes[name] ?? (is === "numbers" ? {} : undefined)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Overrides document={document} />
      {ignored.length > 0 && (
        <details class="behind">
          <summary>{ignored.length} entries are kept and ignored: the configuration does not know them</summary>
          <pre>
            <code>{JSON.stringify(ignored, null, 2)}</code>
          </pre>
        </details>
      )}
      <Draft document={document} />
      <MadeChanges document={document} />
      <p class="note">
        A change is in force everywhere within <code>LIVE_REFRESH</code> + 5 s. Resets, and what was changed before:
        lines with <code>"event":"admin"</code> in the gateway's log.
      </p>
    </>
  );
}

/** What the document says of a policy: a word, or a line for each number. */
function Changed({ value }: { value: unknown }) {
  if (!isTable(value)) return value === undefined ? <span class="muted">as deployed</span> : String(value);
  return Object.entries(value).map(([id, number]) => (
    <span key={id} class="line">
      {id} = {(number as number).toLocaleString("en-US")}
    </span>
  ));
}
