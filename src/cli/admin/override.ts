/** What a client's override becomes. A PUT replaces it whole. */

import { isTable } from "../../config/bindings.ts";
import { Misuse } from "../io.ts";
import { limitsOf, untilOf } from "./options.ts";

export interface OverrideOptions {
  readonly limit?: readonly string[];
  readonly factor?: string;
  readonly plan?: string;
  readonly exempt?: boolean;
  readonly until?: string;
  readonly note?: string;
  readonly remove?: boolean;
}

/** The override that the options describe. Undefined: it is to be removed. */
export function changesOf(options: OverrideOptions, nowMs: number): object | undefined {
  const { limit, factor, plan, exempt, until, note, remove } = options;
  const changes = {
    ...(limit && { limits: limitsOf(limit) }),
    ...(factor !== undefined && { factor: factorOf(factor) }),
    ...(plan !== undefined && { plan }),
    ...(exempt && { exempt }),
  };
  const isEmpty = Object.keys(changes).length === 0;
  if (remove ? !isEmpty || until !== undefined || note !== undefined : isEmpty) {
    throw new Misuse("expected --limit, --factor, --plan or --exempt, or --remove alone");
  }
  if (remove) return undefined;
  return {
    ...changes,
    ...(until !== undefined && { until: untilOf(until, nowMs) }),
    ...(note !== undefined && { note }),
  };
}

function factorOf(text: string): number {
  const factor = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && factor > 0) return factor;
  throw new Misuse("--factor: expected a number above 0, for example 2 or 0.5");
}

/** The fields that a PUT takes. An answer has the client's name beside them. */
const FIELDS = ["limits", "factor", "plan", "exempt", "block", "until", "note"];

function fieldsOf(override: unknown): Record<string, unknown> {
  const entries = Object.entries(isTable(override) ? override : {});
  return Object.fromEntries(entries.filter(([name]) => FIELDS.includes(name)));
}

/** Adds a block. The rest of the override stays. */
export function withBlock(block: object): (override: unknown) => object {
  return (override) => ({ ...fieldsOf(override), block: true, ...block });
}

/** Undefined: nothing is left. An `until` or a note alone does nothing. */
export function withoutBlock(override: unknown): object | undefined {
  const { block: _, ...rest } = fieldsOf(override);
  return Object.keys(rest).some((name) => name !== "until" && name !== "note") ? rest : undefined;
}
