/** Runs of the algorithms for docs/algorithms: the memory store with an injected clock, and with it src/kernel/core. */

import { parsePolicies } from "../../src/features/configuration.ts";
import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { ConcurrencyView } from "../../src/kernel/core/concurrency.ts";
import { decideLimit } from "../../src/kernel/core/decision.ts";
import type { Policy } from "../../src/kernel/core/policy.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";

export const WINDOW_MS = 10_000;
/** The span that is drawn, in ms from the boundary. */
export const FROM_MS = -2_000;
export const TO_MS = 32_000;

/** A boundary of every window and bucket in this file, in ms since the epoch. */
const BOUNDARY_AT_MS = 1_800_000_000_000;

type LimitInput = PolicyInput["limits"][number];

export interface Run {
  /** When requests arrived, in ms from the boundary, in order. */
  readonly askedMs: readonly number[];
  /** When admitted requests reached the origin. A request that was held reached it later than it arrived. */
  readonly admittedMs: readonly number[];
  /** How many admitted requests were held. */
  readonly held: number;
}

/** No requests at first, then 50 in the last ms before a boundary, then 50 a second, evenly spaced. */
export const WORST_MS = [
  ...Array<number>(50).fill(-1),
  ...Array.from({ length: (TO_MS / 1000) * 50 }, (_, i) => 20 * i),
];
/** 50 requests at once, one second before a boundary, and as many one second after it. */
export const BURSTS_MS = [...Array<number>(50).fill(-1_000), ...Array<number>(50).fill(1_000)];

/** @param askedMs when requests arrive, in ms from the boundary, in order. */
export async function runAtBoundary(limitInput: LimitInput, askedMs: readonly number[]): Promise<Run> {
  const { policy, limit } = policyOf(limitInput);
  const store = memoryStore();
  const admittedMs: number[] = [];
  let held = 0;
  for (const ms of askedMs) {
    const nowMs = BOUNDARY_AT_MS + ms;
    const { keys } = await store.take(
      { keys: [{ key: "k", group: 0, cost: 1, limits: [limit] }], flag: Flag.take },
      nowMs,
    );
    const { admitted, delayMs = 0 } = decideLimit(policy, limit, keys[0]![0]!, 1, nowMs);
    if (!admitted) continue;
    if (delayMs > 0) held++;
    if (ms + delayMs < TO_MS) admittedMs.push(ms + delayMs);
  }
  return { askedMs, admittedMs: admittedMs.sort((a, b) => a - b), held };
}

interface SlotsRun extends Run {
  /** How many slots are taken from each instant on, in ms from the boundary. */
  readonly taken: readonly Step[];
  /** How many requests are really in flight, from each instant on. */
  readonly inFlight: readonly Step[];
  /** When two requests were lost, and when the last of their slots was free again, in ms from the boundary. */
  readonly lostMs: number;
  readonly freeMs: number;
}

export type Step = readonly [ms: number, value: number];

/** Four requests a second that take 2 s each. Two requests in flight at 5 s are lost: nobody gives their slots back. */
export async function runInFlight(limitInput: LimitInput): Promise<SlotsRun> {
  const { limit } = policyOf(limitInput);
  if (limit.kind !== Kind.concurrency) throw new TypeError("expected a concurrency limit");
  const store = memoryStore();
  const take = async (flag: Flag, slot: number, ms: number) => {
    const keys = [{ key: "k", group: 0, cost: 1, limits: [limit] }];
    const reply = await store.take({ keys, flag, slot }, BOUNDARY_AT_MS + ms);
    return { allowed: reply.allowed, taken: (reply.keys[0]![0]!.view as ConcurrencyView).inFlight };
  };

  const durationMs = 2_000;
  const lostMs = 5_000;
  const askedMs = Array.from({ length: (TO_MS / 1000) * 4 }, (_, i) => 250 * i);
  const admittedMs: number[] = [];
  const taken: Step[] = [];
  const inFlight: Step[] = [];
  /** When each running request began. This number is also the request's slot. */
  let running: number[] = [];
  let freeMs = lostMs;
  for (const ms of askedMs) {
    for (const slot of running.filter((beganMs) => beganMs + durationMs === ms)) await take(Flag.giveBack, slot, ms);
    running = running.filter((beganMs) => beganMs + durationMs > ms);
    if (ms === lostMs) freeMs = Math.max(...running.splice(0, 2)) + limit.timeoutMs;
    const { allowed } = await take(Flag.take, ms, ms);
    if (allowed) {
      admittedMs.push(ms);
      running.push(ms);
    }
    taken.push([ms, (await take(Flag.look, 0, ms)).taken]);
    inFlight.push([ms, running.length]);
  }
  return { askedMs, admittedMs, held: 0, taken, inFlight, lostMs, freeMs };
}

function policyOf(limitInput: LimitInput) {
  const parsed = parsePolicies([{ name: "picture", limits: [limitInput] }], "picture");
  if (parsed.mistakes) throw new TypeError(`expected a limit, found ${JSON.stringify(parsed.mistakes)}`);
  const policy: Policy = parsed.value[0]!;
  return { policy, limit: policy.limits[0]! };
}
