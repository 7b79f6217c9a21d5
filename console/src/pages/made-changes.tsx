/** Who changed what: the last changes of everybody, as the live document has kept them. The newest come first. */

import type { LiveAnswer, MadeChange } from "../api.ts";
import { wordsOfEntry } from "../changes/made.ts";
import { plural } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { hrefOf } from "../route.ts";

export function MadeChanges({ document: { changes = [] } }: { document: LiveAnswer }) {
  if (changes.length === 0) return <p class="muted">Nobody has changed anything yet.</p>;
  return (
    <Table
      caption={`Who changed what: the last ${plural(changes.length, "change")}`}
      rows={changes.toReversed()}
      keyOf={({ version }) => version}
      columns={[
        { heading: "When", cell: ({ at }) => <Time ms={Date.parse(at)} exact /> },
        { heading: "Who", cell: ({ by }) => by },
        { heading: "Version", cell: ({ version }) => version },
        { heading: "What, as its command", short: "What", cell: (made) => <What made={made} /> },
      ]}
    />
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
      {changed.length === 0 && <span class="muted">a note, or nothing that was in force</span>}
      {more !== undefined && <span class="muted">and {plural(more, "more entry", "more entries")}</span>}
    </>
  );
}
