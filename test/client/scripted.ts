// A server that answers by a script, and a clock that moves only when a client waits. Runs are exact.

import { setImmediate } from "node:timers/promises";
import type { BackoffOptions } from "../../src/client/index.ts";

export const URL_OF_API = "https://api.example/v1/items";
export const NOW_MS = Date.UTC(2026, 10, 21, 4, 47, 23);

export interface Scripted {
  readonly options: Required<Pick<BackoffOptions, "fetch" | "now" | "random" | "sleep">>;
  /** Every request, as its method and body. */
  readonly sent: readonly string[];
  /** Every wait, in ms. */
  readonly waitsMs: readonly number[];
}

export type Answer = () => Response;

/** @param answers given in order; the last one repeats. An answer that throws is a failed connection. */
export function scripted(answers: readonly Answer[], random: () => number = () => 0): Scripted {
  const sent: string[] = [];
  const waitsMs: number[] = [];
  let nowMs = NOW_MS;
  return {
    sent,
    waitsMs,
    options: {
      now: () => nowMs,
      random,
      async fetch(input, init) {
        const request = new Request(input, init);
        const answer = answers[Math.min(sent.length, answers.length - 1)]!;
        sent.push(`${request.method} ${await request.text()}`.trim());
        return answer();
      },
      async sleep(durationMs, signal) {
        // Time passes only when nothing else can happen.
        await setImmediate();
        signal?.throwIfAborted();
        waitsMs.push(durationMs);
        nowMs += durationMs;
      },
    },
  };
}

export function answer(status: number, headers: Record<string, string> = {}, body: string | null = null): Answer {
  return () => new Response(body, { status, headers });
}

export const ok = answer(200);

export const failure: Answer = () => {
  throw new TypeError("fetch failed");
};
