// Plan, pool and credits in dollars, spent by the real clients of OpenAI, Anthropic and Google: each policy holds
// exactly what the answers that it paid for have used, and the provider gets the client's bytes whoever pays.

import * as anthropic from "@anthropic-ai/sdk";
import { ApiError } from "@google/genai";
import * as openai from "openai";
import { beforeAll, expect, it } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { textOf } from "../support/llm/answer.ts";
import { type Ask, atOnce, clientsOf, type ReadUsage, WAYS } from "../support/llm/clients.ts";
import { type Dollars, dollarUnits } from "../support/llm/dollars.ts";
import { type MeteredGateway, startMeteredForAll } from "../support/llm/metered-gateway.ts";
import type { MockExchange } from "../support/llm/mock-provider.ts";
import type { MockFormat, MockPlan, PartKind } from "../support/llm/plan.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const [PLAN, POOL, CREDITS] = ["plan", "pool", "credits"].map(uniqueName) as [string, string, string];
const USERS = ["ann", "bob", "cid"];
const MODELS = ["gpt-5.2", "claude-opus-5-5", "gemini-2.5-flash", "unheard-of"];

/** Each policy has prices of its own, by the beginning of the model's name. */
const PRICES: Readonly<Record<string, Readonly<Record<string, Dollars>>>> = {
  [PLAN]: {
    "gpt-5": { input: 1.25, cachedInput: 0.125, output: 10 },
    "claude-": { input: 3, cachedInput: 0.3, output: 15 },
    default: { input: 2, output: 20 },
  },
  [POOL]: {
    "gpt-5": { input: 0.2, cachedInput: 0.02, output: 1.5 },
    "gemini-": { input: 0.1, output: 1 },
    default: { input: 0.3, cachedInput: 0.1, output: 2 },
  },
  [CREDITS]: {
    "gemini-": { input: 1, cachedInput: 0.1, output: 8 },
    default: { input: 4, cachedInput: 1, output: 16 },
  },
};
const policy = (name: string, key: string, dollars: number, more: object = {}) => ({
  ...{ name, key: [key], ...more },
  meter: {
    ...{ unit: "usd", maxOutput: 1_000 },
    prices: Object.fromEntries(
      Object.entries(PRICES[name]!).map(([start, price]) => [start === "default" ? start : `${start}*`, price]),
    ),
  },
  limits: [{ algorithm: "fixed-window", limit: dollars, window: "31d" }],
});

let metered: MeteredGateway;
beforeAll(async () => {
  let stop: () => Promise<void>;
  [metered, stop] = await startMeteredForAll({
    policies: [
      policy(PLAN, "header:x-user", 0.6, {
        ...{ match: { method: "POST" }, refusal: { status: 402 } },
        overflow: POOL,
      }),
      policy(POOL, "header:x-team", 0.2, { overflow: CREDITS }),
      policy(CREDITS, "global", 1.3),
    ],
  });
  return stop;
});

/** A request of a client, and what came of it. */
interface Sent {
  readonly user: string;
  readonly ask: Ask;
  tries: number;
  url?: URL;
  body?: string;
  /** What the client has read, or what it has thrown. */
  result?: ReadUsage | Error;
}
/** Each request tells the provider its place in this list. */
const sent: Sent[] = [];

async function askAs(user: string, ask: Ask, maxRetries = 0): Promise<Sent> {
  const one: Sent = { user, ask, tries: 0 };
  const more = {
    ...{ "x-user": user, "x-team": "acme", "headgate-paid-by": "forged" },
    "x-sent": String(sent.push(one) - 1),
  };
  const clients = clientsOf(metered.gateway.url.href, maxRetries, async (input, init) => {
    one.tries += 1;
    Object.assign(one, { url: new URL(String(input)), body: init!.body });
    const headers = new Headers(init!.headers);
    for (const [name, value] of Object.entries(more)) headers.set(name, value);
    return await fetch(input, { ...init, headers });
  });
  one.result = await clients.ask(ask).catch((error: Error) => error);
  return one;
}

