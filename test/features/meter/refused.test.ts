// Refusals under a policy with a meter have the provider's own form, so that its clients show and obey them.

import { Hono } from "hono";
import { cors } from "hono/cors";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rateLimit } from "../../../src/adapters/hono.ts";
import type { Duration } from "../../../src/kernel/core/duration.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import { CHAT, json, meteredHandler, type PolicyInput, TOKENS } from "../../support/llm/metered-handler.ts";
import { failingStore } from "../../support/redis/stores.ts";

const MESSAGES = "https://gate.example/v1/messages";
/** A second request is refused by this policy, which has no meter. */
const once = (window: Duration): PolicyInput => ({
  name: "once",
  key: "global",
  limits: [{ algorithm: "fixed-window", limit: 1, window }],
});
const post = (url: string, init: RequestInit = {}) => new Request(url, { method: "POST", body: "{}", ...init });

/** The second answer. The first one has been admitted. */
async function refused(request: Request, policies: PolicyInput[], options = {}): Promise<Response> {
  const { send } = meteredHandler(() => json({}), policies, options);
  const first = await send(post(request.url));
  await first.body?.cancel();
  return await send(request);
}

// Far from the end of a window.
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

describe("a refusal", () => {
  it("is OpenAI's error, with the wait in seconds and milliseconds", async () => {
    const answer = await refused(post(CHAT), [TOKENS, once("1h")]);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([429, "application/json"]);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(await answer.json()).toEqual({
      error: {
        message: expect.stringMatching(/^Over the limit once \(1 per 1h\)\. Try again in \d+ seconds\.$/),
        type: "rate_limit_error",
        param: null,
        code: "rate_limit_exceeded",
      },
    });
    const [seconds, ms] = ["Retry-After", "retry-after-ms"].map((name) => Number(answer.headers.get(name)));
    expect(seconds).toBe(Math.ceil(ms! / 1000));
    expect(ms).toBeLessThanOrEqual(3_600_000);
    expect(answer.headers.get("RateLimit")).toContain('"once";r=0');
  });

  it("is Anthropic's error on its path", async () => {
    const answer = await refused(post(MESSAGES), [TOKENS, once("1h")]);
    expect(await answer.json()).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: expect.stringContaining("Over the limit once") },
    });
  });

  it.each<[string, string, PolicyInput[], string | null]>([
    ["OpenAI", CHAT, [TOKENS, once("1h")], "false"],
    ["Anthropic", MESSAGES, [TOKENS, once("1h")], "false"],
    ["but not after a minute", CHAT, [TOKENS, once("1m")], null],
  ])("tells clients not to retry after a long wait: %s", async (_, url, policies, field) => {
    const answer = await refused(post(url), policies);
    expect(answer.headers.get("x-should-retry")).toBe(field);
  });

  it("tells clients not to retry what can never be admitted", async () => {
    const { chat } = meteredHandler(() => json({}), [TOKENS, once("1h")], { cost: 2 });
    const answer = await chat();
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect([answer.headers.get("Retry-After"), answer.headers.get("retry-after-ms")]).toEqual([null, null]);
  });

  it("of a policy in shadow with a meter has that form, too", async () => {
    const answer = await refused(post(CHAT), [{ ...TOKENS, mode: "shadow" }, once("1h")]);
    expect(await answer.json()).toHaveProperty("error.code", "rate_limit_exceeded");
  });

  it("of a GET has that form also for a browser, and HEAD has no body", async () => {
    const browser = { headers: { Accept: "text/html,*/*;q=0.8" } };
    const page = await refused(new Request(CHAT, browser), [TOKENS, once("1h")]);
    expect(await page.json()).toHaveProperty("error.code", "rate_limit_exceeded");
    const head = await refused(new Request(CHAT, { method: "HEAD" }), [TOKENS, once("1h")]);
    expect([head.status, head.body, head.headers.has("Retry-After")]).toEqual([429, null, true]);
  });

  it("without the store under deny is 503", async () => {
    const policies = [{ ...TOKENS, onStoreFailure: "deny" as const }];
    const { chat } = meteredHandler(() => json({}), policies, { store: failingStore() });
    const answer = await chat();
    expect([answer.status, answer.headers.get("Retry-After"), answer.headers.get("retry-after-ms")]).toEqual([
      503,
      "1",
      "1000",
    ]);
    expect(await answer.json()).toHaveProperty("error.type", "overloaded_error");
  });

  it("stays a problem document on other paths", async () => {
    const answer = await refused(post("https://gate.example/other"), [
      { ...TOKENS, match: { path: "/v1/*" } },
      once("1h"),
    ]);
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  });

  it("may be read by pages of other origins, if an origin is allowed", async () => {
    const limiter = createLimiter({ policies: [TOKENS, once("1h")], store: memoryStore() });
    const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", helpPath: "/help" });
    const request = () => post(CHAT, { headers: { Origin: "https://page.example" } });
    await enforce(request(), () => json({}));
    const { headers } = await enforce(request(), () => json({}));
    expect(headers.get("Access-Control-Allow-Origin")).toBe("https://page.example");
    expect([headers.get("Vary"), headers.get("Link")]).toEqual(["Origin", '</help>; rel="help"']);
    const exposed = headers.get("Access-Control-Expose-Headers");
    for (const name of ["Retry-After", "retry-after-ms", "RateLimit"]) expect(exposed).toContain(name);
  });
});

describe("a program's own refusal", () => {
  it("wins, and gets the waits of the standard one", async () => {
    const response = () => new Response("mine", { status: 420 });
    const answer = await refused(post(CHAT), [TOKENS, once("1h")], { response });
    expect([answer.status, await answer.text()]).toEqual([420, "mine"]);
    expect([answer.headers.has("Retry-After"), answer.headers.has("retry-after-ms")]).toEqual([true, true]);
  });

  it("with a wait of its own does not get one in milliseconds, which clients would prefer", async () => {
    const response = () => new Response("mine", { status: 429, headers: { "Retry-After": "7" } });
    const answer = await refused(post(CHAT), [TOKENS, once("1h")], { response });
    expect([answer.headers.get("Retry-After"), answer.headers.get("retry-after-ms")]).toEqual(["7", null]);
  });

  it("of a Hono app keeps the headers of earlier middleware", async () => {
    const app = new Hono();
    const limiter = createLimiter({ policies: [TOKENS, once("1h")], store: memoryStore() });
    app.use(cors({ origin: "https://page.example" }), rateLimit(limiter));
    app.post("*", (c) => c.json({}));
    const send = () => app.request(post(CHAT, { headers: { Origin: "https://page.example" } }));
    await send();
    const answer = await send();
    expect([answer.status, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([429, "https://page.example"]);
    expect(await answer.json()).toHaveProperty("error.code", "rate_limit_exceeded");
  });
});
