// The store has no answer. Each policy decides by its own setting, and onDecision and the console are told.

import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { createLimiter, type DecisionContext } from "../../../src/limiter.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { failingStore } from "../../support/redis/stores.ts";

const policy = (name: string, more: Partial<PolicyInput>): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit: 2, window: "1h", buckets: 60 }], ...more };
};
const SECOND = { kind: Kind.fixedWindow, limit: 2, windowMs: 1_000 } as const;
const local = policy("local", { onStoreFailure: "local" });
const allow = policy("allow", { onStoreFailure: "allow" });
const deny = policy("deny", { onStoreFailure: "deny" });

function without(store: ReturnType<typeof failingStore>, ...policies: PolicyInput[]) {
  const limiter = createLimiter({ policies, store: withIsolate(store) });
  return () => limiter.take(policies.map(({ name }) => ({ policy: name })));
}

it.each([
  [allow, "charged", { outcome: "admitted", allowed: true, retryAfterMs: 0 }],
  [deny, "unavailable", { outcome: "unavailable", allowed: false, unavailable: true }],
])("says that no limit was reached, and invents no numbers: $name", async (policy, became, said) => {
  const take = without(failingStore(), policy);
  const policies = [{ policy: expect.anything(), became, limits: [], unanswered: true }];
  for (const decision of [await take(), await take(), await take()]) {
    expect(decision).toEqual({ ...said, source: "fallback", policies, limits: [], shadow: [] });
  }
});

it("is not refused for a policy in shadow", async () => {
  const decision = await without(failingStore(), policy("shadow", { onStoreFailure: "deny", mode: "shadow" }), allow)();
  expect(decision.allowed).toBe(true);
});

it("charges nothing when it only looks", async () => {
  const limiter = createLimiter({ policies: [local], store: withIsolate(failingStore()) });
  for (let i = 0; i < 5; i++) await limiter.peek("local");
  expect((await limiter.take("local")).remaining).toBe(1);
});

it("rejects a reset that the store could not do", async () => {
  const limiter = createLimiter({ policies: [local], store: withIsolate(failingStore("TIMEOUT")) });
  await expect(limiter.reset("local")).rejects.toMatchObject({ name: "StoreError", code: "TIMEOUT" });
});

/** A store written by a user of the library: an instance of a class, whose methods are on its prototype. */
class StoreOfOnesOwn implements Store {
  readonly keySecret = "token";
  readonly #memory = memoryStore();
  readonly #error: unknown;
  isFailing = false;

  constructor(error: unknown) {
    this.#error = error;
  }
  get kind() {
    return "redis" as const;
  }
  async take(request: TakeRequest) {
    if (this.isFailing) throw this.#error;
    return await this.#memory.take(request);
  }
  async reset(keys: readonly string[]) {
    await this.#memory.reset(keys);
  }
  async ping() {}
}

