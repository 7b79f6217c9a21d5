/**
 * `npm run faults:repeats`: 10,000 requests with ids, of which 30 % are repeats, through three
 * gateways in real workerd over one Redis. 15 % of the calls to Redis lose their answer, are cut, hang or come late.
 * Each id must be charged at most once, and exactly once if a call has reached Redis. Exits with 1 if one is not.
 *
 * `--requests N`: so many requests. `--seed N`: other draws.
 */

import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { BUDGET_MS, policyOf, sendWithRepeats, startRepeatProxy } from "../../test/support/faults/repeated-requests.ts";
import { createBridge } from "../bridge/bridge.ts";
import { startLocalGateway } from "../dev/local-gateway.ts";
import { startRedisServer } from "../machine/redis-server.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});
const [requests, seed] = [Number(values.requests), Number(values.seed)];

const server = await startRedisServer();
const bridge = await createBridge({ redisUrl: server.url, token: randomBytes(16).toString("hex") });
const proxies = await Promise.all([0, 1, 2].map((one) => startRepeatProxy(bridge.url, seed + one)));
const gateways = await Promise.all(
  proxies.map((proxy) =>
    startLocalGateway({
      ...{ UPSTASH_REDIS_REST_URL: proxy.url, UPSTASH_REDIS_REST_TOKEN: bridge.token, REDIS_TIMEOUT_MS: BUDGET_MS },
      POLICIES: [policyOf("once")],
    }),
  ),
);
const startMs = performance.now();
const urls = gateways.map(({ url }) => url);
const told = await sendWithRepeats(urls, proxies, { requests, seed });
await Promise.all(gateways.map((gateway) => gateway.stop()));
await Promise.all(proxies.map((proxy) => proxy.close()));
await bridge.close();
await server.stop();

const { sent, repeats, ids, faults, reached, wrong, charged, unexpected } = told;
const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
console.log(
  `repeats: ${sent} requests in ${seconds} s, ${repeats} of them repeats, ${ids} ids; ${faults} calls met a fault; ` +
    `${reached} ids reached Redis, ${charged} units charged, ${wrong.length} ids charged otherwise than once`,
);
for (const line of wrong.slice(0, 10)) console.error(`broken: ${line}`);
if (unexpected > 0) console.error(`broken: ${unexpected} answers other than 200`);
process.exit(wrong.length === 0 && unexpected === 0 && charged === reached ? 0 : 1);
