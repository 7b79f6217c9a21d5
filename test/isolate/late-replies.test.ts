// Decisions while replies of the store are on their way: requests that were sent count, and late replies still teach.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../src/config/policy-input.ts";
import type { Decision } from "../../src/core/decision.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../src/core/take.ts";
import { withIsolate } from "../../src/isolate/isolate.ts";
import { createLimiter, type Limiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Store, StoreError } from "../../src/store/store.ts";

const LIMIT = 10;
const LIMITS: Readonly<Record<string, LimitInput>> = {
  "sliding-window": { limit: LIMIT, window: "1h" },
  "fixed-window": { algorithm: "fixed-window", limit: LIMIT, window: "1h" },
  "sliding-log": { algorithm: "sliding-log", limit: LIMIT, window: "1h" },
  "token-bucket": { algorithm: "token-bucket", limit: LIMIT, window: "1h" },
  "leaky-bucket": { algorithm: "leaky-bucket", limit: LIMIT, window: "1h" },
  concurrency: { algorithm: "concurrency", limit: LIMIT, timeout: "1h" },
};

interface Call {
  readonly request: TakeRequest;
  /** The call's time budget ends. */
  timeout(): void;
  /** The store decides. Its reply is on its way. */
  decide(): Promise<TakeReply>;
  /** The reply arrives. The store decides first, if it has not yet. */
  arrive(): Promise<void>;
  /** The reply will never arrive. */
  lose(): void;
  /** The connection breaks: nobody knows whether the store decides. */
  break(): void;
}

let calls: Call[];
let store: Store;
let isDown: boolean;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] });
  calls = [];
  isDown = false;
  const memory = memoryStore();
  store = {
    ...memory,
    kind: "redis",
    take(request) {
      if (isDown) return Promise.reject(new StoreError("OPEN"));
      const [reply, late] = [Promise.withResolvers<TakeReply>(), Promise.withResolvers<TakeReply | undefined>()];
      let decided: Promise<TakeReply> | undefined;
      const decide = () => (decided ??= memory.take(request));
      calls.push({
        request,
        decide,
        timeout: () =>
          reply.reject(
            new StoreError("TIMEOUT", undefined, { answer: late.promise, hasFailed: Promise.resolve(false) }),
          ),
        async arrive() {
          const told = await decide();
          reply.resolve(told);
          late.resolve(told);
          await new Promise(setImmediate);
        },
        lose: () => late.resolve(undefined),
        break: () => reply.reject(new StoreError("NETWORK")),
      });
      return reply.promise;
    },
  };
});
afterEach(() => void vi.useRealTimers());

const limiterOf = (limits: LimitInput[], more: Partial<PolicyInput> = {}) =>
  createLimiter({ policies: [{ name: "a", key: ["global"], limits, ...more }], store: withIsolate(store) });

const background = { waitUntil() {} };

/** Sends this many takes. All of them wait for the store, in the order of their calls. */
async function send(limiter: Limiter, count: number) {
  const sent = [];
  while (sent.length < count) {
    sent.push(limiter.take("a", { background }));
    while (calls.length < sent.length) await new Promise(setImmediate);
  }
  return sent;
}

/** The n-th call, once it has been made. */
async function nextCall(n: number): Promise<Call> {
  while (calls.length <= n) await new Promise(setImmediate);
  return calls[n]!;
}

it.each(Object.entries(LIMITS))(
  "a decision without an answer counts what was sent and not yet answered: %s",
  async (_, limit) => {
    const sent = await send(limiterOf([limit]), 2 * LIMIT);
    // The first take is decided without the store while 19 others are on their way: all units may be gone.
    calls[0]!.timeout();
    const first = await Promise.race(sent);
    expect([first.source, first.allowed]).toEqual(["fallback", false]);
  },
);

it.each(Object.entries(LIMITS))(
  "requests that all lose their answers share one limit, and none counts twice: %s",
  async (_, limit) => {
    const sent = await send(limiterOf([limit]), LIMIT);
    for (const call of calls) call.timeout();
    const decisions = await Promise.all(sent);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
  },
);

it("a leased request that loses its answer does not count its own units twice", async () => {
  const limiter = limiterOf([{ limit: 2, window: "1h" }], { consistency: "leased" });
  const [first] = await send(limiter, 1);
  calls[0]!.timeout();
  expect(await first!).toMatchObject({ source: "fallback", allowed: true, remaining: 1 });
  // The isolate's own counters include the first request, so its unanswered call is not counted a second time.
  isDown = true;
  expect(await limiter.take("a", { background })).toMatchObject({ source: "fallback", allowed: true, remaining: 0 });
  expect(await limiter.take("a", { background })).toMatchObject({ source: "fallback", allowed: false });
});

