/** A minimal Worker with hono-rate-limiter and its Redis store, over Upstash's client, as its documentation shows. */

import { Redis } from "@upstash/redis/cloudflare";
import { Hono } from "hono";
import { RedisStore, rateLimiter } from "hono-rate-limiter";

let limiter;

const app = new Hono();
app.use(async (c, next) => {
  if (!limiter) {
    const { URL, TOKEN, LIMIT, WINDOW_MS } = c.env;
    const client = new Redis({ url: URL, token: TOKEN, enableTelemetry: false });
    limiter = rateLimiter({
      windowMs: WINDOW_MS,
      limit: LIMIT,
      standardHeaders: "draft-7",
      keyGenerator: (context) => context.req.header("CF-Connecting-IP"),
      store: new RedisStore({ client }),
    });
  }
  return await limiter(c, next);
});
app.all("*", (c) => c.text("ok"));
export default app;
