// What a metered request has cost in the end: by its answer, by what was streamed, or by what was reserved.

import { beforeEach, describe, expect, it, vi } from "vitest";
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
import { AMAZON, chunk, frame } from "./providers/answers.ts";

/** 1 token of text. */
const PROMPT = { messages: ["four"] };
/** What is reserved for `PROMPT` with these output tokens. */
const ASKED = { ...PROMPT, max_tokens: 500 };
const RESERVED = 501;
const EIGHT_BYTES = "12345678";

/** Lines of one second are bounded. */
let lines = 0;

// Far from the end of a window.
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] }));

describe("an answer", () => {
  it.each<[string, () => Response | Promise<Response>, number]>([
    ["with usage, as JSON", () => json({ usage: usageOf(30, 40) }), 70],
    ["with usage above what was reserved", () => json({ usage: usageOf(30, 4_000) }), 4_030],
    ["with usage, as a stream", () => stream(delta("hi"), data({ choices: [], usage: usageOf(30, 4) })), 34],
    ["without usage, as JSON", () => json({ choices: [{ message: { content: EIGHT_BYTES } }] }), 1 + 2],
    ["whose model works on in the background", () => json({ status: "queued", usage: null, output: [] }), RESERVED],
    [
      "that tells its input only, and text",
      () => stream(delta(EIGHT_BYTES), data({ usage: { prompt_tokens: 9 } })),
      9 + 2,
    ],
    ["without usage, as a stream", () => stream(delta(EIGHT_BYTES), data("[DONE]")), 1 + 2],
    ["that is an error", () => json({ error: {} }, { status: 500 }), 0],
    ["that is a redirect", () => Response.redirect("https://example.com/", 307), 0],
    ["that has no body", () => new Response(null, { status: 204 }), RESERVED],
    ["of zeros, as a stream", () => stream(data({ choices: [], usage: usageOf(0, 0) })), RESERVED],
    // A mask of fields leaves the output out.
    ["that tells its input only, as JSON", () => json({ usage: { prompt_tokens: 6 } }), RESERVED],
    [
      "without usage and text, as a stream",
      () => stream(data({ choices: [{ delta: { role: "assistant" } }] })),
      RESERVED,
    ],
  ])("%s, costs what it says or what was reserved", async (_, answer, cost) => {
    const { chat, used, calls } = meteredHandler(answer);
    await (await chat(ASKED)).text();
    expect(await used()).toBe(cost);
    expect(calls()).toBe(cost === RESERVED ? 1 : 2);
  });

  it.each([
    ["is compressed", json({ usage: usageOf(3, 4) }, { headers: { "Content-Encoding": "gzip" } })],
    ["is text", new Response("hello")],
    ["has no type", new Response(new Uint8Array(3))],
  ])("that %s keeps what was reserved, and is logged", async (_, answer) => {
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { chat, used, calls } = meteredHandler(() => answer);
    await (await chat(ASKED)).arrayBuffer();
    expect([await used(), calls()]).toEqual([RESERVED, 1]);
    expect(JSON.parse(log.mock.lastCall![0])).toMatchObject({ event: "answer-not-metered", policies: ["tokens"] });
  });

  it.each<[string, Response, string | undefined]>([
    ["a form that nobody knows", json({ reply: "hi", used: { in: 9, out: 3 } }), "no usage"],
    ["Bedrock's form of a stream", stream(data({ contentBlockDelta: { delta: { text: "hi" } } })), "no usage"],
    ["zeros", stream(delta("hi"), data({ usage: usageOf(0, 0) })), "zero tokens"],
    ["an input of zero", json({ usage: usageOf(0, 3) }), "zero tokens"],
    ["text without usage", stream(delta("hi")), undefined],
    ["usage", json({ usage: usageOf(1, 3) }), undefined],
    ["an error", json({}, { status: 500 }), undefined],
  ])("in %s draws a line if its usage is in doubt", async (_, answer, reason) => {
    vi.setSystemTime(Date.now() + 10_000 * ++lines);
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { chat, done } = meteredHandler(() => answer);
    await (await chat(ASKED)).text();
    await done();
    const told = log.mock.calls.map(([line]) => (JSON.parse(line as string) as { reason: string }).reason);
    expect(told).toEqual(reason === undefined ? [] : [expect.stringContaining(reason)]);
  });

  it("that is thrown, costs nothing, and is thrown on", async () => {
    const { chat, used } = meteredHandler(() => Promise.reject(new Error("down")));
    await expect(chat(ASKED)).rejects.toThrow("down");
    expect(await used()).toBe(0);
  });
});

