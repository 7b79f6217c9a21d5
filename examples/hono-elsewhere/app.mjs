import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

const limit = rateLimit(
  (env) =>
    createLimiter({
      policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
      store: storeFromEnv(env),
    }),
  { clientIp: "socket" },
);

export const app = new Hono();
app.use(limit);
app.get("/", (c) => c.text(`Hello! ${c.get("rateLimit")?.remaining} left\n`));
