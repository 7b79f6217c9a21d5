/** What requests cost two gateways in CPU time: both answer the same requests, in turns. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startWorkerd } from "../../test/support/gateway/workerd.ts";
import { median } from "./stats.ts";
import { cpuMs } from "./workerd.ts";

export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
}

/** A gateway: bench/workers/features.mjs, bundled, and what it is bound to. */
export interface Side {
  readonly code: string;
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly counts?: true;
  readonly stats?: true;
  /** The status of its answers, if it is another one than the request names. */
  readonly status?: number;
}

export interface Turns {
  readonly counted: number;
  readonly warmUp: number;
  /** The number of requests in a turn. */
  readonly times: number;
}

/** What one request costs: medians over the turns. */
export interface Difference {
  /** The µs of the second gateway. */
  readonly us: number;
  /** How much that is more than the first gateway's, in µs and as a ratio. */
  readonly addedUs: number;
  readonly ratio: number;
}

/** @param prepare runs before the measurement, on the second gateway. */
export async function compare(
  pair: readonly [first: Side, second: Side],
  requests: readonly Sent[],
  turns: Turns,
  prepare?: (url: string) => Promise<void>,
): Promise<Difference[]> {
  const sides = await Promise.all(
    pair.map(async ({ status, ...worker }) => {
      // Objects on a disk: tests have them in memory.
      const objects = mkdtempSync(join(tmpdir(), "headgate-bench-"));
      const { port, pid, stop } = await startWorkerd([{ name: "main", ...worker }], { objects });
      return { port, pid, stop, objects, status, us: requests.map((): number[] => []) };
    }),
  );
  try {
    await prepare?.(`http://127.0.0.1:${sides[1]!.port}`);
    for (let turn = -turns.warmUp; turn < turns.counted; turn++) {
      for (const [r, request] of requests.entries()) {
        // Each is first in half of the turns.
        for (const { port, pid, us, status = request.status } of turn % 2 === 0 ? sides : sides.toReversed()) {
          const before = cpuMs(pid) ?? Number.NaN;
          await send(port, { ...request, status }, turns.times);
          const after = cpuMs(pid) ?? Number.NaN;
          if (turn >= 0) us[r]!.push((1_000 * (after - before)) / turns.times);
        }
      }
    }
  } finally {
    for (const { stop, objects } of sides) {
      await stop();
      rmSync(objects, { recursive: true });
    }
  }
  return requests.map((_, r) => {
    const [first, second] = sides.map(({ us }) => us[r]!) as [number[], number[]];
    return {
      us: median(second),
      addedUs: median(second.map((value, i) => value - first[i]!)),
      ratio: median(second.map((value, i) => value / first[i]!)),
    };
  });
}

async function send(port: number, { status, ...request }: Sent, times: number): Promise<void> {
  const body = JSON.stringify({ ...request, times });
  const statuses = await (await fetch(`http://127.0.0.1:${port}/bench`, { method: "POST", body })).json();
  const expected = (statuses as Record<string, number>)[status] ?? 0;
  // The first request of a client with one request a day is admitted.
  if (expected < times - 1) throw new Error(`${request.path}: expected ${status}, found ${JSON.stringify(statuses)}`);
}