describe("a client that leaves", () => {
  it.each([
    ["what was reserved", "/v1/responses", 8, RESERVED],
    ["what was streamed, if it is more", "/v1/responses", 4_000, 1 + 1_000],
    ["what was streamed, in a format without a background", "/v1/chat/completions", 8, 1 + 2],
  ])("a stream whose model is said to work on in the background, pays %s", async (_, path, bytes, cost) => {
    const provider = openStream();
    const { send, used } = meteredHandler(() => provider.response);
    const body = { input: "four", max_output_tokens: 500, background: true, stream: true };
    const request = new Request(new URL(path, CHAT), { method: "POST", body: JSON.stringify(body) });
    const reader = (await send(request)).body!.getReader();
    provider.send(delta("x".repeat(bytes)));
    await reader.read();
    await reader.cancel();
    await provider.cancelled;
    expect(await used()).toBe(cost);
  });

  it.each<[string, (client: AbortController, body: ReadableStreamDefaultReader<Uint8Array>) => unknown]>([
    ["as its request says", (client) => client.abort()],
    ["by cancelling the body", (_, body) => body.cancel()],
  ])("in the middle, %s, pays what was streamed, and the provider is told", async (_, leave) => {
    const provider = openStream();
    const client = new AbortController();
    const { chat, used, calls } = meteredHandler(() => provider.response);
    const answer = await chat(ASKED, { signal: client.signal });
    provider.send(delta(EIGHT_BYTES));
    const body = answer.body!.getReader();
    await body.read();
    leave(client, body);
    await provider.cancelled;
    expect([await used(), calls()]).toEqual([1 + 2, 2]);
  });

  const IN_FRAME = frame(`{"delta":{"text":"${EIGHT_BYTES}"}}`, "contentBlockDelta");
  const IN_LINE = `{"model":"l","message":{"role":"assistant","content":"${EIGHT_BYTES}"},"done":false}\n`;
  const CANDIDATE = `{"candidates":[{"content":{"parts":[{"text":"${EIGHT_BYTES}"}]}}]`;
  const STATED = `"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":4,"totalTokenCount":54}}`;
  it.each<[string, string, string, readonly (string | Uint8Array)[], number]>([
    ["frames of converse", "/model/m/converse-stream", AMAZON, [IN_FRAME, IN_FRAME], 1 + 2 + 2],
    ["a frame and a half", "/model/m/converse-stream", AMAZON, [IN_FRAME, IN_FRAME.subarray(0, 60)], 1 + 2],
    [
      "frames of invoke",
      "/model/m/invoke-with-response-stream",
      AMAZON,
      [chunk('{"message":{"usage":{"input_tokens":50,"output_tokens":1}}}'), chunk(`{"delta":"${EIGHT_BYTES}"}`)],
      50 + 2,
    ],
    ["lines", "/api/chat", "application/x-ndjson", [IN_LINE, IN_LINE], 1 + 2 + 2],
    // Gemini's list is JSON: without usage at least what was reserved counts, with it what was stated until then.
    [
      "a list",
      "/v1/models/g:streamGenerateContent",
      "application/json",
      [`[${CANDIDATE}}`, `,${CANDIDATE}}`],
      RESERVED,
    ],
    ["a list with usage", "/v1/models/g:streamGenerateContent", "application/json", [`[${CANDIDATE},${STATED}`], 54],
  ])("in the middle of %s pays what has come", async (_, path, type, parts, cost) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const { send, used } = meteredHandler(() => new Response(readable, { headers: { "Content-Type": type } }));
    // Of each format.
    const most = { max_tokens: 500, inferenceConfig: { maxTokens: 500 }, generationConfig: { maxOutputTokens: 500 } };
    const body = JSON.stringify({ messages: ["four"], ...most, options: { num_predict: 500 } });
    const reader = (await send(new Request(new URL(path, CHAT), { method: "POST", body }))).body!.getReader();
    const provider = writable.getWriter();
    for (const part of parts) {
      provider.write(new Uint8Array(Buffer.from(part))).catch(() => {});
      await reader.read();
    }
    await reader.cancel();
    await expect(provider.closed).rejects.toBeUndefined();
    expect(await used()).toBe(cost);
  });

  const LONG = { choices: [{ message: { content: "x".repeat(4_000) } }], usage: usageOf(10, 600_000) };
  it.each<[string, object, number]>([
    ["a length, pays its usage: it was read before its first byte went on", { "Content-Length": "5000" }, 600_010],
    ["no length, pays at least what was reserved", {}, RESERVED],
  ])("after the first byte of an answer in JSON with %s", async (_, headers, cost) => {
    const text = JSON.stringify(LONG);
    const encoder = new TextEncoder();
    // Some of its text comes first, and its usage last.
    const chunks = [text.slice(0, 200), text.slice(200)];
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const chunk = chunks.shift();
          if (chunk === undefined) controller.close();
          else controller.enqueue(encoder.encode(chunk));
        },
      },
      { highWaterMark: 0 },
    );
    const limits = [{ algorithm: "fixed-window" as const, limit: 1e9, window: "1d" as const }];
    const answered = new Response(body, { headers: { "Content-Type": "application/json", ...headers } });
    const { chat, used } = meteredHandler(() => answered, [{ ...TOKENS, limits }]);
    const reader = (await chat(ASKED)).body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(await used()).toBe(cost);
  });

  // The provider answers when the client has gone.
  it.each<[string, () => Response | Promise<never>, number]>([
    ["an answer", () => json({ usage: usageOf(2, 3) }), RESERVED],
    ["a stream", () => stream(delta(EIGHT_BYTES)), RESERVED],
    ["401", () => json({}, { status: 401 }), 0],
    ["502", () => json({}, { status: 502 }), 0],
    ["a redirect", () => Response.redirect("https://example.com/", 307), 0],
    // A program may give up because its client has left.
    ["nothing", () => Promise.reject(new Error("aborted")), RESERVED],
  ])("before the answer pays by its status: %s", async (_, later, cost) => {
    const slots: PolicyInput = { name: "slots", key: "global", limits: [{ algorithm: "concurrency", limit: 1 }] };
    for (const policies of [[TOKENS], [TOKENS, slots]]) {
      const client = new AbortController();
      const asked = vi.fn(async (request: Request) => {
        client.abort();
        await new Promise((resolve) => setTimeout(resolve));
        expect(request.signal.aborted).toBe(false);
        return await later();
      });
      const { chat, used } = meteredHandler(asked, policies);
      await chat(ASKED, { signal: client.signal }).then(
        // Its body may have ended with the client.
        (answer) => answer.body?.cancel().catch(() => {}),
        () => {},
      );
      expect(await used()).toBe(cost);
      expect(asked.mock.lastCall![0].signal.aborted).toBe(true);
      if (policies.includes(slots)) expect(await used("slots")).toBe(0);
    }
  });

  it("while its body is read reserves nothing, and the provider is not asked", async () => {
    const client = new AbortController();
    const asked = vi.fn(() => json({}));
    const { send, used, calls } = meteredHandler(asked);
    const body = new ReadableStream({
      pull(controller) {
        client.abort();
        controller.error(new Error("gone"));
      },
    });
    const request = new Request(CHAT, { method: "POST", body, duplex: "half", signal: client.signal } as RequestInit);
    expect((await send(request)).status).toBe(499);
    expect([asked.mock.calls, calls(), await used()]).toEqual([[], 0, 0]);
  });

  it("while a leaky bucket delays it gets its units back: the provider was not asked", async () => {
    const client = new AbortController();
    const drip: PolicyInput = {
      name: "drip",
      key: "global",
      limits: [{ algorithm: "leaky-bucket", limit: 1, window: "10s", burst: 1, maxDelay: "60s" }],
    };
    const asked = vi.fn(() => json({ usage: usageOf(2, 3) }));
    const { chat, used, done } = meteredHandler(asked, [TOKENS, drip]);
    await (await chat(ASKED)).text();
    expect(await used()).toBe(5);
    const waiting = chat(ASKED, { signal: client.signal });
    await vi.waitFor(async () => expect(asked).toHaveBeenCalledTimes(1));
    setTimeout(() => client.abort(), 20);
    expect((await waiting).status).toBe(499);
    await done();
    expect(asked).toHaveBeenCalledTimes(1);
    expect(await used()).toBe(5);
  });
});

