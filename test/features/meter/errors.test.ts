// Refusals and cut streams as the providers' own clients understand them.

import { crc32 } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { cutEvent, refusal } from "../../../src/features/meter/llm/errors.ts";
import type { Format } from "../../../src/features/meter/llm/index.ts";

const ERROR = { status: 429, message: "Over the limit tokens.", retryAfterMs: 20 };

/** Clients with a `fetch` that gives the answers in turn, and how often they have asked. */
function clients(...answers: (() => Response)[]) {
  let calls = 0;
  const fetch = async () => answers[Math.min(calls++, answers.length - 1)]!();
  const options = { apiKey: "k", fetch };
  const google = new GoogleGenAI({ apiKey: "k", httpOptions: { fetch } });
  return { openai: new OpenAI(options), anthropic: new Anthropic(options), google, calls: () => calls };
}

const messages = [{ role: "user" as const, content: "hi" }];
const ask = {
  "openai-chat": ({ openai }) => openai.chat.completions.create({ model: "m", messages }),
  "openai-responses": ({ openai }) => openai.responses.create({ model: "m", input: "hi" }),
  "openai-embeddings": ({ openai }) => openai.embeddings.create({ model: "m", input: "hi" }),
  "anthropic-messages": ({ anthropic }) => anthropic.messages.create({ model: "m", max_tokens: 1, messages }),
  "google-gemini": ({ google }) => google.models.generateContent({ model: "m", contents: "hi" }),
} as const satisfies Partial<Readonly<Record<Format, (c: ReturnType<typeof clients>) => Promise<unknown>>>>;
const FORMATS = Object.keys(ask) as (keyof typeof ask)[];

describe.each(FORMATS)("a refusal of %s", (format) => {
  it("is an error with its message, after it was tried again", async () => {
    const all = clients(() => refusal(format, ERROR));
    await expect(ask[format](all)).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining(ERROR.message),
    });
    // Google's client tries again only if it is told to.
    expect(all.calls()).toBe(format === "google-gemini" ? 1 : 3);
  });

  it("is not tried again if that is useless", async () => {
    const all = clients(() => refusal(format, { status: 429, message: "Too large.", never: true }));
    await expect(ask[format](all)).rejects.toThrow("Too large.");
    expect(all.calls()).toBe(1);
  });
});

it("the fields tell the wait in seconds and in milliseconds", () => {
  const { headers } = refusal("openai-chat", { ...ERROR, retryAfterMs: 1_200.5 });
  expect([headers.get("Retry-After"), headers.get("retry-after-ms")]).toEqual(["2", "1201"]);
});

it("a refusal of Gemini tells its status in its body, and the wait, unless there is none", async () => {
  const detailsOf = async (error: object) =>
    (await refusal("google-gemini", { ...ERROR, ...error }).json()).error.details?.[0].retryDelay;
  expect(await detailsOf({ retryAfterMs: 1_200.5 })).toBe("1.201s");
  expect(await detailsOf({ retryAfterMs: 0 })).toBe("0.001s");
  expect(await detailsOf({ never: true })).toBeUndefined();
  expect(await detailsOf({ retryAfterMs: undefined })).toBeUndefined();
  expect((await refusal("google-gemini", { ...ERROR, status: 402 }).json()).error).toMatchObject({ code: 402 });
});

it.each<[Format, object]>([
  ["cohere-chat", { message: ERROR.message }],
  ["bedrock-converse", { message: ERROR.message }],
  ["ollama-chat", { error: ERROR.message }],
])("a refusal of %s is %o", async (format, body) => expect(await refusal(format, ERROR).json()).toEqual(body));

describe("a cut stream", () => {
  it("of lines of JSON ends with one, and one of frames with a frame whose checksums are right", () => {
    const decoded = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    expect(decoded(cutEvent("ollama-chat", "lines", "Used up."))).toBe('{"error":"Used up."}\n');
    const frame = cutEvent("bedrock-invoke", "frames", "Used up.");
    const view = new DataView(frame.buffer);
    expect(view.getUint32(0)).toBe(frame.length);
    expect(view.getUint32(8)).toBe(crc32(frame.subarray(0, 8)));
    expect(view.getUint32(frame.length - 4)).toBe(crc32(frame.subarray(0, -4)));
    expect(decoded(frame.subarray(12 + view.getUint32(4), -4))).toBe('{"message":"Used up."}');
    expect(decoded(frame)).toContain(":exception-type\u0007\0\u0013throttlingException");
  });

  const stream = (format: Format, begin: string) => () =>
    new Response(begin + new TextDecoder().decode(cutEvent(format, "events", "Used up.")), {
      headers: { "Content-Type": "text/event-stream" },
    });
  const consume = async (events: Promise<AsyncIterable<unknown>>) => {
    let count = 0;
    try {
      for await (const _ of await events) count++;
    } catch (error) {
      return { count, error: String(error) };
    }
    return { count, error: undefined };
  };

  it("is an error of Google's client behind the events before it", async () => {
    const { google } = clients(stream("google-gemini", 'data: {"candidates":[]}\n\n'));
    const error = expect.stringMatching(/ApiError: got status: RESOURCE_EXHAUSTED.*Used up\./);
    // It looks for an error in each chunk that the network brings: here both events are in one.
    expect(await consume(google.models.generateContentStream({ model: "m", contents: "hi" }))).toEqual({
      count: 1,
      error,
    });
  });

  it("is an error of each client behind the events before it", async () => {
    const chat = clients(stream("openai-chat", 'data: {"choices":[]}\n\n')).openai;
    const responses = clients(
      stream("openai-responses", 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta"}\n\n'),
    ).openai;
    const anthropic = clients(stream("anthropic-messages", 'event: ping\ndata: {"type":"ping"}\n\n')).anthropic;
    const error = expect.stringContaining("Used up.");
    expect(await consume(chat.chat.completions.create({ model: "m", messages, stream: true }))).toEqual({
      count: 1,
      error,
    });
    expect(await consume(responses.responses.create({ model: "m", input: "hi", stream: true }))).toEqual({
      count: 1,
      error,
    });
    const told = anthropic.messages.create({ model: "m", max_tokens: 1, messages, stream: true });
    expect(await consume(told)).toMatchObject({ error });
  });
});
