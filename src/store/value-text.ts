/** Values as text, for storages that keep nothing else. */

import type { LimitValue } from "../core/algorithms.ts";
import type { Records } from "../core/records.ts";

/** Slots are the only value that is not a list. */
export function toText(value: Records | LimitValue): string {
  return JSON.stringify(value instanceof Map ? { slots: [...value] } : value);
}

/** @throws {SyntaxError} if `toText` did not write it. */
export function fromText(text: string): Records | LimitValue {
  const value = JSON.parse(text) as Records | { readonly slots: readonly (readonly [number, number])[] };
  return "slots" in value ? new Map(value.slots) : value;
}
