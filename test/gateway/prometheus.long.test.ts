// What a real Prometheus makes of `/.headgate/metrics`.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, it, onTestFinished, type TestContext } from "vitest";
import { findPrometheus, HOW_TO_GET_PROMETHEUS, startPrometheus } from "../../scripts/machine/prometheus.ts";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { VERSION } from "../../src/kernel/version.ts";
import { seriesOf } from "../../src/operate/stats/batch.ts";
import { SECONDS_BOUNDS } from "../../src/operate/stats/metrics.ts";
import { blocksOf, read } from "../docs/markdown.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { nodeBindings } from "../support/gateway/nodes.ts";
import { startWorkerd } from "../support/gateway/workerd.ts";
import { bundleWorker } from "../support/objects/counts-worker.ts";

/** Characters that the text format escapes. No configuration has such a name. */
const STRANGE = 'a "b" \\ c';

/** Skips the test without Prometheus. With CI=true the test fails, so that nobody forgets to install it. */
function prometheusFor({ skip }: Pick<TestContext, "skip">) {
  const found = findPrometheus();
  if (found) return found;
  if (process.env.CI === "true") throw new Error(HOW_TO_GET_PROMETHEUS);
  return skip(HOW_TO_GET_PROMETHEUS);
}

/** The names of policies: the shared Redis has other tests' keys too. */
const [API, TRIED, LEASED, AWAY] = ["api", "tried", "leased", "away"].map(uniqueName) as [
  string,
  string,
  string,
  string,
];

const POLICIES = [
  { name: API, match: { path: "/api" }, limits: [{ limit: 5, window: "1h" }] },
  { name: TRIED, match: { path: "/api" }, mode: "shadow", limits: [{ limit: 1, window: "1h" }] },
  { name: LEASED, match: { path: "/leased" }, consistency: "leased", limits: [{ limit: 10_000, window: "1h" }] },
  { name: AWAY, match: { path: "/away" }, limits: [{ limit: 1_000, window: "1h", scope: "region" }] },
];

/** A gateway whose object has added up a batch of every metric. The Redis of its region is away. */
async function startCounted() {
  const nodes = { here: { url: inject("restUrl"), token: inject("restToken") } };
  const away = { url: `http://127.0.0.1:${await freePort()}`, token: "token", region: "eu" };
  const bindings = {
    ...nodeBindings({ ...nodes, away }),
    ...{ POLICIES, ADMIN_TOKEN, REGION: "eu", REDIS_TIMEOUT_MS: 10_000, STATS_FLUSH: "1s" },
    // The live document of the shared Redis is that of every gateway over it.
    LIVE_REFRESH: "0s",
  };
  const code = await bundleWorker("stats-worker.ts");
  const { port, stop } = await startWorkerd([{ name: "gateway", code, bindings, stats: true }]);
  onTestFinished(stop);
  const url = new URL(`http://127.0.0.1:${port}/.headgate/metrics`);
  const add = async (number: number, sums: Record<string, number>) => {
    const minute = Math.floor(Date.now() / 60_000);
    const batch = { isolate: "a", number, minutes: [{ minute, sums, top: {} }], open: ["eu", STRANGE] };
    const answer = await fetch(new URL("/add", url), { method: "POST", body: JSON.stringify(batch) });
    expect(answer.status).toBe(204);
  };
  const calls = SECONDS_BOUNDS.map((le): [string, number] => [seriesOf("store_seconds", ["eu", "ok", le]), 10]);
  await add(1, {
    [seriesOf("decisions", ["api", "eu", "refused", "cache"])]: 41,
    [seriesOf("decisions", [STRANGE, "eu", "admitted", "store"])]: 59,
    [seriesOf("units", ["api", "admitted"])]: 60,
    [seriesOf("near_limit", ["api", "api"])]: 3,
    [seriesOf("fallback", ["api"])]: 2,
    [seriesOf("lease_units", ["api", "granted"])]: 100,
    [seriesOf("store_calls", ["eu", "ok"])]: 90,
    ...Object.fromEntries(calls),
    [seriesOf("store_seconds_sum", ["eu", "ok"])]: 12_345_678,
  });
  return { url, add };
}

const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const PAGE = "docs/metrics.md";
const DASHBOARD = JSON.parse(read("docs/grafana/headgate.json")) as Dashboard;

