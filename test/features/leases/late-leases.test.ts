// Leases whose calls are answered late, or after the reply to a later call.

import { expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { background, type Call, holdReplies } from "../../kernel/place/held-replies.ts";
import { createLimiter } from "../../support/limiter.ts";

const held = holdReplies();

const LEASED: Partial<PolicyInput> = { consistency: "leased", onStoreFailure: "allow" };

it("a leased request that loses its answer does not count its own units twice", async () => {
  const limiter = held.limiterOf([{ limit: 2, window: "1h" }], { consistency: "leased" });
  const [first] = await held.send(limiter, 1);
  held.calls[0]!.timeout();
  expect(await first!).toMatchObject({ source: "fallback", allowed: true, remaining: 1 });
  // The isolate's own counters include the first request, so its unanswered call is not counted a second time.
  held.isDown = true;
  expect(await limiter.take("a", { background })).toMatchObject({ source: "fallback", allowed: true, remaining: 0 });
  expect(await limiter.take("a", { background })).toMatchObject({ source: "fallback", allowed: false });
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
  const limiter = createLimiter({ policies: [policy("held"), policy("asked")], store: withIsolate(held.store) });
  const COST = 50;
  let source: string;
  do {
    let isDecided = false;
    const taken = limiter.take("held", { background }).finally(() => {
      isDecided = true;
    });
    while (!isDecided) {
      await new Promise(setImmediate);
      for (const call of held.calls.splice(0)) await call.arrive();
    }
    ({ source } = await taken);
  } while (source !== "lease");
  held.calls = [];
  const both = limiter.take([{ policy: "held" }, { policy: "asked" }], { cost: COST, background });
  while (held.calls.length < 1) await new Promise(setImmediate);
  const { request } = held.calls[0]!;
  held.calls[0]!.timeout();
  expect((await both).unavailable).toBe(true);
  await held.calls[0]!.arrive();
  // Nothing was in stock. The call asked for COST, and for units for the stock of the first key.
  const [ofHeld, ofAsked] = request.keys;
  expect(ofHeld!.cost).toBeGreaterThan(COST);
  expect(held.releases().map(({ request }) => request.keys.map(({ key, cost }) => [key, cost]))).toEqual([
    [
      [ofHeld!.key, COST],
      [ofAsked!.key, COST],
    ],
  ]);
  for (let stocked = ofHeld!.cost - COST; stocked > 0; stocked--) {
    expect(await limiter.take("held", { background })).toMatchObject({ source: "lease", allowed: true });
  }
});

it("what an admitted request was to get from the stock is owed after a late reply: it went back into the stock", async () => {
  const limits = [{ limit: 100_000, window: "1h" as const }];
  const policies = ["held", "asked"].map((name) => ({ name, key: ["global"], limits, ...LEASED }));
  const limiter = createLimiter({ policies, store: withIsolate(held.store) });
  // Until a request is answered from the stock and renews it.
  for (let isRenewed = false; !isRenewed; ) {
    const taken = limiter.take("held", { background });
    isRenewed = (await held.decidedOrCalled(taken, 0)) === "lease" && held.calls.length > 0;
    vi.setSystemTime(Date.now() + 10);
    for (const call of held.calls.splice(0)) await call.arrive();
    await taken;
  }

  const both = limiter.take([{ policy: "held" }, { policy: "asked" }], { background });
  (await held.nextCall(0)).timeout();
  expect((await both).allowed).toBe(true);
  await held.calls[0]!.arrive();
  const peeked = limiter.peek("asked", { background });
  await (await held.nextCall(1)).arrive();
  await peeked;
  const repaid = (await held.nextCall(2)).request;
  expect([repaid.flag, repaid.keys.map(({ key, cost }) => [key.includes("held"), cost])]).toEqual([
    Flag.chargeAnyway,
    [[true, 1]],
  ]);
});

it("a lease whose calls are all answered late gets units in stock all the same, and tells what remains", async () => {
  const limiter = held.limiterOf([{ limit: 1_000, window: "1h", buckets: 1 }], LEASED);
  let sent = 0;
  for (; held.calls.length === sent; sent++) {
    const taken = limiter.take("a", { background });
    await held.decidedOrCalled(taken, sent);
    if (held.calls.length === sent)
      expect(await taken).toMatchObject({ source: "lease", remaining: 1_000 - (sent + 1) });
    else {
      held.calls[sent]!.timeout();
      expect((await taken).source).toBe("fallback");
      await held.calls[sent]!.arrive();
    }
    vi.setSystemTime(Date.now() + 10);
    if (held.calls.length === sent) break;
  }
  // Five failures in a row would open the circuit breaker.
  expect(sent).toBeLessThan(5);
});

/** A lease does not wait for a call that has been under way for this long, in ms. */
const FORGOTTEN_MS = 1_000;

/** Sends one take after another. If a take makes a call, the reply arrives. */
async function sendAll(limiter: Limiter, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const before = held.calls.length;
    const taken = limiter.take("a", { background });
    await held.decidedOrCalled(taken, before);
    vi.setSystemTime(Date.now() + 10);
    await held.calls[before]?.arrive();
    await taken;
  }
}

