// A meter beside other policies, rules of the program, other middleware, and a store that fails.

import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { rateLimit } from "../../../src/adapters/hono.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createExplain } from "../../../src/operate/explain.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import {
  CHAT,
  data,
  delta,
  json,
  meteredHandler,
  openStream,
  type PolicyInput,
  stream,
  TOKENS,
  usageOf,
} from "../../support/llm/metered-handler.ts";

/** 1 token of text. */
const ASKED = { messages: ["four"], max_tokens: 500 };
const RESERVED = 501;
const slots: PolicyInput = { name: "slots", key: "global", limits: [{ algorithm: "concurrency", limit: 1 }] };
const requests: PolicyInput = { name: "requests", key: "global", limits: [{ limit: 10, window: "1d" }] };
const answering = () => json({ usage: usageOf(2, 3) });

// Far from the end of a window.
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] }));

describe("beside other policies", () => {
  it("the slot is held until the answer has ended, and given back by the call that settles", async () => {
    const provider = openStream();
    const { chat, used, calls } = meteredHandler(() => provider.response, [TOKENS, slots, requests]);
    const first = await chat(ASKED);
    provider.send(delta("x"));
    expect((await chat(ASKED)).status).toBe(429);
    provider.send(data({ choices: [], usage: usageOf(20, 30) }));
    provider.end();
    await first.text();
    expect([await used(), await used("slots"), await used("requests")]).toEqual([50, 0, 1]);
    // For the first request. What refuses the second one is known here.
    expect(calls()).toBe(2);
  });

  it("the slot is renewed while the answer streams", async () => {
    const provider = openStream();
    const short = { ...slots, limits: [{ algorithm: "concurrency" as const, limit: 1, timeout: "1s" as const }] };
    const { chat, calls, done } = meteredHandler(() => provider.response, [TOKENS, short]);
    const answer = await chat(ASKED);
    await expect.poll(calls, { timeout: 10_000 }).toBe(2);
    provider.end();
    await answer.text();
    await done();
    const ended = calls();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(calls()).toBe(ended);
  });

  it("a policy in shadow is settled, and one in shadow that refused is not charged", async () => {
    const shadow: PolicyInput = { ...TOKENS, name: "shadow", mode: "shadow" };
    const small = { ...shadow, name: "small", limits: [{ limit: 600, window: "1d" as const }] };
    const { chat, used } = meteredHandler(() => answering(), [TOKENS, shadow, small]);
    for (let i = 0; i < 3; i++) {
      const all = await Promise.all([chat(ASKED), chat(ASKED)]);
      for (const answer of all) expect(answer.status).toBe(200);
      await Promise.all(all.map((answer) => answer.text()));
    }
    // The small one has room for two reservations of 300, its half, only while nothing is used: for four of six.
    expect([await used(), await used("shadow"), await used("small")]).toEqual([30, 30, 20]);
  });

  it("an explanation stands on the provider's refusal", async () => {
    const explain = createExplain({ keySecret: "k".repeat(32), fallback: "", version: () => undefined });
    const limiter = createLimiter({
      policies: [TOKENS, { ...requests, limits: [{ limit: 1, window: "1d" }] }],
      store: memoryStore(),
      onDecision: explain.onDecision,
    });
    const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", rules: explain.rules });
    const send = () => {
      const request = new Request(CHAT, { method: "POST", body: "{}" });
      return enforce(request, answering, undefined);
    };
    await send();
    const refused = await send();
    expect(await refused.json()).toHaveProperty("error.code", "rate_limit_exceeded");
    expect(await explain.read(refused.headers.get("Headgate-Explain")!)).toHaveProperty("policies");
  });
});

