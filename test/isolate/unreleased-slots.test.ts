// Slots that are given back when the store answers again.

import { expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { createUnreleasedSlots } from "../../src/isolate/repay/unreleased-slots.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Store, StoreError } from "../../src/store/store.ts";
import { keyRequest } from "../support/gateway/counter.ts";

const limits = [{ kind: Kind.concurrency, limit: 1, timeoutMs: 60_000 }] as const;
const keys = [{ ...keyRequest("k", limits), limits }];
const failing = (code: ConstructorParameters<typeof StoreError>[0]): Store => {
  return { ...memoryStore(), take: () => Promise.reject(new StoreError(code)) };
};

it.each([
  ["TIMEOUT", 1],
  ["SUBREQUESTS", 1],
  ["CROSSSLOT", 0],
] as const)("a slot waits on after %s if a later request may give it back", async (code, waiting) => {
  const unreleased = createUnreleasedSlots();
  unreleased.add(keys, 1, 0);
  await unreleased.release(failing(code), 0);
  expect(unreleased.size).toBe(waiting);
});

it.each(["CROSSSLOT", "REJECTED"] as const)(
  "slots of several keys are given back one by one after %s",
  async (code) => {
    const two = ["{a}", "{b}"].map((key) => ({ ...keys[0]!, key }));
    const unreleased = createUnreleasedSlots();
    unreleased.add(two, 1, 0);
    await unreleased.release(failing(code), 0);
    const given: string[][] = [];
    const take: Store["take"] = async (request) => {
      given.push(request.keys.map(({ key }) => key));
      return { nowMs: 0, allowed: true, keys: [] };
    };
    await unreleased.release({ ...memoryStore(), take }, 0);
    expect(given).toEqual([["{a}"], ["{b}"]]);
    expect(unreleased.size).toBe(0);
  },
);
