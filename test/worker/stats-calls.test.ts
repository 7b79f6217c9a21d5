// `/stats` and `/.headgate/metrics` over the real object, inside workerd.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import { type Batch, seriesOf } from "../../src/operate/stats/batch.ts";
import { statsDoor } from "../../src/operate/stats/object/door.ts";
import type { StatsReply } from "../../src/operate/stats/object/reply.ts";
import { gatewayWith, NO_REDIS, newNamespace, STATS } from "./support.ts";

const ADMIN_TOKEN = "t0ken-of-the-admin-of-these-tests";
const POLICIES = [{ name: "api", limits: [{ limit: 5, window: "1h" }] }];
const AUTHORIZED = { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } };

function gatewayOver(bindings: object) {
  return gatewayWith({ ...NO_REDIS, POLICIES, ADMIN_TOKEN, ...bindings });
}

/** All that can be counted. */
function batch(): Batch {
  const sums = {
    [seriesOf("decisions", ["api", "eu", "refused", "cache"])]: 41,
    [seriesOf("decisions", ["api", "eu", "admitted", "store"])]: 59,
    [seriesOf("units", ["api", "admitted"])]: 60,
    [seriesOf("overflow", ["api", "team"])]: 8,
    [seriesOf("overflow_units", ["api", "team"])]: 9,
    [seriesOf("settled_units", ["team", "api", "gpt-5"])]: 10,
    [seriesOf("tokens", ["team", "gpt-5", "input"])]: 11,
    [seriesOf("origin_responses", ["5xx"])]: 12,
    [seriesOf("near_limit", ["api", "api-1"])]: 3,
    [seriesOf("store_calls", ["eu", "ok"])]: 6,
    [seriesOf("store_seconds", ["eu", "ok", "0.01"])]: 5,
    [seriesOf("store_seconds", ["eu", "ok", "+Inf"])]: 1,
    [seriesOf("store_seconds_sum", ["eu", "ok"])]: 1_250_000,
    [seriesOf("fallback", ["api"])]: 2,
    [seriesOf("lease_units", ["api", "granted"])]: 100,
  };
  const minute = Math.floor(Date.now() / 60_000);
  const counts = {
    minute,
    sums,
    top: { api: [["k", 41, 1] as const] },
    where: { "api\tk": [["/v1/*\tDE", 31, 1] as const] },
  };
  return { isolate: "a", number: 1, minutes: [counts], open: ["eu"] };
}

