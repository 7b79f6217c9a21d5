// Slots whose requests were decided without an answer of the store: none of them stays taken.

import { expect, it } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { background, holdReplies } from "./held-replies.ts";

const SLOTS: LimitInput = { algorithm: "concurrency", limit: 10, timeout: "1h" };

const held = holdReplies();

it("a slot of a request that was refused without an answer is given back after its late reply", async () => {
  const [sent] = await held.send(held.limiterOf([SLOTS], { onStoreFailure: "deny" }), 1);
  held.calls[0]!.timeout();
  expect((await sent!).unavailable).toBe(true);
  expect(held.releases()).toHaveLength(0);
  await held.calls[0]!.arrive();
  expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[0]!.request.slot]);
  await held.releases()[0]!.arrive();
  expect(held.releases(), "one call is enough").toHaveLength(1);
});

it("a slot of a late reply that could not be given back is given back as soon as the store answers", async () => {
  const limiter = held.limiterOf([SLOTS], { onStoreFailure: "deny" });
  const [refused] = await held.send(limiter, 1);
  held.calls[0]!.timeout();
  await refused;
  await held.calls[0]!.arrive();
  held.calls[1]!.break();
  await new Promise(setImmediate);
  const next = limiter.take("a", { background });
  await (await held.nextCall(2)).arrive();
  await next;
  await held.nextCall(3);
  const { slot } = held.calls[0]!.request;
  expect(held.releases().map(({ request }) => request.slot)).toEqual([slot, slot]);
});

it.each(["local", "allow"] as const)(
  "a slot of a request that was admitted without an answer (%s) is given back when the request has ended",
  async (onStoreFailure) => {
    const [sent] = await held.send(held.limiterOf([SLOTS], { onStoreFailure }), 1);
    held.calls[0]!.timeout();
    const { hold } = await sent!;
    held.calls[0]!.lose();
    const released = hold!.release();
    while (held.releases().length < 1) await new Promise(setImmediate);
    await held.releases()[0]!.arrive();
    await released;
    expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[0]!.request.slot]);
  },
);

it("a slot that could not be given back is given back as soon as the store answers", async () => {
  const limiter = held.limiterOf([SLOTS, { limit: 10, window: "1h" }]);
  const [sent] = await held.send(limiter, 1);
  await held.calls[0]!.arrive();
  const { hold } = await sent!;
  held.isDown = true;
  await hold!.release();
  held.isDown = false;
  const next = limiter.take("a", { background });
  while (held.calls.length < 2) await new Promise(setImmediate);
  await held.calls[1]!.arrive();
  await next;
  while (held.releases().length < 1) await new Promise(setImmediate);
  expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[0]!.request.slot]);
});

it("a slot of a refused request whose reply is lost is given back, also without a background", async () => {
  const sent = held.limiterOf([SLOTS], { onStoreFailure: "deny" }).take("a");
  while (held.calls.length < 1) await new Promise(setImmediate);
  held.calls[0]!.timeout();
  await sent;
  held.calls[0]!.lose();
  await new Promise(setImmediate);
  expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[0]!.request.slot]);
});

it("a slot of a request that was refused when its connection broke is given back", async () => {
  const [sent] = await held.send(held.limiterOf([SLOTS], { onStoreFailure: "deny" }), 1);
  held.calls[0]!.break();
  expect((await sent!).unavailable).toBe(true);
  await new Promise(setImmediate);
  expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[0]!.request.slot]);
});

it("a slot of a policy in shadow that refuses alone is given back, although its request was admitted", async () => {
  const policies: PolicyInput[] = [
    { name: "a", key: ["global"], limits: [{ limit: 10, window: "1h" }] },
    { name: "b", key: ["global"], limits: [{ ...SLOTS, limit: 1 }], mode: "shadow" },
  ];
  const limiter = createLimiter({ policies, store: withIsolate(held.store), onDecision() {} });
  const shadows = [];
  for (let n = 0; n < 2; n++) {
    const taken = limiter.take([{ policy: "a" }, { policy: "b" }], { background });
    const call = await held.nextCall(n);
    call.timeout();
    call.lose();
    shadows.push((await taken).shadow[0]!.admitted);
    await new Promise(setImmediate);
  }
  expect(shadows).toEqual([true, false]);
  expect(held.releases().map(({ request }) => request.slot)).toEqual([held.calls[1]!.request.slot]);
});
