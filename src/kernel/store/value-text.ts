/**
 * Values as text, and the decision over a storage that keeps nothing else. What is read is checked: a value that
 * `toText` did not write counts as absent, and the next charge replaces it. To start counting anew is better than to
 * fail forever. Redis does the same (lua/records.lua).
 */

import { parseJson } from "../config/bindings.ts";
import { isCount } from "../core/algorithm.ts";
import { algorithmOf, type LimitRecord, type Value, type ValueKind } from "../core/algorithms.ts";
import { type Kind, MAX_BUCKETS, MAX_EXACT, MAX_WINDOW_MS } from "../core/layout.ts";
import { parseOnce } from "../core/once.ts";
import type { Records } from "../core/records.ts";
import { type TakeReply, type TakeRequest, take } from "../core/take.ts";

/** Every value is a list, a map, or the numbers of an id. */
export function toText(value: Records | Value): string {
  return JSON.stringify(value instanceof Map ? { slots: [...value] } : value);
}

/** What a text says. Undefined: it is damaged. @param text what a storage has under a key, which may be no text. */
export function jsonIn(text: unknown): unknown {
  return typeof text === "string" ? parseJson(text) : undefined;
}

/**
 * Without a kind the records that are whole, otherwise the value of a limit or of an id. Undefined: it is damaged, or
 * of another kind. @param json what a text says.
 */
export function valueIn(json: unknown, kind?: ValueKind): Records | Value | undefined {
  if (kind === undefined) return Array.isArray(json) ? json.filter(isRecord) : undefined;
  return kind === "once" ? parseOnce(json) : algorithmOf({ kind }).values?.parse(json);
}

function isRecord(value: unknown): value is LimitRecord {
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { kind, newest = 0, buckets, counts } = record;
  // Undefined: another version may know this kind.
  const names = isCount(kind) ? algorithmOf({ kind: kind as Kind })?.records?.numbers : undefined;
  if (!names) return false;
  const numbers = names.map((name) => record[name]);
  const [ms] = numbers;
  if (!numbers.every(isCount) || !isFrom1(ms, MAX_WINDOW_MS)) return false;
  // A window that no clock reaches would stay the newest forever.
  if ((newest as number) > MAX_EXACT / ms) return false;
  if (!names.includes("buckets")) return true;
  return (
    isFrom1(buckets, MAX_BUCKETS) && Array.isArray(counts) && counts.length === buckets + 1 && counts.every(isCount)
  );
}

function isFrom1(value: unknown, most: number): value is number {
  return isCount(value) && value >= 1 && value <= most;
}

/** What a decision leaves under one key. */
export interface Write {
  /** A key of the request, or the key of its id, of one of its logs or of its slots. */
  readonly key: string;
  /** The new text; undefined: the key is to be deleted. */
  readonly text: string | undefined;
  /** The text means nothing any more after this many milliseconds, at least 1; 0 with an undefined text. */
  readonly expiryMs: number;
}

/**
 * Checks every limit of the request, then counts under all of them or none (the rules: kernel/core/take.ts). For a
 * store that you write yourself: read, decide and write must be one transaction.
 *
 * @param read the text under a key, as an earlier decision wrote it; undefined if there is none or it has expired. A
 * damaged text counts as none, and the next charge replaces it.
 * @param nowMs the clock of the storage, ms since the epoch.
 * @returns the reply, and what is to be written; a refusal writes nothing.
 */
export function takeFrom(
  read: (key: string) => string | undefined,
  request: TakeRequest,
  nowMs: number,
): { readonly reply: TakeReply; readonly writes: readonly Write[] } {
  const { reply, written } = take((key, kind) => valueIn(jsonIn(read(key)), kind), request, nowMs);
  const writes = written.map(({ key, value, expiryMs }) => ({ key, text: value && toText(value), expiryMs }));
  return { reply, writes };
}
