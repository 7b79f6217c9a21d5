// A Worker that test/gateway/deploy.test.ts bundles. It constructs everything at module scope, where a Worker may do no
// I/O, start no timer and draw no random number. Then it takes three times from a limit of two.

import { env } from "cloudflare:workers";
import type { CountsNamespace } from "../../src/kernel/config/counts.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { createLimiter } from "../../src/limiter.ts";
import { durableObjectStore } from "../../src/stores/durable-object-store.ts";
import { redisStore } from "../../src/stores/redis-store.ts";

const policies = [{ name: "two", key: "global", limits: [{ limit: 2, window: "1h" }] }] as const;
const limiter = createLimiter({ policies, store: memoryStore() });
createLimiter({ policies, store: redisStore({ url: "https://redis.example", token: "never-used" }) });
const { COUNTS } = env as { readonly COUNTS?: CountsNamespace };
createLimiter({ policies, store: durableObjectStore(COUNTS!) });

export { HeadgateCounts } from "../../src/kernel/store/durable-object.ts";

export default {
  async fetch(): Promise<Response> {
    const admitted: boolean[] = [];
    for (let i = 0; i < 3; i++) admitted.push((await limiter.take("two")).allowed);
    return Response.json(admitted);
  },
};
