// What the metrics say is what clients were answered: four gateways over one STATS, an outage of Redis, lost replies of
// STATS, and a gateway that is killed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "undici";
import { expect, inject, it, onTestFinished } from "vitest";
import { createBridge } from "../../scripts/bridge/bridge.ts";
import { freePort } from "../../scripts/machine/redis-server.ts";
import type { StatsReply } from "../../src/operate/stats/object/reply.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { startWorkerd } from "../support/gateway/workerd.ts";
import { bundleWorker } from "../support/objects/counts-worker.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const REGIONS: Readonly<Record<string, string>> = { a: "eu", b: "eu", c: "na", d: "na" };
const NAMES = Object.keys(REGIONS);
const LONG = "31d";
const [LOGINS, TRIALS, HEAVY] = [20, 15, 3];
const POLICIES = [
  {
    name: "site",
    consistency: "leased",
    cost: [{ path: "/heavy", cost: HEAVY }],
    limits: [{ limit: 1_000_000, window: LONG }],
  },
  { name: "login", match: { path: "/login" }, limits: [{ limit: LOGINS, window: LONG }], onStoreFailure: "deny" },
  { name: "trial", match: { path: "/trial" }, limits: [{ limit: TRIALS, window: LONG }], mode: "shadow" },
];
const CLIENTS = 40;
const [BLOCKED, EXEMPT] = ["192.0.2.201", "192.0.2.202"] as const;
/** Open requests. */
const OPEN = 16;

/** Sums by names, joined by spaces. */
class Sums {
  readonly byName: Record<string, number> = {};

  add(names: readonly string[], count = 1): void {
    const name = names.join(" ");
    this.byName[name] = (this.byName[name] ?? 0) + count;
  }
}

/** As far as a client can tell: it sees whether a decision knew the counts of the store, not whose memory it was. */
const knownSource = (source: string) => (["fallback", "live"].includes(source) ? source : "counts");

/** Sums of all that can be compared: decisions, units, fallback. */
function sumsIn(stats: StatsReply): Readonly<Record<string, number>> {
  const sums = new Sums();
  for (const { policy, region, outcome, source, count } of stats.points) {
    sums.add([policy, region, outcome, knownSource(source)], count);
  }
  for (const { policy, outcome, count } of stats.units) sums.add(["units", policy, outcome], count);
  for (const { policy, count } of stats.fallback) sums.add(["fallback", policy], count);
  return sums.byName;
}

/** The same, of the text for Prometheus. */
function sumsInText(text: string): Readonly<Record<string, number>> {
  const sums = new Sums();
  for (const [, metric, labels, count] of text.matchAll(/^headgate_(decisions|units|fallback)_total{(.*)} (\d+)$/gm)) {
    const values = [...labels!.matchAll(/"([^"]*)"/g)].map(([, value]) => value!);
    if (metric === "decisions") sums.add([...values.slice(0, 3), knownSource(values[3]!)], Number(count));
    else sums.add([metric!, ...values], Number(count));
  }
  return sums.byName;
}

function decisionsIn(sums: Readonly<Record<string, number>>): number {
  const decisions = Object.entries(sums).filter(([name]) => name.split(" ").length === 4);
  return decisions.reduce((sum, [, count]) => sum + count, 0);
}

