// The scanner against JSON.parse: the same usage and the same text, however the bytes are divided.

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createAnswerScanner } from "../../../src/features/meter/llm/scanner.ts";
import { draws } from "../../support/cases/draws.ts";
import { freshImport } from "../../support/fresh-import.ts";

type Scanner = typeof import("../../../src/features/meter/llm/scanner.ts");

const SSE = "text/event-stream; charset=utf-8";
const JSON_TYPE = "application/json";
const encoder = new TextEncoder();
const originalSet = Map.prototype.set;
const ESTIMATE = { inputTokens: 77 };

function scannerOf(type: string) {
  return createAnswerScanner(new Headers({ "Content-Type": type }), ESTIMATE)!;
}

/** @param cuts where the bytes are divided. */
function scan(type: string, text: string, cuts: readonly number[] = []) {
  const scanner = scannerOf(type);
  const bytes = encoder.encode(text);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < at.length; i++) scanner.push(bytes.subarray(at[i - 1], at[i]));
  return { usage: scanner.usage(), streamed: scanner.streamed(), model: scanner.model() };
}

const event = (data: unknown, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const usageOf = (inputTokens: number, cachedInputTokens: number, outputTokens: number, cacheWriteTokens = 0) => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  cacheWrite1hTokens: 0,
  outputTokens,
});

