/** The warnings that an isolate hands on to `STATS` in one call, and how they are checked there. They travel by RPC. */

import type { Crossing } from "../../features/alerts/warnings.ts";
import { isTable } from "../../kernel/config/bindings.ts";
import { isCount } from "../../kernel/core/algorithm.ts";
import type { LimitWarning } from "../../kernel/limiter/on-warning.ts";
import { expect, isName } from "../stats/batch.ts";

export interface WarningBatch {
  readonly warnings: readonly Crossing[];
  /** How many warnings the isolate had and could not keep. */
  readonly leftOut: number;
}

/** How many warnings wait in an isolate, and in the object. */
export const MAX_WAITING = 1_000;

/** By name, whether a value is right. */
const MEMBERS: { readonly [Name in keyof LimitWarning]: (value: unknown) => boolean } = {
  policy: isName,
  id: isName,
  key: isName,
  // Kinds name header fields and claims.
  kind: (value) => typeof value === "string" && value.length <= 1_000,
  part: (value) => typeof value === "number" && value > 0 && value <= 1,
  used: isCount,
  limit: isCount,
  resetAfterMs: isCount,
  at: isName,
};

/**
 * The warnings without what a newer isolate may have added.
 *
 * @throws {WrongRequest} with what was expected.
 */
export function checkedWarnings(batch: WarningBatch): WarningBatch {
  const { warnings, leftOut } = (batch ?? {}) as Partial<WarningBatch>;
  expect(isCount(leftOut), "leftOut", "an integer from 0");
  expect(Array.isArray(warnings) && warnings.length <= MAX_WAITING, "warnings", `a list of at most ${MAX_WAITING}`);
  return { leftOut, warnings: warnings.map((one: unknown, i) => checkedWarning(one, `warnings[${i}]`)) };
}

function checkedWarning(one: unknown, path: string): Crossing {
  const { warning, endsAtMs } = (one ?? {}) as Partial<Crossing>;
  expect(isCount(endsAtMs), `${path}.endsAtMs`, "ms since the epoch");
  expect(isTable(warning), `${path}.warning`, "a table");
  const members = Object.entries(MEMBERS).map(([name, isRight]) => {
    expect(isRight(warning[name]), `${path}.warning.${name}`, "another value");
    return [name, warning[name]];
  });
  return { warning: Object.fromEntries(members), endsAtMs };
}
