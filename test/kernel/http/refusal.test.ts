// A policy's own refusal: what is sent, with which fields, and which of several policies speaks.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput, RefusalInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import { failingStore } from "../../support/redis/stores.ts";

const URL_OF_API = "https://api.example/v1/things";
const BODY = '{"error":"slow down","policy":"{policy}","limit":"{limit}","seconds":{retryAfter}}';

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));

const policy = (name: string, limits: PolicyInput["limits"], refusal?: RefusalInput): PolicyInput => {
  return { name, key: "global", limits, refusal };
};
const perMinute = { algorithm: "fixed-window", limit: 1, window: "1m" } as const;
const perHour = { algorithm: "fixed-window", limit: 1, window: "1h" } as const;

/** The gateway's answer to a second request, after a first one that was admitted. */
async function refused(policies: readonly PolicyInput[], init: RequestInit = {}, cost = 1, query = "") {
  const limiter = createLimiter({ policies, store: memoryStore() });
  const answering = { limiter, rateLimitHeaders: "both", regionOf: () => "eu", helpPath: "/limits" } as const;
  await createEnforce(answering)(new Request(URL_OF_API), () => new Response());
  const enforce = createEnforce({ ...answering, rules: { cost } });
  return await enforce(new Request(URL_OF_API + query, init), () => new Response("not refused"));
}

describe("the body", () => {
  it.each<[string, number, object]>([
    ["the seconds, the policy and the limit with the longest wait", 1, { limit: "api-2", seconds: 2_760 }],
    ["null for a request that can never be admitted", 2, { limit: "api-1", seconds: null }],
  ])("tells %s", async (_, cost, told) => {
    const answer = await refused([policy("api", [perMinute, perHour], { status: 402, body: BODY })], {}, cost);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([402, "application/json"]);
    expect(await answer.json()).toEqual({ error: "slow down", policy: "api", ...told });
  });

  it("is any text, also that of a page, without the fields of our own page", async () => {
    const type = "text/html; charset=utf-8";
    const html = policy("api", [perMinute], { status: 420, type, body: "<p>{retryAfter}, {retryAfter} s, {} $& {  }" });
    const headers = { Accept: "text/html" };
    const ours = await refused([policy("api", [perMinute])], { headers });
    const answer = await refused([html], { headers });
    expect(await answer.text()).toBe("<p>60, 60 s, {} $& {  }");
    expect(ours.headers.get("Content-Security-Policy")).toContain("default-src");
    expect([answer.status, answer.headers.get("Content-Security-Policy")]).toEqual([420, null]);
  });

  it("without one the usual document has the status", async () => {
    const answer = await refused([policy("api", [perMinute], { status: 403 })]);
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    expect(await answer.json()).toMatchObject({
      status: 403,
      "violated-policies": ["api"],
      error: { code: "quota_exceeded" },
    });
  });

  it("stands before the error of a provider on a metered path", async () => {
    const tokens: PolicyInput = { ...policy("tokens", [{ ...perMinute, limit: 9 }]), meter: { unit: "tokens" } };
    const answer = await refused([tokens, policy("api", [perHour], { body: BODY })]);
    expect(await answer.json()).toHaveProperty("policy", "api");
    expect(await (await refused([tokens, policy("api", [perHour], { status: 402 })])).json()).not.toHaveProperty(
      "title",
    );
  });
});

describe("the fields", () => {
  const own = policy("api", [perMinute], { status: 503, body: BODY });

  it("are those of every refusal", async () => {
    const { headers } = await refused([own]);
    const others = (await refused([policy("api", [perMinute])])).headers;
    for (const name of [
      ...["retry-after", "retry-after-ms", "ratelimit", "ratelimit-policy", "x-ratelimit-reset"],
      ...["cache-control", "link"],
    ]) {
      expect([name, headers.get(name)]).toEqual([name, others.get(name)]);
    }
    expect([headers.get("Retry-After"), headers.get("Vary")]).toEqual(["60", null]);
  });

  it.each([
    ["60s", null],
    ["61s", "false"],
  ] as const)("tell SDKs not to wait for longer than 60 s: %s", async (window, shouldRetry) => {
    const log: PolicyInput = policy("api", [{ algorithm: "sliding-log", limit: 1, window }]);
    const { headers } = await refused([log], { headers: { Origin: "https://page.example" } });
    const exposed = headers.get("Access-Control-Expose-Headers")!.split(", ");
    expect([headers.get("X-Should-Retry"), exposed.includes("X-Should-Retry")]).toEqual([shouldRetry, !!shouldRetry]);
    expect(headers.get("retry-after-ms")).toBe(`${window.slice(0, -1)}000`);
    expect(exposed).toEqual(expect.arrayContaining(["Retry-After", "retry-after-ms"]));
  });

  it("say a day at most, and the body says how long it is", async () => {
    const monthly = { name: "api", key: "global", limits: [{ limit: 1, window: "31d" }] } as const;
    const answer = await refused([monthly]);
    expect(answer.headers.get("Retry-After")).toBe("86400");
    expect(answer.headers.get("retry-after-ms")).toBe("86400000");
    const { retryAfterMs, detail } = (await answer.json()) as { retryAfterMs: number; detail: string };
    expect(retryAfterMs).toBeGreaterThan(86_400_000);
    expect(detail).toContain(`Try again in ${retryAfterMs / 1_000} seconds.`);
  });
});