describe("usage", () => {
  it("of a chat stream is in its last chunk, and null in all others", () => {
    const chunk = (choices: unknown, usage: unknown) => event({ object: "chat.completion.chunk", choices, usage });
    const text =
      chunk([{ index: 0, delta: { role: "assistant", content: "Hello" } }], null) +
      chunk([{ index: 1, delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] } }], null);
    const last = chunk([], {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 5 },
    });
    expect(scan(SSE, text)).toMatchObject({ usage: undefined, streamed: usageOf(77, 0, Math.ceil((5 + 5) / 4)) });
    expect(scan(SSE, `${text}${last}data: [DONE]\n\n`).usage).toEqual(usageOf(19, 4, 10));
  });

  it.each(["response.completed", "response.incomplete", "response.failed"])("of responses is in %s", (type) => {
    const usage = { input_tokens: 37, input_tokens_details: { cached_tokens: 7 }, output_tokens: 11 };
    const text =
      event({ type: "response.created", response: { usage: null } }, "response.created") +
      event({ type: "response.output_text.delta", delta: "Hi there" }, "response.output_text.delta") +
      event({ type: "response.output_text.done", text: "Hi there" }, "response.output_text.done") +
      event({ type, response: { output: [{ content: [{ text: "Hi there" }] }], usage } }, type);
    expect(scan(SSE, text)).toMatchObject({ usage: usageOf(37, 7, 11), streamed: usageOf(37, 7, 2) });
  });

  it("of messages is told in parts: the input first, the output last and cumulative", () => {
    const start = event(
      {
        type: "message_start",
        message: {
          usage: { input_tokens: 3, cache_creation_input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 1 },
        },
      },
      "message_start",
    );
    const delta = event(
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "abcdefgh" } },
      "content_block_delta",
    );
    const end = [5, 15].map((output_tokens) => event({ type: "message_delta", delta: {}, usage: { output_tokens } }));
    const ping = event({ type: "ping" }, "ping");
    expect(scan(SSE, start + ping + delta)).toMatchObject({ usage: undefined, streamed: usageOf(123, 100, 2, 20) });
    expect(scan(SSE, start + delta + end[0] + end[1]).usage).toEqual(usageOf(123, 100, 15, 20));
  });

  const content = (text: string, usageMetadata: object, more: object = {}) => ({
    candidates: [{ content: { parts: [{ text, ...more }], role: "model" }, index: 0 }],
    usageMetadata: { ...usageMetadata, promptTokensDetails: [{ modality: "TEXT", tokenCount: 999 }] },
    modelVersion: "gemini-2.5-flash-001",
  });
  const CONTENTS = [
    // First it tells only the input.
    content("12345678", { promptTokenCount: 5, totalTokenCount: 5 }, { thought: true }),
    content("1234", { promptTokenCount: 5, totalTokenCount: 45, thoughtsTokenCount: 40 }, { thought: true }),
    content("x", { promptTokenCount: 5, cachedContentTokenCount: 3, candidatesTokenCount: 1, thoughtsTokenCount: 40 }),
    content("y", { promptTokenCount: 5, toolUsePromptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: 40 }),
  ];
  const CONTENT_USAGES = [usageOf(5, 0, 2), usageOf(5, 0, 40), usageOf(5, 3, 41), usageOf(12, 3, 42)];

  it.each([1, 2, 3, 4])("of Gemini is cumulative: after %i events the last one counts", (count) => {
    const told = CONTENTS.slice(0, count);
    const usage = CONTENT_USAGES[count - 1]!;
    const model = "gemini-2.5-flash-001";
    expect(scan(SSE, told.map((one) => event(one)).join(""))).toMatchObject({ usage, model });
    // Without `alt=sse` the events are a list in JSON. One that its client leaves has no end.
    const list = JSON.stringify(told, null, 2).slice(0, -1);
    for (let cut = 0; cut < list.length; cut += 3) expect(scan(JSON_TYPE, list, [cut])).toMatchObject({ usage, model });
    expect(scan(JSON_TYPE, `${list}]`).usage).toEqual(usage);
    const last = told.at(-1)!;
    expect(scan(JSON_TYPE, JSON.stringify(last)).model).toBe(model);
  });

  it.each([
    ["chat", { object: "chat.completion.chunk", model: "gpt-5-2026-08-07", choices: [] }],
    ["responses", { type: "response.created", response: { model: "gpt-5-2026-08-07", usage: null } }],
    ["messages", { type: "message_start", message: { model: "gpt-5-2026-08-07", content: [] } }],
    ["text", { model: "gpt-5-2026-08-07", choices: [{ delta: { content: '"model":"x"', model: "y" } }] }],
  ])("names the model that has answered: %s", (_, data) => {
    const text = event(data);
    for (let cut = 0; cut < text.length; cut++) expect(scan(SSE, text, [cut]).model).toBe("gpt-5-2026-08-07");
  });

  it("keeps no name that is too long, and none that is absent", () => {
    const { model } = scan(SSE, event({ model: "m".repeat(10_000) }), [50, 90, 150, 300]);
    expect(model!.length).toBeLessThan(300);
    expect(scan(SSE, event({ model: null })).model).toBeUndefined();
  });

  it.each([
    [
      "chat",
      { choices: [{ message: { content: "a" } }], usage: { prompt_tokens: 5, completion_tokens: 6 } },
      [5, 0, 6],
    ],
    ["embeddings", { data: [{ embedding: [0.1, -2e-3] }], usage: { prompt_tokens: 8, total_tokens: 8 } }, [8, 0, 0]],
    ["only a sum", { usage: { total_tokens: 8 } }, [8, 0, 0]],
    ["responses", { output: [], usage: { input_tokens: 1, output_tokens: 2 } }, [1, 0, 2]],
    ["messages", { usage: { input_tokens: 1, cache_read_input_tokens: 4, output_tokens: 2 } }, [5, 4, 2]],
    [
      "what OpenAI has written to its cache, which is part of the input",
      {
        usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 2, cache_write_tokens: 5 }, output_tokens: 3 },
      },
      [9, 2, 3, 5],
    ],
  ])("of a JSON answer: %s", (_, answer, [input, cached, output, written]) => {
    for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 2)]) {
      expect(scan(JSON_TYPE, text).usage).toEqual(usageOf(input!, cached!, output!, written));
    }
  });

  it.each([
    ["in a text", { choices: [{ message: { content: '"usage":{"prompt_tokens":1,"completion_tokens":1}' } }] }],
    ["elsewhere", { choices: [{ message: { usage: { prompt_tokens: 1 } } }], x: { usage: { prompt_tokens: 1 } } }],
    ["in a list", { usage: [{ prompt_tokens: 1, completion_tokens: 1 }] }],
    ["without counts", { usage: { prompt_tokens: "1", completion_tokens: -1, output_tokens: "1e400", cost: 3 } }],
  ])("is not taken %s", (_, answer) => {
    expect(scan(JSON_TYPE, JSON.stringify(answer)).usage).toBeUndefined();
  });

  const text = { choices: [{ delta: { content: "12345678" }, message: { content: "12345678" } }] };
  const stating = (usage: object) => ({ choices: [], usage });
  const chat = (prompt_tokens: number, completion_tokens: number) => stating({ prompt_tokens, completion_tokens });
  // 77 is the estimated input, 4 the text that is there twice.
  it.each<[string, readonly object[], readonly [number, number] | undefined, boolean]>([
    ["zeros beside text are not stated", [text, chat(0, 0)], undefined, true],
    ["zeros without text are not stated", [chat(0, 0)], undefined, true],
    ["the largest holds, also before zeros", [text, chat(9, 30), chat(0, 0)], [9, 30], false],
    ["the largest holds, in any order", [text, chat(9, 4), chat(30, 2)], [30, 4], false],
    ["no output beside text", [text, chat(9, 0)], [9, 4], true],
    ["no output and no text", [chat(9, 0)], [9, 0], false],
    ["no input", [text, chat(0, 30)], [77, 30], true],
    [
      "an input from a cache only",
      [text, stating({ input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 2 })],
      [5, 2],
      false,
    ],
    [
      "a sum that is more than its parts",
      [stating({ prompt_tokens: 5, completion_tokens: 1, total_tokens: 40 })],
      [5, 35],
      false,
    ],
    ["a sum alone", [stating({ total_tokens: 8 })], [8, 0], false],
  ])("%s", (_, events, expected, hasZeros) => {
    const scanner = scannerOf(SSE);
    scanner.push(encoder.encode(events.map((one) => event(one)).join("")));
    const usage = scanner.usage();
    expect(usage && [usage.inputTokens, usage.outputTokens]).toEqual(expected);
    expect(scanner.hasZeros()).toBe(hasZeros);
  });

  it.each<[string, string, object, boolean, boolean?]>([
    ["a number", JSON_TYPE, chat(9, 3), true],
    ["zero", JSON_TYPE, chat(9, 0), true],
    ["a sum", JSON_TYPE, stating({ prompt_tokens: 9, total_tokens: 9 }), true],
    ["text", JSON_TYPE, text, true],
    ["text of an answer that has not ended", JSON_TYPE, text, false, false],
    ["text of a stream that has not ended", SSE, text, true, false],
    ["the input alone", JSON_TYPE, stating({ prompt_tokens: 9 }), false],
    ["nothing", SSE, {}, false],
  ])("tells the output by %s", (_, type, answer, isKnown, hasEnded = true) => {
    const scanner = scannerOf(type);
    scanner.push(encoder.encode(type === SSE ? event(answer) : JSON.stringify(answer)));
    if (hasEnded) scanner.end();
    expect(scanner.isOutputKnown()).toBe(isKnown);
  });

  it("is not taken from an object that was cut off", () => {
    const text = '{"usage":{"prompt_tokens":12,"completion_tokens":34';
    expect(scan(JSON_TYPE, text).usage).toBeUndefined();
    expect(scan(JSON_TYPE, `${text}}`).usage).toEqual(usageOf(12, 0, 34));
  });

  it("needs an answer that can be read", () => {
    const of = (headers: Record<string, string>) => createAnswerScanner(new Headers(headers), ESTIMATE);
    expect(of({ "Content-Type": JSON_TYPE, "Content-Encoding": "gzip" })).toBeUndefined();
    expect(of({ "Content-Type": "text/html" })).toBeUndefined();
    expect(of({})).toBeUndefined();
    expect(of({ "Content-Type": JSON_TYPE, "Content-Encoding": "identity" })).toBeDefined();
    expect(of({ "Content-Type": "application/problem+json" })).toBeDefined();
  });
});

