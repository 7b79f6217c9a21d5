/**
 * The decision over any storage that keeps text under keys: for a store that you write yourself. Read, decide and write
 * must be one transaction.
 */

import { type Stored, type TakeReply, type TakeRequest, take } from "../core/take.ts";
import { jsonIn, limitValueOf, recordsOf, toText } from "./value-text.ts";

/** What a decision leaves under one key. */
export interface Write {
  /** A key of the request, or the key of one of its logs or of its slots. */
  readonly key: string;
  /** The new text; undefined: the key is to be deleted. */
  readonly text: string | undefined;
  /** The text means nothing any more after this many milliseconds, at least 1; 0 with an undefined text. */
  readonly expiryMs: number;
}

/**
 * Checks every limit of the request, then charges all limits or none (the rules: core/take.ts).
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
  const stored: Stored = {
    records: (key) => recordsOf(jsonIn(read(key))),
    value: (key, kind) => limitValueOf(jsonIn(read(key)), kind),
  };
  const { reply, records, values } = take(stored, request, nowMs);
  const writes = [
    ...records.map(({ key, records, expiryMs }): Write => ({ key, text: toText(records), expiryMs })),
    ...values.map(({ key, kept }): Write => {
      return { key, text: kept && toText(kept.value), expiryMs: kept?.expiryMs ?? 0 };
    }),
  ];
  return { reply, writes };
}
