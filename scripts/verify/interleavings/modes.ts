/** What is explored: one mode after the other, each with its bounds. */

import { parseFields } from "../../../src/config/policy-fields.ts";
import type { Policy } from "../../../src/core/policy.ts";

/** How often each thing may happen in one execution. */
export interface Bounds {
  readonly requests: number;
  /** Time passes to the next instant at which anything changes. */
  readonly passes: number;
  /** A message is lost, a call is refused before it runs, or a connection breaks. */
  readonly faults: number;
  readonly resets: number;
  /** An isolate dies. */
  readonly deaths: number;
  /** The runtime ends one request with its background. */
  readonly ended: number;
  /** The clock of an isolate steps back. */
  readonly steps: number;
  /** The limit's number changes. */
  readonly changes: number;
}

export interface Mode {
  readonly name: string;
  readonly isolates: number;
  readonly consistency: Policy["consistency"];
  readonly onStoreFailure: Policy["onStoreFailure"];
  readonly limit: number;
  /** The number after a change. */
  readonly other: number;
  readonly costs: readonly number[];
  /** How many units an isolate may wish to have ahead of demand. */
  readonly wishes: readonly number[];
  readonly bounds: Bounds;
}

const NOTHING: Bounds = {
  requests: 0,
  passes: 0,
  faults: 0,
  resets: 0,
  deaths: 0,
  ended: 0,
  steps: 0,
  changes: 0,
};

const STRICT: Mode = {
  name: "strict",
  isolates: 2,
  consistency: "strict",
  onStoreFailure: "deny",
  limit: 2,
  other: 3,
  costs: [1, 2],
  wishes: [0],
  bounds: { ...NOTHING, requests: 3, passes: 3, faults: 1 },
};
const FALLBACK: Mode = { ...STRICT, name: "fallback", onStoreFailure: "local" };
const LEASED: Mode = { ...STRICT, name: "leased", consistency: "leased", limit: 4, costs: [1], wishes: [0, 2] };

function bounded(mode: Mode, name: string, bounds: Partial<Bounds>, more: Partial<Mode> = {}): Mode {
  return { ...mode, ...more, name: `${mode.name}, ${name}`, bounds: { ...NOTHING, ...bounds } };
}

/** Small enough for `npm test`. */
export const QUICK: readonly Mode[] = [
  bounded(STRICT, "quick", { requests: 2, passes: 2, faults: 1 }),
  bounded(STRICT, "quick reset", { requests: 2, passes: 1, resets: 1 }),
  bounded(FALLBACK, "quick", { requests: 2, passes: 1, faults: 1 }),
  bounded(LEASED, "quick", { requests: 2, passes: 2 }),
];

export const FULL: readonly Mode[] = [
  bounded(STRICT, "faults", { requests: 3, passes: 3, faults: 1 }),
  bounded(STRICT, "reset", { requests: 3, passes: 2, resets: 1 }),
  bounded(STRICT, "death", { requests: 3, passes: 2, deaths: 1, ended: 1 }),
  bounded(STRICT, "clock", { requests: 3, passes: 3, steps: 1 }),
  bounded(STRICT, "numbers", { requests: 3, passes: 2, changes: 1 }),
  bounded(STRICT, "three isolates", { requests: 3, passes: 2 }, { isolates: 3 }),
  bounded(FALLBACK, "faults", { requests: 3, passes: 2, faults: 1 }),
  bounded(FALLBACK, "two faults", { requests: 2, passes: 2, faults: 2 }),
  bounded(FALLBACK, "reset", { requests: 2, passes: 2, faults: 1, resets: 1 }),
  bounded(FALLBACK, "death", { requests: 3, passes: 1, faults: 1, deaths: 1 }),
  bounded(LEASED, "plain", { requests: 3, passes: 3 }),
  bounded(LEASED, "faults", { requests: 3, passes: 2, faults: 1 }),
  bounded(LEASED, "reset", { requests: 3, passes: 2, resets: 1 }),
  bounded(LEASED, "death", { requests: 3, passes: 2, deaths: 1 }),
  bounded(LEASED, "clock", { requests: 3, passes: 2, steps: 1 }),
  bounded(LEASED, "local", { requests: 2, passes: 2, faults: 1 }, { onStoreFailure: "local" }),
];

const policies = new Map<string, Policy>();

export function policyOf({ consistency, onStoreFailure }: Mode, limit: number): Policy {
  const id = `${consistency} ${onStoreFailure} ${limit}`;
  const found = policies.get(id);
  if (found) return found;
  const limits = [{ algorithm: "fixed-window", limit, window: "1s" }];
  const parsed = parseFields([{ name: "p", key: ["global"], limits, consistency, onStoreFailure }], "modes");
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  const [policy] = parsed.value;
  policies.set(id, policy!);
  return policy!;
}
