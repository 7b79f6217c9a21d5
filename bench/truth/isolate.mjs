/** One isolate of one limiter: a thread with a clock of its own, which asks what it is told, when it is told. */

import { parentPort, workerData } from "node:worker_threads";

const { peer, service, limits, skewMs } = workerData;
const now = () => performance.timeOrigin + performance.now();
const realNow = Date.now;
Date.now = () => realNow() + skewMs;
const { LIMITERS } = await import("../peers/limiters.mjs");
const limiter = LIMITERS[peer](service, limits);
// Scripts are loaded and connections made before the trace begins.
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

/** Asks at each of the instants until it is refused, then again after each part of the last wait that it was told. */
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
      // Timers and clocks differ by a millisecond or two.
      await until(toldAtMs + promisedAfterMs * part + (part >= 1 ? 3 : 0));
      const sentAtMs = now();
      const { allowed } = await limiter.take(own, 1);
      // Whoever keeps the promise asks after it; whoever does not has been answered before it, or proves nothing.
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
