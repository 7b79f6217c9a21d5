/** The admin API's answers as text for people. */

import { isTable } from "../../config/bindings.ts";
import { describeUnits, toUnits } from "../../core/units.ts";
import { Failure } from "../io.ts";
import { line, printable } from "../printable.ts";
import { table } from "../table.ts";
import type { Body } from "./api.ts";

/** What an override says: `factor 2, until 2026-12-01T00:00:00Z`. `null`: as deployed. */
export function fieldsText(fields: unknown): string {
  if (!isTable(fields)) return "none";
  const { policy: _policy, kind: _kind, key: _key, ...rest } = fields;
  const words = Object.entries(rest).map(([name, value]) => {
    if (value === true) return name;
    if (!isTable(value)) return `${name} ${value}`;
    const numbers = Object.entries(value).map(([id, number]) => `${id}=${number ?? "default"}`);
    return numbers.join(" ");
  });
  return words.join(", ") || "none";
}

/** A change, and the version that it made. */
export function changeText(what: string, { version }: Body): string {
  return line(typeof version === "number" ? `${what} (version ${version} of the live document)` : what);
}

/** Any answer: its fields, each on a line; a list of objects as a table. */
export function anyText(body: Body): string {
  const texts = Object.entries(body).map(([name, value]) => {
    if (!Array.isArray(value) || value.length === 0 || !value.every(isTable)) {
      return line(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    }
    const columns = new Set(value.flatMap((row) => Object.keys(row)));
    return `\n${line(name)}${listText(body, name, Object.fromEntries([...columns].map((one) => [printable(one), one])))}\n`;
  });
  return texts.join("");
}

export function countsText(body: Body): string {
  const { policy, kind, key, override } = body;
  const columns = { limit: "id", units: "limit", remaining: "remaining", "full again in": "resetAfterMs" };
  const head = [`policy ${policy}, ${kind} ${key}`, `override: ${fieldsText(override)}`, ""];
  return head.map(line).join("") + listText(body, "limits", columns);
}

export function overridesText(body: Body): string {
  const overrides = listIn(body, "overrides").map((one) => [one.policy, one.kind, one.key, fieldsText(one)]);
  return overrides.length === 0 ? "no overrides\n" : table(["policy", "kind", "key", "override"], overrides);
}

/** Clients that are shown of each policy. */
const MOST = 5;

export function statsText(body: Body): string {
  const sums: Record<string, number> = {};
  for (const { policy, outcome, source, count } of listIn(body, "points")) {
    const name = JSON.stringify([policy, outcome, source]);
    sums[name] = (sums[name] ?? 0) + Number(count);
  }
  const requests = Object.keys(sums)
    .sort()
    .map((name) => [...JSON.parse(name), sums[name]]);
  const top = isTable(body.top) ? body.top : {};
  const clients = Object.keys(top).flatMap((policy) =>
    listIn(top, policy)
      .slice(0, MOST)
      .map(({ key, refused }) => [policy, key, refused]),
  );
  return [
    typeof body.heard === "string" ? line(`heard last: ${body.heard}`) : "nothing was heard yet\n",
    requests.length > 0 ? `\n${table(["policy", "outcome", "source", "requests"], requests)}` : "",
    clients.length > 0 ? `\n${table(["policy", "client", "refused"], clients)}` : "",
  ].join("");
}

/** A list of the answer as a table. @param columns the field that each column shows, by heading. */
function listText(body: Body, name: string, columns: Readonly<Record<string, string>>): string {
  const rows = listIn(body, name).map((row) => Object.values(columns).map((field) => cell(row, field)));
  return table(Object.keys(columns), rows);
}

/** A wait in seconds, a number of a limit in the unit of its policy's meter. */
function cell({ unit, ...row }: Body, field: string): unknown {
  const value = row[field];
  if (typeof value !== "number") return value;
  if (field.endsWith("Ms")) return `${Math.ceil(value / 1000)} s`;
  return unit === "usd" || unit === "tokens" ? describeUnits(toUnits(value, unit), unit) : value;
}

function listIn(body: Body, name: string): readonly Body[] {
  const list = body[name];
  if (Array.isArray(list) && list.every(isTable)) return list;
  throw new Failure(`the answer has no list of ${name}: is the gateway of another version?`);
}
