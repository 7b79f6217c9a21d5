/** A minimal Worker with @upstash/ratelimit as its documentation shows for Workers: one instance for each isolate. */

import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis/cloudflare";
import { Hono } from "hono";

const cache = new Map();
let ratelimit;

const app = new Hono();
app.use(async (c, next) => {
  const { URL, TOKEN, LIMIT, WINDOW_MS, CACHE, ALGORITHM } = c.env;
  ratelimit ??= new Ratelimit({
    redis: new Redis({ url: URL, token: TOKEN, enableTelemetry: false }),
    limiter: Ratelimit[ALGORITHM](LIMIT, `${WINDOW_MS} ms`),
    ephemeralCache: CACHE ? cache : false,
  });
  const { success, limit, remaining, reset, pending } = await ratelimit.limit(c.req.header("CF-Connecting-IP"));
  c.executionCtx.waitUntil(pending);
  c.header("X-RateLimit-Limit", String(limit));
  c.header("X-RateLimit-Remaining", String(remaining));
  c.header("X-RateLimit-Reset", String(reset));
  if (!success) return c.text("Too many requests", 429);
  await next();
});
app.all("*", (c) => c.text("ok"));
export default app;
