// Refusals as the real clients of OpenAI, Anthropic and Google understand them: of policies with a meter, and without.

import * as anthropic from "@anthropic-ai/sdk";
import { ApiError } from "@google/genai";
import * as openai from "openai";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { type Ask, clientsOf, WAYS } from "../support/llm/clients.ts";
import { meteredForAll } from "../support/llm/metered-gateway.ts";

const NAME = uniqueName("sdk");
const METER = { meter: { unit: "tokens" } };
const policy = (kind: string, limit: object, more: object = {}) => ({
  ...{ name: `${NAME}-${kind}`, match: { path: `/${kind}/*` }, key: ["global"] },
  limits: [limit],
  ...more,
});

/** Each has a limit of its own. */
const SOON = [
  ["openai-chat", false, "soon-1"],
  ["anthropic-messages", true, "soon-2"],
] as const;

const metered = meteredForAll({
  policies: [
    policy("day", { algorithm: "fixed-window", limit: 100, window: "31d" }, METER),
    policy("plain", { algorithm: "sliding-log", limit: 1, window: "1d" }),
    ...SOON.map(([, , kind]) => policy(kind, { algorithm: "token-bucket", limit: 1_000, window: "1s" }, METER)),
  ],
});

const clientsAt = (kind: string, maxRetries: number, fetch?: typeof globalThis.fetch) =>
  clientsOf(`${metered().gateway.url.href}${kind}`, maxRetries, fetch);
const using = (tokens: number) => ({
  ...{ model: "m", prompt: "Hi", maxTokens: 10 },
  plan: { tokens: 2, usage: { inputTokens: tokens - 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1 } },
});

/** Asks through a client that may try again. @returns what it throws, after how many tries. */
async function errorOf(kind: string, ask: Pick<Ask, "format" | "stream">) {
  let tries = 0;
  const { ask: send } = clientsAt(kind, 2, (...request) => {
    tries++;
    return fetch(...request);
  });
  const error = await send({ ...ask, ...using(1) }).catch((thrown) => thrown);
  return { error, tries };
}

it("a limit that is used up for long is an error with a message, and no client tries again", async () => {
  await clientsAt("day", 0).ask({ format: "openai-chat", stream: false, ...using(500) });
  await expect.poll(() => metered().counted(`${NAME}-day`), { timeout: 20_000, interval: 10 }).toEqual([500]);
  const sent = metered().provider.exchanges.length;
  for (const [format, stream] of WAYS) {
    const { error, tries } = await errorOf("day", { format, stream });
    expect(tries).toBe(1);
    if (format === "google-gemini") {
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status: 429 });
      // Its message is the body.
      const told = JSON.parse(error.message).error;
      expect(told).toMatchObject({ code: 429, status: "RESOURCE_EXHAUSTED" });
      expect(told.message).toMatch(/Over the limit .*100 tokens per 31 days/);
      const [{ "@type": type, retryDelay }] = told.details;
      expect([type, Number.parseFloat(retryDelay) > 60]).toEqual(["type.googleapis.com/google.rpc.RetryInfo", true]);
      continue;
    }
    const isAnthropic = format === "anthropic-messages";
    expect(error).toBeInstanceOf(isAnthropic ? anthropic.RateLimitError : openai.RateLimitError);
    expect(error.message).toMatch(/^429 .*Over the limit .*100 tokens per 31 days/);
    expect(error).toMatchObject({ status: 429, type: "rate_limit_error" });
    if (!isAnthropic) expect(error).toMatchObject({ code: "rate_limit_exceeded" });
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(Number(error.headers.get("retry-after"))).toBeGreaterThan(60);
  }
  expect(metered().provider.exchanges).toHaveLength(sent);
});

it("so is a limit without a meter: an error with the sentence", async () => {
  await clientsAt("plain", 0).ask({ format: "openai-chat", stream: false, ...using(1) });
  for (const [format, kind] of [
    ["openai-chat", openai.RateLimitError],
    ["anthropic-messages", anthropic.RateLimitError],
  ] as const) {
    const { error, tries } = await errorOf("plain", { format, stream: false });
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toMatch(/Over the limit .*1 per day.*Try again in \d+ seconds/);
    if (format === "openai-chat") expect(error).toMatchObject({ code: "quota_exceeded", type: "rate_limit" });
    expect([tries, error.headers.get("X-Should-Retry")]).toEqual([1, "false"]);
  }
});

it.each(SOON)("a short wait is obeyed, and the next try is admitted: %s", async (format, stream, kind) => {
  // Beyond the limit by 4,000 tokens: they come back in 4 s, even if a busy machine needs a part of them to ask again.
  await clientsAt(kind, 0).ask({ format, stream, ...using(5_000) });
  const left = async () => fieldsOf(await metered().gateway.fetch(`/${kind}/look`)).states![`${NAME}-${kind}`]!.r;
  await expect.poll(left, { timeout: 20_000, interval: 10 }).toBe(0);

  const answers: { atMs: number; status: number; waitMs: number }[] = [];
  const recording: typeof fetch = async (...request) => {
    const askedAtMs = performance.now();
    const response = await fetch(...request);
    const [previous] = answers;
    if (previous) expect(askedAtMs - previous.atMs).toBeGreaterThanOrEqual(previous.waitMs);
    const waitMs = Number(response.headers.get("retry-after-ms"));
    answers.unshift({ atMs: performance.now() - 1, status: response.status, waitMs });
    return response;
  };
  await clientsAt(kind, 1, recording).ask({ format, stream, ...using(1) });
  expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  expect(answers[1]!.waitMs).toBeGreaterThan(0);
});
