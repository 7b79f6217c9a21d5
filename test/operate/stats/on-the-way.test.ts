// What the gateway counts of requests beside their decisions, from the request to the batch: what the origin answered,
// and on which route and from which country clients were refused. A path is never in it.

import { beforeEach, expect, it, vi } from "vitest";
import { createGateway } from "../../../src/gateway.ts";
import { type Batch, checkBatch } from "../../../src/operate/stats/batch.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 22) });
  for (const level of ["log", "warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});

const once = { limits: [{ limit: 1, window: "1h" }] };
const POLICIES = [
  { name: "site", key: "ip", ...once, exempt: ["192.0.2.0/24"], match: { path: ["/v1/*", "/shop/*"] } },
  { name: "export", key: "global", limits: [{ limit: 100, window: "1h" }], match: { path: "/v1/:id/export" } },
  { name: "trial", key: "ip", ...once, mode: "shadow", match: { path: "/*" } },
];

/** A gateway, and what its isolate hands on. */
function counted(origin: (request: Request) => Response | Promise<Response>) {
  const batches: Batch[] = [];
  const add = async (batch: Batch) => void batches.push(structuredClone(batch));
  const gateway = createGateway({
    ...{ POLICIES, ADMIN_TOKEN: "a-token-of-32-characters-at-least", STATS_FLUSH: "5s" },
    STATS: { idFromName: (name: string) => name, get: () => ({ add }) },
    ORIGIN: { fetch: async (request: Request) => await origin(request) },
  } as never);
  const context = { waitUntil() {}, passThroughOnException() {} };
  return {
    async send(path: string, { country = "DE" as unknown, ip = "203.0.113.7", signal = undefined as never } = {}) {
      const request = new Request(`https://gate.example${path}`, { headers: { "CF-Connecting-IP": ip }, signal });
      Object.defineProperty(request, "cf", { value: { country } });
      return (await gateway.fetch(request, {}, context as never)).status;
    },
    async counts() {
      await vi.advanceTimersByTimeAsync(5_000);
      for (const batch of batches) checkBatch(batch);
      return batches.flatMap(({ minutes }) => minutes);
    },
  };
}

it("counts each answer by its class, also of requests that no policy counts, and that there was none", async () => {
  const left = new AbortController();
  const { send, counts } = counted(({ url }) => {
    const status = Number(new URL(url).pathname.slice(-3));
    if (status === 499) left.abort();
    if (status > 400 && status < 500) throw new Error("away");
    return new Response(null, { status });
  });
  for (const status of [200, 204, 301, 400, 500, 503, 404]) await send(`/${status}`, { ip: "192.0.2.1" });
  await send("/499", { signal: left.signal as never });
  // An isolate that hands on late does so for the answer, too.
  const [{ sums }] = (await counts()) as [Batch["minutes"][number]];
  const answers = Object.entries(sums).filter(([series]) => series.startsWith("origin_responses"));
  expect(Object.fromEntries(answers)).toEqual({
    ...{
      "origin_responses\t2xx": 2,
      "origin_responses\t3xx": 1,
      "origin_responses\t4xx": 1,
      "origin_responses\t5xx": 2,
    },
    "origin_responses\tnone": 1,
  });
});

it("names the longest pattern and the country of a refusal, and nothing that a client has chosen", async () => {
  const { send, counts } = counted(() => new Response());
  await send("/v1/secret");
  for (const path of ["/v1/secret", "/V1/secret?token=t", "/v1/secret/export", "/v1/secret/export"]) await send(path);
  await send("/shop/secret", { country: "secret" });
  await send("/shop/secret", { country: "T1" });
  await send("/elsewhere/secret");
  const [minute] = (await counts()) as [Batch["minutes"][number]];
  const [[key] = ""] = minute.top.site!;
  expect(minute.where).toEqual({
    [`site\t${key}`]: [
      ["/v1/*\tDE", 2, 0],
      ["/v1/:id/export\tDE", 2, 0],
      ["/shop/*\t?", 1, 0],
      ["/shop/*\tT1", 1, 0],
    ],
  });
  expect(JSON.stringify(minute)).not.toContain("secret");
});

it("keeps five routes and countries of ten clients, however many there are", async () => {
  const { send, counts } = counted(() => new Response());
  for (let client = 0; client < 20; client++) {
    for (let i = 0; i < 30; i++) {
      const country = `${String.fromCharCode(65 + (i % 13))}A`;
      await send("/v1/x", { ip: `203.0.113.${client}`, country: i % 2 ? country : "DE" });
    }
  }
  const [{ where = {}, top }] = (await counts()) as [Batch["minutes"][number]];
  expect([top.site!.length, Object.keys(where).length]).toEqual([20, 10]);
  for (const places of Object.values(where)) {
    expect(places.length).toBe(5);
    // Of 29 refusals 14 came from there.
    expect(places[0]).toEqual(["/v1/*\tDE", 14, 0]);
  }
});