it("10,000 requests through an outage of Redis and lost replies of STATS: sums are what clients were answered", async () => {
  const { redis } = await startPrivateRedis();
  const redisUrl = `redis://${redis.options.host}:${redis.options.port}`;
  // Nobody else gets this port while the bridge is closed.
  const bridgeOptions = { redisUrl, token: "metrics", port: await freePort() };
  let bridge = await createBridge(bridgeOptions);
  onTestFinished(() => bridge.close());
  const bindingsOf = (name: string) => ({
    POLICIES,
    REGION: REGIONS[name],
    REDIS_TIMEOUT_MS: 10_000,
    UPSTASH_REDIS_REST_URL: bridge.url,
    UPSTASH_REDIS_REST_TOKEN: bridge.token,
    ADMIN_TOKEN,
    LIVE_REFRESH: "1s",
    STATS_FLUSH: "5s",
  });
  const logs: string[] = [];
  const code = readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8");
  const { ports, stop } = await startWorkerd(
    [
      { name: "object", code: await bundleWorker("lossy-stats.ts"), stats: true },
      ...NAMES.map((name) => ({ name, code, stats: "object", bindings: bindingsOf(name) })),
    ],
    { onLog: (message) => logs.push(message) },
  );
  onTestFinished(stop);
  const agent = new Agent({ connections: OPEN });
  onTestFinished(() => agent.destroy());

  async function call(
    name: string,
    path: string,
    headers: Record<string, string>,
    method: "GET" | "PUT" = "GET",
    body?: string,
  ) {
    const options = { origin: `http://127.0.0.1:${ports[name]}`, path, method, headers, ...(body && { body }) };
    const { statusCode: status, headers: answered, body: answer } = await agent.request(options);
    return { status, headers: answered, text: await answer.text() };
  }
  const authorized = { Authorization: `Bearer ${ADMIN_TOKEN}` };

  const expected = new Sums();
  const trials = new Map<string, number>();
  const refusedLogins = new Map<string, number>();
  let sent = 0;

  /** Sends a request, and counts what each policy has decided as its answer says. */
  async function send(name: string, path: string, address: string): Promise<number> {
    sent++;
    const { status, headers, text } = await call(name, path, { "CF-Connecting-IP": address });
    const cost = path === "/heavy" ? HEAVY : 1;
    const source = status === 403 ? "live" : headers["x-ratelimit-limit"] === undefined ? "fallback" : "counts";
    const count = (policy: string, outcome: string) => {
      expected.add([policy, REGIONS[name]!, outcome, source]);
      expected.add(["units", policy, outcome], cost);
      if (source === "fallback") expected.add(["fallback", policy]);
    };
    const refused: string[] = status === 429 ? JSON.parse(text)["violated-policies"] : [];
    for (const policy of path === "/login" && address !== EXEMPT ? ["site", "login"] : ["site"]) {
      if (status === 200) count(policy, "admitted");
      else if (status === 503) count(policy, "unavailable");
      else if (status === 429) count(policy, refused.includes(policy) ? "refused" : "spared");
      else count(policy, policy === "login" ? "blocked" : "spared");
    }
    if (refused.length > 0) refusedLogins.set(address, (refusedLogins.get(address) ?? 0) + 1);
    if (path === "/trial") {
      // No client sees what a policy in shadow decides; Redis decides all of these.
      expect([status, source]).toEqual([200, "counts"]);
      const before = trials.get(address) ?? 0;
      trials.set(address, before + 1);
      count("trial", before < TRIALS ? "admitted" : "shadow_refused");
    }
    return status;
  }

  /** Sends requests with these paths in turn, to all gateways, of all clients. */
  async function mix(paths: readonly string[], requests: number): Promise<void> {
    const last = sent + requests;
    const connection = async () => {
      while (sent < last) {
        const i = sent;
        const address = `192.0.2.${1 + (Math.floor(i / paths.length) % CLIENTS)}`;
        await send(NAMES[(i * 7 + Math.floor(i / 1_000)) % NAMES.length]!, paths[i % paths.length]!, address);
      }
    };
    await Promise.all(Array.from({ length: OPEN }, connection));
  }

  await mix(["/", "/heavy", "/login", "/", "/trial", "/login", "/heavy", "/"], 6_000);
  for (const [client, override] of [
    [EXEMPT, '{"exempt":true}'],
    [BLOCKED, '{"block":true}'],
  ]) {
    const path = `/.headgate/admin/overrides/login?key=${client}`;
    expect((await call("a", path, authorized, "PUT", override)).status).toBe(200);
  }
  for (const name of NAMES) {
    await expect.poll(() => send(name, "/login", BLOCKED), { timeout: 6_000, interval: 100 }).toBe(403);
  }
  for (let i = 0; i < 400; i++) await send(NAMES[i % 4]!, "/login", i % 2 ? BLOCKED : EXEMPT);
  // Who looks is not counted.
  for (const name of NAMES) {
    await call(name, "/.headgate/limits/me?path=/login", { "CF-Connecting-IP": "192.0.2.1" });
    expect((await call(name, "/.headgate/admin/counts/login?key=192.0.2.1", authorized)).status).toBe(200);
  }
  await bridge.close();
  await mix(["/", "/login", "/heavy"], 2_000);
  bridge = await createBridge(bridgeOptions);
  await mix(["/heavy", "/login", "/"], 10_000 - sent);

  const told = async (path: string) => (await call("c", `/.headgate/${path}`, authorized)).text;
  const metrics = async () => sumsInText(await told("metrics"));
  const requests = decisionsIn(expected.byName);
  await expect.poll(async () => decisionsIn(await metrics()), { timeout: 15_000, interval: 500 }).toBe(requests);
  expect(await metrics()).toEqual(expected.byName);
  const stats = JSON.parse(await told("admin/stats")) as StatsReply;
  expect(sumsIn(stats)).toEqual(expected.byName);
  const refusals = (stats.top.login ?? []).map(({ refused }) => refused);
  expect(refusals).toEqual([...refusedLogins.values()].sort((a, b) => b - a));
  // Nothing of this was left out.
  expect(sent).toBe(10_000);
  const seen = Object.keys(expected.byName).map((name) => name.split(" ").slice(2).join(" "));
  for (const outcome of ["admitted", "refused", "spared", "shadow_refused"])
    expect(seen).toContain(`${outcome} counts`);
  for (const outcome of ["blocked live", "spared live", "unavailable fallback", "admitted fallback"]) {
    expect(seen).toContain(outcome);
  }
  expect(logs.filter((line) => line.includes('"stats-unsent"')).length).toBeGreaterThanOrEqual(NAMES.length);
}, 120_000);
