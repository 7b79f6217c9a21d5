// Many requests to gateways, at a pace, from this process: an agent that keeps its connections, and few timers.

import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { onTestFinished } from "vitest";
import type { Gateway } from "./gateway.ts";

export interface Sent {
  readonly status: number;
  /** When it was sent, and when its answer had come: ms since the epoch. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** From the one to the other, in ms, finer than the clock. */
  readonly tookMs: number;
}

/** Late timers are made up for: what is due by then is sent at once. */
const TICK_MS = 2;

/** For the test that runs. */
export function startTraffic() {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());

  async function send({ url }: Gateway, path: string, address = "192.0.2.1"): Promise<Sent> {
    const [sentAtMs, start] = [Date.now(), performance.now()];
    const headers = { "CF-Connecting-IP": address };
    const { statusCode: status, body } = await agent.request({ origin: url.origin, path, method: "GET", headers });
    await body.dump();
    return { status, sentAtMs, answeredAtMs: Date.now(), tookMs: performance.now() - start };
  }

  return {
    send,
    /**
     * Sends `count` requests evenly over `overMs`, or as fast as it goes; `send` is given the number of each.
     *
     * @param most that may be open at once: a pace that cannot be kept is slower then.
     */
    async pace<T>(
      { count, overMs, most = Number.POSITIVE_INFINITY }: { count: number; overMs: number; most?: number },
      send: (i: number) => Promise<T>,
    ): Promise<T[]> {
      const startMs = performance.now();
      const answers: Promise<T>[] = [];
      let open = 0;
      while (answers.length < count) {
        const due = Math.min(count, Math.floor((count * (performance.now() - startMs)) / overMs) + 1);
        while (answers.length < due && open < most) {
          open++;
          answers.push(send(answers.length).finally(() => open--));
        }
        await sleep(TICK_MS);
      }
      return await Promise.all(answers);
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** Resolves at the beginning of the next whole second, by this machine's clock, which is Redis's too. */
export async function nextSecond(): Promise<number> {
  const startMs = 1000 * (Math.floor(Date.now() / 1000) + 1);
  while (Date.now() < startMs) await sleep(startMs - Date.now());
  return startMs;
}