it("a late reply replaces what the isolate has counted alone", async () => {
  const limiter = limiterOf([LIMITS["sliding-window"]!]);
  // Other isolates have used all but one unit.
  const others = limiterOf([LIMITS["sliding-window"]!]).take("a", { cost: LIMIT - 1 });
  while (calls.length < 1) await new Promise(setImmediate);
  await calls[0]!.arrive();
  await others;
  calls = [];

  const [sent] = await send(limiter, 1);
  calls[0]!.timeout();
  expect((await sent!).allowed).toBe(true);
  isDown = true;
  expect((await limiter.peek("a")).remaining).toBe(LIMIT - 1);
  await calls[0]!.arrive();
  expect((await limiter.peek("a")).remaining).toBe(0);
});

it("a late reply that is older than what is known teaches nothing", async () => {
  const limiter = limiterOf([LIMITS["sliding-window"]!]);
  const sent = await send(limiter, 2);
  calls[0]!.timeout();
  await Promise.race(sent);
  await calls[0]!.decide();
  vi.setSystemTime(Date.now() + 10);
  await calls[1]!.arrive();
  await Promise.all(sent);
  isDown = true;
  const before = (await limiter.peek("a")).remaining;
  await calls[0]!.arrive();
  expect([before, (await limiter.peek("a")).remaining]).toEqual([LIMIT - 2, LIMIT - 2]);
});

it("what the store refused late is charged later if the isolate had admitted it", async () => {
  const limiter = limiterOf([{ limit: 1, window: "1h" }]);
  const other = limiterOf([{ limit: 1, window: "1h" }]).take("a");
  while (calls.length < 1) await new Promise(setImmediate);
  await calls[0]!.arrive();
  await other;
  calls = [];
  const [sent] = await send(limiter, 1);
  calls[0]!.timeout();
  expect((await sent!).allowed).toBe(true);
  await calls[0]!.arrive();
  const next = limiter.peek("a", { background });
  while (calls.length < 2) await new Promise(setImmediate);
  await calls[1]!.arrive();
  await next;
  await new Promise(setImmediate);
  expect(calls.at(-1)!.request).toMatchObject({ flag: Flag.chargeAnyway });
});

it("what the store charged late is given back if the isolate had refused it", async () => {
  const [sent] = await send(limiterOf([LIMITS["sliding-window"]!], { onStoreFailure: "deny" }), 1);
  calls[0]!.timeout();
  expect((await sent!).allowed).toBe(false);
  await calls[0]!.arrive();
  expect(releases().map(({ request }) => request)).toMatchObject([
    { flag: Flag.giveBack, atMs: Date.now(), keys: [{ cost: 1 }] },
  ]);
});

const releases = () => calls.filter(({ request }) => request.flag === Flag.giveBack);

it("a slot of a request that was refused without an answer is given back after its late reply", async () => {
  const [sent] = await send(limiterOf([LIMITS.concurrency!], { onStoreFailure: "deny" }), 1);
  calls[0]!.timeout();
  expect((await sent!).unavailable).toBe(true);
  expect(releases()).toHaveLength(0);
  await calls[0]!.arrive();
  expect(releases().map(({ request }) => request.slot)).toEqual([calls[0]!.request.slot]);
});

it.each(["local", "allow"] as const)(
  "a slot of a request that was admitted without an answer (%s) is given back when the request has ended",
  async (onStoreFailure) => {
    const [sent] = await send(limiterOf([LIMITS.concurrency!], { onStoreFailure }), 1);
    calls[0]!.timeout();
    const { hold } = await sent!;
    calls[0]!.lose();
    const released = hold!.release();
    while (releases().length < 1) await new Promise(setImmediate);
    await releases()[0]!.arrive();
    await released;
    expect(releases().map(({ request }) => request.slot)).toEqual([calls[0]!.request.slot]);
  },
);

it("a slot that could not be given back is given back as soon as the store answers", async () => {
  const limiter = limiterOf([LIMITS.concurrency!, LIMITS["sliding-window"]!]);
  const [sent] = await send(limiter, 1);
  await calls[0]!.arrive();
  const { hold } = await sent!;
  isDown = true;
  await hold!.release();
  isDown = false;
  const next = limiter.take("a", { background });
  while (calls.length < 2) await new Promise(setImmediate);
  await calls[1]!.arrive();
  await next;
  while (releases().length < 1) await new Promise(setImmediate);
  expect(releases().map(({ request }) => request.slot)).toEqual([calls[0]!.request.slot]);
});

it("a slot of a refused request whose reply is lost is given back, also without a background", async () => {
  const sent = limiterOf([LIMITS.concurrency!], { onStoreFailure: "deny" }).take("a");
  while (calls.length < 1) await new Promise(setImmediate);
  calls[0]!.timeout();
  await sent;
  calls[0]!.lose();
  await new Promise(setImmediate);
  expect(releases().map(({ request }) => request.slot)).toEqual([calls[0]!.request.slot]);
});