describe("of several policies that refuse", () => {
  const speaking = (name: string, limits: PolicyInput["limits"]) => policy(name, limits, { body: '"{policy}"' });
  const [minute, hour] = [speaking("minute", [perMinute]), speaking("hour", [perHour])];
  const [of3, of4] = [
    { ...perMinute, limit: 3 },
    { ...perHour, limit: 4 },
  ];

  it.each<[string, string | undefined, PolicyInput[], number]>([
    ["the longest wait speaks", "hour", [minute, hour], 1],
    ["the first of equal ones speaks", "a", [speaking("a", [perHour]), speaking("b", [perHour])], 1],
    ["never is the longest", "never", [speaking("hour", [of4]), speaking("never", [of3])], 4],
    ["one that has nothing to say answers as usual", undefined, [minute, policy("hour", [perHour])], 1],
    ["one in shadow is silent", "minute", [minute, { ...hour, mode: "shadow" }], 1],
    ["one that admits is silent", "minute", [minute, speaking("hour", [of4])], 1],
  ])("%s", async (_, name, policies, cost) => {
    const answer = await refused(policies, {}, cost);
    const body: unknown = await answer.json();
    if (name === undefined) expect(body).toHaveProperty("title", "Quota Exceeded");
    else expect(body).toBe(name);
  });
});

describe("in the form of the caller's protocol", () => {
  const auto = policy("api", [perMinute], { as: "auto" });
  const message = "Over the limit api (1 per minute). Try again in 60 seconds.";
  const error = { code: "resource_exhausted", message };
  const stream = new TextEncoder().encode(JSON.stringify({ error }));

  const typed = (type: string): RequestInit => ({ method: "POST", headers: { "Content-Type": type } });
  const [json, text] = ["application/json", JSON.stringify(error)];
  const framed = new Uint8Array([2, 0, 0, 0, stream.length, ...stream]);

  it.each<[string, RequestInit, string, number, string, string | Uint8Array]>([
    ["Connect", { method: "POST", headers: { "Connect-Protocol-Version": "1" } }, "", 429, json, text],
    ["Connect, by GET", {}, "?encoding=json&connect=v1", 429, json, text],
    ["a stream of Connect", typed("application/connect+proto"), "", 200, "application/connect+proto", framed],
    ["gRPC-web", typed("application/grpc-web+proto"), "", 200, "application/grpc-web+proto", ""],
    // Clients choose it: nothing of any length is sent back.
    ["gRPC with a parameter", typed(`Application/gRPC; a=${"b".repeat(9_000)}`), "", 200, "Application/gRPC", ""],
  ])("%s", async (_, init, query, status, type, body) => {
    const answer = await refused([auto], init, 1, query);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([status, type]);
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
    expect([answer.headers.get("Retry-After"), answer.headers.get("Cache-Control")]).toEqual(["60", "no-store"]);
    expect(answer.headers.get("RateLimit")).toBe('"api";r=0;t=60');
  });

  const grpc = { "Content-Type": "application/grpc-web-text", Origin: "https://page.example" };

  it("gRPC has its status, its message and its wait in headers, which pages of other origins may read", async () => {
    const { headers } = await refused([auto], { method: "POST", headers: grpc });
    expect(headers.get("grpc-status")).toBe("8");
    expect(decodeURI(headers.get("grpc-message")!)).toBe(message);
    expect(headers.get("grpc-retry-pushback-ms")).toBe("60000");
    const exposed = headers.get("Access-Control-Expose-Headers")!;
    for (const name of ["grpc-status", "grpc-message", "grpc-retry-pushback-ms"]) expect(exposed).toContain(name);
  });

  it("an event stream is told when to connect again, and why it ended", async () => {
    const answer = await refused([auto], { headers: { Accept: "text/event-stream" } });
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "text/event-stream"]);
    const [retry, event, data] = (await answer.text()).split("\n");
    expect([retry, event]).toEqual(["retry: 60000", "event: rate_limited"]);
    expect(JSON.parse(data!.slice("data: ".length))).toMatchObject({ status: 429, detail: message });
  });

  it("waits of more than a day are a day, and one that never ends is none", async () => {
    const monthly = policy("api", [{ limit: 1, window: "31d" }], { as: "auto" });
    const pushback = async (policies: PolicyInput[], cost: number) =>
      (await refused(policies, { method: "POST", headers: grpc }, cost)).headers.get("grpc-retry-pushback-ms");
    expect([await pushback([monthly], 1), await pushback([auto], 2)]).toEqual(["86400000", "-1"]);
    // After another status than 200 an EventSource never connects again.
    expect((await refused([auto], { headers: { Accept: "text/event-stream" } }, 2)).status).toBe(429);
  });

  it.each<[string, RefusalInput, RequestInit]>([
    // To whoever changes something, 200 would say that it is done.
    ["a POST that would read a stream", { as: "auto" }, { method: "POST", headers: { Accept: "text/event-stream" } }],
    ["another request", { as: "auto", status: 200 }, {}],
    ["a long kind of gRPC", { as: "auto" }, typed(`application/grpc+${"a".repeat(33)}`)],
    ["a long kind of Connect", { as: "auto" }, typed(`application/connect+${"a".repeat(33)}`)],
    ["gRPC without auto", {}, { method: "POST", headers: grpc }],
    ["gRPC beside problem", { as: "problem" }, { method: "POST", headers: grpc }],
  ])("%s gets the problem document", async (_, own, init) => {
    const answer = await refused([policy("api", [perMinute], own)], init);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([429, "application/problem+json"]);
    expect(await answer.json()).toHaveProperty("status", 429);
  });
});

