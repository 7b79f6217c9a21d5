// Runs a random history through src/kernel/core and keeps what was admitted, and when. Properties check the result.

import type { LimitStatus } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { firstStatus } from "../../../src/testing/store-case.ts";
import { Counter } from "../gateway/counter.ts";
import type { Event } from "./arbitrary.ts";
import { largestCostOf, spanOf } from "./arbitrary-limits.ts";

export interface Asked {
  readonly atMs: number;
  readonly cost: number;
  readonly allowed: boolean;
  /** How long an admitted request was held. */
  readonly delayMs: number;
}

export interface Replay {
  readonly asked: readonly Asked[];
  /** The state after the last event, and that event's instant. */
  readonly counter: Counter;
  readonly nowMs: number;
}

export function replay(limit: LimitSpec, startMs: number, events: readonly Event[]): Replay {
  const counter = new Counter();
  const asked: Asked[] = [];
  let nowMs = startMs;
  for (const { advance, cost: wanted } of events) {
    nowMs += advanceMs(advance, counter, limit, nowMs);
    asked.push(ask(counter, limit, costOf(wanted, counter, limit, nowMs), nowMs));
  }
  return { asked, counter, nowMs };
}

export function ask(counter: Counter, limit: LimitSpec, cost: number, atMs: number): Asked {
  const reply = counter.takeOne(limit, cost, atMs);
  return { atMs, cost, allowed: reply.allowed, delayMs: firstStatus(reply, limit, cost).delayMs ?? 0 };
}

/** What a client would be told at `nowMs` about a request of this cost. Charges nothing. */
export function look(counter: Counter, limit: LimitSpec, nowMs: number, cost = 0): LimitStatus {
  return firstStatus(counter.takeOne(limit, cost, nowMs, Flag.look), limit, cost);
}

function advanceMs({ by, n }: Event["advance"], counter: Counter, limit: LimitSpec, nowMs: number): number {
  if (by === "part") return Math.floor((n * spanOf(limit)) / 1000);
  if (by === "spans") return n * spanOf(limit);
  return Math.max(0, (look(counter, limit, nowMs, 1).retryAfterMs ?? 0) + n);
}

function costOf({ of, n }: Event["cost"], counter: Counter, limit: LimitSpec, nowMs: number): number {
  if (of === "units") return n;
  if (of === "limit") return largestCostOf(limit) + n;
  return Math.max(0, look(counter, limit, nowMs).remaining + n);
}

/** The most units admitted in any span of `spanMs`. Spans are closed: both ends count. */
export function mostAdmittedWithin(spanMs: number, asked: readonly Omit<Asked, "delayMs">[]): number {
  const admitted = asked.filter(({ allowed }) => allowed);
  const sums = admitted.map(({ atMs: fromMs }, i) =>
    admitted.slice(i).reduce((sum, { atMs, cost }) => (atMs - fromMs <= spanMs ? sum + cost : sum), 0),
  );
  return Math.max(0, ...sums);
}
