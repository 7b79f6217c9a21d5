import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";
import Koa from "koa";

const limiter = createLimiter({
  policies: [{ name: "site", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});
const limit = rateLimit(limiter, { clientIp: "socket" });

const app = new Koa();
app.use((ctx, next) => {
  return new Promise((resolve, reject) => {
    ctx.res.once("close", resolve); // a refusal was sent
    limit(ctx.req, ctx.res, (error) => (error ? reject(error) : resolve(next())));
  });
});
app.use((ctx) => {
  ctx.body = `Hello! ${ctx.req.rateLimit?.remaining} left\n`;
});
app.listen(Number(process.env.PORT ?? 3000), () => console.log("listening"));
