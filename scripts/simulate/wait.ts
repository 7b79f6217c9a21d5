/** One run of `limiter.wait`: isolates that call a limited API, each as soon as its limiter lets it. */

import { remoteStore } from "../../src/limiter/stores/remote-store.ts";
import { createLimiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { mostWithin } from "../../test/support/most-within.ts";
import { mulberry32 } from "../../test/support/mulberry32.ts";
import { type VirtualTime, virtualTime } from "../../test/support/virtual-time.ts";
import { withVirtualGlobals } from "./scale/globals.ts";

export interface Scenario {
  readonly isolates: number;
  /** Loops in each isolate that wait and then call the API, without a pause. */
  readonly callers: number;
  /** Units per second, of the API and of the policy. */
  readonly rate: number;
  /** The capacity of the API's token bucket, in units. */
  readonly apiBurst: number;
  /** The capacity of the policy's token bucket, in units. */
  readonly burst: number;
  /** The delay one way between an isolate and the store, in ms. */
  readonly storeMs: readonly [min: number, max: number];
  /** The delay one way between an isolate and the API, in ms. */
  readonly apiMs: readonly [min: number, max: number];
  readonly durationMs: number;
  readonly seed: number;
}

export interface Measured {
  /** Calls that the API has admitted. */
  readonly admitted: number;
  readonly refused: number;
  /** The admitted calls, divided by those that the rate of the API allows. */
  readonly used: number;
  /** Calls to the store for each call to the API. */
  readonly storeCalls: number;
  /** The most calls of one isolate to the store in any second, over the units of that second. */
  readonly mostCallsOfIsolate: number;
  /** What a wait took, in ms. */
  readonly p50: number;
  readonly p99: number;
}

const START_MS = 1_700_000_000_000;

export async function simulateWaits(scenario: Scenario): Promise<Measured> {
  const { isolates, callers, rate, apiBurst, burst, storeMs, apiMs, durationMs, seed } = scenario;
  const random = mulberry32(seed);
  const time = virtualTime(START_MS);
  return await withVirtualGlobals(time, mulberry32(seed + 1), async () => {
    const between = ([min, max]: readonly [number, number]) => min + (max - min) * random();
    const central = memoryStore();
    const api = tokenBucket(time, rate, apiBurst);
    const endMs = START_MS + durationMs;
    const tookMs: number[] = [];
    let storeCalls = 0;
    const callsAtMs: number[][] = [];

    for (let i = 0; i < isolates; i++) {
      const oneWayMs = between(storeMs);
      const own: number[] = [];
      callsAtMs.push(own);
      const delay = () => time.sleep(oneWayMs * (0.9 + 0.2 * random()));
      const place: Store = {
        ...central,
        kind: "far",
        async take(request) {
          storeCalls++;
          own.push(time.nowMs());
          await delay();
          const reply = await central.take(request);
          await delay();
          return reply;
        },
      };
      const limiter = createLimiter({
        policies: [{ name: "api", limits: [{ algorithm: "token-bucket", limit: rate, window: "1s", burst }] }],
        store: remoteStore(place, { onBreakerChange() {} }),
        onDecision() {},
      });
      const loop = async () => {
        while (time.nowMs() < endMs) {
          const cameAtMs = time.nowMs();
          const { allowed } = await limiter.wait("api", { key: "the API", timeoutMs: Number.POSITIVE_INFINITY });
          if (!allowed || time.nowMs() >= endMs) return;
          tookMs.push(time.nowMs() - cameAtMs);
          const oneWay = between(apiMs);
          await time.sleep(oneWay);
          api.call();
          await time.sleep(oneWay);
        }
      };
      for (let c = 0; c < callers; c++) time.at(START_MS, loop);
    }
    await time.runUntil(endMs);
    const { admitted, refused } = api;
    tookMs.sort((a, b) => a - b);
    return {
      admitted,
      refused,
      used: admitted / ((rate * durationMs) / 1_000),
      storeCalls: storeCalls / admitted,
      mostCallsOfIsolate: Math.max(...callsAtMs.map((own) => mostWithin(own, 1_000))) / rate,
      p50: tookMs[Math.floor(tookMs.length * 0.5)]!,
      p99: tookMs[Math.floor(tookMs.length * 0.99)]!,
    };
  });
}

interface Api {
  call(): void;
  admitted: number;
  refused: number;
}

/** The API's own limit: full at the beginning. */
function tokenBucket(time: VirtualTime, rate: number, burst: number): Api {
  let [level, sinceMs] = [burst, time.nowMs()];
  const api: Api = {
    admitted: 0,
    refused: 0,
    call() {
      const nowMs = time.nowMs();
      level = Math.min(burst, level + ((nowMs - sinceMs) * rate) / 1_000);
      sinceMs = nowMs;
      if (level < 1) {
        api.refused++;
        return;
      }
      level--;
      api.admitted++;
    },
  };
  return api;
}
