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

export const STRICT: Mode = {
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
export const FALLBACK: Mode = { ...STRICT, name: "fallback", onStoreFailure: "local" };
export const LEASED: Mode = { ...STRICT, name: "leased", consistency: "leased", limit: 4, costs: [1], wishes: [0, 2] };

export function bounded(mode: Mode, name: string, bounds: Partial<Bounds>, more: Partial<Mode> = {}): Mode {
  return { ...mode, ...more, name: `${mode.name}, ${name}`, bounds: { ...NOTHING, ...bounds } };
}

const ALONE = { isolates: 1 };
const ONES = { costs: [1] };

/** Small enough for `npm test`. */
export const QUICK: readonly Mode[] = [
  bounded(STRICT, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(STRICT, "two isolates, a reset", { requests: 2, resets: 1 }, ONES),
  bounded(FALLBACK, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(LEASED, "two isolates", { requests: 2, passes: 1 }),
];

/** The longest first, so that no long one begins at the end. */
export const FULL: readonly Mode[] = [
  bounded(STRICT, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, ALONE),
  bounded(STRICT, "one isolate, three requests", { requests: 3, passes: 1 }, ALONE),
  bounded(FALLBACK, "two isolates, a fault", { requests: 2, passes: 1, faults: 1 }, ONES),
  bounded(FALLBACK, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, ALONE),
  bounded(FALLBACK, "one isolate, two faults", { requests: 2, passes: 1, faults: 2 }, { ...ALONE, ...ONES }),
  bounded(FALLBACK, "one isolate, three requests", { requests: 3, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(FALLBACK, "one isolate, a reset", { requests: 2, faults: 1, resets: 1 }, { ...ALONE, ...ONES }),
  bounded(LEASED, "two isolates", { requests: 2, passes: 2 }),
  bounded(LEASED, "one isolate, three requests", { requests: 3, passes: 2 }, ALONE),
  bounded(LEASED, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, ALONE),
  bounded(LEASED, "two isolates, a reset", { requests: 2, resets: 1 }),
  bounded(LEASED, "two isolates, a death", { requests: 2, passes: 1, deaths: 1 }),
  bounded(LEASED, "one isolate, a clock steps back", { requests: 2, passes: 1, steps: 1 }, ALONE),
  bounded(STRICT, "two isolates, a reset", { requests: 2, passes: 1, resets: 1 }, ONES),
  bounded(STRICT, "two isolates", { requests: 2, passes: 2 }),
  bounded(STRICT, "three isolates", { requests: 3 }, { ...ONES, isolates: 3 }),
  bounded(STRICT, "two isolates, a death", { requests: 2, passes: 1, deaths: 1 }, ONES),
  bounded(STRICT, "one isolate, a request is ended", { requests: 2, passes: 2, ended: 1 }, ALONE),
  bounded(STRICT, "one isolate, a clock steps back", { requests: 2, passes: 2, steps: 1 }, ALONE),
  bounded(STRICT, "two isolates, another number", { requests: 2, passes: 1, changes: 1 }),
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