describe("what a provider gets", () => {
  const MODEL = "https://gate.example/v1beta/models/gemini-3:generateContent";
  it.each([
    [`${MODEL}?fields=usageMetadata.promptTokenCount&key=k`, `${MODEL}?key=k`],
    [`${MODEL}?%66ields=a&key=a%20b&fields=b`, `${MODEL}?key=a%20b`],
    [`${MODEL}?$fields=a&%24alt=json&$callback=f&$httpHeaders=X-Goog-FieldMask:a`, MODEL],
    [`${MODEL}?callback=f`, MODEL],
    [`${MODEL}?alt=sse&a=1&a=2&b`, `${MODEL}?alt=sse&a=1&a=2&b`],
    [`${MODEL}?alt=json`, `${MODEL}?alt=json`],
    // Only Google's servers take it.
    [`${CHAT}?fields=a`, `${CHAT}?fields=a`],
    // No format is known there.
    ["https://gate.example/mine?fields=a", "https://gate.example/mine?fields=a"],
  ])("asks for a whole answer, in a form that can be read: %s", async (url, expected) => {
    const seen: unknown[] = [];
    const { send } = meteredHandler((request) => {
      const { headers } = request;
      seen.push(request.url, headers.has("X-Goog-FieldMask"), headers.has("Range"), headers.get("X-Goog-Api-Key"));
      return json({});
    });
    const headers = { "x-goog-fieldmask": "usageMetadata", range: "bytes=0-9", "x-goog-api-key": "k" };
    await send(new Request(url, { method: "POST", body: "{}", headers }));
    expect(seen).toEqual([expected, !url.startsWith(MODEL), url.includes("/mine"), "k"]);
  });

  it.each([
    ["GET", {}],
    ["POST", {}],
  ])("by %s %o is the request itself, which costs nothing under a meter", async (method, init) => {
    const seen: Request[] = [];
    const requests: PolicyInput = { name: "requests", key: "global", limits: [{ limit: 10, window: "1d" }] };
    const { send, used } = meteredHandler(
      (request) => {
        seen.push(request);
        return json({ usage: usageOf(3, 4) });
      },
      [TOKENS, requests],
      { cost: 2 },
    );
    const request = new Request(CHAT, { method, ...init });
    await send(request);
    expect(seen[0]).toBe(request);
    expect([await used(), await used("requests")]).toEqual([0, 2]);
  });
});

