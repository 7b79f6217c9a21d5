/** The admin API's answers as text for people. */

import { isTable } from "../../config/bindings.ts";
import { describeUnits, toUnits } from "../../core/units.ts";
import { line, printable, table } from "../printable.ts";

export type Body = Readonly<Record<string, unknown>>;

/** Any answer: its fields, each on a line; a list of objects as a table. */
export function anyText(body: Body): string {
  const texts = Object.entries(body).map(([name, value]) => {
    if (!Array.isArray(value) || value.length === 0 || !value.every(isTable)) {
      return line(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    }
    const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
    const rows = value.map((row) => columns.map((column) => row[column]));
    return `\n${line(name)}${table(columns.map(printable), rows)}\n`;
  });
  return texts.join("");
}

/** Numbers of limits in the unit of their policy's meter. */
export function countsText(body: Body): string {
  const limits = tablesIn(body.limits).map(({ id, limit, remaining, resetAfterMs, unit }) => {
    const wait = typeof resetAfterMs === "number" ? `${Math.ceil(resetAfterMs / 1000)} s` : undefined;
    const words = (number: unknown) =>
      typeof number === "number" && (unit === "usd" || unit === "tokens")
        ? describeUnits(toUnits(number, unit), unit)
        : number;
    return { limit: id, units: words(limit), remaining: words(remaining), "full again in": wait };
  });
  return anyText({ ...body, limits });
}

/** The points of all regions and minutes added up, and the clients with most refusals. */
export function statsText(body: Body): string {
  const sums = new Map<string, Body>();
  for (const { policy, outcome, source, count } of tablesIn(body.points)) {
    const name = JSON.stringify([policy, outcome, source]);
    const before = Number(sums.get(name)?.requests ?? 0);
    sums.set(name, { policy, outcome, source, requests: before + Number(count) });
  }
  const clients = Object.entries(isTable(body.top) ? body.top : {}).flatMap(([policy, top]) =>
    tablesIn(top).map(({ key, refused }) => ({ policy, key, refused })),
  );
  return anyText({ heard: body.heard, requests: [...sums.values()], clients });
}

function tablesIn(value: unknown): readonly Body[] {
  return Array.isArray(value) ? value.filter(isTable) : [];
}
