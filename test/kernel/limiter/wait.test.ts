// `limiter.wait` in virtual time: a real limiter, with virtual clock, timers and randomness.

import { expect, it } from "vitest";
import { withVirtualGlobals } from "../../../scripts/simulate/scale/globals.ts";
import {
  createLimiter,
  type Decision,
  type Limiter,
  memoryStore,
  type PolicyInput,
  remoteStore,
  type Store,
} from "../../../src/index.ts";
import { waiting } from "../../../src/kernel/limiter/wait.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { type VirtualTime, virtualTime } from "../../support/virtual-time.ts";

interface Ended {
  readonly atMs: number;
  readonly decision?: Decision;
  readonly error?: unknown;
}

interface World {
  readonly limiter: Limiter;
  readonly time: VirtualTime;
  /** Begins a wait at an instant, and notes how it ends, under this name. */
  wait(name: string, atMs: number, options?: Parameters<Limiter["wait"]>[1]): void;
}

const MINUTE_MS = 60_000;

/** Ten minutes under one policy. @param oneWayMs how far the store is. */
async function story(limits: PolicyInput["limits"], play: (world: World) => void, oneWayMs = 0) {
  const time = virtualTime(0);
  const ended = new Map<string, Ended>();
  const near = memoryStore();
  async function take(...request: Parameters<Store["take"]>) {
    await time.sleep(oneWayMs);
    const reply = await near.take(...request);
    await time.sleep(oneWayMs);
    return reply;
  }
  await withVirtualGlobals(time, mulberry32(7), async () => {
    const store = oneWayMs === 0 ? near : remoteStore({ ...near, kind: "far", take }, { onBreakerChange() {} });
    const limiter = createLimiter({ policies: [{ name: "api", limits }], store, onDecision() {} });
    const wait: World["wait"] = (name, atMs, options) =>
      time.at(atMs, () => {
        limiter.wait("api", { key: "k", ...options }).then(
          (decision) => ended.set(name, { atMs: time.nowMs(), decision }),
          (error) => ended.set(name, { atMs: time.nowMs(), error }),
        );
      });
    play({ limiter, time, wait });
    await time.runUntil(10 * MINUTE_MS);
  });
  return ended;
}

const ONE_A_SECOND = [{ algorithm: "token-bucket", limit: 1, window: "1s", burst: 1 }] as const;
const ONE_AN_HOUR = [{ algorithm: "fixed-window", limit: 1, window: "1h" }] as const;

it("resolves with the last refusal at once, if the told wait does not fit, or never ends", async () => {
  const ended = await story(ONE_AN_HOUR, ({ wait }) => {
    wait("first", 0, {});
    wait("too long", 0, { timeoutMs: 59 * MINUTE_MS });
    wait("never", 0, { cost: 2, timeoutMs: Number.POSITIVE_INFINITY });
    wait("no time", 0, { timeoutMs: 0 });
  });
  const refused = { outcome: "refused" };
  expect(ended.get("too long")).toMatchObject({ atMs: 0, decision: { ...refused, retryAfterMs: 60 * MINUTE_MS } });
  expect(ended.get("never")).toMatchObject({ atMs: 0, decision: { ...refused, limits: [{ admitted: false }] } });
  expect(ended.get("never")!.decision!.retryAfterMs).toBeUndefined();
  expect(ended.get("no time")).toMatchObject({ atMs: 0, decision: refused });
});

it("ends with the signal's reason, at once, and keeps what was charged in that moment", async () => {
  const reason = new Error("enough");
  const [early, during] = [new AbortController(), new AbortController()];
  early.abort(reason);
  const ended = await story(
    ONE_A_SECOND,
    ({ time, wait }) => {
      wait("before", 0, { signal: early.signal });
      wait("admitted", 0, { signal: during.signal });
      wait("asleep", 100, { signal: during.signal });
      time.at(300, () => during.abort(reason));
      const called = new AbortController();
      wait("called", 5_000, { signal: called.signal });
      time.at(5_010, () => called.abort(reason));
    },
    20,
  );
  expect(ended.get("before")).toEqual({ atMs: 0, error: reason });
  expect(ended.get("admitted")?.decision?.allowed).toBe(true);
  expect(ended.get("asleep")).toEqual({ atMs: 300, error: reason });
  expect(ended.get("called")).toMatchObject({ atMs: 5_040, decision: { allowed: true } });
});