describe("what is reserved", () => {
  const held = (policies?: PolicyInput[], options = {}) => {
    const provider = openStream();
    const handler = meteredHandler(() => provider.response, policies, options);
    const reservedBy = async (body: object) => {
      const answer = await handler.chat(body);
      const left = Number(/"tokens";r=(\d+)/.exec(answer.headers.get("RateLimit")!)![1]);
      await answer.body!.cancel();
      return 100_000 - left;
    };
    return { ...handler, reservedBy };
  };

  it("is the estimate", async () => {
    expect(await held().reservedBy(ASKED)).toBe(RESERVED);
    expect(await held().reservedBy(PROMPT)).toBe(1 + 4_096);
  });

  it("is at most half of the limit", async () => {
    const meter = { unit: "tokens", maxOutput: 1_000_000 } as const;
    expect(await held([{ ...TOKENS, meter }]).reservedBy({ max_tokens: 400_000 })).toBe(50_000);
  });

  it("is the program's own cost, which may read the body, and is settled by the answer", async () => {
    const cost = async (request: Request) => ((await request.clone().json()) as typeof ASKED).max_tokens * 2;
    expect(await held(undefined, { cost }).reservedBy(ASKED)).toBe(1_000);
    const { chat, used } = meteredHandler(() => json({ usage: usageOf(2, 3) }), undefined, { cost });
    await (await chat(ASKED)).text();
    expect(await used()).toBe(5);
  });

  it("counts images by the number of each policy", async () => {
    const image = { messages: [{ content: [{ type: "image_url", image_url: { url: "https://a.test" } }] }] };
    const meter = (perImage: number) => ({ unit: "tokens" as const, perImage });
    const policies = [
      { ...TOKENS, meter: meter(100) },
      { ...TOKENS, name: "others", meter: meter(7) },
    ];
    const { chat, used } = meteredHandler(() => new Response(null), policies);
    await chat(image);
    const [tokens, others] = [await used("tokens"), await used("others")];
    expect(tokens - others).toBe(93);
    // Also if the answer does not tell its input.
    const untold = meteredHandler(() => stream(delta(EIGHT_BYTES)), policies);
    await (await untold.chat(image)).text();
    expect((await untold.used("tokens")) - (await untold.used("others"))).toBe(93);
  });
});
