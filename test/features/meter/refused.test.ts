// Refusals under a policy with a meter have the provider's own form, so that its clients show and obey them.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import { CHAT, json, meteredHandler, type PolicyInput, TOKENS } from "../../support/llm/metered-handler.ts";
import { failingStore } from "../../support/redis/stores.ts";

/** A second request is refused by this policy, which has no meter. */
const ONCE: PolicyInput = {
  name: "once",
  key: "global",
  limits: [{ algorithm: "fixed-window", limit: 1, window: "1h" }],
};
const post = (url: string) => new Request(url, { method: "POST", body: "{}" });

/** The second answer. The first one has been admitted. */
async function refused(request: Request, policies: PolicyInput[]): Promise<Response> {
  const { send } = meteredHandler(() => json({}), policies);
  const first = await send(post(request.url));
  await first.body?.cancel();
  return await send(request);
}

// Far from the end of a window.
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] }));

describe("a refusal", () => {
  it("is OpenAI's error, with the wait in seconds and milliseconds", async () => {
    const answer = await refused(post(CHAT), [TOKENS, ONCE]);
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([429, "application/json"]);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(await answer.json()).toEqual({
      error: {
        message: expect.stringMatching(/^Over the limit once \(1 per hour\)\. Try again in \d+ seconds\.$/),
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
    const answer = await refused(post("https://gate.example/v1/messages"), [TOKENS, ONCE]);
    const message = expect.stringContaining("Over the limit once");
    expect(await answer.json()).toEqual({ type: "error", error: { type: "rate_limit_error", message } });
  });

  it("of a policy in shadow with a meter has that form, too", async () => {
    const answer = await refused(post(CHAT), [{ ...TOKENS, mode: "shadow" }, ONCE]);
    expect(await answer.json()).toHaveProperty("error.code", "rate_limit_exceeded");
  });

  it("of a GET has that form also for a browser, and HEAD has no body", async () => {
    const browser = { headers: { Accept: "text/html,*/*;q=0.8" } };
    const page = await refused(new Request(CHAT, browser), [TOKENS, ONCE]);
    expect(await page.json()).toHaveProperty("error.code", "rate_limit_exceeded");
    const head = await refused(new Request(CHAT, { method: "HEAD" }), [TOKENS, ONCE]);
    expect([head.status, head.body, head.headers.has("Retry-After")]).toEqual([429, null, true]);
  });

  it("without the store under deny is 503", async () => {
    const policies = [{ ...TOKENS, onStoreFailure: "deny" as const }];
    const { chat } = meteredHandler(() => json({}), policies, { store: failingStore() });
    const answer = await chat();
    const waits = ["Retry-After", "retry-after-ms"].map((name) => answer.headers.get(name));
    expect([answer.status, ...waits]).toEqual([503, "1", "1000"]);
    expect(await answer.json()).toHaveProperty("error.type", "overloaded_error");
  });

  it("may be read by pages of other origins, if an origin is allowed", async () => {
    const limiter = createLimiter({ policies: [TOKENS, ONCE], store: memoryStore() });
    const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", helpPath: "/help" });
    const headers = { Origin: "https://page.example" };
    const request = () => new Request(CHAT, { method: "POST", body: "{}", headers });
    await enforce(request(), () => json({}));
    const answer = await enforce(request(), () => json({}));
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("https://page.example");
    expect([answer.headers.get("Vary"), answer.headers.get("Link")]).toEqual(["Origin", '</help>; rel="help"']);
    const exposed = answer.headers.get("Access-Control-Expose-Headers");
    for (const name of ["Retry-After", "retry-after-ms", "RateLimit"]) expect(exposed).toContain(name);
  });

  it("stays a problem document on other paths", async () => {
    const answer = await refused(post("https://gate.example/other"), [{ ...TOKENS, match: { path: "/v1/*" } }, ONCE]);
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  });
});