describe("with counts", () => {
  it("GET /stats tells all of them over time", async () => {
    const namespace = newNamespace(STATS);
    const sent = batch();
    await statsDoor({ namespace, flushMs: 5_000 })!.add(sent);
    const ask = gatewayOver({ STATS: namespace, STATS_FLUSH: "5s" });
    const answer = await ask("/.headgate/admin/stats?minutes=60", AUTHORIZED);
    expect([answer.status, answer.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
    const at = new Date(sent.minutes[0]!.minute * 60_000).toISOString();
    const reply = (await answer.json()) as StatsReply;
    expect(reply).toEqual({
      points: [
        { at, policy: "api", region: "eu", outcome: "refused", source: "cache", count: 41 },
        { at, policy: "api", region: "eu", outcome: "admitted", source: "store", count: 59 },
      ],
      units: [{ at, policy: "api", outcome: "admitted", count: 60 }],
      settled: [{ at, policy: "team", paidFor: "api", model: "gpt-5", count: 10 }],
      tokens: [{ at, policy: "team", model: "gpt-5", type: "input", count: 11 }],
      near: [{ at, policy: "api", limit: "api-1", count: 3 }],
      calls: [{ at, place: "eu", outcome: "ok", count: 6, seconds: { "0.01": 5, "+Inf": 1 }, sum: 1.25 }],
      fallback: [{ at, policy: "api", count: 2 }],
      leases: [{ at, policy: "api", event: "granted", count: 100 }],
      responses: [{ at, status: "5xx", count: 12 }],
      top: { api: [{ key: "k", refused: 40, where: [{ route: "/v1/*", country: "DE", refused: 30 }] }] },
      open: [{ place: "eu", isolates: 1 }],
      heard: expect.stringMatching(/^\d{4}-.*Z$/),
      step: 60,
      flush: 5,
    });
    expect(await (await ask("/.headgate/admin/stats", AUTHORIZED)).json()).toEqual(reply);
    const month = (await (await ask("/.headgate/admin/stats?minutes=43200", AUTHORIZED)).json()) as StatsReply;
    expect([month.step, month.points[0]!.at]).toEqual([3_600, `${at.slice(0, 13)}:00:00.000Z`]);
  });

  it("GET /.headgate/metrics tells Prometheus", async () => {
    const namespace = newNamespace(STATS);
    await statsDoor({ namespace, flushMs: 5_000 })!.add(batch());
    const answer = await gatewayOver({ STATS: namespace })("/.headgate/metrics", AUTHORIZED);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    const lines = (await answer.text()).split("\n");
    for (const line of [
      "# TYPE headgate_decisions_total counter",
      'headgate_decisions_total{policy="api",region="eu",outcome="refused",source="cache"} 41',
      'headgate_store_seconds_bucket{place="eu",outcome="ok",le="0.005"} 0',
      'headgate_store_seconds_bucket{place="eu",outcome="ok",le="1"} 5',
      'headgate_store_seconds_bucket{place="eu",outcome="ok",le="+Inf"} 6',
      'headgate_store_seconds_sum{place="eu",outcome="ok"} 1.25',
      'headgate_store_seconds_count{place="eu",outcome="ok"} 6',
      'headgate_breaker_open{place="eu"} 1',
    ]) {
      expect(lines).toContain(line);
    }
  });
});

it.each(["0", "43201", "1.5", "-1", "x", "", "1e2", "0x10"])("minutes=%s is 400", async (minutes) => {
  const answer = await gatewayOver({ STATS: newNamespace(STATS) })(
    `/.headgate/admin/stats?minutes=${minutes}`,
    AUTHORIZED,
  );
  expect([answer.status, await answer.json()]).toMatchObject([400, { detail: expect.stringContaining("43200") }]);
});

it.each<[string, object]>([
  ["STATS is not bound", {}],
  ["STATS_FLUSH is 0s", { STATS: newNamespace(STATS), STATS_FLUSH: "0s" }],
])("404 if %s", async (_what, bindings) => {
  const ask = gatewayOver(bindings);
  for (const path of ["/.headgate/admin/stats", "/.headgate/metrics"]) {
    const answer = await ask(path, AUTHORIZED);
    expect([path, answer.status, answer.headers.get("Content-Type")]).toEqual([path, 404, "application/problem+json"]);
  }
});

it("without an admin there is nothing; without the token the same 401 as everywhere", async () => {
  const none = gatewayOver({ STATS: newNamespace(STATS), ADMIN_TOKEN: "" });
  const ask = gatewayOver({ STATS: newNamespace(STATS) });
  const expected = await (await ask("/.headgate/admin/live")).text();
  for (const path of ["/.headgate/admin/stats", "/.headgate/metrics"]) {
    expect((await none(path, AUTHORIZED)).status).toBe(404);
    for (const init of [{}, { headers: { Authorization: "Bearer wrong" } }]) {
      const answer = await ask(path, init);
      expect([answer.status, await answer.text()]).toEqual([401, expected]);
    }
  }
});

it.each<[string, object]>([
  ["STATS_FLUSH is 0s", { STATS_FLUSH: "0s" }],
  ["nobody may see metrics", { ADMIN_TOKEN: "" }],
])("never hands counts on if %s", async (_why, bindings) => {
  const add = vi.fn(async () => {});
  const STATS = { idFromName: (name: string) => name, get: () => ({ add }) };
  const gateway = createGateway({ ...NO_REDIS, POLICIES, ADMIN_TOKEN, STATS, STATS_FLUSH: "1s", ...bindings } as never);
  const context = createExecutionContext();
  expect((await gateway.fetch(new Request("https://gate.example/"), {}, context)).status).toBe(200);
  await waitOnExecutionContext(context);
  // Real time, longer than STATS_FLUSH: nothing tells that nothing will come.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(add).not.toHaveBeenCalled();
});

it("503 if the object fails, and the log says why", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const fail = () => Promise.reject(new Error("out of memory"));
  const ask = gatewayOver({ STATS: { idFromName: () => "id", get: () => ({ read: fail, totals: fail }) } });
  for (const path of ["/.headgate/admin/stats", "/.headgate/metrics"]) {
    const answer = await ask(path, AUTHORIZED);
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(warned.mock.lastCall).toEqual([expect.stringContaining('"event":"stats-unread"')]);
  }
});
