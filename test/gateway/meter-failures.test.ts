// What is charged when a metered request fails: at the provider, on the way, at the client, in the gateway.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";
import { type Ask, clientsOf, WAYS } from "../support/llm/clients.ts";
import { type MeteredGateway, startMeteredForAll } from "../support/llm/metered-gateway.ts";
import type { MockExchange } from "../support/llm/mock-provider.ts";
import type { MockFormat, MockPlan } from "../support/llm/plan.ts";
import { atATime, type Slots, watchSlots } from "../support/redis/slots.ts";

const NAME = uniqueName("failures");
const TOKENS = `${NAME}-tokens`;
const REQUESTS = `${NAME}-requests`;
const SLOTS = `${NAME}-slots`;
const PROMPT = "x".repeat(400 - "role user content".length + 2);
/** In messages and in text alone. */
const INPUT = { "openai-responses": 97, "openai-embeddings": 97, "google-gemini": 101 } as Readonly<
  Record<string, number>
>;
const inputOf = (format: MockFormat) => INPUT[format] ?? 100;
const MAX_OUTPUT = 300;
const MIB = 1024 * 1024;
const POSTS = { match: { method: "POST" }, key: ["global"] };
/** A short window: what a dead gateway has reserved is gone after it. */
const lapsing = {
  name: `${NAME}-lapsing`,
  match: { path: "/lapsing/*" },
  key: ["global"],
  meter: { unit: "tokens" },
  limits: [{ limit: 10_000, window: "3s" }],
};

let metered: MeteredGateway;
beforeAll(async () => {
  let stop: () => Promise<void>;
  [metered, stop] = await startMeteredForAll({
    policies: [
      {
        ...{ name: TOKENS, ...POSTS, meter: { unit: "tokens" } },
        limits: [{ algorithm: "fixed-window", limit: 1e9, window: "31d" }],
      },
      { name: REQUESTS, ...POSTS, limits: [{ algorithm: "fixed-window", limit: 1e6, window: "31d" }] },
      { name: SLOTS, ...POSTS, limits: [atATime(50)] },
      lapsing,
    ],
  });
  slots = watchSlots(SLOTS, metered.redis);
  return stop;
});

const soon = { timeout: 20_000, interval: 10 };
let slots: Slots;
const last = (): MockExchange => metered.provider.exchanges.at(-1)!;
const tokensOf = (text: string) => Math.ceil(Buffer.byteLength(text) / 4);

function ask(format: MockFormat, stream: boolean, plan: Partial<MockPlan>, more: Partial<Ask> = {}) {
  return metered.ask({ format, stream, model: "m", prompt: PROMPT, maxTokens: MAX_OUTPUT, plan, ...more });
}

/** What was charged before the running case. */
let before = 0;
let requests = 0;
const charged = async () => ((await metered.counted(TOKENS))[0] ?? 0) - before;

/** Runs a request. @returns the tokens that are charged for it in the end: the call that settles frees the slot. */
async function chargedBy(run: () => Promise<unknown>): Promise<number> {
  before += await charged();
  await run();
  requests++;
  await slots.free();
  expect(await metered.counted(REQUESTS)).toEqual([requests]);
  return await charged();
}

describe("an error before the first byte gives everything back", () => {
  it.each([429, 500])("%i", async (status) => {
    for (const [format, stream] of WAYS) {
      const failed = () => expect(ask(format, stream, { status })).rejects.toMatchObject({ status });
      expect(await chargedBy(failed)).toBe(0);
    }
    expect(last().status).toBe(status);
  });

  it("after it was reserved while the provider thought about it", async () => {
    const failed = async () => {
      const running = expect(ask("anthropic-messages", true, { status: 500, holdAfter: 0 })).rejects.toThrow();
      await expect.poll(() => metered.provider.inFlight, soon).toBe(1);
      expect(await charged()).toBe(100 + MAX_OUTPUT);
      metered.provider.resume();
      await running;
    };
    expect(await chargedBy(failed)).toBe(0);
  });
});

const STREAMS = ["openai-chat", "openai-responses", "anthropic-messages"] as const;
/** The input that the answer has told, or what was estimated; and this text. */
const streamedOf = ({ format, usage }: MockExchange, text: string) =>
  (usage?.inputTokens ?? inputOf(format)) + tokensOf(text);

describe.each(STREAMS)("%s: what was streamed is charged", (format) => {
  it.each(["broken", "error"] as const)("when the provider's stream ends as `%s`", async (end) => {
    const plan = { end, after: 40, tokens: 100, seed: 5 };
    const tokens = await chargedBy(() => expect(ask(format, true, plan)).rejects.toThrow());
    expect(tokens).toBe(streamedOf(last(), last().text));
    expect(tokens).toBeGreaterThan(150);
  });

  it("when the stream tells no usage", async () => {
    // The clients miss it: here they would have read it.
    const tokens = await chargedBy(() => ask(format, true, { tokens: 50, omitUsage: true }).catch(() => {}));
    expect(tokens).toBe(streamedOf(last(), last().text));
  });

  it("when the client leaves, up to what was on its way", async () => {
    let read = "";
    const tokens = await chargedBy(async () => {
      read = await leaveAfter(format, 600);
    });
    await last().closed;
    const { text } = last();
    console.log(`${format}: ${tokens} charged, ${streamedOf(last(), read)} read, ${streamedOf(last(), text)} sent`);
    expect(tokens).toBeGreaterThanOrEqual(streamedOf(last(), read));
    expect(tokens).toBeLessThanOrEqual(streamedOf(last(), text));
  });
});

