/**
 * A store that holds its replies back: a test says when a call runs out of time, when the store decides, and when the
 * reply arrives.
 */

import { beforeEach, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { createLimiter } from "../../support/limiter.ts";

export const background = { waitUntil() {} };

export interface Call {
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

class HeldReplies {
  /** The calls that have been made. A test may empty it. */
  calls: Call[] = [];
  /** True: the breaker lets no call out. */
  isDown = false;
  store = this.#newStore();

  /** Begins anew. */
  begin(): void {
    this.calls = [];
    this.isDown = false;
    this.store = this.#newStore();
  }

  #newStore(): Store {
    const memory = memoryStore();
    const store: Store = { ...memory, kind: "redis", take: (request) => this.#take(request, memory, store) };
    return store;
  }

  #take(request: TakeRequest, memory: Store, store: Store): Promise<TakeReply> {
    // A request of an earlier test still waits, or gives units back.
    if (store !== this.store) return new Promise(() => {});
    if (this.isDown) return Promise.reject(new StoreError("OPEN"));
    const [reply, late] = [Promise.withResolvers<TakeReply>(), Promise.withResolvers<TakeReply | undefined>()];
    let decided: Promise<TakeReply> | undefined;
    const decide = () => (decided ??= memory.take(request));
    this.calls.push({
      request,
      decide,
      timeout: () =>
        reply.reject(new StoreError("TIMEOUT", undefined, { answer: late.promise, hasFailed: Promise.resolve(false) })),
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
  }

  /** A limiter of a new isolate, with one policy `a`. */
  limiterOf(limits: LimitInput[], more: Partial<PolicyInput> = {}): Limiter {
    return createLimiter({
      policies: [{ name: "a", key: ["global"], limits, ...more }],
      store: withIsolate(this.store),
    });
  }

  /** Sends this many takes. All of them wait for the store, in the order of their calls. */
  async send(limiter: Limiter, count: number): Promise<Promise<Decision>[]> {
    const sent: Promise<Decision>[] = [];
    while (sent.length < count) {
      sent.push(limiter.take("a", { background }));
      while (this.calls.length < sent.length) await new Promise(setImmediate);
    }
    return sent;
  }

  /** The n-th call, once it has been made. */
  async nextCall(n: number): Promise<Call> {
    while (this.calls.length <= n) await new Promise(setImmediate);
    return this.calls[n]!;
  }

  /** What begins with the n-th call has its answer at once. */
  async answered<T>(n: number, work: Promise<T>): Promise<T> {
    await (await this.nextCall(n)).arrive();
    return await work;
  }

  /** Waits until the take is decided, or the n-th call has been made. @returns who decided, if it is decided. */
  async decidedOrCalled(taken: Promise<Decision>, n: number): Promise<string | undefined> {
    let source: string | undefined;
    taken.then((decision) => {
      source = decision.source;
    });
    do await new Promise(setImmediate);
    while (source === undefined && this.calls.length <= n);
    return source;
  }

  /** The calls that give something back. */
  releases(): Call[] {
    return this.calls.filter(({ request }) => request.flag === Flag.giveBack);
  }
}

/** Each test of the calling file begins with a new store. Time stands still unless the test sets it. */
export function holdReplies(): HeldReplies {
  const held = new HeldReplies();
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] });
    held.begin();
  });
  return held;
}