it("a slot of a request that was refused when its connection broke is given back", async () => {
  const [sent] = await send(limiterOf([LIMITS.concurrency!], { onStoreFailure: "deny" }), 1);
  calls[0]!.break();
  expect((await sent!).unavailable).toBe(true);
  await new Promise(setImmediate);
  expect(releases().map(({ request }) => request.slot)).toEqual([calls[0]!.request.slot]);
});

it("what a lease was charged late for a refused request is given back, and the rest goes into the stock", async () => {
  const policy = (name: string): PolicyInput => {
    return {
      name,
      key: ["global"],
      consistency: "leased",
      onStoreFailure: "deny",
      limits: [{ limit: 100_000, window: "1h" }],
    };
  };
  const limiter = createLimiter({ policies: [policy("held"), policy("asked")], store: withIsolate(store) });
  const COST = 50;
  let source: string;
  do {
    let isDecided = false;
    const taken = limiter.take("held", { background }).finally(() => {
      isDecided = true;
    });
    while (!isDecided) {
      await new Promise(setImmediate);
      for (const call of calls.splice(0)) await call.arrive();
    }
    ({ source } = await taken);
  } while (source !== "lease");
  calls = [];
  const both = limiter.take([{ policy: "held" }, { policy: "asked" }], { cost: COST, background });
  while (calls.length < 1) await new Promise(setImmediate);
  const { request } = calls[0]!;
  calls[0]!.timeout();
  expect((await both).unavailable).toBe(true);
  await calls[0]!.arrive();
  // Nothing was in stock. The call asked for COST, and for units for the stock of the first key.
  const [held, asked] = request.keys;
  expect(held!.cost).toBeGreaterThan(COST);
  expect(releases().map(({ request }) => request.keys.map(({ key, cost }) => [key, cost]))).toEqual([
    [
      [held!.key, COST],
      [asked!.key, COST],
    ],
  ]);
  for (let stocked = held!.cost - COST; stocked > 0; stocked--) {
    expect(await limiter.take("held", { background })).toMatchObject({ source: "lease", allowed: true });
  }
});

/** Waits until the take is decided, or the n-th call has been made. @returns who decided, if it is decided. */
async function decidedOrCalled(taken: Promise<Decision>, n: number): Promise<string | undefined> {
  let source: string | undefined;
  taken.then((decision) => {
    source = decision.source;
  });
  do await new Promise(setImmediate);
  while (source === undefined && calls.length <= n);
  return source;
}

/** Nothing is in stock any more that would be given back while other tests run. */
const forgetStock = (limiter: Limiter, policy = "a") => limiter.reset(policy);

const LEASED: Partial<PolicyInput> = { consistency: "leased", onStoreFailure: "allow" };

it("what an admitted request was to get from the stock is owed after a late reply: it went back into the stock", async () => {
  const limits = [{ limit: 100_000, window: "1h" }];
  const policies = ["held", "asked"].map((name) => ({ name, key: ["global"], limits, ...LEASED }));
  const limiter = createLimiter({ policies, store: withIsolate(store) });
  // Until a request is answered from the stock and renews it.
  for (let isRenewed = false; !isRenewed; ) {
    const taken = limiter.take("held", { background });
    isRenewed = (await decidedOrCalled(taken, 0)) === "lease" && calls.length > 0;
    vi.setSystemTime(Date.now() + 10);
    for (const call of calls.splice(0)) await call.arrive();
    await taken;
  }

  const both = limiter.take([{ policy: "held" }, { policy: "asked" }], { background });
  (await nextCall(0)).timeout();
  expect((await both).allowed).toBe(true);
  await calls[0]!.arrive();
  const peeked = limiter.peek("asked", { background });
  await (await nextCall(1)).arrive();
  await peeked;
  const repaid = (await nextCall(2)).request;
  expect([repaid.flag, repaid.keys.map(({ key, cost }) => [key.includes("held"), cost])]).toEqual([
    Flag.chargeAnyway,
    [[true, 1]],
  ]);
  await forgetStock(limiter, "held");
});

it("a lease whose calls are all answered late gets units in stock all the same, and tells what remains", async () => {
  const limiter = limiterOf([{ limit: 1_000, window: "1h", buckets: 1 }], LEASED);
  let sent = 0;
  for (; calls.length === sent; sent++) {
    const taken = limiter.take("a", { background });
    await decidedOrCalled(taken, sent);
    if (calls.length === sent) expect(await taken).toMatchObject({ source: "lease", remaining: 1_000 - (sent + 1) });
    else {
      calls[sent]!.timeout();
      expect((await taken).source).toBe("fallback");
      await calls[sent]!.arrive();
    }
    vi.setSystemTime(Date.now() + 10);
    if (calls.length === sent) break;
  }
  // Five failures in a row would open the circuit breaker.
  expect(sent).toBeLessThan(5);
  await forgetStock(limiter);
});

