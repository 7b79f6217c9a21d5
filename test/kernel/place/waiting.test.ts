// Requests under strict that wait for another request's answer. The store is far away, and units come back faster than
// it answers.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { asking, farAsking, type Told } from "./asking.ts";

const ONE_WAY_MS = 80;
/** The interval at which a waiting request looks for the answer. */
const POLL_MS = 4;
const BUDGET_MS = 250;
const WINDOW_MS = 60_000;
/** Ten units come back each second. */
const LIMIT: LimitSpec = { kind: Kind.weighted, limit: 600, bucketMs: WINDOW_MS, buckets: 1 };
const START_MS = 1_800_000_000_000;
const WARM_UP_MS = 2_000;
const MEASURED_MS = 2_000;

interface Asked {
  readonly atMs: number;
  readonly answeredAtMs: number;
  readonly cost: number;
  /** undefined: the store had none. */
  readonly answer: Told | undefined;
}

interface Hammer {
  /** The cost of the n-th request. */
  readonly costOf?: (n: number) => number;
  readonly mode?: "strict" | "leased";
  /** Then the store stops answering. */
  readonly diesAtMs?: number;
}

/** Sends a request every 2 ms to a used-up limit whose units come back. */
async function hammer({ costOf = () => 1, mode = "strict", diesAtMs }: Hammer) {
  const keysOf = (cost: number) => [{ key: "k", group: ENFORCED, cost, limits: [LIMIT] }];
  /** For each instant at which the store decided: the smallest cost that it would have refused. */
  const refusedFrom = new Map<number, number>();
  let calls = 0;
  const seen = async (_: TakeRequest, { nowMs }: TakeReply) => {
    calls++;
    for (let cost = 1; cost <= 3; cost++) {
      const { allowed } = await central.take({ keys: keysOf(cost), flag: Flag.look }, nowMs);
      if (!allowed) refusedFrom.set(nowMs, Math.min(cost, refusedFrom.get(nowMs) ?? cost));
    }
  };
  const isDead = () => diesAtMs !== undefined && time.nowMs() >= diesAtMs;
  const timeoutMs = diesAtMs && BUDGET_MS;
  const far = { startMs: START_MS, oneWayMs: ONE_WAY_MS, aheadMs: 12_345, timeoutMs, isDead, seen };
  const { time, central, answers } = farAsking(far);
  await central.take({ keys: keysOf(LIMIT.limit), flag: Flag.take }, START_MS - 1);

  const asked: Asked[] = [];
  let kept = 0;
  const background = { waitUntil: () => void kept++ };
  for (let n = 0; n < WARM_UP_MS + MEASURED_MS; n += 2) {
    time.at(START_MS + n, async () => {
      const [atMs, cost] = [time.nowMs(), costOf(n)];
      const asking = answers.take({ keys: keysOf(cost), flag: Flag.take }, background, mode);
      const answer = await asking.catch(() => undefined);
      asked.push({ atMs, answeredAtMs: time.nowMs(), cost, answer });
    });
  }
  await time.runUntil(START_MS + WARM_UP_MS);
  calls = 0;
  await time.runUntil(START_MS + WARM_UP_MS + MEASURED_MS);
  const measured = calls;
  await time.runUntil(START_MS + 2 * WINDOW_MS);
  return { asked, kept, refusedFrom, callsPerSecond: (1000 * measured) / MEASURED_MS };
}

let ones: ReturnType<typeof hammer> | undefined;
/** Every request costs 1: two tests look at the same story. */
const hammerWithOnes = () => {
  ones ??= hammer({});
  return ones;
};
const steady = (asked: readonly Asked[]) => asked.filter(({ atMs }) => atMs >= START_MS + WARM_UP_MS);

it("one of them makes a call for all, and no request waits for more than two round trips", async () => {
  const { asked, callsPerSecond } = await hammerWithOnes();
  const admitted = asked.filter(({ answer }) => answer!.reply.allowed).length;
  const due = ((WARM_UP_MS + MEASURED_MS) * LIMIT.limit) / WINDOW_MS;
  expect(Math.abs(admitted - due)).toBeLessThanOrEqual(2);
  // Ten requests are admitted each second. Without sharing there would be 500 calls each second.
  expect(callsPerSecond).toBeLessThan(20);
  const waitsMs = steady(asked).map(({ atMs, answeredAtMs }) => answeredAtMs - atMs);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(4 * ONE_WAY_MS + 3 * POLL_MS);
});

it("a waiting request is kept alive until it has its answer, and is then no longer counted as waiting", async () => {
  const { asked, kept } = await hammerWithOnes();
  const waited = asked.filter(({ atMs, answeredAtMs }) => answeredAtMs > atMs);
  expect(waited.length).toBeGreaterThan(1_000);
  expect(kept).toBe(waited.length);
});

it("a shared refusal was right at an instant between the request and its answer", async () => {
  const random = mulberry32(7);
  const { asked, refusedFrom } = await hammer({ costOf: () => 1 + Math.floor(3 * random()) });
  const refused = asked.filter(({ answer }) => !answer!.reply.allowed && answer!.source === "redis");
  expect(refused.length).toBeGreaterThan(1_000);
  for (const { atMs, answeredAtMs, cost, answer } of refused) {
    const { nowMs } = answer!.reply;
    expect(nowMs).toBeGreaterThanOrEqual(Math.floor(atMs));
    expect(nowMs).toBeLessThanOrEqual(answeredAtMs);
    expect(cost).toBeGreaterThanOrEqual(refusedFrom.get(nowMs)!);
  }
});

it.each(["strict", "leased"] as const)("a decision ends within its budget when the store dies: %s", async (mode) => {
  const { asked } = await hammer({ mode, diesAtMs: START_MS + 1_000 });
  const tookMs = asked.map(({ atMs, answeredAtMs }) => answeredAtMs - atMs);
  expect(tookMs).toHaveLength((WARM_UP_MS + MEASURED_MS) / 2);
  expect(Math.max(...tookMs)).toBeGreaterThanOrEqual(BUDGET_MS);
  expect(Math.max(...tookMs)).toBeLessThanOrEqual(BUDGET_MS + POLL_MS);
});

it("asks the store although its clock stands still: what it has slept counts", async () => {
  const central = memoryStore();
  const limit: LimitSpec = { kind: Kind.fixedWindow, limit: 1, windowMs: WINDOW_MS };
  const keys = [{ key: "k", group: ENFORCED, cost: 1, limits: [limit] }];
  // The window ends in 30 ms by the store's clock, and 100 ms are on the way: a request waits for the end of the
  // window. By its own clock that never comes.
  const nowMs = START_MS + WINDOW_MS - 30;
  let [localMs, slept, calls] = [START_MS, 0, 0];
  const store = {
    ...central,
    kind: "redis" as const,
    async take(request: TakeRequest) {
      calls++;
      localMs += 100;
      return await central.take(request, nowMs);
    },
  };
  const sleep = async () => {
    if (++slept > 1_000) throw new Error("expected the request to end");
  };
  const replies = asking(store, { nowMs: () => localMs, sleep });
  const ask = async () => (await replies.take({ keys, flag: Flag.take }, { waitUntil() {} }, "strict")).reply.allowed;
  expect([await ask(), await ask(), await ask()]).toEqual([true, false, false]);
  expect([calls, slept > 0, slept < 100]).toEqual([3, true, true]);
});