/** The units that the calls have asked for. */
const asked = () => held.calls.reduce((sum, { request }) => sum + request.keys[0]!.cost, 0);

/** Exactly so many units are in stock. The next take asks the store. */
async function expectInStock(limiter: Limiter, units: number): Promise<void> {
  held.calls = [];
  for (let i = 0; i < units; i++) expect(await limiter.take("a", { background })).toMatchObject({ source: "lease" });
  const next = limiter.take("a", { background });
  expect([await held.decidedOrCalled(next, 0), held.calls.length]).toEqual([undefined, 1]);
}

/** A lease has asked for units for its stock alone. The store has decided, and the reply does not arrive yet. */
async function overtakenCall(limiter: Limiter, when: string): Promise<Call> {
  await sendAll(limiter, 50);
  held.calls = [];
  do expect(await held.decidedOrCalled(limiter.take("a", { background }), 0)).toBe("lease");
  while (held.calls.length === 0);
  const [call] = held.calls;
  expect(call!.request.keys[0]!.cost).toBeGreaterThan(1);
  await call!.decide();
  if (when === "late") call!.timeout();
  vi.setSystemTime(Date.now() + FORGOTTEN_MS);
  held.calls = [];
  return call!;
}

it.each(["late", "in time"])(
  "what a lease was charged before another isolate's reset never gets into the stock: %s",
  async (when) => {
    const limiter = held.limiterOf([{ limit: 1_000, window: "1h" }], LEASED);
    const overtaken = await overtakenCall(limiter, when);
    await held.store.reset([overtaken.request.keys[0]!.key]);
    await sendAll(limiter, 5);
    const inStock = asked() - 5;
    await overtaken.arrive();
    await expectInStock(limiter, inStock);
  },
);

it.each(["late", "in time"])("a reply that is older than what a lease knows teaches it no counts: %s", async (when) => {
  const limiter = held.limiterOf([{ limit: 1_000, window: "1h" }], LEASED);
  const overtaken = await overtakenCall(limiter, when);
  const others = held.limiterOf([{ limit: 1_000, window: "1h" }]).take("a", { cost: 500 });
  await (await held.nextCall(0)).arrive();
  await others;
  while (held.calls.length < 2) await sendAll(limiter, 1);
  const { source, remaining } = await limiter.take("a", { background });
  expect([source, remaining! < 450]).toEqual(["lease", true]);
  await overtaken.arrive();
  // What is known counts the units as charged already. Now they are in stock.
  const stocked = overtaken.request.keys[0]!.cost;
  expect((await limiter.take("a", { background })).remaining).toBe(remaining! - 1 + stocked);
});

/** A request has taken its units out of the stock and waits for more, when another isolate's reset becomes known. */
async function resetBeside(limiter: Limiter) {
  await sendAll(limiter, 300);
  const stocked = asked() - 300;
  expect(stocked).toBeGreaterThan(1);
  held.calls = [];
  const taken = limiter.take("a", { cost: stocked + 1, background });
  const call = await held.nextCall(0);
  vi.setSystemTime(Date.now() + FORGOTTEN_MS);
  await held.store.reset([call.request.keys[0]!.key]);
  return { taken, call };
}

it("units that a request took out of the stock before another isolate's reset do not come back", async () => {
  const limiter = held.limiterOf([{ limit: 1_000, window: "1h" }], LEASED);
  const { taken, call } = await resetBeside(limiter);
  held.calls = [];
  await sendAll(limiter, 5);
  const inStock = asked() - 5;
  call.break();
  await taken;
  await expectInStock(limiter, inStock);
});

it("units that a request took out of the stock before another isolate's reset do not pay for it", async () => {
  const limiter = held.limiterOf([{ limit: 1_000, window: "1h" }], LEASED);
  const { taken, call } = await resetBeside(limiter);
  await call.decide();
  vi.setSystemTime(Date.now() + 10);
  await sendAll(limiter, 5);
  await call.arrive();
  // All of its units are of after the reset.
  expect(await taken).toMatchObject({ source: "lease", allowed: true });
});
