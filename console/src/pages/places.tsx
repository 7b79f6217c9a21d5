/** On which routes a client was refused, and from which countries. A route is a pattern of the configuration. */

import type { Limited } from "../api.ts";
import { NONE, percent } from "../parts/numbers.ts";

export function Places({ client: { refused, where } }: { client: Limited }) {
  if (where.length === 0) return <span class="muted">{NONE}</span>;
  return where.map(({ route, country, refused: here }) => (
    <span key={route + country} class="line">
      {route === "*" ? "other paths" : <code>{route}</code>}
      {country === "?" ? "" : `, ${country}`} <span class="muted">{percent(here, refused)}</span>
    </span>
  ));
}
