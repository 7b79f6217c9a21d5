/** A minimal Worker with Cloudflare's rate limit binding. */

import { Hono } from "hono";

const app = new Hono();
app.use(async (c, next) => {
  const { success } = await c.env.LIMITER.limit({ key: c.req.header("CF-Connecting-IP") });
  if (!success) return c.text("Too many requests", 429);
  await next();
});
app.all("*", (c) => c.text("ok"));
export default app;
