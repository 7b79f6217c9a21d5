// How many calls to the store one request makes, including its background work. On the free plan, a Worker may make 50
// subrequests in a request.

import { AsyncLocalStorage } from "node:async_hooks";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { firstOf } from "../../support/cases/draws.ts";
import { farAsking } from "./asking.ts";

const START_MS = 1_800_000_000_000;
const ONE_WAY_MS = 10;
const SECONDS = 14;
/** Three calls in turn, then one as under strict, one in the background for the stock, and ten that give units back. */
const MOST_CALLS = 3 + 1 + 1 + 10;

it.each(
  firstOf<[string, LimitSpec]>([
    ["fixed-window", { kind: Kind.fixedWindow, limit: 1_000_000, windowMs: 2_000 }],
    ["sliding-window", { kind: Kind.weighted, limit: 1_000_000, bucketMs: 500, buckets: 10 }],
    ["token-bucket", { kind: Kind.bucket, limit: 1_000_000, windowMs: 2_000, burst: 1_000_000, maxDelayMs: 0 }],
  ]),
)("are bounded under leased, and all that is not spent goes back: %s", async (_, limit) => {
  const request = new AsyncLocalStorage<{ calls: number }>();
  let [givenBack, charged] = [0, 0];
  const seen = (asked: TakeRequest, reply: TakeReply) => {
    request.getStore()!.calls++;
    const { cost } = asked.keys[0]!;
    if (asked.flag === Flag.giveBack) givenBack++;
    charged += reply.allowed ? (asked.flag === Flag.giveBack ? -cost : cost) : 0;
  };
  const { time, answers } = farAsking({ startMs: START_MS, oneWayMs: ONE_WAY_MS, seen });
  const background = { waitUntil() {} };
  const keys = [{ key: "k", group: ENFORCED, cost: 1, limits: [limit] }];
  const requests: { calls: number }[] = [];
  let admitted = 0;
  const ask = () => {
    const one = { calls: 0 };
    requests.push(one);
    request.run(one, async () => {
      const { reply } = await answers.take({ keys, flag: Flag.take }, background);
      admitted += reply.allowed ? 1 : 0;
    });
  };
  // The rate goes up and down. At each review some of the stock is not needed any more, but never all of it.
  for (let ms = 0; ms < SECONDS * 1_000; ms += Math.floor(ms / 50) % 2 === 0 ? 1 : 0.25) {
    time.at(START_MS + ms, ask);
  }
  // A request may give units back only so often. The next request gives back the rest.
  time.at(START_MS + SECONDS * 1_000 + 500, ask);
  await time.runUntil(START_MS + SECONDS * 1_000 + 60_000);
  expect(admitted).toBe(requests.length);
  // The bound was reached. Otherwise the test would show nothing.
  expect(givenBack).toBeGreaterThan(MOST_CALLS);
  expect(Math.max(...requests.map(({ calls }) => calls))).toBeLessThanOrEqual(MOST_CALLS);
  expect(charged).toBe(admitted);
});