it("what a lease was charged before another isolate's reset never gets into the stock", async () => {
  const limiter = limiterOf([{ limit: 1_000, window: "1h" }], LEASED);
  const sendAll = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const before = calls.length;
      const taken = limiter.take("a", { background });
      await decidedOrCalled(taken, before);
      vi.setSystemTime(Date.now() + 10);
      await calls[before]?.arrive();
      await taken;
    }
  };
  await sendAll(50);
  // The next request that is not answered from the stock gets its answer late.
  let sent: ReturnType<Limiter["take"]>;
  calls = [];
  do {
    sent = limiter.take("a", { background });
    await decidedOrCalled(sent, 0);
  } while (calls.length === 0);
  const [late] = calls;
  const [key] = late!.request.keys;
  expect(key!.cost).toBeGreaterThan(1);
  await late!.decide();
  late!.timeout();
  await sent;
  vi.setSystemTime(Date.now() + 10);
  await store.reset([key!.key]);

  calls = [];
  await sendAll(5);
  const inStock = calls.reduce((sum, { request }) => sum + request.keys[0]!.cost, 0) - 5;
  await late!.arrive();
  calls = [];
  for (let i = 0; i < inStock; i++) expect(await limiter.take("a", { background })).toMatchObject({ source: "lease" });
  const next = limiter.take("a", { background });
  expect([await decidedOrCalled(next, 0), calls.length]).toEqual([undefined, 1]);
  await forgetStock(limiter);
});

it("a late reply from before a reset brings no counts back and gives nothing back", async () => {
  const limiter = limiterOf([{ limit: 1, window: "1h" }], { onStoreFailure: "deny" });
  const others = limiterOf([{ limit: 1, window: "1h" }]).take("a");
  while (calls.length < 1) await new Promise(setImmediate);
  await calls[0]!.arrive();
  await others;
  calls = [];
  const [sent] = await send(limiter, 1);
  await calls[0]!.decide();
  calls[0]!.timeout();
  await sent;
  await limiter.reset("a");
  await calls[0]!.arrive();
  calls = [];
  const next = limiter.take("a");
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  await calls[0]?.arrive();
  expect(await next).toMatchObject({ source: "redis", allowed: true });
});

it("a reply in time that a reset has overtaken brings no counts back", async () => {
  const limiter = limiterOf([{ algorithm: "fixed-window", limit: 2, window: "1h" }]);
  const first = limiter.take("a", { background });
  await (await nextCall(0)).arrive();
  await first;
  const last = limiter.take("a", { background });
  await (await nextCall(1)).decide();
  await limiter.reset("a");
  await calls[1]!.arrive();
  expect((await last).remaining).toBe(0);

  const next = limiter.take("a", { background });
  await (await nextCall(2)).arrive();
  expect((await next).source).toBe("redis");
  expect((await next).allowed).toBe(true);
});

it("no request is admitted uncharged after the local clock was set back during a call", async () => {
  const limiter = limiterOf([{ algorithm: "token-bucket", limit: 60, burst: 2, window: "1m" }]);
  const first = limiter.take("a", { background });
  await (await nextCall(0)).arrive();
  await first;
  const last = limiter.take("a", { background });
  await (await nextCall(1)).decide();
  vi.setSystemTime(Date.now() - 60_000);
  await calls[1]!.arrive();
  expect((await last).remaining).toBe(0);

  for (let i = 0; i < 20; i++) {
    vi.setSystemTime(Date.now() + 100);
    const before = calls.length;
    const taken = limiter.take("a", { background });
    await decidedOrCalled(taken, before);
    await calls[before]?.arrive();
    expect([(await taken).allowed, calls.length > before]).not.toEqual([true, false]);
  }
});

it("what is charged before a reset is not given back to what is charged after it", async () => {
  const limiter = limiterOf([{ limit: 1, window: "1h" }], { onStoreFailure: "deny" });
  const [sent] = await send(limiter, 1);
  await calls[0]!.decide();
  calls[0]!.timeout();
  await sent;
  await limiter.reset("a");
  await calls[0]!.arrive();
  expect(releases()).toHaveLength(0);
});

it("a key that is reset owes nothing of before the reset", async () => {
  const limiter = limiterOf([{ limit: 1, window: "1h" }]);
  isDown = true;
  expect((await limiter.take("a")).source).toBe("fallback");
  isDown = false;
  await limiter.reset("a");
  const peek = limiter.peek("a", { background });
  while (calls.length < 1) await new Promise(setImmediate);
  await calls[0]!.arrive();
  await peek;
  await new Promise(setImmediate);
  expect(calls).toHaveLength(1);
});