it("is not for a store without an answer", async () => {
  const denying: PolicyInput = { ...policy("api", [perMinute], { status: 402, body: BODY }), onStoreFailure: "deny" };
  const limiter = createLimiter({ policies: [denying], store: failingStore(), onDecision() {} });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu" });
  const answer = await enforce(new Request(URL_OF_API), () => new Response());
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([503, "application/problem+json"]);
});

it("the words of the last refusal are used again only for the same limits, seconds and region", async () => {
  const limits = [{ ...perMinute, scope: "region" } as const, { ...perHour, limit: 2 }];
  const own = policy("api", limits, { status: 429, type: "text/plain", body: "{limit} {retryAfter}" });
  let region = "eu";
  const enforceOf = (only: readonly PolicyInput[]) => {
    const limiter = createLimiter({ policies: only, store: { ...memoryStore(), kind: "mine" } });
    const rules = { cost: (cost: number) => cost };
    return createEnforce({ limiter, rateLimitHeaders: "none", regionOf: () => region, rules });
  };
  const [asWritten, plain] = [enforceOf([own]), enforceOf([policy("plain", limits)])];
  const wordsOf = async (enforce: typeof plain, cost: number) => {
    return await (await enforce(new Request(URL_OF_API), () => new Response("ok"), undefined, { c: cost })).text();
  };
  const seen: string[] = [];
  const asked = ["0 eu 1", "0 eu 1", "0.4 eu 1", "1.4 eu 1", "1.4 eu 2", "1.4 us 1", "1.4 us 1", "1.4 eu 1"];
  for (const [atS, where, cost] of asked.map((one) => one.split(" "))) {
    vi.setSystemTime(1_700_000_040_000 + 1_000 * Number(atS));
    region = where!;
    const detail = /detail":"([^"]*)"/.exec(await wordsOf(plain, Number(cost)))?.[1] ?? "ok";
    seen.push(`${await wordsOf(asWritten, Number(cost))}: ${detail}`);
  }
  const [eu, us, all] = ["eu", "us", ""].map((name) =>
    name ? `plain-1 (1 per minute in region ${name})` : "plain-2 (2 per hour in all regions)",
  );
  const refusedIn = (limits: string, seconds: number) => `Over the limit ${limits}. Try again in ${seconds} seconds.`;
  expect(seen).toEqual([
    "ok: ok",
    `api-1 60: ${refusedIn(eu!, 60)}`,
    `api-1 60: ${refusedIn(eu!, 60)}`,
    `api-1 59: ${refusedIn(eu!, 59)}`,
    `api-1 null: Over the limit ${eu} and ${all}. This request costs more than the limit and can never be admitted.`,
    "ok: ok",
    `api-2 2759: ${refusedIn(`${us} and ${all}`, 2_759)}`,
    `api-2 2759: ${refusedIn(`${eu} and ${all}`, 2_759)}`,
  ]);
});
