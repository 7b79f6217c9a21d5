/** One JSON line for each change that an admin makes. It holds hashes and never a raw key. */

import type { LiveDocument } from "../../limiter/live/document.ts";

export interface AuditEntry {
  /** Who: `token`, or `access:` and an address or id. */
  readonly by: string;
  /** What was called, for example `PUT /overrides/api`. */
  readonly call: string;
  /** Whose counts or override: kind and hash. */
  readonly client?: { readonly kind: string; readonly key: string };
  readonly before?: unknown;
  readonly after?: unknown;
  /** The version of the live document after the change. */
  readonly version?: number;
  /** The store did not answer: the change may have been made or not. */
  readonly failure?: string;
}

export function audit(entry: AuditEntry): void {
  console.log(JSON.stringify({ event: "admin", at: new Date().toISOString(), ...entry }));
}

/** A log line has a bound: Workers Logs cut it at 256 KB (2026-11). */
const MAX_OVERRIDES = 100;

/** What differs between two documents: on each side the policies and overrides that the other side does not have. */
export function differences(before: LiveDocument, after: LiveDocument): { before: unknown; after: unknown } {
  return { before: without(before, after), after: without(after, before) };
}

function without(document: LiveDocument, other: LiveDocument): unknown {
  const others = new Set(other.overrides.map((override) => JSON.stringify(override)));
  const policies = Object.entries(document.policies).filter(
    ([name, policy]) => JSON.stringify(policy) !== JSON.stringify(other.policies[name]),
  );
  const overrides = document.overrides.filter((override) => !others.has(JSON.stringify(override)));
  return {
    ...(policies.length > 0 && { policies: Object.fromEntries(policies) }),
    ...(overrides.length > 0 && { overrides: overrides.slice(0, MAX_OVERRIDES) }),
    ...(overrides.length > MAX_OVERRIDES && { furtherOverrides: overrides.length - MAX_OVERRIDES }),
  };
}
