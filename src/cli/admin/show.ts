/** The admin API's answers as text for people. */

import { isTable } from "../../config/bindings.ts";
import { Failure } from "../io.ts";
import { table } from "./table.ts";

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
  return words.join(", ") || "none";
}

export function countsText(body: Body): string {
  const { policy, kind, key, override } = body;
  const rows = tablesIn(body, "limits").map(({ id, limit, remaining, resetAfterMs }) => {
    return [id, limit, remaining, typeof resetAfterMs === "number" ? `${Math.ceil(resetAfterMs / 1000)} s` : undefined];
  });
  const head = `policy ${policy}, ${kind} ${key}\noverride: ${overrideText(override)}\n\n`;
  return head + table(["limit", "units", "remaining", "full again in"], rows);
}

export function overridesText(body: Body): string {
  const overrides = tablesIn(body, "overrides");
  if (overrides.length === 0) return "no overrides\n";
  const rows = overrides.map((one) => [one.policy, one.kind, one.key, overrideText(one)]);
  return table(["policy", "kind", "key", "override"], rows);
}

/** The version that a change made. */
export function versionText({ version }: Body): string {
  return typeof version === "number" ? ` (version ${version} of the live document)` : "";
}

export function tablesIn(body: Body, name: string): Readonly<Record<string, unknown>>[] {
  const list = body[name];
  if (Array.isArray(list) && list.every(isTable)) return list;
  throw new Failure(`the answer has no list of ${name}: is the gateway of another version?`);
}
