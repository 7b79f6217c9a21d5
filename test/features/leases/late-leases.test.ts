// Leases whose calls are answered late, or after the reply to a later call.

import { expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { background, type Call, holdReplies } from "../../kernel/place/held-replies.ts";

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
