/**
 * The policies of a mode, as a configuration would make them. Loaded after a fault is planted: it imports
 * src/kernel/core.
 */

import { tableOf } from "../../../src/features/fields.ts";
import { leasesFields } from "../../../src/features/leases/fields.ts";
import { sharedFields } from "../../../src/features/shared/fields.ts";
import { parseFields } from "../../../src/kernel/config/policy-fields.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { CALENDAR, type ModePolicy, WINDOW_MS } from "./modes.ts";

const FIELDS = tableOf([leasesFields, sharedFields]);

const policies = new Map<string, Policy>();

export function policyOf(rules: ModePolicy, limit: number): Policy {
  const { name, algorithm, mode, consistency, syncMs, onStoreFailure } = rules;
  const fields = typeof algorithm === "string" ? { algorithm } : { algorithm: "sliding-window", ...algorithm };
  const limits = [{ ...fields, limit, ...lengthOf(algorithm) }];
  const id = `${name} ${mode} ${consistency} ${onStoreFailure} ${JSON.stringify(limits)}`;
  const found = policies.get(id);
  if (found) return found;
  const sync = syncMs !== undefined && { sync: `${syncMs}ms` };
  const parsed = parseFields(
    FIELDS,
    [{ name, key: ["global"], limits, mode, consistency, onStoreFailure, ...sync }],
    "modes",
  );
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  const [policy] = parsed.value;
  policies.set(id, policy!);
  return policy!;
}

function lengthOf(algorithm: ModePolicy["algorithm"]): object {
  if (algorithm === "concurrency") return { timeout: `${WINDOW_MS}ms` };
  return algorithm === "calendar" ? { window: CALENDAR.window, zone: CALENDAR.zone } : { window: `${WINDOW_MS}ms` };
}
