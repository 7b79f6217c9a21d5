// Redis works, but the gateways do not get to run: their processes are stopped again and again, each time for longer
// than a decision may take. Redis must answer in time meanwhile: gateways that get no answer rightly decide alone.

import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startTraffic } from "../support/gateway/traffic.ts";
import { startFarRedis } from "../support/redis/far-redis.ts";

const ONE_WAY_MS = 40;
/** The default of REDIS_TIMEOUT_MS. */
const BUDGET_MS = 250;
const STANDS_STILL_MS = 500;
const RUNS_MS = 250;
const TIMES = 5;
const PER_SECOND = 125;
/** The lowest priority: while Redis has work, the gateways get no processor. */
const NICE = 19;
/** Isolates that decide without an answer may together admit this many times the limit. */
const MOST = 1.1;

/** Stops and continues the processes, TIMES times. */
async function starve(processes: readonly number[]): Promise<void> {
  const signal = (name: NodeJS.Signals) => processes.forEach((pid) => void process.kill(pid, name));
  try {
    for (let i = 0; i < TIMES; i++) {
      await sleep(RUNS_MS);
      signal("SIGSTOP");
      await sleep(STANDS_STILL_MS);
      signal("SIGCONT");
    }
  } finally {
    signal("SIGCONT");
  }
}

it.each([
  ["that know the counts", 2, 200, true],
  ["that have never been told a count", 4, 100, false],
])("isolates %s admit hardly more than the limit", async (_, count, limit, isWarm) => {
  const { rest, slow } = await startFarRedis();
  const policies = [
    {
      name: uniqueName("starved"),
      match: { path: "/limited" },
      limits: [{ algorithm: "sliding-log", limit, window: "10m" }],
    },
  ];
  const gateways = await Promise.all(
    Array.from({ length: count }, () => startGateway({ redis: rest, policies, vars: { REDIS_TIMEOUT_MS: BUDGET_MS } })),
  );
  const processes = gateways.map(({ pid }) => pid);
  for (const pid of processes) setPriority(pid, NICE);
  const { send, pace } = startTraffic();
  // Build the Workers first. A gateway that shall know the counts gets a request of the counted client, a cold one of
  // another client.
  const address = isWarm ? undefined : "192.0.2.9";
  await Promise.all(gateways.map((gateway) => send(gateway, "/limited", address)));
  slow(ONE_WAY_MS);

  const overMs = TIMES * (RUNS_MS + STANDS_STILL_MS);
  const [sent] = await Promise.all([
    pace({ count: (PER_SECOND * overMs) / 1_000, overMs }, (i) => send(gateways[i % count]!, "/limited")),
    starve(processes),
  ]);
  const admitted = sent.filter(({ status }) => status === 200).length;
  // The number of refusals depends on the machine: a request that Redis has not answered yet counts as charged.
  expect(admitted).toBeGreaterThan(0);
  expect(sent.every(({ status }) => status === 200 || status === 429)).toBe(true);
  expect(admitted).toBeLessThanOrEqual(MOST * limit);
});