/** Reads so much text of a stream without end, then leaves. @returns what it has read. */
async function leaveAfter(format: (typeof STREAMS)[number], length: number): Promise<string> {
  const { openai, anthropic } = metered;
  const headers = { "x-mock-plan": JSON.stringify({ tokens: 1e9, delayMs: 10, seed: 9 }) };
  let read = "";
  if (format === "openai-chat") {
    const body = { model: "m", messages: [{ role: "user" as const, content: PROMPT }], stream: true as const };
    for await (const { choices } of await openai.chat.completions.create(body, { headers })) {
      read += choices[0]?.delta.content ?? "";
      if (read.length > length) break;
    }
  } else if (format === "openai-responses") {
    for await (const event of await openai.responses.create({ model: "m", input: PROMPT, stream: true }, { headers })) {
      if (event.type === "response.output_text.delta") read += event.delta;
      if (read.length > length) break;
    }
  } else {
    const body = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: PROMPT }] };
    for await (const event of await anthropic.messages.create({ ...body, stream: true }, { headers })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") read += event.delta.text;
      if (read.length > length) break;
    }
  }
  return read;
}

const CHAT = "/v1/chat/completions";
/** The origin does not answer there. */
const HANGS = "/hangs";

/** A gateway whose origin answers a POST as the test says. */
async function startWithOrigin(onPost: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const name = uniqueName("leaving");
  let onHanging = (_response: ServerResponse) => {};
  const origin = await startOrigin((request, response) => {
    if (request.url === HANGS) return onHanging(response);
    return request.method === "GET" ? response.end() : onPost(request, response);
  });
  const limits = [{ algorithm: "fixed-window", limit: 1e9, window: "31d" }];
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], meter: { unit: "tokens" }, limits }],
    vars: { ORIGIN_URL: origin.url },
  });
  const send = (body: string, length = body.length) =>
    openRaw(gateway, `POST ${CHAT} HTTP/1.1\r\nContent-Length: ${length}`, body);
  return {
    send,
    /** What the policy counts at the moment: a look, which charges nothing. */
    used: async () => 1e9 - (fieldsOf(await gateway.fetch(CHAT)).states![name]!.r as number),
    /** Waits until workerd has noticed earlier resets: it has noticed a later one. */
    async noticesResets() {
      const arrived = Promise.withResolvers<ServerResponse>();
      onHanging = arrived.resolve;
      const client = openRaw(gateway, `GET ${HANGS} HTTP/1.1`);
      const left = once(await arrived.promise, "close");
      client.resetAndDestroy();
      await left;
    },
  };
}

describe("a client that leaves", () => {
  it.each([
    [401, 0],
    [200, 300],
  ])("before the status pays by it, and the origin is left: %i costs %i", async (status, cost) => {
    const [asked, left] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()];
    const { send, used, noticesResets } = await startWithOrigin((_, response) => {
      response.on("close", () => left.resolve());
      asked.resolve(response);
    });
    const client = send('{"max_tokens":300}');
    const response = await asked.promise;
    client.resetAndDestroy();
    await noticesResets();
    expect([await used(), response.closed]).toEqual([300, false]);
    response.writeHead(status, { "Content-Type": "application/json" }).write("{");
    await left.promise;
    await expect.poll(used, soon).toBe(cost);
    // By now more would have been given back.
    await noticesResets();
    expect(await used()).toBe(cost);
  });

  it("while a long body passes to the origin pays nothing", async () => {
    const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { send, used } = await startWithOrigin((request) => {
      request.once("data", () => begun.resolve()).on("close", () => left.resolve());
    });
    const client = send(`{"max_tokens":300,"input":"${"x".repeat(2 * MIB)}`, 3 * MIB);
    await begun.promise;
    expect(await used()).toBeGreaterThan(300);
    client.resetAndDestroy();
    await left.promise;
    await expect.poll(used, soon).toBe(0);
  });
});

it("a gateway that is killed leaves at most its reservations, and they lapse with their window", async () => {
  const gateway = await startGateway({
    policies: [lapsing],
    vars: { ORIGIN_URL: metered.provider.url },
  });
  const { ask } = clientsOf(`${gateway.url.href}lapsing`);
  const running = STREAMS.map((format) =>
    ask({ format, stream: true, model: "m", prompt: PROMPT, maxTokens: MAX_OUTPUT, plan: { holdAfter: 4 } }),
  );
  const ended = Promise.allSettled(running);
  await expect.poll(() => metered.provider.inFlight, soon).toBe(3);
  process.kill(gateway.pid, "SIGKILL");
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  const left = async () => {
    const states = fieldsOf(await metered.gateway.fetch("/lapsing/look")).states!;
    return states[lapsing.name]!.r;
  };
  expect(await metered.counted(lapsing.name)).toEqual([3 * (100 + MAX_OUTPUT) - 3]);
  await expect.poll(left, soon).toBe(10_000);
});

it("a provider that is down costs nothing", async () => {
  await metered.provider.close();
  for (const [format, stream] of WAYS) {
    const failed = () => expect(ask(format, stream, {})).rejects.toMatchObject({ status: 502 });
    expect(await chargedBy(failed)).toBe(0);
  }
});
