// Sends many requests to gateways at a steady pace, over kept connections and with few timers.

import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { onTestFinished } from "vitest";
import type { Gateway } from "./gateway.ts";

export interface Sent {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** When the request was sent, and when its answer had arrived, in ms since the epoch. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

/** The interval of the timer. If the timer is late, all requests that are due are sent at once. */
const TICK_MS = 2;

/** Traffic for the running test. */
export function startTraffic() {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());

  async function send({ url }: Gateway, path: string, address = "192.0.2.1"): Promise<Sent> {
    const sentAtMs = Date.now();
    const headers = { "CF-Connecting-IP": address };
    const answer = await agent.request({ origin: url.origin, path, method: "GET", headers });
    await answer.body.dump();
    const get = (name: string) => (answer.headers[name.toLowerCase()] as string | undefined) ?? null;
    return { status: answer.statusCode, headers: { get }, sentAtMs, answeredAtMs: Date.now() };
  }

  return {
    send,
    /**
     * Sends `count` requests evenly over `overMs`, or more slowly if that is too fast for this machine. `send` gets the
     * number of each request.
     */
    async pace<T>({ count, overMs }: { count: number; overMs: number }, send: (i: number) => Promise<T>): Promise<T[]> {
      const startMs = performance.now();
      const answers: Promise<T>[] = [];
      while (answers.length < count) {
        const due = Math.min(count, Math.floor((count * (performance.now() - startMs)) / overMs) + 1);
        while (answers.length < due) answers.push(send(answers.length));
        await sleep(Math.max(TICK_MS, overMs / count));
      }
      return await Promise.all(answers);
    },
  };
}