describe("streams", () => {
  const data = { choices: [{ delta: { content: "four" } }], usage: { prompt_tokens: 1, completion_tokens: 2 } };
  it.each([
    ["CRLF", event(data).replaceAll("\n", "\r\n")],
    ["CR", event(data).replaceAll("\n", "\r")],
    ["comments, ids and a byte order mark", `\uFEFF: hi\nid: 7\nretry: 1\ndata2: {"usage":1}\n${event(data)}`],
    ["data over several lines", `data: ${JSON.stringify(data, null, 2).replaceAll("\n", "\ndata:")}\n\n`],
    ["no last line end", event(data).trimEnd()],
    ["a broken event before", `data: {"a":"b\n\ndata: [[{\n\n${event(data)}`],
  ])("with %s", (_, text) => {
    const bytes = encoder.encode(text).length;
    const expected = { usage: usageOf(1, 0, 2), streamed: usageOf(1, 0, 1) };
    for (let cut = 0; cut <= bytes; cut++) expect(scan(SSE, text, [cut])).toMatchObject(expected);
  });
});

// How an event began is kept, and not read again. Byte by byte nothing is kept.
it.each([
  ["a model and usage", '{"model":"m","usage":{"prompt_tokens":9},"choices":[{"delta":{"content":"', '"}}]}'],
  ["as many lists as are looked at", `{"content":${"[".repeat(13)}{"text":"`, `"}${"]".repeat(13)}}`],
  [
    "more lists than are looked at",
    `{"content":${"[".repeat(40)}{"text":"`,
    `"}${"]".repeat(30)},{"text":"more"}${"]".repeat(10)}}`,
  ],
  ["more than is kept", `{"id":"${"x".repeat(2_000)}","delta":"`, '","text":"more"}'],
  ["a text before the text", '{"content":"', '","delta":{"text":"more"},"usage":{"output_tokens":3}}'],
  [
    "other objects behind it",
    '{"choices":[{"delta":{"content":"',
    '"}},{"delta":{"text":"more"}}],"x":{"y":[{"z":{}}]}}',
  ],
  ["a usage that is broken off", '{"usage":{"output_tokens":7,"delta":{"text":"', '"}},"delta":"more"}'],
])("events that begin alike, with %s, say what they say byte by byte", (_, start, end) => {
  const other = event({ choices: [{ delta: { content: "other" } }] });
  const texts = ["one", "three", "", "\\u00e9"].map((text) => `data: ${start}${text}${end}\n\n`).join("");
  const text = texts + other + texts + other.repeat(9) + texts;
  expect(scan(SSE, text)).toEqual(scan(SSE, text, [...encoder.encode(text).keys()]));
  expect(scan(SSE, text).streamed?.outputTokens).toBeGreaterThan(0);
});

