// Requests with an id over two places: what one place has charged or admitted as a repeat is undone if the other one
// refuses.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const windows = { window: "1h", buckets: 60, oldest: "whole" } as const;
const user: PolicyInput = {
  name: "user",
  key: ["header:x-user"],
  once: "header:idempotency-key",
  limits: [{ limit: 10, ...windows }],
};
const site: PolicyInput = { name: "site", key: ["header:x-user"], limits: [{ limit: 2, ...windows }] };

/** `user` lies in the first place, `site` in the second. */
function places() {
  const stores = [memoryStore(), memoryStore()].map((memory) => withIsolate({ ...memory, kind: "redis" }));
  const store = splitStore(stores, (key) => (key.includes("{user:") ? 0 : 1));
  const limiter = createLimiter({ policies: [user, site], onDecision() {}, store });
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  return {
    async take(once: string, names = ["user", "site"]) {
      const takes = names.map((policy) => ({ policy, key: "ann" }));
      const { allowed, limits } = await limiter.take(takes, { once, background });
      while (work.length > 0) await work.shift();
      return allowed ? (limits.some(({ repeated }) => repeated) ? "repeat" : "charged") : "refused";
    },
    async used(policy: string) {
      const { remaining = 0 } = await limiter.peek(policy, { key: "ann" });
      return (policy === "user" ? 10 : 2) - remaining;
    },
  };
}

it("forgets the id of a request that the other place refuses, and gives its units back", async () => {
  const { take, used } = places();
  expect([await take("a"), await take("b"), await take("c")]).toEqual(["charged", "charged", "refused"]);
  expect(await used("user")).toBe(2);
  expect([await take("c", ["user"]), await take("c", ["user"]), await used("user")]).toEqual(["charged", "repeat", 3]);
});

it("does not count a repeat that the other place refuses, and gives nothing back", async () => {
  const { take, used } = places();
  expect([await take("a"), await take("a")]).toEqual(["charged", "repeat"]);
  // Both units of the site are used: its repeats were charged there.
  for (let i = 0; i < 5; i++) expect(await take("a")).toBe("refused");
  expect(await used("user")).toBe(1);
  expect([await take("a", ["user"]), await used("user")]).toEqual(["repeat", 1]);
  expect([await take("a", ["user"]), await used("user")]).toEqual(["charged", 2]);
});
