// Requests with an id over two places: what one place has charged or admitted as a repeat is undone if the other one
// refuses.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
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
function places(...policies: PolicyInput[]) {
  const calls: TakeRequest[] = [];
  /** What becomes of the next calls to a place. */
  const faults: ((run: () => Promise<TakeReply>) => Promise<TakeReply>)[] = [];
  const stores = [memoryStore(), memoryStore()].map((memory, place): Store => {
    return {
      ...memory,
      kind: "redis",
      timeoutMs: 1_000,
      async take(request) {
        calls.push(request);
        const run = () => memory.take(request, Date.now());
        return await (faults[place] ? faults[place](run) : run());
      },
    };
  });
  const placeOf = (key: string) => (key.includes("{user:") ? 0 : 1);
  const store = splitStore(
    stores.map((one) => withIsolate(one)),
    placeOf,
  );
  const options = { policies: policies.length ? policies : [user, site], onDecision() {} };
  const limiter = createLimiter({ ...options, store });
  const elsewhere = createLimiter({
    ...options,
    store: splitStore(
      stores.map((one) => withIsolate(one)),
      placeOf,
    ),
  });
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  const settled = async () => {
    while (work.length > 0) await work.shift();
  };
  /** What was decided. What is to be undone may still be on its way. */
  async function ask(once: string, names = ["user", "site"]) {
    const takes = names.map((policy) => ({ policy, key: "ann" }));
    const { allowed, limits } = await limiter.take(takes, { once, background });
    return allowed ? (limits.some(({ repeated }) => repeated) ? "repeat" : "charged") : "refused";
  }
  return {
    limiter,
    calls,
    faults,
    settled,
    ask,
    async take(once: string, names?: string[]) {
      const decided = await ask(once, names);
      await settled();
      return decided;
    },
    /** Another isolate takes, and this one does not know it. */
    takeElsewhere: async (policy: string, cost: number) => void (await elsewhere.take(policy, { key: "ann", cost })),
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

it("gives the units of a request beyond the repeats back, and leaves its id used up", async () => {
  const { take, takeElsewhere, used } = places({ ...user, repeats: 1 }, site);
  expect([await take("a", ["user"]), await take("a", ["user"]), await used("user")]).toEqual(["charged", "repeat", 1]);
  await takeElsewhere("site", 2);
  expect([await take("a"), await used("user")]).toEqual(["refused", 1]);
  expect([await take("a", ["user"]), await used("user")]).toEqual(["charged", 2]);
});

it("keeps the units of a request that was undone if a repeat of it was admitted meanwhile", async () => {
  const { ask, take, takeElsewhere, used, faults, settled } = places();
  await takeElsewhere("site", 2);
  // The site refuses the first request slowly; its repeat, which the site does not see, is admitted in between.
  const answers = Promise.withResolvers<void>();
  faults[1] = async (run) => {
    await answers.promise;
    return await run();
  };
  const first = ask("a");
  await vi.waitFor(async () => expect(await used("user")).toBe(1));
  expect(await ask("a", ["user"])).toBe("repeat");
  answers.resolve();
  expect(await first).toBe("refused");
  await settled();
  // The repeat needs the charge: one request with this id was admitted, and it was charged once.
  expect(await used("user")).toBe(1);
  expect([await take("a", ["user"]), await take("a", ["user"])]).toEqual(["repeat", "repeat"]);
  expect([await take("a", ["user"]), await used("user")]).toEqual(["charged", 2]);
});

it("undoes a charge or a repeat that a place tells too late, after the request was refused", async () => {
  const { take, used, faults, settled } = places({ ...user, onStoreFailure: "deny" }, site);
  const late = async (run: () => Promise<TakeReply>) => {
    const answer = run();
    throw new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then(() => false) });
  };
  faults[0] = late as (typeof faults)[0];
  expect(await take("a")).toBe("refused");
  delete faults[0];
  await settled();
  expect(await used("user")).toBe(0);
  expect([await take("a", ["user"]), await used("user")]).toEqual(["charged", 1]);
  faults[0] = late as (typeof faults)[0];
  for (let i = 0; i < 4; i++) expect(await take("a", ["user"])).toBe("refused");
  delete faults[0];
  await settled();
  expect([await take("a", ["user"]), await take("a", ["user"]), await used("user")]).toEqual(["repeat", "repeat", 1]);
});
