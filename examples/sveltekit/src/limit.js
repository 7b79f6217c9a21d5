import { createLimiter, storeFromEnv, withRateLimit } from "headgate";

const policies = [{ name: "site", key: "ip", limits: [{ limit: 2, window: "1m" }] }];
const limited = withRateLimit(
  (_request, { next }) => next(),
  ({ env }) => createLimiter({ policies, store: storeFromEnv(env) }),
  { clientIp: { header: "cf-connecting-ip" } },
);

/** Answers 429, or what `next` answers. */
export const limit = (request, env, ctx, next) => limited.fetch(request, { env, next }, ctx);