it("waits for the delay of a leaky bucket, and gives its slot back if the wait ends before", async () => {
  const controller = new AbortController();
  const limits = [
    { algorithm: "leaky-bucket", limit: 1, window: "1s", burst: 1, maxDelay: "10s" },
    { algorithm: "concurrency", limit: 2 },
  ] as const;
  const ended = await story(limits, ({ time, wait }) => {
    wait("first", 0, {});
    wait("delayed", 0, { signal: controller.signal });
    time.at(500, () => controller.abort());
    wait("second", 600, {});
  });
  expect(ended.get("delayed")!.error).toBeInstanceOf(DOMException);
  expect(ended.get("second")!.decision).toMatchObject({ allowed: true, limits: [{}, { remaining: 0 }] });
  expect(ended.get("second")!.decision).not.toHaveProperty("delayMs");
  expect(ended.get("second")!.atMs).toBeGreaterThanOrEqual(2_000);
});

/** When a wait asks a limiter that always decides so, in ms. */
async function asksOf(decision: object, random: () => number, timeoutMs = MINUTE_MS): Promise<number[]> {
  const time = virtualTime(0);
  const askedAtMs: number[] = [];
  const take = async () => {
    askedAtMs.push(time.nowMs());
    return { allowed: false, limits: [], shadow: [], ...decision } as unknown as Decision;
  };
  await withVirtualGlobals(time, random, async () => {
    time.at(0, () => void waiting(take)("api", { key: "k", timeoutMs }));
    await time.runUntil(MINUTE_MS);
  });
  return askedAtMs;
}

it.each([
  // A timer gets 1 ms more.
  [100, 0, MINUTE_MS, 101],
  [100, 0.5, MINUTE_MS, 151],
  [10_000, 0.5, MINUTE_MS, 10_501],
  [10_000, 0.5, 10_200, 10_101],
  [10_000, 0.5, 9_999, undefined],
])(
  "told %i ms, adds %d of at most as much and at most 1 s, within %i ms",
  async (retryAfterMs, part, leftMs, asked) => {
    expect((await asksOf({ outcome: "refused", retryAfterMs }, () => part, leftMs))[1]).toBe(asked);
  },
);

it("asks as often as its time allows", async () => {
  expect(await asksOf({ outcome: "refused", retryAfterMs: 4_000 }, () => 0, 9_000)).toEqual([0, 4_001, 8_002]);
});

it("pauses 1 to 2 s between two asks of a store that does not answer", async () => {
  const unavailable = { outcome: "unavailable", unavailable: true, source: "fallback" };
  const askedAtMs = await asksOf(unavailable, mulberry32(3));
  const pausesMs = askedAtMs.slice(1).map((atMs, i) => atMs - askedAtMs[i]!);
  expect(pausesMs.length).toBeGreaterThan(30);
  expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(1_000);
  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(2_000);
});

it.each([
  [{ key: "k", timeoutMs: -1 }, "wait: timeoutMs: expected milliseconds, 0 or more; found -1"],
  [{ key: "k", timeoutMs: Number.NaN }, "wait: timeoutMs: expected milliseconds, 0 or more; found NaN"],
  [{ key: "k", timeoutMs: "1s" }, "wait: timeoutMs: expected number, found string"],
  [{ key: "k", timeout: 5 }, "wait: unknown option timeout: did you mean timeoutMs?"],
  [{}, 'take: policy api needs a key (only policies with key "global" do without)'],
])("rejects for misuse: %j", async (options, message) => {
  const limiter = createLimiter({ policies: [{ name: "api", limits: ONE_A_SECOND }], store: memoryStore() });
  await expect(limiter.wait("api", options as object)).rejects.toThrow(new TypeError(message));
});
