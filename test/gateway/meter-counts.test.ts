// Tokens, dollars, requests and slots in one policy list, through real clients: after every answer the counts in Redis
// are the `usage` of all answers, exactly, and so are the lines of `LOG_TOKENS`.

import { expect, it } from "vitest";
import { partOf } from "../support/cases/draws.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { sendRaw } from "../support/gateway/raw.ts";
import { type Ask, atOnce, type ReadUsage, WAYS } from "../support/llm/clients.ts";
import { billedUnits, MODELS, PRICES } from "../support/llm/dollars.ts";
import { drawnAsk } from "../support/llm/drawn-ask.ts";
import { meteredForAll } from "../support/llm/metered-gateway.ts";
import type { MockUsage } from "../support/llm/plan.ts";
import { mulberry32 } from "../support/mulberry32.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const NAME = uniqueName("meter");
const [REQUESTS, TOKENS, DOLLARS, SLOTS] = ["requests", "tokens", "dollars", "slots"].map(
  (end) => `${NAME}-${end}`,
) as [string, string, string, string];
/** More than any answer here has text. */
const LITTLE = 300;
const ROUNDS = partOf(5);
const OPERATIONS: Readonly<Record<string, string>> = {
  "openai-embeddings": "embeddings",
  "google-gemini": "generate_content",
};
const POSTS = { match: { method: "POST" }, key: ["global"] };
const fixed = (limit: number) => ({ algorithm: "fixed-window", limit, window: "31d" });

const metered = meteredForAll({
  policies: [
    { name: REQUESTS, ...POSTS, limits: [fixed(1_000_000)] },
    { name: SLOTS, ...POSTS, limits: [atATime(100)] },
    {
      name: TOKENS,
      ...POSTS,
      meter: { unit: "tokens" },
      limits: [fixed(1e9), { limit: 2e8, window: "30d", buckets: 60 }],
    },
    { name: DOLLARS, ...POSTS, meter: { unit: "usd", prices: PRICES }, limits: [fixed(10_000)] },
  ],
  stats: true,
  vars: { LOG_TOKENS: "on", ADMIN_TOKEN, STATS_FLUSH: "1s", LIVE_REFRESH: "0s" },
});

/** What all clients have read so far. */
const sum = { requests: 0, tokens: 0 };
const billed = () =>
  metered().provider.exchanges.reduce((units, exchange) => units + (exchange.usage ? billedUnits(exchange) : 0), 0);

async function askAndAdd(ask: Ask): Promise<ReadUsage> {
  const read = await metered().ask(ask);
  sum.requests += 1;
  sum.tokens += read.input + read.output;
  return read;
}

const soon = { timeout: 20_000, interval: 20 };
const lines = () => metered().gateway.logs.map((line) => JSON.parse(line));

/** The counts are settled in the background, soon after the answer. */
async function expectCounts(): Promise<void> {
  const counts = async () => [
    ...(await metered().counted(REQUESTS)),
    ...(await metered().counted(TOKENS)),
    ...(await metered().counted(DOLLARS)),
  ];
  await expect.poll(counts, soon).toEqual([sum.requests, sum.tokens, sum.tokens, billed()]);
  await expect.poll(() => lines().length, soon).toBe(sum.requests);
}

