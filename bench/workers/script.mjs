/** A minimal Worker with INCR and EXPIRE in a script. */

import { Redis } from "@upstash/redis/cloudflare";
import { Hono } from "hono";
import { INCR_EXPIRE } from "../peers/scripts.mjs";

let script;

const app = new Hono();
app.use(async (c, next) => {
  const { URL, TOKEN, LIMIT, WINDOW_MS } = c.env;
  script ??= new Redis({ url: URL, token: TOKEN, enableTelemetry: false }).createScript(INCR_EXPIRE);
  const [allowed, retryAfterMs] = await script.exec(
    [`incr:${c.req.header("CF-Connecting-IP")}`],
    [LIMIT, WINDOW_MS, 1],
  );
  if (!allowed) return c.text("Too many requests", 429, { "Retry-After": String(Math.ceil(retryAfterMs / 1000)) });
  await next();
});
app.all("*", (c) => c.text("ok"));
export default app;
