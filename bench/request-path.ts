/**
 * What a decision costs the gateway, in µs of CPU: matching, keys, decision, header fields. Each case answers in turns
 * with the same gateway without a policy that matches. The last column counts the calls to Redis: a lease and a
 * remembered refusal need none for a request.
 *
 *   npm run bench:path [-- --quick]
 *   npm run bench:path -- --before ../clone   in turns with the same case in another clone: before a change, and after
 */

import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import { compare, type Sent } from "./support/pair.ts";
import { startService } from "./support/service.ts";
import { markdownTable } from "./support/show.ts";
import { bundleWorker } from "./support/workerd.ts";

const { quick, before } = parseArgs({
  options: { quick: { type: "boolean", default: false }, before: { type: "string" } },
}).values;
const TURNS = quick ? { counted: 6, warmUp: 4, times: 200 } : { counted: 30, warmUp: 10, times: 500 };
const MANY = 1_000_000_000;

const server = await startRedisServer();
const service = await startService(server.url);

const ADMITTED: Sent = { path: "/v1/search?q=1", headers: { "CF-Connecting-IP": "198.51.100.1" }, status: 200 };
const REFUSED: Sent = { ...ADMITTED, status: 429 };

/** One policy, counted by the Redis of the run. */
const byRedis = (consistency: "strict" | "leased", limit: number) => ({
  POLICIES: [{ name: "site", consistency, limits: [{ limit, window: "1h" }] }],
  UPSTASH_REDIS_REST_URL: `${service.url}/path`,
  UPSTASH_REDIS_REST_TOKEN: service.token,
  REDIS_TIMEOUT_MS: 10_000,
});

/** Policies with so many limits each, counted in memory. Every policy matches, or only the first one. */
const inMemory = (policies: number, limits: number, matching: "all" | "one") => ({
  POLICIES: Array.from({ length: policies }, (_, i) => ({
    name: `p${i}`,
    match: { path: matching === "all" || i === 0 ? "/v1/*" : `/v${i + 1}/*` },
    limits: Array.from({ length: limits }, (_, n) => ({ limit: 1_000_000, window: `${n + 1}m` })),
  })),
});

const CASES: readonly (readonly [title: string, bindings: Readonly<Record<string, unknown>>, request: Sent])[] = [
  ["admitted from a lease", byRedis("leased", MANY), ADMITTED],
  ["refused from memory", byRedis("strict", 1), REFUSED],
  ["strict, admitted by Redis", byRedis("strict", MANY), ADMITTED],
  ["in memory: 1 policy of 1 limit", inMemory(1, 1, "all"), ADMITTED],
  ["in memory: 1 policy of 8 limits", inMemory(1, 8, "all"), ADMITTED],
  ["in memory: 10 policies of 8 limits, 1 matches", inMemory(10, 8, "one"), ADMITTED],
  ["in memory: 10 policies of 8 limits, all match", inMemory(10, 8, "all"), ADMITTED],
];
const UNMATCHED = { POLICIES: [{ name: "none", match: { path: "/none" }, limits: [{ limit: 1, window: "1h" }] }] };

try {
  const code = await bundleWorker("features.mjs");
  const other = before === undefined ? undefined : await bundleWorker("features.mjs", pathToFileURL(`${before}/`));
  const rows: string[][] = [];
  for (const [title, bindings, request] of CASES) {
    const callsBefore = service.calls("path");
    const first = other === undefined ? { code, bindings: UNMATCHED, status: 200 } : { code: other, bindings };
    const [found] = await compare([first, { code, bindings }], [request], TURNS);
    const calls = service.calls("path") - callsBefore;
    rows.push([title, found!.us.toFixed(1), found!.addedUs.toFixed(1), found!.ratio.toFixed(3), String(calls)]);
  }
  const than = before === undefined ? "no policy matches" : before;
  console.log(markdownTable(["case", "µs a request", `more than ${than}, µs`, "ratio", "calls to Redis"], rows));
} finally {
  await service.stop();
  await server.stop();
}
