// What an admitted request holds: slots of concurrency limits, and its place in a leaky bucket.

import { beforeEach, expect, it, vi } from "vitest";
import type { Held } from "../../../src/features/slots/keep-slots.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Duration } from "../../../src/kernel/core/duration.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";

const TIMEOUT_MS = 30_000;
const atOnce = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits: [{ algorithm: "concurrency", limit, timeout: "30s" }], ...more };
};
const perMinute = (name: string, limit: number): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit, window: "1m" }] };
};
const limiterOf = (...policies: PolicyInput[]) => createLimiter({ policies, store: memoryStore() });
const names = (...policies: string[]) => policies.map((policy) => ({ policy }));

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));

it("is the slots of this request: released they are free again, and nothing else is", async () => {
  const limiter = limiterOf(atOnce("two", 2), perMinute("minute", 5));
  const take = () => limiter.take(names("two", "minute"));
  const [first, second] = [await take(), await take()];
  expect((await take()).allowed).toBe(false);
  await second.hold!.renew();
  for (const { hold } of [first, first, second]) {
    await hold!.release();
    expect((await limiter.peek("two")).remaining).toBe(hold === first.hold ? 1 : 2);
  }
  expect((await limiter.peek("minute")).remaining).toBe(3);
});

it("is renewed at half the shortest timeout, and lost without that", async () => {
  const limiter = limiterOf(atOnce("two", 2), atOnce("slow", 9, { limits: [{ algorithm: "concurrency", limit: 9 }] }));
  const renewed = await limiter.take(names("two", "slow"));
  await limiter.take("two");
  expect(renewed.hold!.renewEveryMs).toBe(TIMEOUT_MS / 2);
  for (let i = 0; i < 4; i++) {
    vi.setSystemTime(Date.now() + TIMEOUT_MS / 2);
    await renewed.hold!.renew();
  }
  expect((await limiter.peek("two")).remaining).toBe(1);
});

it.each<[string, PolicyInput[], number]>([
  ["a refusal", [atOnce("two", 2), perMinute("minute", 1)], 2],
  ["a cost of 0", [atOnce("two", 2)], 0],
  ["limits without slots", [perMinute("minute", 5)], 1],
])("is absent for %s", async (_what, policies, cost) => {
  const decision = await limiterOf(...policies).take(names(...policies.map(({ name }) => name)), { cost });
  expect(decision).not.toHaveProperty("hold");
});

it("does not hold what a policy in shadow refused", async () => {
  const limiter = limiterOf(atOnce("two", 2), atOnce("shadow", 1, { mode: "shadow" }));
  const [first, second] = [await limiter.take(names("two", "shadow")), await limiter.take(names("two", "shadow"))];
  expect(second.allowed).toBe(true);
  expect(second.shadow.map(({ admitted }) => admitted)).toEqual([false]);
  await second.hold!.renew();
  await first.hold!.release();
  const { limits, shadow } = await limiter.peek(names("two", "shadow"));
  expect([...limits, ...shadow].map(({ remaining }) => remaining)).toEqual([1, 1]);
});

it.each([
  ["TIMEOUT", true],
  ["SUBREQUESTS", false],
] as const)("may be renewed again after %s: %s", async (code, mayRenew) => {
  const memory = memoryStore();
  let isAway = false;
  const store: Store = {
    ...memory,
    async take(request) {
      if (isAway) throw new StoreError(code);
      return await memory.take(request);
    },
  };
  const { hold } = await createLimiter({ policies: [atOnce("two", 2)], store }).take("two");
  expect(await hold!.renew()).toBe(true);
  isAway = true;
  expect(await hold!.renew()).toBe(mayRenew);
});

it("waits for its turn in the slowest leaky bucket", async () => {
  const leaky = (name: string, window: Duration): PolicyInput => {
    const limits = [{ algorithm: "leaky-bucket", limit: 1, burst: 1, window, maxDelay: "1m" }] as const;
    return { name, key: ["global"], limits };
  };
  const limiter = limiterOf(leaky("second", "1s"), leaky("ten", "10s"));
  const take = () => limiter.take(names("second", "ten"));
  expect(await take()).not.toHaveProperty("delayMs");
  expect((await take()).delayMs).toBe(10_000);
  expect((await take()).delayMs).toBe(20_000);
});

it("is in parts where a WebSocket holds the slots of several policies for different times", async () => {
  const sockets = (name: string, sockets?: "open" | "handshake", more: Partial<PolicyInput> = {}) =>
    atOnce(name, 1, { limits: [{ algorithm: "concurrency", limit: 1, timeout: "30s", sockets }], ...more });
  const policies = [sockets("open", "open"), sockets("handshake", "handshake"), sockets("usual")];
  const limiter = limiterOf(...policies, sockets("trial", "open", { mode: "shadow" }));
  const left = async () => (await limiter.peek(names("open", "handshake", "usual"))).limits.map((one) => one.remaining);
  const { hold } = await limiter.take(names("open", "handshake", "usual", "trial"));
  const { parts } = hold as Held;
  expect(parts!.map((part) => part.sockets)).toEqual(["open", "handshake", undefined]);
  expect(await left()).toEqual([0, 0, 0]);
  for (const [released, free] of [
    [parts![1]!, [0, 1, 0]],
    [parts![0]!, [1, 1, 0]],
    [hold!, [1, 1, 1]],
  ] as const) {
    await released.release();
    expect(await left()).toEqual(free);
  }
});

it("keeps alive what the store is told after a release: a runtime ends everything else with the request", async () => {
  const memory = memoryStore();
  const state = { isDown: false };
  const take: Store["take"] = async (request, ...more) => {
    if (state.isDown) throw new StoreError("OPEN");
    // The way to the store: whoever does not wait for it never calls it.
    if (request.flag === Flag.chargeAnyway) await new Promise((resolve) => setImmediate(resolve));
    if (isEnded) throw new StoreError("NETWORK");
    return await memory.take(request, ...more);
  };
  const policies: PolicyInput[] = [
    {
      name: "api",
      limits: [
        { limit: 10, window: "1h" },
        { algorithm: "concurrency", limit: 5 },
      ],
    },
  ];
  const limiter = createLimiter({ policies, store: withIsolate({ ...memory, kind: "redis", take }), onDecision: [] });
  const kept: Promise<unknown>[] = [];
  let isEnded = false;
  const background = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
  const held = await limiter.take("api", { key: "ann", background });
  state.isDown = true;
  expect(await limiter.take("api", { key: "ann", background })).toMatchObject({ allowed: true, source: "fallback" });
  state.isDown = false;
  await held.hold!.release();
  for (let i = 0; i < kept.length; i++) await kept[i];
  isEnded = true;
  await new Promise((resolve) => setTimeout(resolve));
  isEnded = false;
  expect((await limiter.peek("api", { key: "ann" })).limits[0]).toMatchObject({ remaining: 8 });
});
