/** Turns what a store threw into a failure that the rest of the program can handle. */

import type { LateReply, StoreError } from "./store.ts";

/** The part of a `StoreError` that the program acts on. */
export type StoreFailure = Pick<StoreError, "code" | "notRun" | "isReply" | "timeout">;

/**
 * The failure of a store: the policies' `onStoreFailure` says what follows. A `StoreError` is recognised by its name,
 * because two bundles in one Worker have two classes of that name. Any other error becomes `UNKNOWN`: a third party's
 * store threw it, or this package has a bug. The error goes to the console with its stack, because nothing reports it
 * elsewhere.
 */
export function failureOf(error: unknown): StoreFailure {
  const { name, code } = (error ?? {}) as Partial<StoreError>;
  if (name === "StoreError" && typeof code === "string") return error as StoreError;
  console.error("headgate: the store threw", error);
  return { code: "UNKNOWN", notRun: false, isReply: false, timeout: undefined };
}

/** The late reply of the call that threw; undefined: no reply will come. Writes nothing to the console. */
export function lateReplyOf(error: unknown): LateReply | undefined {
  return ((error ?? {}) as Partial<StoreError>).timeout;
}