it("after each answer of each format, whatever it has used", async () => {
  const usages: Partial<MockUsage>[] = [
    {},
    // Exactly what was reserved is not special, and neither is little. Gemini's streams must state no less in the end
    // than before: the largest number counts.
    { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: LITTLE },
    { inputTokens: 300_000, cachedInputTokens: 299_999, cacheWriteTokens: 0, outputTokens: 90_000 },
  ];
  for (const [i, [format, stream]] of WAYS.entries()) {
    for (const usage of usages) {
      const model = MODELS[i % MODELS.length]!;
      const read = await askAndAdd({ format, stream, model, prompt: "How many?", plan: { seed: i + 1, usage } });
      await expectCounts();
      const exchange = metered().provider.exchanges.at(-1)!;
      expect(exchange.headers["accept-encoding"]).toBe("identity");
      const { at, ...line } = lines().at(-1);
      expect(Date.parse(at)).toBeGreaterThan(0);
      expect(line).toEqual({
        event: "answer",
        policies: [TOKENS, DOLLARS],
        "gen_ai.operation.name": OPERATIONS[format] ?? "chat",
        "gen_ai.request.model": model,
        "gen_ai.response.model": format === "google-gemini" ? `${model}-001` : model,
        "gen_ai.usage.input_tokens": read.input,
        "gen_ai.usage.cache_read.input_tokens": read.cached,
        "gen_ai.usage.cache_creation.input_tokens": exchange.usage!.cacheWriteTokens,
        "gen_ai.usage.output_tokens": read.output,
      });
    }
  }
});

it("after rounds of 100 requests of random sizes, 20 at a time, in 2 calls to the store for each", async () => {
  const seed = Date.now() % 2 ** 31;
  console.log(`seed ${seed}`);
  const next = mulberry32(seed);
  await expectCounts();
  metered().storeCalls();
  for (let round = 1; round <= ROUNDS; round++) {
    await atOnce(100, 20, async () => void (await askAndAdd(drawnAsk(next))));
    await expectCounts();
    expect(metered().storeCalls()).toBeLessThanOrEqual(200);
  }
  await watchSlots(SLOTS, metered().redis).free();
  // Both sides have counted the same.
  const told = metered().provider.told();
  expect(sum.tokens).toBe(told.inputTokens + told.outputTokens);
  expect(new Set(lines().map(({ event }) => event))).toEqual(new Set(["answer"]));
  // So have the metrics.
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const metrics = async () => {
    const text = await (await metered().gateway.fetch("/.headgate/metrics", { headers })).text();
    const counts = text.matchAll(/^headgate_(tokens|settled_units)_total{policy="(.*?)",.*} (\d+)$/gm);
    const sums: Record<string, number> = {};
    for (const [, metric, policy, count] of counts) {
      sums[`${metric} ${policy}`] = (sums[`${metric} ${policy}`] ?? 0) + Number(count);
    }
    return sums;
  };
  await expect.poll(metrics, soon).toMatchObject({
    [`tokens ${TOKENS}`]: sum.tokens,
    [`settled_units ${TOKENS}`]: sum.tokens,
    [`settled_units ${DOLLARS}`]: billed(),
  });
});

it("an answer without usage has a line that says so, and an error has none", async () => {
  const plain = { stream: false, model: "m", prompt: "Hi", maxTokens: 30 };
  await metered()
    .ask({ ...plain, format: "openai-chat", plan: { status: 500 } })
    .catch(() => {});
  await metered()
    .ask({ ...plain, format: "google-gemini", stream: true, plan: { omitUsage: true } })
    .catch(() => {});
  await expect.poll(() => lines().length, soon).toBe(sum.requests + 1);
  expect(lines().at(-1)).toMatchObject({
    "gen_ai.usage.input_tokens": Math.ceil("userroletextpartsHi".length / 4),
    "gen_ai.usage.output_tokens": Math.ceil(Buffer.byteLength(metered().provider.exchanges.at(-1)!.text) / 4),
    estimated: true,
  });
});

it("whatever the client says of its connection, the provider is asked for a plain answer", async () => {
  const headers = { Connection: "accept-encoding, x-gone, close", "Accept-Encoding": "gzip", "X-Gone": "1" };
  await (await sendRaw(metered().gateway, { method: "POST", path: "/v1/chat/completions", headers, body: "{}" })).body;
  const { headers: got } = metered().provider.exchanges.at(-1)!;
  expect(got["accept-encoding"]).toBe("identity");
  expect(got).not.toHaveProperty("x-gone");
});
