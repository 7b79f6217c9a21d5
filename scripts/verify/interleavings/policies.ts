/** The policies of a mode, as a configuration would make them. Loaded after a fault is planted: it imports src/core. */

import { parseFields } from "../../../src/config/policy-fields.ts";
import type { Policy } from "../../../src/core/policy.ts";
import { type ModePolicy, WINDOW_MS } from "./modes.ts";

const policies = new Map<string, Policy>();

export function policyOf({ name, algorithm, mode, consistency, onStoreFailure }: ModePolicy, limit: number): Policy {
  const fields = typeof algorithm === "string" ? { algorithm } : { algorithm: "sliding-window", ...algorithm };
  const length = algorithm === "concurrency" ? { timeout: `${WINDOW_MS}ms` } : { window: `${WINDOW_MS}ms` };
  const limits = [{ ...fields, limit, ...length }];
  const id = `${name} ${mode} ${consistency} ${onStoreFailure} ${JSON.stringify(limits)}`;
  const found = policies.get(id);
  if (found) return found;
  const parsed = parseFields([{ name, key: ["global"], limits, mode, consistency, onStoreFailure }], "modes");
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  const [policy] = parsed.value;
  policies.set(id, policy!);
  return policy!;
}
