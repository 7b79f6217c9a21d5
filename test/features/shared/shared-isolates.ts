/** Isolates under `shared` on a virtual clock, far from the one store that they share. */

import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter, OnWarning } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { virtualTime } from "../../support/virtual-time.ts";

/** A beginning of windows of every length here. */
export const START_MS = 1_700_000_040_000;
/** One way. */
const DELAY_MS = 100;

export interface Call {
  readonly atMs: number;
  readonly isolate: number;
  readonly request: TakeRequest;
}

const TIMEOUT_MS = 250;
/** After two time budgets, a late answer is waited for this long (time-budget.ts). */
const LATE_ANSWER_MS = 2_000;

/**
 * What a call finds. `lost`: it runs, and its reply does not come. `silent`: it does not run, and no reply comes.
 * `late`: the reply comes so many ms after the time budget.
 */
type Fault = StoreError | "lost" | "silent" | { readonly lateMs: number };

export function createWorld(
  policies: readonly PolicyInput[],
  { places = 1, onWarning = () => {} }: { places?: number; onWarning?: OnWarning } = {},
) {
  const time = virtualTime(START_MS);
  const stores = Array.from({ length: places }, () => memoryStore());
  const calls: Call[] = [];
  /** Asked before each call. undefined: the call is answered. */
  const faults: { next: (call: Call) => Fault | undefined } = { next: () => undefined };
  let isolates = 0;
  let callsInFlight = 0;
  const background = { waitUntil: (work: Promise<unknown>) => void work };

  function linkTo(memory: Store, isolate: number): Store {
    return {
      ...memory,
      kind: "redis",
      timeoutMs: TIMEOUT_MS,
      take: (request) => inFlight(takeFar(request)),
      reset: (keys) => inFlight(resetFar(keys)),
    };

    async function takeFar(request: TakeRequest) {
      const call = { atMs: time.nowMs(), isolate, request };
      calls.push(call);
      const fault = faults.next(call);
      if (fault === "silent") {
        await time.sleep(TIMEOUT_MS);
        const answer = time.sleep(TIMEOUT_MS + LATE_ANSWER_MS).then(() => undefined);
        throw new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then(() => true) });
      }
      await time.sleep(DELAY_MS);
      if (fault instanceof StoreError) throw fault;
      const reply = await memory.take(request, Math.floor(time.nowMs()));
      await time.sleep(DELAY_MS);
      if (fault === undefined) return reply;
      if (fault === "lost") throw new StoreError("NETWORK");
      const answer = time.sleep(fault.lateMs).then(() => reply);
      throw new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then(() => false) });
    }

    async function resetFar(keys: readonly string[]) {
      await time.sleep(DELAY_MS);
      await memory.reset(keys);
    }
  }

  async function inFlight<T>(call: Promise<T>): Promise<T> {
    callsInFlight++;
    try {
      return await call;
    } finally {
      callsInFlight--;
    }
  }

  function isolate() {
    const number = isolates++;
    const random = mulberry32(number + 1);
    const timing = { nowMs: () => Math.floor(time.nowMs()), sleep: (ms: number) => time.sleep(ms) };
    const each = stores.map((memory) => withIsolate(linkTo(memory, number), timing, random));
    const store = each.length === 1 ? each[0]! : splitStore(each, (key) => Number(/\{p(\d)/.exec(key)![1]));
    const keySecret = "a secret of 32 characters or more";
    const limiter = createLimiter({ policies, store, onDecision() {}, onWarning, keySecret });
    return {
      limiter,
      number,
      /** Takes once, and fails if the answer needs anything but what the isolate knows. */
      async take(...args: Parameters<Limiter["take"]>) {
        const cameAtMs = time.nowMs();
        const [policy, options] = args;
        const decision = await limiter.take(policy, { background, ...options });
        if (time.nowMs() !== cameAtMs) throw new Error("the request has waited");
        return decision;
      },
    };
  }

  /** What the store itself says is left. */
  async function leftAtStore(policy: string, key?: string) {
    const at = stores.map((memory) => {
      const store: Store = { ...memory, take: (request) => memory.take(request, Math.floor(time.nowMs())) };
      return createLimiter({ policies, store, onDecision() {}, keySecret: "a secret of 32 characters or more" });
    });
    const left = await Promise.all(at.map((limiter) => limiter.peek(policy, key === undefined ? {} : { key })));
    return left.map(({ limits, shadow }) => [...limits, ...shadow][0]!.remaining);
  }

  return {
    time,
    calls,
    faults,
    isolate,
    leftAtStore,
    background,
    /** Lets this many ms pass. */
    pass: (ms: number) => time.runUntil(time.nowMs() + ms),
    /** Lets time pass until there is an answer. */
    async answer<T>(asked: Promise<T>): Promise<T> {
      let isAnswered = false;
      const end = () => {
        isAnswered = true;
      };
      asked.then(end, end);
      while (!isAnswered) {
        // A hash is computed outside of the virtual time, and may take long on a busy machine.
        await new Promise(setImmediate);
        if (callsInFlight > 0) await time.runUntil(time.nowMs() + 10);
      }
      return await asked;
    },
    told: (call: Call) => call.request.flag === Flag.chargeAnyway,
  };
}
