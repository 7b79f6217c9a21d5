// A store of one's own that is far away: slow, silent, failing or throwing.

import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { Flag, type TakeReply, type TakeRequest } from "../../src/kernel/core/take.ts";
import type { BreakerChange } from "../../src/kernel/place/breaker.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import { type RemoteStoreOptions, remoteStore } from "../../src/stores/remote-store.ts";
import { keyRequest, tenMinutes } from "../../src/testing/store-case.ts";
import { createLimiter } from "../support/limiter.ts";
import { failureOf } from "../support/redis/stores.ts";

/** Of this file alone: a budget asks whether the isolate was busy within a second of now. */
const NOW_MS = 1_750_000_000_000;
/** How long a late reply is waited for after two budgets, ms. */
const LATE_MS = 2_000;
const request: TakeRequest = { keys: [keyRequest("key", [tenMinutes(100)])], flag: Flag.take };

let written: MockInstance<typeof console.error>;
let tests = 0;
beforeEach(() => {
  // Each test has a second of its own: the lines of one second are bounded.
  vi.useFakeTimers({ now: NOW_MS + 60_000 * tests++, toFake: ["Date", "setTimeout", "clearTimeout"] });
  written = vi.spyOn(console, "error").mockImplementation(() => {});
});

/** As somebody writes it: a class, whose methods and kind are those of its prototype, and use private members. */
class StoreOfOnesOwn implements Store {
  readonly keySecret = "token";
  readonly #memory = memoryStore();
  readonly takes: TakeRequest[] = [];
  /** What happens to a call instead of an answer, or before it. */
  trouble: (() => unknown) | undefined;

  get kind() {
    return "mine";
  }
  async take(asked: TakeRequest) {
    this.takes.push(asked);
    await this.trouble?.();
    return await this.#memory.take(asked);
  }
  async reset(keys: readonly string[]) {
    await this.trouble?.();
    await this.#memory.reset(keys);
  }
  async ping() {
    await this.trouble?.();
  }
}

const hang = () => new Promise<never>(() => {});
const slow = (ms: number) => () => new Promise((resolve) => setTimeout(resolve, ms));
const fail = (error: unknown) => () => {
  throw error;
};

function opened(options: RemoteStoreOptions = {}) {
  const own = new StoreOfOnesOwn();
  const changes: BreakerChange[] = [];
  return { own, changes, store: remoteStore(own, { onBreakerChange: (change) => changes.push(change), ...options }) };
}

const asksOf = (store: Store) => [() => store.take(request), () => store.reset(["key"]), () => store.ping()];