describe.each<[string, (store: Store) => Store]>([
  ["as it is", (store) => store],
  ["with all that Redis has", (store) => remoteStore(store)],
])("a store of one's own, %s", (_how, wrapped) => {
  const error = new RangeError("not ours");
  let written: MockInstance<typeof console.error>;
  let nowMs = 1_750_000_000_000;
  beforeEach(() => {
    // Each test has a second of its own: the lines of one second are bounded.
    nowMs += 60_000;
    vi.useFakeTimers({ now: nowMs, toFake: ["Date"] });
    written = vi.spyOn(console, "error").mockImplementation(() => {});
  });

  /** Takes one unit after another under one policy, and records what onDecision is told. */
  function failing(policy: PolicyInput, thrown: unknown = error) {
    const failures: unknown[] = [];
    const store = new StoreOfOnesOwn(thrown);
    const limiter = createLimiter({
      policies: [policy],
      store: wrapped(store),
      onDecision: (_decision, { failure }) => void failures.push(failure),
    });
    return { store, failures, limiter, take: () => limiter.take(policy.name) };
  }

  it("may throw anything: the policy decides, and the console has the error with its stack", async () => {
    for (const [policy, expected] of [
      [local, [true, true, false]],
      [allow, [true, true, true]],
      [deny, [false, false, false]],
    ] as const) {
      const { store, take, failures, limiter } = failing(policy);
      store.isFailing = true;
      const decisions = [await take(), await take(), await take()];
      expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual(
        expected.map((one) => [one, "fallback"]),
      );
      expect(failures).toEqual(["UNKNOWN", "UNKNOWN", "UNKNOWN"]);
      expect(written.mock.calls).toEqual(Array(3).fill(["headgate: the store threw", error]));
      written.mockClear();
      store.isFailing = false;
      expect(await take()).toMatchObject({ allowed: true, source: "redis", remaining: 1 });
      // Nothing is charged later that the store may have counted before it threw.
      await Promise.resolve();
      expect(await limiter.peek(policy.name)).toMatchObject({ source: "redis", remaining: 1 });
    }
  });

  it("may reply what nobody can read, also of what it has charged: that is a failure too", async () => {
    const keys = [{ key: "another", group: 0, cost: 1, limits: [SECOND] }];
    const receipt = (await memoryStore().take({ keys, flag: Flag.take })).charged[0]!;
    const wrong = [undefined, {}, [null], [{}], [receipt], [{ ...receipt, limits: undefined }]];
    for (const replyTo of [
      async () => undefined,
      async () => ({ nowMs: 1, allowed: true, keys: [] }),
      async () => ({ nowMs: 1, allowed: true, keys: [[{}]] }),
      ...[...wrong, [{ ...receipt, atMs: "now" }]].map((charged) => async (request: TakeRequest) => {
        return { ...(await memoryStore().take(request)), charged };
      }),
    ]) {
      const { store, take, failures } = failing(local);
      store.take = replyTo as unknown as Store["take"];
      expect(await take()).toMatchObject({ allowed: true, source: "fallback" });
      expect(failures).toEqual(["MALFORMED_REPLY"]);
      expect(written).not.toHaveBeenCalled();
    }
  });

  it("may throw the StoreError of another copy of this package: its code is told, and nothing is logged", async () => {
    const theirs = Object.assign(new Error("store: OPEN"), { name: "StoreError", code: "OPEN", notRun: true });
    const { store, take, failures } = failing(local, theirs);
    store.isFailing = true;
    expect(await take()).toMatchObject({ allowed: true, source: "fallback" });
    expect(failures).toEqual(["OPEN"]);
    expect(written).not.toHaveBeenCalled();
  });

  it("may fail while a slot is given back: only the console is told", async () => {
    const { store, take } = failing(policy("slots", { limits: [{ algorithm: "concurrency", limit: 1 }] }));
    const { hold } = await take();
    store.isFailing = true;
    await hold!.renew();
    await hold!.release();
    expect(written.mock.calls).toEqual(Array(2).fill(["headgate: the store threw", error]));
  });
});

it("tells onDecision every decision, its client, and why the store had no answer", async () => {
  const told: [Decision, DecisionContext][] = [];
  const onDecision = (...call: [Decision, DecisionContext]) => void told.push(call);
  const stores = [memoryStore(), failingStore("TIMEOUT")];
  const decisions = [];
  for (const store of stores) {
    const limiter = createLimiter({
      policies: [local],
      store: withIsolate(store),
      region: "eu",
      keySecret: "a secret of tests",
      onDecision,
    });
    decisions.push(await limiter.take("local", { cost: 2 }));
  }
  expect(told.map(([decision]) => decision)).toEqual(decisions);
  const [first, failed] = told.map(([, context]) => context);
  const { takes, ...context } = first!;
  expect(context).toEqual({ region: "eu", atMs: expect.any(Number) });
  const partition = expect.stringMatching(/^[\w-]{22}$/);
  expect(takes).toEqual([{ policy: expect.objectContaining({ name: "local" }), kind: "global", partition, cost: 2 }]);
  expect(failed).toEqual({ takes, region: "eu", atMs: expect.any(Number), failure: "TIMEOUT" });
  expect(decisions.map(({ policies }) => policies.map(({ unanswered }) => unanswered))).toEqual([[undefined], [true]]);
});

it.each([
  ["with an isolate", withIsolate(failingStore())],
  ["as it is", failingStore()],
])("tells no instant of a decision without counts, over a store %s", async (_, store) => {
  const onDecision = vi.fn<(...call: [Decision, DecisionContext]) => void>();
  const limiter = createLimiter({ policies: [allow], store, onDecision });
  await limiter.take("allow");
  const [decision, context] = onDecision.mock.calls[0]!;
  expect([decision.allowed, decision.source, context.atMs]).toEqual([true, "fallback", undefined]);
});

it("tells several listeners of takes and peeks, and answers although one of them throws, which the console says", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const told: unknown[] = [];
  const background = { waitUntil() {} };
  const tell = (name: string) => (_: Decision, context: DecisionContext) =>
    void told.push([name, context.peek, context.background]);
  const error = new Error("mine");
  const throwing = () => {
    throw error;
  };
  const onDecision = [tell("first"), throwing, tell("last")];
  const limiter = createLimiter({ policies: [local], store: memoryStore(), onDecision });
  expect((await limiter.take("local", { background })).allowed).toBe(true);
  expect((await limiter.peek("local")).allowed).toBe(true);
  expect(told).toEqual([
    ["first", undefined, background],
    ["last", undefined, background],
    ["first", true, undefined],
    ["last", true, undefined],
  ]);
  expect(written.mock.calls).toEqual(Array(2).fill(["headgate: onDecision threw", error]));
});
