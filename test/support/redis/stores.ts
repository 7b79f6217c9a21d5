// A store that records its requests, a store that always fails, how a store has failed, and stores by where they are.

import type { TakeRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError, type StoreErrorCode } from "../../../src/kernel/store/store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

/** A memory store that records every request. */
export function recordingStore(): Store & { readonly takes: TakeRequest[]; readonly resets: (readonly string[])[] } {
  const store = memoryStore();
  const takes: TakeRequest[] = [];
  const resets: (readonly string[])[] = [];
  return {
    ...store,
    takes,
    resets,
    async take(request) {
      takes.push(request);
      return await store.take(request);
    },
    async reset(keys) {
      resets.push(keys);
      await store.reset(keys);
    },
  };
}

export function failingStore(error: Error | StoreErrorCode = "NETWORK"): Store {
  const fail = async () => {
    throw typeof error === "string" ? new StoreError(error) : error;
  };
  return { kind: "redis", keySecret: "token", take: fail, reset: fail, ping: fail };
}

export const failureOf = (work: Promise<unknown>): Promise<StoreError> =>
  work.then(
    () => Promise.reject(new Error("expected a failure, found an answer")),
    (error) => (error instanceof StoreError ? error : Promise.reject(error)),
  );

const farStore = () => remoteStore({ ...memoryStore(), kind: "far" });

/** @param policy has the first of two places to itself. */
export const storesAround = (policy: string): Readonly<Record<string, () => Store>> => ({
  memory: memoryStore,
  far: farStore,
  "two places": () => splitStore([farStore(), farStore()], (key) => (key.includes(`{${policy}`) ? 0 : 1)),
});
