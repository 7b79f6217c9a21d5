/** A minimal Worker that calls the library's limiter by hand. Its answers equal those of upstash.mjs. */

import { Hono } from "hono";
import { createLimiter, redisStore } from "../../src/index.ts";

let limiter;

const app = new Hono();
app.use(async (c, next) => {
  const { URL, TOKEN, LIMIT, WINDOW_MS } = c.env;
  limiter ??= createLimiter({
    policies: [{ name: "default", limits: [{ limit: LIMIT, window: `${WINDOW_MS}ms` }] }],
    store: redisStore({ url: URL, token: TOKEN, timeoutMs: 5_000 }),
  });
  const decision = await limiter.take("default", {
    key: c.req.header("CF-Connecting-IP"),
    background: c.executionCtx,
  });
  c.header("X-RateLimit-Limit", String(decision.limits[0].limit.limit));
  c.header("X-RateLimit-Remaining", String(decision.remaining));
  c.header("X-RateLimit-Reset", String(Date.now() + decision.resetAfterMs));
  if (!decision.allowed) return c.text("Too many requests", 429);
  await next();
});
app.all("*", (c) => c.text("ok"));
export default app;
