import { NestFactory } from "@nestjs/core";
import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";
import { AppModule } from "./app.module.js";

const limiter = createLimiter({
  policies: [{ name: "site", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  store: storeFromEnv(process.env),
});

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  app.use(rateLimit(limiter, { clientIp: "socket" }));
  await app.listen(process.env.PORT ?? 3000);
}
bootstrap();
