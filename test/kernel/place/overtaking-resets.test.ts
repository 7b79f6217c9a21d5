// Resets that overtake the replies to calls from before them: nothing of before a reset comes back.

import { expect, it } from "vitest";
import type { Limiter } from "../../../src/limiter.ts";
import { background, holdReplies } from "./held-replies.ts";

const held = holdReplies();

/** A take that the store decides, and whose reply arrives too late for it and after a reset. */
async function resetBeforeLateReply(limiter: Limiter): Promise<void> {
  const [sent] = await held.send(limiter, 1);
  await held.calls[0]!.decide();
  held.calls[0]!.timeout();
  await sent;
  await limiter.reset("a");
  await held.calls[0]!.arrive();
}

it("a late reply from before a reset brings no counts back and gives nothing back", async () => {
  const limiter = held.limiterOf([{ limit: 1, window: "1h" }], { onStoreFailure: "deny" });
  const others = held.limiterOf([{ limit: 1, window: "1h" }]).take("a");
  while (held.calls.length < 1) await new Promise(setImmediate);
  await held.calls[0]!.arrive();
  await others;
  held.calls = [];
  await resetBeforeLateReply(limiter);
  held.calls = [];
  const next = limiter.take("a");
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  await held.calls[0]?.arrive();
  expect(await next).toMatchObject({ source: "redis", allowed: true });
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

it("what is charged before a reset is not given back to what is charged after it", async () => {
  const limiter = held.limiterOf([{ limit: 1, window: "1h" }], { onStoreFailure: "deny" });
  await resetBeforeLateReply(limiter);
  expect(held.releases()).toHaveLength(0);
});

it("a key that is reset owes nothing of before the reset", async () => {
  const limiter = held.limiterOf([{ limit: 1, window: "1h" }]);
  held.isDown = true;
  expect((await limiter.take("a")).source).toBe("fallback");
  held.isDown = false;
  await limiter.reset("a");
  const peek = limiter.peek("a", { background });
  while (held.calls.length < 1) await new Promise(setImmediate);
  await held.calls[0]!.arrive();
  await peek;
  await new Promise(setImmediate);
  expect(held.calls).toHaveLength(1);
});
