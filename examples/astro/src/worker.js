import app from "@astrojs/cloudflare/entrypoints/server";
import { createLimiter, storeFromEnv, withRateLimit } from "headgate";

export { HeadgateCounts } from "headgate/durable-object";

const policies = [{ name: "site", key: "ip", limits: [{ limit: 2, window: "1m" }] }];
export default withRateLimit(app, (env) => createLimiter({ policies, store: storeFromEnv(env) }));
