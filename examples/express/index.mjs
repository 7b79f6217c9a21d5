import express from "express";
import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";

const limiter = createLimiter({
  policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});

const app = express();
app.use(rateLimit(limiter, { clientIp: "socket" }));
app.get("/", (request, response) => {
  response.send(`Hello! ${request.rateLimit?.remaining} left\n`);
});
const server = app.listen(Number(process.env.PORT ?? 8787), () => console.log("listening"));
// Let requests finish, then tell the store what it does not know yet.
process.once("SIGTERM", () => server.close(() => limiter.close()));
