/** A store far away, over one in memory, which a test can make fail, and a limiter over an isolate of it. */

import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag, type TakeReply } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { createLimiter } from "../../support/limiter.ts";

function lateBy(arrives: Promise<void> | undefined, reply: TakeReply): StoreError | undefined {
  const timeout = arrives && { answer: arrives.then(() => reply), hasFailed: arrives.then(() => false) };
  return timeout && new StoreError("TIMEOUT", undefined, timeout);
}

/** @param clockMs how far the store's clock is ahead of the local one. */
export function farStore({ clockMs = 0 } = {}) {
  const memory = memoryStore();
  const state = {
    /** The flags of all takes. */
    flags: [] as Flag[],
    /** Takes fail with it: of these flags, before they run or after. */
    failure: undefined as StoreError | undefined,
    fails: Object.values(Flag) as readonly Flag[],
    runsFirst: false,
    /** After it the reply to a take that has run arrives late. */
    arrives: undefined as Promise<void> | undefined,
    /** Replies to takes that run are on their way until then. */
    answersAfter: undefined as Promise<void> | undefined,
    /** Repayments run after it. */
    repaysAfter: undefined as Promise<void> | undefined,
  };
  const store: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      const { failure, fails, runsFirst, answersAfter } = state;
      state.flags.push(request.flag);
      const isFailing = failure && fails.includes(request.flag);
      if (isFailing && !runsFirst) throw failure;
      if (request.flag === Flag.chargeAnyway) await state.repaysAfter;
      const reply = await memory.take(request, Date.now() + clockMs);
      await answersAfter;
      if (isFailing) throw lateBy(state.arrives, reply) ?? failure;
      return reply;
    },
  };
  return { memory, store, state };
}

/** @param far another isolate is over the same store. */
export function farIsolate(policies: readonly PolicyInput[], far = farStore()) {
  const [limiter, direct] = [withIsolate(far.store), { ...far.store, kind: "memory" as const }].map((store) =>
    createLimiter({ policies, store, onDecision() {} }),
  ) as [Limiter, Limiter];
  const works: Promise<unknown>[] = [];
  const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const names = policies.map(({ name }) => ({ policy: name }));
  return {
    ...far,
    limiter,
    /** Without an isolate: the store answers every request. */
    direct,
    background,
    /** Takes from all policies, and waits for what goes on behind the answer. */
    async take(cost = 1) {
      const decision = await limiter.take(names, { cost, background });
      await Promise.all(works.splice(0));
      return decision;
    },
    peek: () => limiter.peek(names),
    /** What is left under each limit at the store. */
    left: async () => (await direct.peek(names)).limits.map(({ remaining }) => remaining),
  };
}
