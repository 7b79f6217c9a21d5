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
    const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
    const rows = value.map((row) => columns.map((column) => row[column]));
    return `\n${line(name)}${table(columns.map(printable), rows)}\n`;
  });
  return texts.join("");
}

export function countsText(body: Body): string {
  const { policy, kind, key, override } = body;
  const rows = listIn(body, "limits").map(({ id, limit, remaining, resetAfterMs, unit }) => {
    const wait = typeof resetAfterMs === "number" ? `${Math.ceil(resetAfterMs / 1000)} s` : undefined;
    return [id, numberText(limit, unit), numberText(remaining, unit), wait];
  });
  const head = [`policy ${policy}, ${kind} ${key}`, `override: ${fieldsText(override)}`, ""].map(line).join("");
  return head + table(["limit", "units", "remaining", "full again in"], rows);
}

/** A number of a limit, in the unit of its policy's meter. */
function numberText(number: unknown, unit: unknown): unknown {
  if (typeof number !== "number" || (unit !== "usd" && unit !== "tokens")) return number;
  return describeUnits(toUnits(number, unit), unit);
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

function listIn(body: Body, name: string): readonly Body[] {
  const list = body[name];
  if (Array.isArray(list) && list.every(isTable)) return list;
  throw new Failure(`the answer has no list of ${name}: is the gateway of another version?`);
}
