// Slots whose requests were decided without an answer of the store: none of them stays taken. The stories of
// limiter/fuzz end without a slot; this is what they do not come to.

import { expect, it } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { background, holdReplies } from "./held-replies.ts";

const SLOTS: LimitInput = { algorithm: "concurrency", limit: 10, timeout: "1h" };

const held = holdReplies();

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
