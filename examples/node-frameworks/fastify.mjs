import Fastify from "fastify";
import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";

const limiter = createLimiter({
  policies: [{ name: "site", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});
const limit = rateLimit(limiter, { clientIp: "socket" });

const app = Fastify();
app.addHook("onRequest", (request, reply, done) => {
  for (const [name, value = ""] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value);
  limit(request.raw, reply.raw, done);
});
app.get("/", (request) => `Hello! ${request.raw.rateLimit?.remaining} left\n`);
await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log("listening");
