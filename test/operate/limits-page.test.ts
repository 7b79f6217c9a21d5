// The limits document, its Markdown and the page, without a gateway.

import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it, vi } from "vitest";
import { limitsMarkdown } from "../../src/cli/limits/markdown.ts";
import { parseSettings } from "../../src/features/configuration.ts";
import { createGateway } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import { decideLimit } from "../../src/kernel/core/decision.ts";
import { ENFORCED, Flag, take } from "../../src/kernel/core/take.ts";
import { quotaOf } from "../../src/kernel/http/quota.ts";
import { describeForOperators, describeLimits, FIELDS, sampleRequest } from "../../src/operate/limits-page/document.ts";
import { contentSecurityPolicy, renderPage } from "../../src/operate/limits-page/page.ts";
import { blocksOf } from "../docs/markdown.ts";
import { fivePolicies, HOSTILE_POLICIES, SECRET_POLICIES, TWO_REGIONS } from "../support/gateway/limits-policies.ts";

const schema = JSON.parse(readFileSync(new URL("../../docs/limits.schema.json", import.meta.url), "utf8"));
const isValid = new Ajv({ strict: true, allErrors: true }).compile(schema);

function settingsOf(bindings: Bindings) {
  const parsed = parseSettings(bindings);
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return parsed.value;
}
const documentOf = (bindings: Bindings, region?: string) => describeLimits(settingsOf(bindings), region);

const POLICIES = [{ name: "one", limits: [{ limit: 60, window: "1m" }] }];
const PRICES = { default: { input: 15, output: 75 } };
const REDIS = { UPSTASH_REDIS_REST_URL: "https://redis.example", UPSTASH_REDIS_REST_TOKEN: "token" };
const PLANNED = [
  { name: "free", limits: [{ limit: 5, window: "1m" }] },
  {
    name: "a",
    plans: { pro: { "a-1": 20, "a-2": 9 }, x_y: { "a-2": 8 } },
    limits: [
      { algorithm: "token-bucket", limit: 10, window: "1s", burst: 30, scope: "region" },
      { algorithm: "concurrency", limit: 2 },
    ],
  },
  { name: "b", plans: { team: { b: 7 } }, limits: [{ limit: 6, window: "1h" }] },
];
const METERED = [
  { name: "tokens", meter: { unit: "tokens" }, limits: [{ limit: 200_000, window: "1m" }] },
  {
    name: "usd",
    meter: { unit: "usd", prices: PRICES },
    plans: { pro: { usd: 100 } },
    limits: [{ algorithm: "fixed-window", limit: 12.5, window: "1d" }],
  },
];
const COUNTED = [
  { name: "login", count: "failures", refusal: { status: 403, body: "{}" }, limits: [{ limit: 5, window: "1m" }] },
  { name: "orders", count: "successes", refusal: { body: "{}" }, limits: [{ limit: 5, window: "1d" }] },
  { name: "scans", count: ["failures", "3xx", "not 429"], limits: [{ limit: 5, window: "1d" }] },
];
const OVERFLOWING = [
  { name: "team", key: ["header:x-team"], limits: [{ limit: 60, window: "1m" }] },
  {
    ...{ name: "plan", match: { path: "/v1/*" }, limits: [{ limit: 5, window: "1m" }], overflow: "team" },
    ...{ refusal: { status: 402 }, onStoreFailure: "deny" },
  },
  {
    ...{ name: "hidden", documented: false, match: { path: "/v2/*" } },
    limits: [{ limit: 5, window: "1m" }],
    overflow: "team",
  },
];
const CALENDARS = [
  {
    name: "calls",
    plans: { pro: { calls: 50_000 } },
    limits: [{ algorithm: "calendar", limit: 10_000, window: "month", zone: "America/Los_Angeles", monthDay: 15 }],
  },
  {
    name: "spend",
    meter: { unit: "usd", prices: PRICES },
    limits: [
      { algorithm: "calendar", limit: 12.5, window: "day", zone: "Asia/Tokyo" },
      { algorithm: "calendar", limit: 50, window: "week", weekStart: "sunday" },
      { algorithm: "calendar", limit: 2_000, window: "year" },
    ],
  },
];
const DRESSES: [string, Bindings, string?][] = [
  ["five policies in two regions", { POLICIES: fivePolicies(), ...TWO_REGIONS }, "frankfurt"],
  ["a published copy", { POLICIES: fivePolicies(), ...TWO_REGIONS }],
  ["hostile texts", { POLICIES: HOSTILE_POLICIES }, "eu"],
  ["nothing to say", { POLICIES: SECRET_POLICIES }, "eu"],
  ["an overflow", { POLICIES: OVERFLOWING }, "eu"],
  ["no fields", { POLICIES, RATE_LIMIT_HEADERS: "none" }, "eu"],
  ["a central store", { POLICIES: fivePolicies(), ...TWO_REGIONS, ...REDIS }, "frankfurt"],
  ["plans", { POLICIES: PLANNED, ...TWO_REGIONS }, "frankfurt"],
  ["meters", { POLICIES: METERED }, "eu"],
  ["calendars", { POLICIES: CALENDARS, ...REDIS }, "eu"],
  ["failures or successes", { POLICIES: COUNTED }, "eu"],
  ["one region, which is a continent", { POLICIES: fivePolicies(), ...REDIS }, "NA"],
];