/** Any text, with what needs an escape. */
const words = fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "é", "日", "🎉", "{", "}", ":", ",", "\u0001") });
const counts = fc.nat(1e6);
/** Members that no format knows, with traps in them. */
const unknown = fc.dictionary(
  fc.constantFrom("x", "usage2", "obfuscation", "logprobs"),
  fc.oneof(words, fc.constant({ usage: { prompt_tokens: 9 } }), fc.constant([1, "usage", null, { text: "t" }])),
);
const anEvent = fc.oneof(
  fc.record({ content: words, more: unknown }).map(({ content, more }) => ({
    value: { ...more, choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null },
    text: content,
  })),
  fc.record({ text: words, more: unknown }).map(({ text, more }) => ({
    value: { type: "content_block_delta", ...more, delta: { type: "text_delta", text } },
    text,
  })),
  words.map((delta) => ({ value: { type: "response.output_text.delta", delta }, text: delta })),
  fc.record({ input: counts, output: counts, text: words }).map(({ input, output, text }) => ({
    value: { response: { output: [{ content: [{ text }] }], usage: { input_tokens: input, output_tokens: output } } },
    text: "",
    usage: usageOf(input, 0, output),
  })),
);

it("says what JSON.parse of the events says, for any division of the bytes", () => {
  const drawn = fc.record({
    events: fc.array(anEvent, { maxLength: 8 }),
    cuts: fc.array(fc.nat(), { maxLength: 20 }),
    isEscaped: fc.boolean(),
  });
  fc.assert(
    fc.property(drawn, ({ events, cuts, isEscaped }) => {
      const ascii = (json: string) =>
        isEscaped ? json.replace(/[^\0-~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`) : json;
      const text = events.map(({ value }) => `data: ${ascii(JSON.stringify(value))}\n\n`).join("");
      const bytes = encoder.encode(events.map((one) => one.text).join("")).length;
      const told = events.flatMap((one) => ("usage" in one ? [one.usage] : []));
      const [input, output] = (["inputTokens", "outputTokens"] as const).map((name) => {
        return Math.max(0, ...told.map((one) => one[name]));
      });
      const found = scan(SSE, text, cuts);
      const usage = input || output ? usageOf(input || 77, 0, output || Math.ceil(bytes / 4)) : undefined;
      expect(found.usage).toEqual(usage);
      expect(found.streamed?.outputTokens).toBe(Math.ceil(bytes / 4));
    }),
    draws(500),
  );
});

it("never throws, for any bytes and any division", () => {
  const bytes = fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0a \n\r', "usage", "data:", "1", "prompt_tokens") });
  fc.assert(
    fc.property(bytes, fc.constantFrom(SSE, JSON_TYPE), fc.array(fc.nat()), (text, type, cuts) => {
      expect(scan(type, text, cuts)).toEqual(scan(type, text));
    }),
    draws(1_000),
  );
});

it("loading the scanner makes no table: each isolate loads it before its first answer, and few read an answer", async () => {
  const bytes = vi.spyOn(Uint8Array, "from");
  const entries: unknown[] = [];
  const set = vi.spyOn(Map.prototype, "set").mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    if (typeof key === "number" && typeof value === "number") entries.push(key);
    return originalSet.call(this, key, value);
  });
  const loaded = await freshImport<Scanner>("features/meter/llm/scanner.ts").finally(() => set.mockRestore());
  expect(entries).toEqual([]);
  expect(bytes).not.toHaveBeenCalled();
  bytes.mockRestore();
  expect(loaded.createAnswerScanner).not.toBe(createAnswerScanner);
});
