/** One isolate of one limiter: a thread with its own clock that sends the requests of a trace at their instants. */

import { parentPort, workerData } from "node:worker_threads";

const { peer, service, limits, skewMs } = workerData;
const now = () => performance.timeOrigin + performance.now();
const realNow = Date.now;
Date.now = () => realNow() + skewMs;
const { LIMITERS } = await import("../peers/limiters.mjs");
const limiter = LIMITERS[peer](service, limits);
// Loads scripts and opens connections before the trace begins.
await limiter.take(`warm-up-${peer}`, 1).catch(() => {});

async function ask({ atMs, key, cost }) {
  await until(atMs);
  const sentAtMs = now();
  try {
    const answer = await limiter.take(key, cost);
    return { key, cost, sentAtMs, doneAtMs: now(), ...answer };
  } catch (error) {
    return { key, cost, sentAtMs, doneAtMs: now(), allowed: false, failed: String(error) };
  }
}

const until = (atMs) => new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - now())));

/** At each instant, asks until it is refused. Then asks again after parts of the wait that the last refusal told. */
async function retries({ key, limit, parts, instants }) {
  return await Promise.all(
    parts.map(async (part, i) => {
      const own = `${key}/${i}`;
      let refused;
      for (const atMs of instants) {
        await until(atMs);
        refused = undefined;
        for (let n = 0; n <= 2 * limit && !refused; n++) {
          const answer = await limiter.take(own, 1);
          if (!answer.allowed) refused = answer;
        }
      }
      const promisedAfterMs = refused?.retryAfterMs;
      const toldAtMs = now();
      if (!(promisedAfterMs > 0)) return undefined;
      // Timers and clocks differ by 1 or 2 ms.
      await until(toldAtMs + promisedAfterMs * part + (part >= 1 ? 3 : 0));
      const sentAtMs = now();
      const { allowed } = await limiter.take(own, 1);
      // A copy that keeps the promise must ask after the wait. The answer to any other copy must come before its end: a
      // later answer proves nothing.
      const askedAfterMs = (part >= 1 ? sentAtMs : now()) - toldAtMs;
      if (part < 1 && askedAfterMs >= promisedAfterMs) return undefined;
      return { promisedAfterMs, askedAfterMs, admitted: allowed };
    }),
  );
}

parentPort.on("message", async ({ requests, retry, charged, redisUrl }) => {
  if (requests) parentPort.postMessage(await Promise.all(requests.map(ask)));
  if (retry) parentPort.postMessage((await retries(retry)).filter(Boolean));
  if (charged) {
    const { Redis } = await import("ioredis");
    const redis = new Redis(redisUrl);
    parentPort.postMessage(await limiter.charged(redis, charged));
    redis.disconnect();
  }
});
parentPort.postMessage("ready");