describe("the document", () => {
  it.each(DRESSES)("is what its schema says: %s", (_, bindings, region) => {
    const document = JSON.parse(JSON.stringify(documentOf(bindings, region)));
    isValid(document);
    expect(isValid.errors ?? []).toEqual([]);
    // The schema refuses unknown members at every level.
    expect(isValid({ ...document, more: 1 })).toBe(false);
    const [first, ...rest] = document.regions;
    const policies = [...first.policies, { ...first.policies[0], name: "No name" }];
    expect(isValid({ ...document, regions: [{ ...first, policies }, ...rest] })).toBe(false);
  });

  it("names the region that answers first, then every configured one, once", () => {
    const names = (bindings: Bindings, region?: string) =>
      documentOf({ POLICIES, ...bindings }, region).regions.map(({ name }) => name);
    const REGIONS = { country: { DE: "b", FR: "b" }, colo: { FRA: "a" }, continent: { NA: "c" } };
    expect(names({ REGIONS }, "b")).toEqual(["b", "a", "c"]);
    expect(names({ REGIONS }, "OC")).toEqual(["OC", "a", "b", "c"]);
    expect(names({ REGIONS })).toEqual(["a", "b", "c"]);
    expect(names({ REGION: "eu", REGIONS }, "eu")).toEqual(["eu"]);
    expect(names({}, "EU")).toEqual(["EU"]);
    expect(names({})).toEqual(["every region"]);
  });

  it("does not say what is undocumented or only tried out", () => {
    const said = documentOf({ POLICIES: [...SECRET_POLICIES, ...POLICIES] }, "eu");
    expect(said).toEqual(documentOf({ POLICIES }, "eu"));
    const exempting = POLICIES.map((policy) => ({ ...policy, exempt: ["10.0.0.0/8"] }));
    expect(documentOf({ POLICIES: exempting }, "eu")).toEqual(documentOf({ POLICIES }, "eu"));
  });

  it("promises no wait where a limit is on requests at a time, each of which holds one slot whatever it costs", () => {
    const slots = { name: "slots", cost: [{ path: "/a", cost: 5 }], limits: [{ algorithm: "concurrency", limit: 4 }] };
    const document = documentOf({ POLICIES: [slots] });
    expect(document.regions[0]!.policies[0]!.limits[0]!.description).toBe("4 requests at a time");
    for (const write of [renderPage, limitsMarkdown]) {
      expect(write(document)).toContain("nobody knows when one ends");
      expect(write(documentOf({ POLICIES }))).not.toContain("nobody knows");
    }
  });

  it("names a claim that counts, and nothing of who issues it", () => {
    const IDENTITY = { jwks: "https://id.example.com/", issuer: "https://id.example.com", audience: "api" };
    const [policy] = POLICIES;
    const said = documentOf({ POLICIES: [{ ...policy, key: ["jwt:org.id+host"] }], IDENTITY }, "eu");
    expect(said.regions[0]!.policies[0]!.countedPer).toBe("verified claim org.id and host, otherwise address");
    expect(JSON.stringify(said)).not.toContain("id.example.com");
  });

  it("says of w what holds for every algorithm: after at most twice w a used-up quota is full again", () => {
    const many = { limit: 4, window: "1m" };
    const waits = [
      many,
      { ...many, buckets: 6, oldest: "whole" },
      ...["fixed-window", "sliding-log", "token-bucket", "leaky-bucket"].map((algorithm) => ({ ...many, algorithm })),
      { ...many, algorithm: "calendar", window: "month" },
    ].map((limit) => {
      const [policy] = settingsOf({ POLICIES: [{ name: "a", limits: [limit] }] }).policies;
      const atMs = 60_000_000;
      const keys = [{ key: "a", group: ENFORCED, cost: 4, limits: policy!.limits }];
      const { reply } = take(() => undefined, { keys, flag: Flag.take, slot: 1 }, atMs);
      const { resetAfterMs } = decideLimit(policy!, policy!.limits[0]!, reply.keys[0]![0]!, 4, atMs);
      return resetAfterMs! / quotaOf(policy!.limits[0]!).windowMs!;
    });
    // The default needs twice as long when a burst comes at the beginning of a bucket.
    expect(Math.max(...waits)).toBe(2);
    expect(FIELDS[0]![2]).toContain("full again after at most twice as long");
  });

  it("tells tokens and dollars, and never units without a name", async () => {
    const document = documentOf({ POLICIES: METERED });
    const [tokens, usd] = document.regions[0]!.policies;
    expect(tokens!.limits[0]).toMatchObject({ limit: 200_000, description: "200,000 tokens per minute" });
    expect(usd).toMatchObject({ meter: { unit: "usd" }, plans: [{ limits: [{ limit: 100, quota: 100 }] }] });
    expect(usd).not.toHaveProperty("defaultCost");
    expect(usd!.limits[0]).toMatchObject({ limit: 12.5, quota: 12.5, description: "$12.50 per day" });
    const promise = "starts again from zero every day, by the clock (UTC)";
    expect(usd!.limits[0]!.promise).toBe(promise);
    expect(document.headers["RateLimit-Policy"]).toBe('"tokens";q=200000;w=60;qu="tokens"');
    const [only] = METERED.slice(1);
    const headers = documentOf({ POLICIES: [only] }).headers;
    expect(headers["RateLimit-Policy"]).toBe('"usd";q=1250000;w=86400;qu="10-micro-usd"');
    for (const text of [limitsMarkdown(document), renderPage(document)]) {
      expect(text).toContain("$12.50 per day");
      expect(text).toContain("a request costs the price of the tokens that it uses");
      expect(text).not.toMatch(/costs 1 unit|prices/);
    }
  });

  it("tells a client what it has left in dollars, and where to ask", async () => {
    const [, usd] = METERED;
    const policy = { ...usd, meter: { ...usd!.meter, unmetered: { cost: 3.60001 } } };
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const gateway = createGateway({ POLICIES: [...POLICIES, policy] });
    const ask = async (path: string, init: RequestInit = {}) => {
      const headers = { "CF-Connecting-IP": "192.0.2.1", "Content-Type": "application/json" };
      return await gateway.fetch(new Request(`https://gate.example${path}`, { ...init, headers }));
    };
    await ask("/v1/images/generations", { method: "POST", body: "{}" });
    const { limits } = (await (await ask("/.headgate/limits/me")).json()) as { limits: object[] };
    expect(limits[0]).not.toHaveProperty("remainingUsd");
    const left = { remaining: 8.89999, remainingUsd: 8.89999, used: 3.60001, quota: 12.5 };
    expect(limits[1]).toMatchObject({ policy: "usd", unit: "usd", ...left, resetAfterMs: expect.any(Number) });
    const says = "GET /.headgate/limits/me says how many dollars you have left, and when they reset.";
    const document = documentOf({ POLICIES: METERED });
    for (const text of [limitsMarkdown(document), renderPage(document)]) expect(text.split(says)).toHaveLength(2);
  });

  it("tells on which day and in which zone a calendar's periods begin", () => {
    const document = documentOf({ POLICIES: CALENDARS, ...REDIS }, "eu");
    const [calls, spend] = document.regions[0]!.policies;
    expect(calls!.limits).toEqual([
      {
        ...{ id: "calls", algorithm: "calendar", limit: 10_000, window: "month", scope: "global", quota: 10_000 },
        ...{ zone: "America/Los_Angeles", monthDay: 15, windowMs: 31 * 86_400_000 },
        description: "10,000 requests per month",
        promise: "resets at midnight on the 15th, America/Los_Angeles",
      },
    ]);
    expect(calls!.plans).toMatchObject([{ limits: [{ description: "50,000 requests per month" }] }]);
    expect(spend!.limits.map(({ description, promise }) => [description, promise])).toEqual([
      ["$12.50 per day", "resets at midnight, Asia/Tokyo"],
      ["$50 per week", "resets at midnight on Sunday, UTC"],
      ["$2,000 per year", "resets at midnight on January 1, UTC"],
    ]);
    for (const text of [limitsMarkdown(document), renderPage(document)]) {
      expect(text).toMatch(/10,000 requests per month.*50,000 requests per month/s);
      expect(text).toContain("resets at midnight on the 15th, America/Los_Angeles");
      expect(text).toContain("$2,000 per year");
    }
    // The example is of January 2027, in whichever month it is read.
    expect(document.headers["RateLimit-Policy"]).toBe('"calls";q=10000;w=2678400');
  });

  it("tells what counts, and the status of a policy's own refusal", () => {
    const document = documentOf({ POLICIES: COUNTED }, "eu");
    expect(document.regions[0]!.policies).toMatchObject([
      { counts: { only: "failures" }, refusal: { status: 403 } },
      { counts: { only: "successes" }, refusal: { status: 429 } },
      { counts: { only: "failures, 3xx, not 429" } },
    ]);
    const descriptions = document.regions[0]!.policies.flatMap(({ limits }) => limits.map((one) => one.description));
    expect(descriptions).toEqual([
      ...["5 failed requests per minute", "5 successful requests per day", "5 counted requests per day"],
    ]);
    for (const text of [renderPage(document), limitsMarkdown(document)]) {
      const plain = text.replace(/<[^>]*>|\*\*/g, "");
      expect(plain).toContain("Under login only failed requests count: those answered with a status of 400 or more.");
      expect(plain).toContain("Under login the answer is 403.");
      expect(plain).toContain("also requests that are answered with 3xx count, except those answered with 429.");
      expect(plain).not.toContain("Under orders the answer");
    }
    expect(documentOf({ POLICIES }).regions[0]!.policies[0]).not.toHaveProperty("counts");
  });

  it("tells match, key, costs and promise of a policy", () => {
    const [api, , upload, , site] = documentOf({ POLICIES: fivePolicies() }).regions[0]!.policies;
    expect(api).toMatchObject({ requests: "/v1/*", countedPer: "bearer token, otherwise address", defaultCost: 1 });
    expect(api!.cost).toEqual([{ method: ["GET"], path: ["/v1/search"], cost: 5, requests: "GET /v1/search" }]);
    expect(api!.limits[0]).toMatchObject({ quota: 10, windowMs: 10_000, scope: "region", burst: 10 });
    expect(upload).toMatchObject({
      requests: "PUT, POST /files/:id on files.example.com, 127.0.0.1",
      countedPer: "header x-user and address, otherwise address",
    });
    const left = { ...POLICIES[0]!, match: {}, except: [{ path: "/health" }, { method: "GET", path: "/a" }] };
    expect(documentOf({ POLICIES: [left] }).regions[0]!.policies[0]).toMatchObject({
      requests: "every request, but not /health, but not GET /a",
      except: [{ path: ["/health"] }, { method: ["GET"], path: ["/a"] }],
    });
    expect(site).toMatchObject({ requests: "every request" });
    const { policies } = documentOf({ POLICIES: fivePolicies() }).regions[0]!;
    expect(policies.flatMap(({ limits }) => limits.map(({ description, promise }) => [description, promise]))).toEqual([
      ["1 unit per second, at most 10 units at once", "comes back evenly: one unit every second"],
      ["600 units per minute", "older units count less and less, until they no longer count"],
      ["5 requests per minute", "a request counts for 1 minute, and up to 10 seconds longer"],
      ["20 requests per hour", "a request counts for exactly 1 hour"],
      [
        "10 requests per minute, at most 3 requests at once",
        "comes back evenly: one request every 6 seconds; a request may be delayed by up to 2 seconds",
      ],
      ["2 requests at a time", "a request counts until it is answered, at most for 1 minute if its connection is lost"],
      ["10,000 requests per day", "starts again from zero every day, by the clock (UTC)"],
    ]);
  });

  it("tells only operators of worst cases, of leases and of outages", () => {
    const policies = [...fivePolicies(), ...CALENDARS, ...SECRET_POLICIES];
    const settings = settingsOf({ POLICIES: policies, ...REDIS });
    const document = { ...describeLimits(settings), operators: describeForOperators(settings) };
    isValid(JSON.parse(JSON.stringify(document)));
    expect(isValid.errors ?? []).toEqual([]);
    const worst = document.operators.flatMap(({ worstCases }) => worstCases.map(({ worstCase }) => worstCase));
    expect(worst).toEqual([
      "up to 11 units in 1 second, if a burst comes from a full bucket",
      "up to 1,199 units in 1 minute, if a burst comes at the end of a bucket; never more than the limit in 50 seconds",
      "up to 13 requests in 1 minute, if a burst comes from a full bucket",
      "up to 20,000 requests in a short time around the end of a window",
      "up to 20,000 requests in a short time around the end of a month",
      "up to $25 in a short time around the end of a day",
      "up to $100 in a short time around the end of a week",
      "up to $4,000 in a short time around the end of a year",
    ]);
    const [, login, , exports, site] = document.operators;
    expect(login!.storeFailure.mode).toBe("deny");
    expect(exports!.storeFailure.mode).toBe("allow");
    expect(site!.consistency.mode).toBe("leased");
    const helpful = [...worst, ...document.operators.map(({ consistency }) => consistency.meaning)];
    for (const write of [renderPage, limitsMarkdown, JSON.stringify]) {
      const [forClients, forOperators] = [write(describeLimits(settings)), write(document)];
      for (const text of helpful) {
        expect(forOperators).toContain(text);
        expect(forClients).not.toContain(text);
      }
      expect(forClients).not.toMatch(/central store is|worst|shadow|down,/);
    }
  });

  it("takes the words that docs/clients.md shows", () => {
    const [toml] = blocksOf("docs/clients.md", "toml");
    const { vars } = parseToml(toml!.text) as { vars: Bindings };
    expect(documentOf({ POLICIES, ...vars })).toMatchObject({ title: "Acme API", contact: "api@acme.example" });
  });

  it("has the operator's own words, escaped, and a link to whom clients can ask", () => {
    const words = {
      ...{ LIMITS_TITLE: "A <b>", LIMITS_CONTACT: "api@acme.example" },
      ...{ LIMITS_BEFORE: "One <i>.\n\nTwo *.", LIMITS_AFTER: "1. After\n# no heading.\n\n- no list" },
    };
    const document = documentOf({ POLICIES, ...words });
    isValid(JSON.parse(JSON.stringify(document)));
    expect(isValid.errors ?? []).toEqual([]);
    const page = renderPage(document);
    expect(page).toContain("<title>A &lt;b&gt;: Rate limits</title>");
    expect(page).toContain("<p>One &lt;i&gt;.</p><p>Two *.</p>");
    expect(page).toContain('<a href="mailto:api@acme.example">api@acme.example</a>');
    expect(page.indexOf("<p>1. After\n# no heading.</p>")).toBeGreaterThan(page.indexOf("When you are refused"));
    const markdown = limitsMarkdown(document);
    expect(markdown.split("\n\n").slice(0, 3)).toEqual(["# A \\<b\\>: Rate limits", "One \\<i\\>.", "Two \\*."]);
    // Plain text: nothing of it is a heading or a list.
    expect(markdown).toContain("\n\n1\\. After # no heading.\n\n\\- no list\n");
    expect(markdown).toContain("[api@acme.example](<mailto:api@acme.example>)");
    const url = documentOf({ POLICIES, LIMITS_CONTACT: "https://acme.example/a b>" });
    expect(limitsMarkdown(url)).toContain("(<https://acme.example/a%20b%3E>)");
    for (const contact of ["javascript:alert(1)", "http://acme.example", "a@b@c", "a b@c.example", "<a>@b.example"]) {
      const [mistake] = parseSettings({ POLICIES, LIMITS_CONTACT: contact }).mistakes ?? [];
      expect(mistake).toMatchObject({ code: "ERR_LIMITS_CONTACT", path: "LIMITS_CONTACT" });
    }
    expect(parseSettings({ POLICIES, LIMITS_TITLE: " ", LIMITS_AFTER: "x".repeat(2_001) }).mistakes).toHaveLength(2);
  });
});