/** A folder with the files of the page, as a reader has them who scrapes this gateway, but every second. */
function folderFor({ host }: URL): string {
  const configuration = blocksOf(PAGE, "yaml")[0]!.text;
  const directory = mkdtempSync(join(tmpdir(), "headgate-prometheus-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const often = configuration.replaceAll("30s", "1s").replace("localhost:8787", host);
  for (const [name, text] of [
    ["prometheus.yml", often],
    ["headgate-rules.yml", read("docs/grafana/headgate-rules.yml")],
    ["headgate-token", ADMIN_TOKEN],
  ] as const) {
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

/** What Grafana puts in place of variables while everything is selected. */
const substituted = (expr: string) =>
  expr
    .replaceAll("$__rate_interval", "30s")
    .replaceAll("$__range", "5m")
    .replaceAll(/\$(?:policy|region)\b/g, ".*");

/** Sends ten requests of a new client on each path. Of those of `/api` five are refused. */
function trafficTo(url: URL): () => Promise<void> {
  let round = 0;
  return async () => {
    const requestHeaders = { "CF-Connecting-IP": `192.0.2.${++round}` };
    for (const path of ["/api", "/leased", "/away"]) {
      for (let i = 0; i < 10; i++) {
        const answer = await fetch(new URL(path, url), { headers: requestHeaders });
        await answer.arrayBuffer();
        expect(answer.status).toBe(path === "/api" && i >= 5 ? 429 : 200);
      }
    }
  };
}

it("a Prometheus server scrapes it as docs/metrics.md says, and answers every query of the dashboard", async (context) => {
  const { tool } = prometheusFor(context);
  const { url, add } = await startCounted();
  const input = await (await fetch(url, { headers })).text();
  const { status, stdout, stderr } = spawnSync(tool, ["check", "metrics"], { input, encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
  const directory = folderFor(url);
  const checked = spawnSync(tool, ["check", "config", "prometheus.yml"], { cwd: directory, encoding: "utf8" });
  expect([checked.status, checked.stderr, checked.stdout]).toEqual([0, "", expect.stringContaining("5 rules found")]);
  const prometheus = await startPrometheus(directory);
  onTestFinished(prometheus.stop);
  const call = async <T>(path: string, query: Record<string, string> = {}) => {
    const answer = await fetch(`${prometheus.url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    expect([status, error], JSON.stringify(query)).toEqual(["success", undefined]);
    return data;
  };
  const ask = async (query: string) => {
    const { result } = await call<{ result: { value: [number, string] }[] }>("query", { query });
    return result.map(({ value }) => Number(value[1]));
  };
  const wait = { timeout: 20_000, interval: 200 };
  // After a scrape that took longer than its second, there are no numbers until the next one.
  const expectOf = (query: string) => expect.poll(() => ask(query), wait);
  await expectOf("sum(headgate_decisions_total)").toEqual([100]);
  await expectOf(`headgate_decisions_total{policy=${JSON.stringify(STRANGE)}}`).toEqual([59]);
  await expectOf("headgate_store_seconds_count").toEqual([90]);
  await expectOf("headgate_store_seconds_sum").toEqual([12.345678]);
  await expectOf('headgate_store_seconds_bucket{le="0.1"}').toEqual([50]);
  await expectOf("histogram_quantile(0.5, sum by (le) (headgate_store_seconds_bucket))").toEqual([0.1 - 0.05 / 2]);
  await expectOf("sum(headgate_breaker_open)").toEqual([2]);
  await expectOf(`headgate_build_info{version="${VERSION}"}`).toEqual([1]);
  await add(2, { [seriesOf("decisions", ["api", "eu", "refused", "cache"])]: 1 });
  await expectOf("sum(headgate_decisions_total)").toEqual([101]);

  const send = trafficTo(url);
  const queries = DASHBOARD.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  expect(queries.length).toBeGreaterThan(15);
  /** The queries without a number above 0. */
  const silent = async () => {
    await send();
    const found: string[] = [];
    for (const { title, expr } of queries) {
      expect(substituted(expr)).not.toContain("$");
      if (!(await ask(substituted(expr))).some((value) => value > 0)) found.push(`${title}: ${expr}`);
    }
    return found;
  };
  await expect.poll(silent, { timeout: 30_000, interval: 1_000 }).toEqual([]);

  for (const { name, definition } of DASHBOARD.templating.list) {
    const [, metric = "", label] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? "") ?? [];
    if (name === "datasource") expect(definition).toBeUndefined();
    else
      expect(await call<string[]>(`label/${label}/values`, { "match[]": metric })).toContain(
        { policy: API, region: "eu" }[name],
      );
  }

  type Rules = { groups: { rules: { name: string; health: string; state: string }[] }[] };
  const rules = async () => (await call<Rules>("rules")).groups.flatMap((group) => group.rules);
  const stateOf = (name: string) => (name === "HeadgateNotScraped" ? "inactive" : "pending");
  const expected = (await rules()).map(({ name }) => [name, "ok", stateOf(name)]);
  expect(expected).toHaveLength(5);
  await expect
    .poll(async () => (await rules()).map(({ name, health, state }) => [name, health, state]), wait)
    .toEqual(expected);

  const [metrics, stats] = blocksOf(PAGE, "sh").map(({ text }) => {
    const command = text.replaceAll("localhost:8787", url.host);
    return spawnSync("bash", ["-c", command], { encoding: "utf8", env: { ...process.env, ADMIN_TOKEN } }).stdout;
  });
  expect(metrics).toContain(`\nheadgate_build_info{version="${VERSION}"} 1\n`);
  expect(Object.keys(JSON.parse(stats!).top)).toContain(API);
});
