/** Who changed what: the last changes of everybody, as the live document has kept them. The newest come first. */

import type { LiveAnswer, MadeChange } from "../api.ts";
import { wordsOfEntry } from "../changes/made.ts";
import { plural } from "../parts/numbers.ts";
import { Time } from "../parts/time.tsx";
import { hrefOf } from "../route.ts";

export function MadeChanges({ document: { changes = [] } }: { document: LiveAnswer }) {
  if (changes.length === 0) return <p class="muted">Nobody has changed anything yet.</p>;
  return (
    <table>
      <caption>Who changed what: the last {plural(changes.length, "change")}</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Version</th>
          <th scope="col">What, as its command</th>
        </tr>
      </thead>
      <tbody>
        {changes.toReversed().map((made) => (
          <tr key={made.version}>
            <th scope="row">
              <Time ms={Date.parse(made.at)} exact />
            </th>
            <td data-of="Who">{made.by}</td>
            <td data-of="Version">{made.version}</td>
            <td data-of="What">
              <What made={made} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function What({ made: { changed, more } }: { made: MadeChange }) {
  return (
    <>
      {changed.map((entry) => (
        <a
          key={entry.policy + entry.key}
          class="line"
          href={entry.key === undefined ? hrefOf("policies", entry.policy) : hrefOf("clients", entry.policy, entry.key)}
        >
          {wordsOfEntry(entry).map((words) => (
            <code key={words} class="line">
              {words}
            </code>
          ))}
        </a>
      ))}
      {changed.length === 0 && <span class="muted">a note</span>}
      {more !== undefined && <span class="muted">and {plural(more, "more entry", "more entries")}</span>}
    </>
  );
}
