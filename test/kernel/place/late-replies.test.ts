// Decisions while replies of the store are on their way: requests that were sent count, late replies still teach, and
// none of before a reset brings anything back.

import { expect, it, vi } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { background, holdReplies } from "./held-replies.ts";

const LIMIT = 10;
const WINDOW: LimitInput = { limit: LIMIT, window: "1h" };
const LIMITS: Readonly<Record<string, LimitInput>> = {
  "sliding-window": WINDOW,
  "fixed-window": { algorithm: "fixed-window", limit: LIMIT, window: "1h" },
  "sliding-log": { algorithm: "sliding-log", limit: LIMIT, window: "1h" },
  "token-bucket": { algorithm: "token-bucket", limit: LIMIT, window: "1h" },
  "leaky-bucket": { algorithm: "leaky-bucket", limit: LIMIT, window: "1h" },
  concurrency: { algorithm: "concurrency", limit: LIMIT, timeout: "1h" },
};

const held = holdReplies();

it.each(Object.entries(LIMITS))(
  "a decision without an answer counts what was sent and not yet answered: %s",
  async (_, limit) => {
    const sent = await held.send(held.limiterOf([limit]), 2 * LIMIT);
    // The first take is decided without the store while 19 others are on their way: all units may be gone.
    held.calls[0]!.timeout();
    const first = await Promise.race(sent);
    expect([first.source, first.allowed]).toEqual(["fallback", false]);
  },
);

it.each(Object.entries(LIMITS))(
  "requests that all lose their answers share one limit, and none counts twice: %s",
  async (_, limit) => {
    const sent = await held.send(held.limiterOf([limit]), LIMIT);
    for (const call of held.calls) call.timeout();
    const decisions = await Promise.all(sent);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
  },
);

it("a late reply replaces what the isolate has counted alone", async () => {
  const limiter = held.limiterOf([WINDOW]);
  // Other isolates have used all but one unit.
  const others = held.limiterOf([WINDOW]).take("a", { cost: LIMIT - 1 });
  while (held.calls.length < 1) await new Promise(setImmediate);
  await held.calls[0]!.arrive();
  await others;
  held.calls = [];

  const [sent] = await held.send(limiter, 1);
  held.calls[0]!.timeout();
  expect((await sent!).allowed).toBe(true);
  held.isDown = true;
  expect((await limiter.peek("a")).remaining).toBe(LIMIT - 1);
  await held.calls[0]!.arrive();
  expect((await limiter.peek("a")).remaining).toBe(0);
});

it("a late reply that is older than what is known teaches nothing", async () => {
  const limiter = held.limiterOf([WINDOW]);
  const sent = await held.send(limiter, 2);
  held.calls[0]!.timeout();
  await Promise.race(sent);
  await held.calls[0]!.decide();
  vi.setSystemTime(Date.now() + 10);
  await held.calls[1]!.arrive();
  await Promise.all(sent);
  held.isDown = true;
  const before = (await limiter.peek("a")).remaining;
  await held.calls[0]!.arrive();
  expect([before, (await limiter.peek("a")).remaining]).toEqual([LIMIT - 2, LIMIT - 2]);
});

it("what the store refused late is charged later if the isolate had admitted it", async () => {
  const limiter = held.limiterOf([{ limit: 1, window: "1h" }]);
  const other = held.limiterOf([{ limit: 1, window: "1h" }]).take("a");
  while (held.calls.length < 1) await new Promise(setImmediate);
  await held.calls[0]!.arrive();
  await other;
  held.calls = [];
  const [sent] = await held.send(limiter, 1);
  held.calls[0]!.timeout();
  expect((await sent!).allowed).toBe(true);
  await held.calls[0]!.arrive();
  const next = limiter.peek("a", { background });
  while (held.calls.length < 2) await new Promise(setImmediate);
  await held.calls[1]!.arrive();
  await next;
  await new Promise(setImmediate);
  expect(held.calls.at(-1)!.request).toMatchObject({ flag: Flag.chargeAnyway });
});

it("no request is admitted uncharged after the local clock was set back during a call", async () => {
  const limiter = held.limiterOf([{ algorithm: "token-bucket", limit: 60, burst: 2, window: "1m" }]);
  const first = limiter.take("a", { background });
  await (await held.nextCall(0)).arrive();
  await first;
  const last = limiter.take("a", { background });
  await (await held.nextCall(1)).decide();
  vi.setSystemTime(Date.now() - 60_000);
  await held.calls[1]!.arrive();
  expect((await last).remaining).toBe(0);

  for (let i = 0; i < 20; i++) {
    vi.setSystemTime(Date.now() + 100);
    const before = held.calls.length;
    const taken = limiter.take("a", { background });
    await held.decidedOrCalled(taken, before);
    await held.calls[before]?.arrive();
    expect([(await taken).allowed, held.calls.length > before]).not.toEqual([true, false]);
  }
});

it("a reply in time that a reset has overtaken brings no counts back", async () => {
  const limiter = held.limiterOf([{ algorithm: "fixed-window", limit: 2, window: "1h" }]);
  const first = limiter.take("a", { background });
  await (await held.nextCall(0)).arrive();
  await first;
  const last = limiter.take("a", { background });
  await (await held.nextCall(1)).decide();
  await limiter.reset("a");
  await held.calls[1]!.arrive();
  expect((await last).remaining).toBe(0);

  const next = limiter.take("a", { background });
  await (await held.nextCall(2)).arrive();
  expect((await next).source).toBe("redis");
  expect((await next).allowed).toBe(true);
});

it("what the store has refused during a reset brings no counts back", async () => {
  const limiter = held.limiterOf([{ algorithm: "fixed-window", limit: 1, window: "1h" }]);
  const first = limiter.take("a", { background });
  await (await held.nextCall(0)).arrive();
  await first;
  const { reset } = held.store;
  const reached = Promise.withResolvers<void>();
  Object.assign(held.store, { reset: (keys: readonly string[]) => reached.promise.then(() => reset(keys)) });
  const resetting = limiter.reset("a");
  const refused = limiter.take("a", { background });
  await (await held.nextCall(1)).decide();
  reached.resolve();
  await resetting;
  await held.calls[1]!.arrive();
  expect((await refused).allowed).toBe(false);

  const next = limiter.take("a", { background });
  expect(await held.decidedOrCalled(next, 2)).toBeUndefined();
  await held.calls[2]!.arrive();
  expect((await next).allowed).toBe(true);
});

it("what is charged before a reset is not given back to what is charged after it, by a late reply", async () => {
  const limiter = held.limiterOf([WINDOW], { onStoreFailure: "deny" });
  const [sent] = await held.send(limiter, 1);
  await held.calls[0]!.decide();
  held.calls[0]!.timeout();
  await sent;
  await limiter.reset("a");
  await held.calls[0]!.arrive();
  expect(held.releases()).toHaveLength(0);
});
