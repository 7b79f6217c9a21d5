/** Turns what a store threw into a failure that the rest of the program can handle. */

import type { Receipt, TakeReply, TakeRequest } from "../core/take.ts";
import { createThrown } from "../lines.ts";
import { type LateReply, type Store, StoreError } from "./store.ts";

/** The part of a `StoreError` that the program acts on. */
export type StoreFailure = Pick<StoreError, "code" | "notRun" | "isReply" | "timeout">;

const writeThrown = createThrown("the store threw");

/**
 * The failure of a store: the policies' `onStoreFailure` says what follows. A `StoreError` is recognised by its name,
 * because two bundles in one Worker have two classes of that name. Any other error becomes `UNKNOWN`: a third party's
 * store threw it, or this package has a bug. The error goes to the console with its stack, because nothing reports it
 * elsewhere.
 */
export function failureOf(error: unknown): StoreError {
  if (isStoreError(error)) return error;
  writeThrown(error);
  return new StoreError("UNKNOWN");
}

/**
 * A take of a store that anybody may have written. What goes wrong here is a failure of the store, and nothing else is:
 * after this, the reply can be read.
 *
 * @throws {StoreError} and no other error.
 */
export async function askStore(store: Store, request: TakeRequest): Promise<TakeReply> {
  try {
    return checkReply(await store.take(request), request);
  } catch (error) {
    throw failureOf(error);
  }
}

/** @returns the same reply. @throws {StoreError} if it lacks the counts of a limit, or a readable `charged`. */
export function checkReply(reply: TakeReply, { keys }: TakeRequest): TakeReply {
  let isWhole = Number.isFinite((reply as TakeReply | undefined)?.nowMs) && Array.isArray(reply.charged);
  // Every answer of a store comes through here: no function is made for it.
  for (let k = 0; k < keys.length; k++) {
    const { limits } = keys[k]!;
    const replies: Partial<TakeReply["keys"][number]> | undefined = reply?.keys?.[k];
    for (let l = 0; l < limits.length; l++) isWhole &&= replies?.[l]?.view?.kind === limits[l]!.kind;
  }
  for (let r = 0, k = 0; isWhole && r < reply.charged.length; r++, k++) {
    const { key, cost, atMs, limits }: Partial<Receipt> = reply.charged[r] ?? {};
    // In the request's order: it lacks only keys that were not charged.
    while (k < keys.length && keys[k]!.key !== key) k++;
    isWhole = k < keys.length && Number.isFinite(cost) && Number.isFinite(atMs) && Array.isArray(limits);
  }
  if (!isWhole) throw new StoreError("MALFORMED_REPLY");
  return reply;
}

/** Known by its name, not by its class: see `failureOf`. Says nothing on the console. */
export function isStoreError(error: unknown): error is StoreError {
  const thrown = error as Partial<StoreError> | undefined;
  return thrown?.name === "StoreError" && typeof thrown.code === "string";
}

/** The late reply of the call that threw; undefined: no reply will come. Writes nothing to the console. */
export function lateReplyOf(error: unknown): LateReply | undefined {
  return ((error ?? {}) as Partial<StoreError>).timeout;
}
