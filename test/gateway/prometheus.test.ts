// What a real Prometheus makes of `/.headgate/metrics`.

import { spawnSync } from "node:child_process";
import { expect, it, onTestFinished, type TestContext } from "vitest";
import { findPrometheus, HOW_TO_GET_PROMETHEUS, startPrometheus } from "../../scripts/machine/prometheus.ts";
import { startWorkerd } from "../../scripts/machine/workerd.ts";
import { seriesOf } from "../../src/stats/batch.ts";
import { SECONDS_BOUNDS } from "../../src/stats/metrics.ts";
import { VERSION } from "../../src/version.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
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

/** A gateway with an object that has added up a batch of every metric. */
async function startCounted() {
  const POLICIES = [{ name: "api", limits: [{ limit: 5, window: "1h" }] }];
  const code = await bundleWorker("stats-worker.ts");
  const bindings = { POLICIES, ADMIN_TOKEN };
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
    [seriesOf("shadow_limit", ["api", "api"])]: 4,
    [seriesOf("fallback", ["api"])]: 2,
    [seriesOf("lease_units", ["api", "granted"])]: 100,
    [seriesOf("store_calls", ["eu", "ok"])]: 90,
    ...Object.fromEntries(calls),
    [seriesOf("store_seconds_sum", ["eu", "ok"])]: 12_345_678,
  });
  return { url, add };
}

const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };

it("promtool finds nothing to complain of", async (context) => {
  const { tool } = prometheusFor(context);
  const { url } = await startCounted();
  const text = await (await fetch(url, { headers })).text();
  const { status, stdout, stderr } = spawnSync(tool, ["check", "metrics"], { input: text, encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
});

it("a Prometheus server scrapes it, and its sums are those that were handed on", async (context) => {
  prometheusFor(context);
  const { url, add } = await startCounted();
  const prometheus = await startPrometheus(url, ADMIN_TOKEN);
  onTestFinished(prometheus.stop);
  const ask = async (query: string) => {
    const answer = await fetch(`${prometheus.url}/api/v1/query?${new URLSearchParams({ query })}`);
    const { data } = (await answer.json()) as { data: { result: { metric: object; value: [number, string] }[] } };
    return data.result.map(({ value }) => Number(value[1]));
  };
  const wait = { timeout: 20_000, interval: 200 };
  await expect.poll(() => ask("sum(headgate_decisions_total)"), wait).toEqual([100]);
  expect(await ask(`headgate_decisions_total{policy=${JSON.stringify(STRANGE)}}`)).toEqual([59]);
  expect(await ask("headgate_store_seconds_count")).toEqual([90]);
  expect(await ask("headgate_store_seconds_sum")).toEqual([12.345678]);
  expect(await ask('headgate_store_seconds_bucket{le="0.1"}')).toEqual([50]);
  expect(await ask("histogram_quantile(0.5, sum by (le) (headgate_store_seconds_bucket))")).toEqual([0.1 - 0.05 / 2]);
  expect(await ask("sum(headgate_breaker_open)")).toEqual([2]);
  expect(await ask(`headgate_build_info{version="${VERSION}"}`)).toEqual([1]);
  await add(2, { [seriesOf("decisions", ["api", "eu", "refused", "cache"])]: 1 });
  await expect.poll(() => ask("sum(headgate_decisions_total)"), wait).toEqual([101]);
});