/** The text of the page and of the Markdown. Both use the same words. */
async function saidOf(bindings: Bindings, region?: string): Promise<[page: string, markdown: string]> {
  const document = documentOf(bindings, region);
  const page = renderPage(document)
    .replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, "")
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'");
  const oneLine = (text: string) => text.replace(/\s+/g, " ");
  return [oneLine(page), oneLine(limitsMarkdown(document))];
}

describe("page and Markdown alike", () => {
  it("have one table of all plans, with the limits as written where a plan says nothing", async () => {
    const [page, markdown] = await saidOf({ POLICIES: PLANNED, ...TWO_REGIONS }, "frankfurt");
    const [bursts, others] = ["10", "20"].map((n) => `${n} requests per second, at most 30 requests at once`);
    const table = [
      ["a-1", bursts, others, bursts, bursts],
      ["a-2", ...[2, 9, 8, 2].map((n) => `${n} requests at a time`)],
      ["b", ...[6, 6, 6, 7].map((n) => `${n} requests per hour`)],
    ];
    expect(page).toContain("Limit without a plan pro x_y team");
    expect(markdown).toContain("| Limit | without a plan | pro | x_y | team |");
    for (const [id, ...cells] of table) {
      expect(page).toContain([id, ...cells].join(" "));
      expect(markdown).toContain(`| **${id}** | ${cells.join(" | ")} |`);
    }
    expect(page + markdown).not.toMatch(/shadow|3 requests per minute/);
    for (const said of await saidOf({ POLICIES })) expect(said).not.toMatch(/plan/i);
  });
});

