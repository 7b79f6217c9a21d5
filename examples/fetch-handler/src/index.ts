import { createLimiter, storeFromEnv, withRateLimit } from "headgate";

export default withRateLimit(
  () => new Response("Hello!\n"),
  (env) =>
    createLimiter({
      policies: [{ name: "hello", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
      store: storeFromEnv(env),
    }),
);