describe("cut", () => {
  const cutting = (limit: number, more: Partial<PolicyInput> = {}): PolicyInput => ({
    ...TOKENS,
    meter: { unit: "tokens", onExceeded: "cut" },
    limits: [{ algorithm: "fixed-window", limit, window: "1d" }],
    ...more,
  });
  /** Sends events of one token until nobody reads them. */
  const endless = () => {
    let isLeft = false;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => controller.enqueue(new TextEncoder().encode(delta("four"))),
        cancel: () => {
          isLeft = true;
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { "Content-Type": "text/event-stream", "Content-Length": "1000000" };
    return { answer: () => new Response(body, { headers }), isLeft: () => isLeft };
  };
  const tokensIn = (text: string) => text.split("four").length - 1;

  it("charges 256 tokens at a time, and ends the stream when the limit refuses", async () => {
    const { answer, isLeft } = endless();
    const { chat, used, calls } = meteredHandler(answer, [cutting(2_000)]);
    const cut = await chat({ max_tokens: 400 });
    // It has another length than the provider said.
    expect(cut.headers.has("Content-Length")).toBe(false);
    const text = await cut.text();
    expect(text).toMatch(/"code":"rate_limit_exceeded"\}\}\n\n$/);
    // 400 were reserved, 6 times 256 fit, and the 7th was refused when one token more had been sent.
    expect([tokensIn(text), isLeft()]).toEqual([400 + 6 * 256 + 1, true]);
    expect(await used()).toBe(400 + 6 * 256 + 1);
    expect(calls()).toBe(1 + 7 + 1);
  });

  it("of one policy ends the stream for all, and dollars cut, too", async () => {
    const dollars: PolicyInput = {
      name: "dollars",
      key: "global",
      meter: { unit: "usd", onExceeded: "cut", prices: { default: { input: 1, output: 10 } } },
      limits: [{ algorithm: "fixed-window", limit: 0.01, window: "1d" }],
    };
    const { answer } = endless();
    const { chat, used } = meteredHandler(answer, [TOKENS, dollars]);
    const text = await (await chat({ max_tokens: 400 })).text();
    expect(text).toContain("rate_limit_exceeded");
    // A token of output is a unit. 400 are reserved, and $0.01 are 1,000 units.
    const tokens = 400 + 2 * 256 + 1;
    expect([tokensIn(text), await used(), await used("dollars")]).toEqual([tokens, tokens, tokens]);
  });

  it("charges no more when the client has left", async () => {
    const memory = memoryStore();
    const left = Promise.withResolvers<void>();
    let takes = 0;
    const far: Store = {
      ...memory,
      kind: "far",
      async take(request, nowMs) {
        if (++takes === 2) await left.promise;
        return await memory.take(request, nowMs);
      },
    };
    const handler = () => stream(delta("four").repeat(600));
    const { chat, used, done } = meteredHandler(handler, [cutting(10_000)], { store: remoteStore(far) });
    const reader = (await chat({ max_tokens: 100 })).body!.getReader();
    await reader.read();
    await reader.cancel();
    left.resolve();
    await done();
    expect(await used()).toBe(101);
  });

  it.each([
    ["deny ends the stream", "deny", true],
    ["allow lets it go on", "allow", false],
  ] as const)("while the store is away: %s", async (_, onStoreFailure, isCut) => {
    let isAway = false;
    const store = flaky(() => isAway);
    const events = [...Array.from({ length: 600 }, () => delta("four")), data("[DONE]")];
    const handler = () => {
      isAway = true;
      return stream(...events);
    };
    const { chat } = meteredHandler(handler, [cutting(10_000, { onStoreFailure })], { store });
    const text = await (await chat({ max_tokens: 100 })).text();
    expect([text.includes("rate_limit_exceeded"), text.includes("[DONE]")]).toEqual([isCut, !isCut]);
    expect(tokensIn(text)).toBe(isCut ? 101 : 600);
  });
});

/** A store far away that has no answer while `isAway` says so. */
function flaky(isAway: () => boolean): Store {
  const memory = memoryStore();
  const far: Store = {
    ...memory,
    kind: "far",
    async take(request, nowMs) {
      if (isAway()) throw new StoreError("NETWORK");
      return await memory.take(request, nowMs);
    },
  };
  return remoteStore(far, { onBreakerChange: () => {} });
}

describe("in a Hono app", () => {
  const appWith = (app = new Hono()) => {
    const limiter = createLimiter({ policies: [TOKENS], store: memoryStore() });
    const used = async () => 100_000 - (await limiter.peek("tokens")).remaining!;
    const post = (body: object = ASKED) =>
      app.request(CHAT, { method: "POST", body: JSON.stringify(body), headers: { "Accept-Encoding": "gzip" } });
    return { app, limiter, used, post };
  };

  it("handlers read the body, whoever has read it before", async () => {
    const { app, limiter, used, post } = appWith();
    const seen: unknown[] = [];
    app.use(bodyLimit({ maxSize: 1_000 }), async (c, next) => {
      await c.req.json();
      await next();
    });
    app.use(rateLimit(limiter, { key: async (c) => ((await c.req.json()) as { user?: string }).user }));
    app.post("*", async (c) => {
      seen.push(await c.req.json(), await c.req.raw.clone().json(), c.req.header("Accept-Encoding"));
      return c.json({ usage: usageOf(2, 3) });
    });
    await (await post()).text();
    expect(seen).toEqual([ASKED, ASKED, "identity"]);
    await expect.poll(used).toBe(5);
  });

  it("middleware before it compresses for the client, although the handler is asked for a plain answer", async () => {
    const { app, limiter, used, post } = appWith();
    app.use(compress({ threshold: 0 }), rateLimit(limiter));
    app.post("*", (c) => c.json({ usage: usageOf(2, 3), choices: [{ text: "x".repeat(2_000) }] }));
    const answer = await post();
    expect(answer.headers.get("Content-Encoding")).toBe("gzip");
    await answer.arrayBuffer();
    await expect.poll(used).toBe(5);
  });

  it("middleware before it that throws away the answer leaves the reservation charged", async () => {
    const { app, limiter, used, post } = appWith();
    app.use(async (_, next) => {
      await next();
      throw new Error("late");
    });
    app.use(rateLimit(limiter));
    app.post("*", () => openStream().response);
    app.onError((error, c) => c.text(error.message, 500));
    expect([(await post()).status, await used()]).toEqual([500, RESERVED]);
  });
});
