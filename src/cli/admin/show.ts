/** The admin API's answers as text for people. */

import { isTable } from "../../config/bindings.ts";
import { describeUnits, toUnits } from "../../core/units.ts";
import { Failure } from "../io.ts";
import { line, printable } from "../printable.ts";
import { table } from "../table.ts";

type Body = Readonly<Record<string, unknown>>;

/** What an override does, without the client's name: `factor 2, until 2026-12-01T00:00:00Z`. */
export function overrideText(override: unknown): string {
  if (!isTable(override)) return "none";
  const { policy: _policy, kind: _kind, key: _key, ...rest } = override;
  const words = Object.entries(rest)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => {
      if (value === true) return name;
      return isTable(value)
        ? Object.entries(value)
            .map(([id, number]) => `${id}=${String(number)}`)
            .join(" ")
        : `${name} ${String(value)}`;
    });
  return printable(words.join(", ")) || "none";
}

export function countsText(body: Body): string {
  const { policy, kind, key, override } = body;
  const rows = tablesIn(body, "limits").map(({ id, limit, remaining, resetAfterMs, unit }) => {
    return [id, numberText(limit, unit), numberText(remaining, unit), secondsOf(resetAfterMs)];
  });
  const head = [`policy ${policy}, ${kind} ${key}`, `override: ${overrideText(override)}`, ""].map(line).join("");
  return head + table(["limit", "units", "remaining", "full again in"], rows);
}

export function overridesText(body: Body): string {
  const overrides = tablesIn(body, "overrides");
  if (overrides.length === 0) return "no overrides\n";
  const rows = overrides.map((one) => [one.policy, one.kind, one.key, overrideText(one)]);
  return table(["policy", "kind", "key", "override"], rows);
}

export function explanationText(body: Body): string {
  const { at, region, source, method, path, violated, retryAfterMs, failure, version, omitted } = body;
  const limits = Array.isArray(violated) && violated.length > 0 ? `over ${violated.join(", ")}` : "over no limit";
  const policies = tablesIn(body, "policies").map((one) => {
    return [one.policy, one.kind, one.key, numberText(one.cost, one.unit), one.mode ?? "enforce"];
  });
  const rows = tablesIn(body, "limits").map((one) => {
    const isRefused = [body.violated, body.shadow].some((ids) => Array.isArray(ids) && ids.includes(one.id));
    const mode = policies.find(([name]) => name === one.policy)?.at(-1);
    const verdict = `${isRefused ? "refused" : "admitted"}${mode === "shadow" ? ", in shadow" : ""}`;
    const wait = one.retryAfterMs === undefined ? "never" : secondsOf(one.retryAfterMs);
    const [limit, remaining] = [one.limit, one.remaining].map((number) => numberText(number, one.unit));
    const units = one.per === undefined ? limit : `${limit} ${one.per}`;
    return [one.id, units, remaining, verdict, wait, secondsOf(one.resetAfterMs)];
  });
  return [
    line(`${method} ${path}, region ${region}, ${at}`),
    printable(`refused by ${source}${failure === undefined ? "" : ` (the store: ${failure})`}: ${limits}; `),
    `${retryAfterMs === undefined ? "no wait helps" : `again in ${secondsOf(retryAfterMs)}`}; `,
    line(version === null ? "the live document was not read" : `version ${version} of the live document`),
    "\n",
    table(["policy", "kind", "key", "cost", "mode"], policies),
    ...(rows.length === 0
      ? []
      : ["\n", table(["limit", "units", "remaining", "verdict", "again in", "full again in"], rows)]),
    ...(isTable(omitted) ? ["\n", line(`left out: ${omitted.policies} policies, ${omitted.limits} limits`)] : []),
  ].join("");
}

/** Clients that are shown of each policy. */
const MOST = 5;

export function statsText(body: Body): string {
  const sums = new Map<string, { readonly names: unknown[]; count: number }>();
  for (const { policy, outcome, source, count } of tablesIn(body, "points")) {
    const names = [policy, outcome, source];
    const sum = sums.get(names.join(" ")) ?? { names, count: 0 };
    sum.count += Number(count);
    sums.set(names.join(" "), sum);
  }
  const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { names, count }]) => [...names, count]);
  const clients = Object.entries(isTable(body.top) ? body.top : {}).flatMap(([policy, list]) =>
    (Array.isArray(list) ? list.filter(isTable) : []).slice(0, MOST).map(({ key, refused }) => [policy, key, refused]),
  );
  const heard = typeof body.heard === "string" ? line(`heard last: ${body.heard}`) : "nothing was heard yet\n";
  return [
    heard,
    rows.length > 0 ? `\n${table(["policy", "outcome", "source", "requests"], rows)}` : "",
    clients.length > 0 ? `\n${table(["policy", "client", "refused"], clients)}` : "",
  ].join("");
}

/** The version that a change made. */
export function versionText({ version }: Body): string {
  return typeof version === "number" ? ` (version ${version} of the live document)` : "";
}

/** A number of a limit, in the unit of its policy's meter. */
function numberText(number: unknown, unit: unknown): unknown {
  if (typeof number !== "number" || (unit !== "usd" && unit !== "tokens")) return number;
  return describeUnits(toUnits(number, unit), unit);
}

function secondsOf(ms: unknown): string | undefined {
  return typeof ms === "number" ? `${Math.ceil(ms / 1000)} s` : undefined;
}

function tablesIn(body: Body, name: string): Readonly<Record<string, unknown>>[] {
  const list = body[name];
  if (Array.isArray(list) && list.every(isTable)) return list;
  throw new Failure(`the answer has no list of ${name}: is the gateway of another version?`);
}
