import { createServer } from "node:http";
import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";

const limiter = createLimiter({
  policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});
const limit = rateLimit(limiter, { clientIp: "socket" });

const server = createServer((request, response) => {
  limit(request, response, (error) => {
    if (error) console.error(error);
    response.statusCode = error ? 500 : 200;
    response.end(error ? "Sorry.\n" : "Hello!\n");
  });
});
server.listen(Number(process.env.PORT ?? 8787), () => console.log("listening"));
