// `LOG_TOKENS`: a line for each answer, with the usage that its client has read. docs/metrics.md has the members.

import { expect, it, onTestFinished } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { type Ask, WAYS } from "../support/llm/clients.ts";
import { startMeteredGateway } from "../support/llm/metered-gateway.ts";

const OPERATIONS: Readonly<Record<string, string>> = {
  "openai-embeddings": "embeddings",
  "google-gemini": "generate_content",
};

it("each answer has a line with its tokens, whoever was asked", async () => {
  const name = uniqueName("logged");
  const { gateway, ask, provider } = await startMeteredGateway({
    policies: [
      {
        ...{ name, match: { method: "POST" }, key: ["global"], meter: { unit: "tokens" } },
        limits: [{ algorithm: "fixed-window", limit: 1e9, window: "31d" }],
      },
    ],
    vars: { LOG_TOKENS: "on" },
    stopAfter: (stop) =>
      onTestFinished(async () => {
        await stop();
      }),
  });
  const lines = () => gateway.logs.map((line) => JSON.parse(line));
  const askFor = (format: Ask["format"], stream: boolean, plan: Ask["plan"]) =>
    ask({ format, stream, model: "asked", prompt: "Hi", maxTokens: 30, plan });

  for (const [i, [format, stream]] of WAYS.entries()) {
    const read = await askFor(format, stream, { seed: i, parts: ["reasoning", "text"], tokens: 20 });
    await expect.poll(() => lines().length, { timeout: 20_000, interval: 10 }).toBe(i + 1);
    const { at, ...line } = lines()[i];
    expect(line).toEqual({
      event: "answer",
      policies: [name],
      "gen_ai.operation.name": OPERATIONS[format] ?? "chat",
      "gen_ai.request.model": "asked",
      "gen_ai.response.model": format === "google-gemini" ? "asked-001" : "asked",
      "gen_ai.usage.input_tokens": read.input,
      "gen_ai.usage.cache_read.input_tokens": read.cached,
      "gen_ai.usage.output_tokens": read.output,
    });
    expect(Date.parse(at)).toBeGreaterThan(0);
  }

  // Without usage: the estimated input, and the text.
  await askFor("google-gemini", true, { omitUsage: true }).catch(() => {});
  await expect.poll(() => lines().length, { timeout: 20_000, interval: 10 }).toBe(WAYS.length + 1);
  expect(lines().at(-1)).toMatchObject({
    "gen_ai.usage.input_tokens": Math.ceil("userroletextpartsHi".length / 4),
    "gen_ai.usage.output_tokens": Math.ceil(Buffer.byteLength(provider.exchanges.at(-1)!.text) / 4),
    estimated: true,
  });
  // An error has used nothing.
  await askFor("openai-chat", false, { status: 500 }).catch(() => {});
  await askFor("openai-chat", false, {});
  await expect.poll(() => lines().length, { timeout: 20_000, interval: 10 }).toBe(WAYS.length + 2);
});