describe("the Markdown", () => {
  it("keeps a hostile text inside of its cell", () => {
    const markdown = limitsMarkdown(documentOf({ POLICIES: HOSTILE_POLICIES }, "eu"));
    const rows = markdown.split("\n").filter((line) => line.startsWith("| **hostile"));
    expect(rows).toHaveLength(HOSTILE_POLICIES.length);
    // A bar that is not escaped ends a cell.
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(7);
    const outsideOfCode = markdown.replace(/(`+)[^\n]*?[^`]\1(?!`)/g, "");
    expect(outsideOfCode).not.toMatch(/(?<!\\)</);
    expect(markdown).toContain("🚦");
  });
});

describe("the page", () => {
  it("is below 30 KiB, five policies in two regions", async () => {
    const page = renderPage(documentOf({ POLICIES: fivePolicies(), ...TWO_REGIONS }, "frankfurt"));
    expect(page.length).toBeGreaterThan(8_000);
    expect(new TextEncoder().encode(page).length).toBeLessThan(30 * 1024);
  });

  it.each<[object, string, string]>([
    [{ method: ["PUT", "GET"], path: "/files/:id" }, "GET", "/files/1"],
    [{ method: ["PUT", "POST"] }, "PUT", "/"],
    [{ method: "HEAD", path: "/:lang/docs/*" }, "HEAD", "/1/docs/"],
    [{ path: ["/v1/x*", "/v2"] }, "GET", "/v1/x"],
    [{ host: ["files.example.com"] }, "GET", "/"],
  ])("asks what is left of the first policy, for %j by %s %s", (match, method, path) => {
    const document = documentOf({ POLICIES: [{ name: "one", match, limits: [{ limit: 5, window: "1m" }] }] });
    expect(sampleRequest(document)).toEqual({ method, path });
    expect(renderPage(document)).toMatch(
      new RegExp(`name="method" value="${method}".*name="path" value="${path}"`, "s"),
    );
  });

  it.each(HOSTILE_POLICIES)("escapes $match.path in text and in attributes", async (hostile) => {
    const pageOf = (policy: object) => renderPage(documentOf({ POLICIES: [policy] }, "eu"));
    /** Every tag of the page, without the values of its attributes. */
    const tagsOf = (page: string) => page.match(/<[^<>]*>/g)?.map((tag) => tag.replace(/"[^"]*"/g, '""'));
    const { path, host } = hostile.match;
    const harmless = { ...hostile, match: { path: "/x", host }, key: ["query:x", "header:x"], cost: [{ cost: 2 }] };

    const page = pageOf(hostile);
    expect(tagsOf(page)).toEqual(tagsOf(pageOf(harmless)));
    const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
    const escaped = (text: string) => text.replace(/[&<>"']/g, (one) => entities[one]!);
    expect(page).toContain(`<code>${escaped(path)} on ${host}</code> <small>per query ${escaped('<b id="injected">')}`);
    expect(page).toContain(`name="path" value="${escaped(path.replace(/[*({\\].*/, ""))}"`);
  });

  it("as a copy has no script and nobody to ask", async () => {
    const csp = await contentSecurityPolicy(true);
    const page = renderPage(documentOf({ POLICIES }), { csp });
    expect(page).not.toMatch(/<script|\.headgate|<form/);
    const rest = "img-src data:;base-uri 'none';form-action 'none'";
    expect(csp).toMatch(new RegExp(`^default-src 'none';style-src 'sha256-[^;]+';${rest}$`));
  });
});

it("names the tools and methods that policies look at, and asks what is left of a call", () => {
  const limits = [{ limit: 60, window: "1m" }];
  const match = { path: ["/mcp"], tool: ["delete*", "drop"] };
  const cost = [{ path: "/mcp", tool: "search", cost: 10 }];
  const calls = { name: "calls", match: { rpc: "*" }, except: { rpc: "ping" }, cost, limits };
  const document = documentOf({ POLICIES: [{ name: "deletes", match, limits, refusal: { code: 4_290 } }, calls] });
  expect(isValid(document), JSON.stringify(isValid.errors)).toBe(true);
  expect(document.regions[0]!.policies).toMatchObject([
    { requests: "/mcp calling the tool delete*, drop", match },
    { requests: "calling *, but not calling ping", cost: [{ requests: "/mcp calling the tool search" }] },
  ]);
  expect(sampleRequest(document)).toEqual({ method: "POST", path: "/mcp" });
  expect(renderPage(document)).toContain("calling the tool delete*, drop");
});

describe("an overflow", () => {
  it("is what pays then, with what it takes over, on the page and in the Markdown", () => {
    const document = documentOf({ POLICIES: OVERFLOWING, ...REDIS }, "eu");
    const [team, plan] = document.regions[0]!.policies;
    expect(plan).toMatchObject({ requests: "/v1/*", overflow: { policy: "team", meaning: "then team pays" } });
    expect(team).toMatchObject({
      requests: "requests over the limits of plan",
      refusal: { status: 402 },
    });
    expect(team).not.toHaveProperty("overflow");
    expect(document.headers["RateLimit-Policy"]).toMatch(/^"plan"/);
    expect(sampleRequest(document).path).toBe("/v1/");
    expect(renderPage(document)).toContain("then team pays");
    expect(limitsMarkdown(document)).toContain("If **plan** refuses a request, then team pays.");
  });
});
