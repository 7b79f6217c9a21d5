// Decisions while replies of the store are on their way: requests that were sent count, late replies still teach, and
// none of before a reset brings anything back.

import { expect, it, vi } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { background, holdReplies } from "./held-replies.ts";

const LIMIT = 10;
const WINDOW: LimitInput = { limit: LIMIT, window: "1h" };
const LIMITS: readonly LimitInput[] = [
  WINDOW,
  ...(["fixed-window", "sliding-log", "token-bucket", "leaky-bucket"] as const).map((algorithm) => ({
    ...{ algorithm, limit: LIMIT, window: "1h" as const },
  })),
  { algorithm: "concurrency", limit: LIMIT, timeout: "1h" },
];

const held = holdReplies();

it.each(LIMITS)("a decision without an answer counts what was sent and not yet answered: $algorithm", async (limit) => {
  const sent = await held.send(held.limiterOf([limit]), 2 * LIMIT);
  // The first take is decided without the store while 19 others are on their way: all units may be gone.
  held.calls[0]!.timeout();
  expect(await Promise.race(sent)).toMatchObject({ source: "fallback", allowed: false });
});

it.each(LIMITS)(
  "requests that all lose their answers share one limit, and none counts twice: $algorithm",
  async (limit) => {
    const sent = await held.send(held.limiterOf([limit]), LIMIT);
    for (const call of held.calls) call.timeout();
    const decisions = await Promise.all(sent);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
  },
);

/** Another isolate takes. */
async function others(cost: number, limits = [WINDOW]) {
  await held.answered(0, held.limiterOf(limits).take("a", { cost }));
  held.calls = [];
}

it("a late reply replaces what the isolate has counted alone", async () => {
  const limiter = held.limiterOf([WINDOW]);
  await others(LIMIT - 1);
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
  await others(1, [{ limit: 1, window: "1h" }]);
  const [sent] = await held.send(limiter, 1);
  held.calls[0]!.timeout();
  expect((await sent!).allowed).toBe(true);
  await held.calls[0]!.arrive();
  await held.answered(1, limiter.peek("a", { background }));
  await new Promise(setImmediate);
  expect(held.calls.at(-1)!.request).toMatchObject({ flag: Flag.chargeAnyway });
});

it("no request is admitted uncharged after the local clock was set back during a call", async () => {
  const limiter = held.limiterOf([{ algorithm: "token-bucket", limit: 60, burst: 2, window: "1m" }]);
  await held.answered(0, limiter.take("a", { background }));
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
  await held.answered(0, limiter.take("a", { background }));
  const last = limiter.take("a", { background });
  await (await held.nextCall(1)).decide();
  await limiter.reset("a");
  await held.calls[1]!.arrive();
  expect((await last).remaining).toBe(0);

  const next = await held.answered(2, limiter.take("a", { background }));
  expect(next).toMatchObject({ source: "redis", allowed: true });
});

it("what the store has refused during a reset brings no counts back", async () => {
  const limiter = held.limiterOf([{ algorithm: "fixed-window", limit: 1, window: "1h" }]);
  await held.answered(0, limiter.take("a", { background }));
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