const isSpent = ({ result }: Sent) => (result as { status?: number }).status === 402;
const sentOf = ({ headers }: MockExchange) => sent[Number(headers["x-sent"])]!;

/** What the provider must get for it: the client's bytes. */
function expectForwarded(exchange: MockExchange): { payer: string; key: string; model: string } {
  const { url, headers, body } = exchange;
  const { user, ask, ...from } = sentOf(exchange);
  const payer = String(headers["headgate-paid-by"]);
  expect([payer, url, body.toString()]).toEqual([payer, from.url!.pathname + from.url!.search, from.body]);
  expect(headers["content-length"]).toBe(String(body.length));
  return { payer, key: payer === PLAN ? user : "", model: ask.model };
}

/** Bytes of text beside the prompt: roles and names of members. */
const BESIDE: Partial<Record<MockFormat, number>> = {
  "openai-chat": "role".length + "user".length + "content".length,
  "anthropic-messages": "role".length + "user".length + "content".length,
  "google-gemini": "role".length + "user".length + "parts".length + "text".length,
};
const tokensOf = (bytes: number) => Math.ceil(bytes / 4);

/** The usage that an answer costs: as told, otherwise by its text. Undefined: an error, which costs nothing. */
function costOf(exchange: MockExchange): ReadUsage | undefined {
  const { format, plan, answer, usage, text } = exchange;
  if (!answer) return undefined;
  const { prompt, stream } = sentOf(exchange).ask;
  const isWhole = plan.end === "complete" || plan.end === "incomplete";
  // Gemini tells in each event what was used by then.
  const output = usage && (isWhole || format === "google-gemini") ? usage.outputTokens : undefined;
  const said = stream ? text : format === "openai-embeddings" ? "" : answer.parts.map(textOf).join("");
  return {
    input: usage?.inputTokens ?? tokensOf(Buffer.byteLength(prompt) + (BESIDE[format] ?? 0)),
    cached: usage?.cachedInputTokens ?? 0,
    output: output ?? tokensOf(Buffer.byteLength(said)),
  };
}

/** The units that each client of each policy has to pay for all answers so far, in ascending order. */
function expectedUnits(): Record<string, number[]> {
  const units: Record<string, Record<string, number>> = { [PLAN]: {}, [POOL]: {}, [CREDITS]: {} };
  for (const exchange of metered.provider.exchanges) {
    const { payer, key, model } = expectForwarded(exchange);
    const cost = costOf(exchange);
    const { result } = sentOf(exchange);
    if (!(result instanceof Error)) expect(result).toEqual(cost);
    if (!cost) continue;
    const prices = PRICES[payer]!;
    const price = Object.keys(prices).find((start) => model.startsWith(start)) ?? "default";
    const ofPolicy = units[payer]!;
    ofPolicy[key] = (ofPolicy[key] ?? 0) + dollarUnits(cost, prices[price]!);
  }
  return Object.fromEntries(Object.entries(units).map(([name, of]) => [name, sorted(Object.values(of))]));
}
const sorted = (numbers: number[]) => numbers.toSorted((a, b) => a - b);

async function countedUnits(): Promise<Record<string, number[]>> {
  const counts = [PLAN, POOL, CREDITS].map(async (name) => [name, sorted(await metered.counted(name))] as const);
  return Object.fromEntries(await Promise.all(counts));
}

/** The counts are settled in the background, soon after the answer. */
const soon = { timeout: 20_000, interval: 50 };
const expectCounts = async () => await expect.poll(countedUnits, soon).toEqual(expectedUnits());

const PARTS: readonly PartKind[][] = [["text"], ["reasoning", "text"], ["text", "tool"], ["refusal"]];

/** Behind so many events there is text in every format. A stream without any costs what was reserved. */
const AFTER_TEXT = 8;