/** A failure that comes after this many milliseconds, and not one earlier. */
async function failsAfter(ms: number, work: Promise<unknown>): Promise<StoreError> {
  let isDone = false;
  const failure = failureOf(work).finally(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(isDone).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  return await failure;
}

describe("a call", () => {
  it("goes to the store as it is, with its kind and secret, and gets its answer", async () => {
    const { own, store } = opened();
    own.trouble = slow(249);
    const asked = store.take(request, NOW_MS);
    await vi.advanceTimersByTimeAsync(249);
    expect(await asked).toMatchObject({ allowed: true });
    expect(own.takes).toEqual([request]);
    expect(store).toMatchObject({ kind: "mine", keySecret: "token", timeoutMs: 250 });
  });

  it("of any kind ends with its budget: 250 ms, or the one that is given", async () => {
    for (const timeoutMs of [undefined, 40]) {
      const { own, store } = opened(timeoutMs ? { timeoutMs } : {});
      own.trouble = hang;
      for (const ask of asksOf(store)) expect((await failsAfter(timeoutMs ?? 250, ask())).code).toBe("TIMEOUT");
      // A decision may have a budget of its own.
      expect((await failsAfter(70, store.take(request, undefined, 70))).code).toBe("TIMEOUT");
    }
  });

  it("tells a reply that comes late", async () => {
    const { own, store } = opened();
    own.trouble = slow(300);
    const { timeout } = await failsAfter(250, store.take(request));
    await vi.advanceTimersByTimeAsync(50);
    expect(await timeout!.answer).toMatchObject({ allowed: true });
    expect(await timeout!.hasFailed).toBe(false);
  });

  it.each<[what: string, trouble: () => unknown]>([
    ["the store failed late", () => slow(300)().then(fail(new Error("late")))],
    ["the store never answers", hang],
  ])("tells that no reply comes late: %s", async (_, trouble) => {
    const { own, store } = opened();
    own.trouble = trouble;
    const { timeout } = await failsAfter(250, store.take(request));
    await vi.advanceTimersByTimeAsync(250 + LATE_MS);
    expect([await timeout!.answer, await timeout!.hasFailed]).toEqual([undefined, true]);
  });

  it("that fails with a StoreError fails with that very error", async () => {
    const { own, store } = opened();
    const error = new StoreError("OVERLOADED");
    own.trouble = fail(error);
    for (const ask of asksOf(store)) {
      expect(await failureOf(ask())).toBe(error);
    }
    expect(written).not.toHaveBeenCalled();
  });

  it.each([new RangeError("a driver's"), undefined, "text", { code: "TIMEOUT" }])(
    "that throws %s fails with UNKNOWN: it may have run, and the console has what was thrown",
    async (thrown) => {
      const { own, store } = opened();
      own.trouble = fail(thrown);
      for (const ask of asksOf(store)) {
        expect(await failureOf(ask())).toMatchObject({ code: "UNKNOWN", notRun: false, isReply: false });
      }
      expect(written.mock.calls).toEqual(Array(3).fill(["headgate: the store threw", thrown]));
    },
  );

  it("may throw, or answer, before there is a promise", async () => {
    const error = new RangeError("at once");
    const reply = { nowMs: NOW_MS, allowed: true, keys: [] };
    const throwing = remoteStore({ ...memoryStore(), take: fail(error) });
    const sync = remoteStore({ ...memoryStore(), take: () => reply as unknown as Promise<TakeReply> });
    expect((await failureOf(throwing.take(request))).code).toBe("UNKNOWN");
    expect(await sync.take(request)).toBe(reply);
  });
});

describe("misuse", () => {
  it.each<[string, () => unknown]>([
    ["no store", () => remoteStore(undefined as unknown as Store)],
    ["a store without take", () => remoteStore({ ...memoryStore(), take: undefined } as unknown as Store)],
    ["a store without ping", () => remoteStore({ ...memoryStore(), ping: "pong" } as unknown as Store)],
    ["a budget of 0", () => remoteStore(memoryStore(), { timeoutMs: 0 })],
    ["a budget that is a text", () => remoteStore(memoryStore(), { timeoutMs: "250" as unknown as number })],
    ["an option that there is not", () => remoteStore(memoryStore(), { timeout: 250 } as RemoteStoreOptions)],
    ["a listener that is none", () => remoteStore(memoryStore(), { onBreakerChange: 1 } as unknown as object)],
  ])("throws a TypeError: %s", (_what, make) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/^remoteStore: /);
  });

  const limiterOver =
    (store: object, more: object = {}) =>
    () =>
      createLimiter({
        policies: [{ name: "p", limits: [{ limit: 1, window: "1h" }] }],
        store: store as Store,
        ...more,
      });

  it.each(["cache", "lease", "fallback", "live", "", undefined, 7])("refuses the kind %j", (kind) => {
    const store = { ...memoryStore(), kind } as unknown as Store;
    expect(() => remoteStore(store)).toThrow(/^remoteStore: store: expected a kind that is a string, and none of/);
  });

  it.each(["", undefined])("createLimiter refuses the keySecret %j of a store, unless it gets one", (keySecret) => {
    const store = { ...memoryStore(), keySecret };
    expect(limiterOver(store)).toThrow(/^createLimiter: keySecret: expected at least 16 characters/);
    expect(limiterOver(store, { keySecret: "sixteen letters!" })).not.toThrow();
  });
});
