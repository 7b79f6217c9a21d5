import { once } from "node:events";
import express from "express";
import { createLimiter, redisStore } from "headgate";
import { rateLimit } from "headgate/express";
import { Redis } from "ioredis";

// A command that is sent twice is charged twice: ioredis must not send one again, and must not keep one for later.
const redis = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379", {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: 5_000,
});
redis.on("error", (error) => console.error(error.message));

const limiter = createLimiter({
  policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: redisStore({
    command: ([name, ...args]) => redis.call(name, ...args),
    keySecret: process.env.KEY_SECRET ?? "",
  }),
});

const app = express();
app.use(rateLimit(limiter, { clientIp: "socket" }));
app.get("/", (request, response) => {
  response.send(`Hello! ${request.rateLimit?.remaining} left\n`);
});

// Begin connected. Without a Redis begin too: `onStoreFailure` decides until there is one.
await once(redis, "ready").catch(() => {});
const server = app.listen(Number(process.env.PORT ?? 8787), () => console.log("listening"));
// Let requests finish, then tell the store what it does not know yet.
process.once("SIGTERM", () => {
  server.close(async () => {
    await limiter.close();
    redis.disconnect();
  });
});
