/** What a call of a store threw, as the rest of the program handles it. */

import type { LateReply, StoreError } from "./store.ts";

/** The part of a `StoreError` that others act upon. */
export type StoreFailure = Pick<StoreError, "code" | "notRun" | "isReply" | "timeout">;

/**
 * Whatever was thrown is a failure that the policies decide about. A `StoreError` is known by its name: two bundles in one Worker
 * have two classes of that name. Anything else is `UNKNOWN`: a store of one's own threw it, or this package has a bug. It goes to
 * the console with its stack, because nothing else will tell of it.
 */
export function failureOf(error: unknown): StoreFailure {
  if (isStoreError(error)) return error;
  console.error("headgate: the store threw", error);
  return { code: "UNKNOWN", notRun: false, isReply: false, timeout: undefined };
}

/** Known by its name, not by its class: see `failureOf`. Says nothing on the console. */
export function isStoreError(error: unknown): error is StoreError {
  const thrown = error as Partial<StoreError> | undefined;
  return thrown?.name === "StoreError" && typeof thrown.code === "string";
}

/** What may still become of the call that threw; undefined: nothing. Says nothing on the console. */
export function lateReplyOf(error: unknown): LateReply | undefined {
  return ((error ?? {}) as Partial<StoreError>).timeout;
}
