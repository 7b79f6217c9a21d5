// Refusals of metered requests, as the real clients of OpenAI and Anthropic understand them.

import * as anthropic from "@anthropic-ai/sdk";
import * as openai from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { type Ask, clientsOf, WAYS } from "../support/llm/clients.ts";
import { type MeteredGateway, startMeteredGateway } from "../support/llm/metered-gateway.ts";

const NAME = uniqueName("refused");
const policy = (kind: string, limit: object, more: object = {}) => ({
  name: `${NAME}-${kind}`,
  match: { path: `/${kind}/*` },
  key: ["global"],
  meter: { unit: "tokens" },
  limits: [limit],
  ...more,
});

let metered: MeteredGateway;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  metered = await startMeteredGateway({
    policies: [
      policy("day", { algorithm: "fixed-window", limit: 100, window: "31d" }),
      policy("bucket", { algorithm: "token-bucket", limit: 1_000, window: "2s" }),
      policy("slow", { algorithm: "token-bucket", limit: 1_000, window: "5m" }),
      policy("requests", { limit: 1_000_000, window: "1m" }),
      {
        name: `${NAME}-few`,
        match: { path: "/requests/*" },
        key: ["global"],
        limits: [{ algorithm: "token-bucket", limit: 1, window: "1s" }],
      },
    ],
    stopAfter: (stop) => stops.push(stop),
  });
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const soon = { timeout: 20_000, interval: 10 };
const clientsAt = (kind: string, maxRetries: number) => clientsOf(`${metered.gateway.url.href}${kind}`, maxRetries);
const ask = (format: Ask["format"], stream: boolean, tokens: number): Ask => ({
  ...{ format, stream, model: "m", prompt: "Hi", maxTokens: 10 },
  plan: { tokens: 2, usage: { inputTokens: tokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 } },
});

/** Sends one request that uses up the limit and more. */
async function useUp(kind: string, tokens: number): Promise<void> {
  await clientsAt(kind, 0).ask(ask("openai-chat", false, tokens));
  const count = async () => (await metered.redis.keys(`hg:2:{${NAME}-${kind}:*`)).length;
  await expect.poll(count, soon).toBe(1);
}

describe("a limit that is used up for long", () => {
  it.each(WAYS)("is a RateLimitError with a message, without another try: %s, stream: %s", async (format, stream) => {
    if (format === "openai-chat" && !stream) await useUp("day", 500);
    await expect.poll(() => metered.counted(`${NAME}-day`), soon).toEqual([500]);
    const sent = metered.provider.exchanges.length;
    const startedAt = performance.now();
    const error = await clientsAt("day", 2)
      .ask(ask(format, stream, 1))
      .catch((thrown) => thrown);
    const isAnthropic = format === "anthropic-messages";
    expect(error).toBeInstanceOf(isAnthropic ? anthropic.RateLimitError : openai.RateLimitError);
    expect(error.message).toMatch(/^429 .*100 tokens/);
    expect(error.message).not.toContain("no body");
    expect(Number(error.headers.get("retry-after"))).toBeGreaterThan(60);
    expect(metered.provider.exchanges).toHaveLength(sent);
    if (!isAnthropic) {
      expect(error).toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
      expect(error.headers.get("x-should-retry")).toBe("false");
    }
    // The first wait between two tries is 500 ms.
    expect(performance.now() - startedAt).toBeLessThan(400);
  });
});
