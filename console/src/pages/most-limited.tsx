/** The clients with most refusals. Only their hashes are known. */

import type { Limited, LiveAnswer } from "../api.ts";
import { effectText } from "../changes/client-changes.ts";
import { overrideOf } from "../data/entries.ts";
import { live } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { count, shortHash } from "../parts/numbers.ts";
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
    <table class="limited">
      <caption>Most limited, last {minutes} min</caption>
      <thead>
        <tr>
          <th scope="col">Client</th>
          <th scope="col">Policy</th>
          <th scope="col" class="number">
            Refused
          </th>
          <th scope="col" class="wide">
            <span class="unseen">Compared</span>
          </th>
          <th scope="col">Where</th>
          <th scope="col">Override</th>
          <th scope="col">
            <span class="unseen">Open</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ policy, key, refused, where }) => {
          return (
            <tr key={policy + key}>
              <th scope="row">
                <code title={key}>{shortHash(key)}</code>
              </th>
              <td data-of="Policy">{policy}</td>
              <td class="number" data-of="Refused">
                {count(refused)}
              </td>
              <td class="wide" aria-hidden="true">
                <span class="track">
                  <span class="part full" style={{ width: `${(refused / most) * 100}%` }} />
                </span>
              </td>
              <td data-of="Where">
                <Places client={{ key, refused, where: where.slice(0, SHOWN_PLACES) }} />
              </td>
              <td data-of="Override">
                {state.is === "on" ? (
                  <Effect document={state.document} policy={policy} hash={key} />
                ) : (
                  <Unread isShort />
                )}
              </td>
              <td>
                <a
                  class="button small"
                  href={hrefOf("clients", policy, key)}
                  aria-label={`Look at ${key} under ${policy}`}
                >
                  Look
                </a>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Effect({ document, policy, hash }: { document: LiveAnswer; policy: string; hash: string }) {
  const override = overrideOf(document, { policy, hash });
  return override ? effectText(override, policy) : <span class="muted">none</span>;
}