/** Requests of random sizes, some of which the provider fails. */
function drawAsks(count: number, random: () => number): { readonly user: string; readonly ask: Ask }[] {
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const fault = (stream: boolean, tokens: number): Partial<MockPlan> => {
    const kind = random();
    if (kind < 0.08) return { status: one([400, 429, 500, 529]) };
    if (kind < 0.16) return { omitUsage: true };
    if (kind < 0.3 && stream)
      return { end: one(["broken", "error"] as const), after: AFTER_TEXT + upTo(tokens - AFTER_TEXT) };
    // Gemini's streams must state no less in the end than before: the largest number counts.
    const usage = { outputTokens: 200 + upTo(one([200, 3_000])) };
    return { parts: one(PARTS), chunk: one(["event", 300] as const), usage };
  };
  return Array.from({ length: count }, () => {
    const [format, stream] = one(WAYS);
    const tokens = AFTER_TEXT + upTo(one([4, 40]));
    const ask = {
      ...{ format, stream, model: one(MODELS) },
      prompt: `é🙂 "model":"gpt-5.2" `.repeat(1 + upTo(one([3, 100]))),
      ...(random() < 0.7 && { maxTokens: 1 + upTo(2_000) }),
      plan: { seed: upTo(2 ** 31), tokens, ...fault(stream, tokens) },
    };
    return { user: one(USERS), ask };
  });
}

/** How each client tells that all is spent. */
function expectSpent(format: MockFormat, error: unknown): void {
  const message = expect.stringContaining(`Over the limit ${PLAN}`);
  if (format === "google-gemini") {
    expect(error).toBeInstanceOf(ApiError);
    // Its message is the body.
    expect(JSON.parse((error as Error).message).error).toMatchObject({ code: 402, message });
  } else expect(error).toBeInstanceOf(format === "anthropic-messages" ? anthropic.APIError : openai.APIError);
  expect(error).toMatchObject({ status: 402, message });
}

it("500 requests: each budget holds what its answers used, at its own prices", async () => {
  const asks = drawAsks(500, mulberry32(36));
  await atOnce(asks.length, 20, async (i) => void (await askAs(asks[i]!.user, asks[i]!.ask)));
  const { exchanges } = metered.provider;
  for (const payer of [PLAN, POOL, CREDITS]) {
    const paid = exchanges.filter(({ headers }) => headers["headgate-paid-by"] === payer);
    const failed = paid.filter(({ answer, plan }) => !answer || plan.end !== "complete" || plan.omitUsage);
    expect(paid.length).toBeGreaterThan(60);
    expect(failed.length).toBeGreaterThan(5);
  }
  await expectCounts();

  // Each of these answers is dearer than all budgets together.
  const dear: Ask = {
    ...{ format: "openai-chat", stream: false, model: "gpt-5.2", prompt: "x", maxTokens: 1 },
    plan: { usage: { outputTokens: 5_000_000 } },
  };
  let admitted = 0;
  for (const user of USERS) for (; !isSpent(await askAs(user, dear)); admitted++) await expectCounts();
  expect(admitted).toBeLessThanOrEqual(USERS.length + 2);

  const before = exchanges.length;
  for (const [i, [format, stream]] of WAYS.entries()) {
    const ask = { ...dear, format, stream };
    const { result, tries } = await askAs(USERS[i % USERS.length]!, ask, 2);
    expectSpent(format, result);
    expect(tries).toBe(1);
  }
  expect(exchanges).toHaveLength(before);
  expect(exchanges.length + sent.filter(isSpent).length).toBe(sent.length);
  await expectCounts();
  const events = metered.gateway.logs.map((line) => JSON.parse(line).event as string);
  // Embeddings that state nothing have no text either.
  const known = ["note", "refused", "answer-not-metered"];
  expect(events.filter((event) => !known.includes(event))).toEqual([]);
});
