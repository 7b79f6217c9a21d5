import { createLimiter, memoryStore, redisStore, withRateLimit } from "headgate";

type Env = { UPSTASH_REDIS_REST_URL?: string; UPSTASH_REDIS_REST_TOKEN?: string };

export default withRateLimit<Env>(
  () => new Response("Hello!\n"),
  ({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }) =>
    createLimiter({
      policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
      store: url && token ? redisStore({ url, token }) : memoryStore(),
    }),
);
