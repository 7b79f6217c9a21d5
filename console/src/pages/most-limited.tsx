/** The clients with most refusals. Only their hashes are known. */

import type { Limited, LiveAnswer } from "../api.ts";
import { effectText } from "../changes/client-changes.ts";
import { overrideOf } from "../data/entries.ts";
import { live } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { count, shortHash } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { hrefOf } from "../route.ts";
import { Unread } from "./overrides.tsx";
import { Places } from "./places.tsx";

/** The page of the client has them all. */
const SHOWN_PLACES = 2;

interface MostLimitedProps {
  readonly top: Readonly<Record<string, readonly Limited[]>>;
  readonly minutes: number;
  readonly atMost?: number;
}

export function MostLimited({ top, minutes, atMost = 8 }: MostLimitedProps) {
  const state = useValue(live);
  const rows = Object.entries(top)
    .flatMap(([policy, list]) => list.map((one) => ({ policy, ...one })))
    .sort((a, b) => b.refused - a.refused)
    .slice(0, atMost);
  const most = rows[0]?.refused ?? 0;
  if (rows.length === 0) return <p class="muted">Nobody was refused in the last {minutes} min.</p>;
  return (
    <Table
      class="limited"
      caption={`Most limited, last ${minutes} min`}
      rows={rows}
      keyOf={({ policy, key }) => policy + key}
      columns={[
        { heading: "Client", cell: ({ key }) => <code title={key}>{shortHash(key)}</code> },
        { heading: "Policy", cell: ({ policy }) => policy },
        { heading: "Refused", is: "number", cell: ({ refused }) => count(refused) },
        {
          heading: "Compared",
          is: "bar",
          cell: ({ refused }) => (
            <span class="track">
              <span class="part full" style={{ width: `${(refused / most) * 100}%` }} />
            </span>
          ),
        },
        {
          heading: "Where",
          cell: ({ where, ...client }) => <Places client={{ ...client, where: where.slice(0, SHOWN_PLACES) }} />,
        },
        {
          heading: "Override",
          cell: ({ policy, key }) =>
            state.is === "on" ? <Effect document={state.document} policy={policy} hash={key} /> : <Unread isShort />,
        },
        {
          heading: "Open",
          is: "button",
          cell: ({ policy, key }) => (
            <a class="button small" href={hrefOf("clients", policy, key)} aria-label={`Look at ${key} under ${policy}`}>
              Look
            </a>
          ),
        },
      ]}
    />
  );
}

function Effect({ document, policy, hash }: { document: LiveAnswer; policy: string; hash: string }) {
  const override = overrideOf(document, { policy, hash });
  return override ? effectText(override, policy) : <span class="muted">none</span>;
}
