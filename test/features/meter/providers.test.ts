// What providers answer, by the forms they document: the units, and the dollars to the last micro-dollar. And what
// broken or strange answers are taken for.

import { describe, expect, it, vi } from "vitest";
import type { Estimate } from "../../../src/features/meter/llm/estimate.ts";
import { costOf, priceOf } from "../../../src/features/meter/llm/prices.ts";
import { createAnswerScanner } from "../../../src/features/meter/llm/scanner.ts";
import { answeredUnits, settledUnits } from "../../../src/features/meter/llm/units.ts";
import type { Usage } from "../../../src/features/meter/llm/usage.ts";
import type { Price } from "../../../src/kernel/core/policy.ts";
import { AMAZON, ANSWERS, chunk, events, frame } from "./providers/answers.ts";

const JSON_TYPE = "application/json";
const SSE = "text/event-stream";
const LINES = "application/x-ndjson";
/** More than any answer costs: an answer that does not say all of its usage keeps it. */
const RESERVED = 1_000_000_001;
const ASKED: Estimate = { inputTokens: 77, model: "asked", format: "openai-chat" };
const PRICE: Price = { input: 1, output: 1 };
/** Of the chunks in which an answer comes. */
const SIZES = [1, 2, 3, 7, 64, Number.MAX_SAFE_INTEGER];

const bytesOf = (body: string | Uint8Array) => (typeof body === "string" ? new TextEncoder().encode(body) : body);

function scan(type: string, body: string | Uint8Array, size: number) {
  const scanner = createAnswerScanner(new Headers({ "Content-Type": type }), ASKED)!;
  const bytes = bytesOf(body);
  for (let i = 0; i < bytes.length; i += size) scanner.push(bytes.subarray(i, i + size));
  scanner.end();
  return scanner;
}

/** What a policy of dollars and one of tokens settle. Absent: what was reserved stays. */
function settle(scanner: ReturnType<typeof scan>, asked: Estimate, price: Price) {
  const meters = { usd: { unit: "usd", prices: { default: price } }, tokens: { unit: "tokens" } } as const;
  const prices = Object.entries(meters).map(
    ([name, meter]) => [name, (usage: Usage) => answeredUnits(meter, scanner.model(), asked, usage)] as const,
  );
  return settledUnits(scanner, asked, { usd: RESERVED, tokens: RESERVED }, new Map(prices));
}

describe("a documented answer costs what it costs by hand", () => {
  it.each(ANSWERS.map((one) => [one.name, one] as const))("%s", (_, { type, body, format, price, micros, units }) => {
    for (const size of SIZES) {
      const scanner = scan(type, body, size);
      const usage = scanner.usage()!;
      expect([costOf(price, usage, undefined) / 1e6, settle(scanner, { ...ASKED, format }, price)]).toEqual([
        micros,
        { usd: units, tokens: usage.inputTokens + usage.outputTokens },
      ]);
    }
  });
});

/** The same for all sizes of chunks. @returns the tokens that are settled. Undefined: what was reserved stays. */
function tokensOf(type: string, body: string | Uint8Array, sizes = SIZES): number | undefined {
  const found = new Set(sizes.map((size) => settle(scan(type, body, size), ASKED, PRICE).tokens));
  expect(found.size).toBe(1);
  return [...found][0];
}

/** 2 tokens of text. */
const TEXT = "12345678";
const said = { choices: [{ index: 0, delta: { content: TEXT } }] };
const sse = (...all: readonly object[]) => events(...all).body;
const stating = (usage: object) => ({ choices: [], usage });
const usage = (prompt_tokens: number, completion_tokens: number) => stating({ prompt_tokens, completion_tokens });

describe("a number of tokens", () => {
  // 100 of input. Not stated: the text counts.
  it.each<[string, string, number]>([
    ["between gaps", "\r\n\t 12 \n", 112],
    ["with decimals", "11.2", 112],
    ["with an exponent", "1.2E+1", 112],
    ["zero", "0", 102],
    ["null", "null", 102],
    ["true", "true", 102],
    ["as text", '"12"', 102],
    ["in a list", "[12]", 102],
    ["in an object", '{"output":12}', 102],
    ["negative", "-12", 102],
    ["above all doubles", "1e400", 102],
    ["of 31 digits", `1${"0".repeat(30)}`, 102],
    ["2^53: the most that is counted", "9007199254740992", 1_000_000_000],
  ])("%s", (_, number, tokens) => {
    const text = `"choices":[{"message":{"content":"${TEXT}"}}]`;
    const stated = `"usage":{"prompt_tokens":100,"completion_tokens":${number}}`;
    expect(tokensOf(JSON_TYPE, `{${text},${stated}}`)).toBe(tokens);
    expect(tokensOf(JSON_TYPE, `{${stated},${text}}`)).toBe(tokens);
  });

  it("of 31 digits is none: without text, what was reserved stays", () => {
    expect(tokensOf(JSON_TYPE, `{"usage":{"prompt_tokens":9,"completion_tokens":1${"0".repeat(30)}}}`)).toBeUndefined();
  });

  it("behind a gap of a megabyte", () => {
    const gap = " ".repeat(1_000_000);
    const body = `{"usage"${gap}:${gap}{"prompt_tokens":${gap}9,"completion_tokens":3${gap}}}`;
    expect(tokensOf(JSON_TYPE, body, [4_093, 65_536])).toBe(12);
  });
});

describe("usage", () => {
  it.each<[string, Uint8Array, number | undefined]>([
    ["early", sse(usage(9, 30), said), 39],
    ["after the end", new Uint8Array([...sse(said), ...sse(usage(9, 30))]), 39],
    ["that becomes less", sse(usage(9, 30), said, usage(8, 2)), 39],
    [
      "whose zeros have other names",
      sse(said, stating({ ...usage(9, 30).usage, input_tokens: 0, output_tokens: 0 })),
      39,
    ],
    ["whose hits are none by another name", sse(stating({ ...usage(9, 3).usage, prompt_cache_hit_tokens: 0 })), 12],
    ["of zeros", sse(said, usage(0, 0)), 77 + 2],
    ["of zeros without text", sse(usage(0, 0)), undefined],
    ["null", sse(said, { choices: [], usage: null }), 77 + 2],
    ["a list", sse(said, stating([{ prompt_tokens: 9, completion_tokens: 3 }])), 77 + 2],
  ])("%s", (_, body, tokens) => expect(tokensOf(SSE, body)).toBe(tokens));

  it("of a cache is the most that was stated by any name", () => {
    const hits = { cached_tokens: 5, prompt_cache_hit_tokens: 0 };
    expect(scan(SSE, sse(stating({ ...usage(9, 3).usage, ...hits })), 3).usage()).toMatchObject({
      cachedInputTokens: 5,
    });
  });
});

/** What users and models write: members that mean something elsewhere, in the order in which they would be believed. */
const COUNTS = { prompt_tokens: 50_000, input_tokens: 50_000, completion_tokens: 50_000, output_tokens: 50_000 };
const TRAP = {
  ...{ model: "trap", service_tier: "priority", serviceTier: { type: "priority" }, type: "web_search_call" },
  ...{ usage: { ...COUNTS, server_tool_use: { web_search_requests: 7 }, iterations: [COUNTS] } },
  ...{ usageMetadata: { promptTokenCount: 50_000 }, x_groq: { usage: COUNTS }, meta: { billed_units: COUNTS } },
  ...{ prompt_eval_count: 50_000, eval_count: 50_000, prompt_token_count: 50_000, generation_token_count: 50_000 },
  ...{
    "amazon-bedrock-invocationMetrics": { inputTokenCount: 50_000 },
    cacheDetails: [{ ttl: "1h", inputTokens: 50_000 }],
  },
  ...{ item: { type: "web_search_call" }, output: [{ type: "web_search_call" }] },
};
const WRITTEN = JSON.stringify(TRAP);
const real = usage(9, 3).usage;
const call = { type: "function", function: { name: "f", arguments: WRITTEN } };

it.each<[string, object]>([
  ["a message", { choices: [{ message: { content: WRITTEN, refusal: WRITTEN, ...TRAP } }] }],
  [
    "parts of a message",
    { choices: [{ message: { content: [TRAP, { type: "text", text: WRITTEN, annotations: [TRAP] }] } }] },
  ],
  ["a delta", { choices: [{ delta: { content: WRITTEN, ...TRAP } }] }],
  ["arguments", { choices: [{ message: { tool_calls: [call, { function: { arguments: TRAP } }, TRAP] } }] }],
  [
    "an item",
    {
      output: [
        { ...TRAP, type: "message", content: [TRAP] },
        { type: "function", arguments: WRITTEN },
      ],
    },
  ],
  [
    "an item that a stream adds",
    { type: "response.output_item.added", item: { ...TRAP, type: "message", content: [TRAP] } },
  ],
  ["what a response repeats", { response: { metadata: TRAP, instructions: [TRAP], tools: [TRAP], text: TRAP } }],
  ["text of a response", { response: { output: [{ ...TRAP, type: "message", content: [TRAP] }] } }],
  ["JSON in parts", { type: "content_block_delta", delta: { type: "input_json_delta", partial_json: WRITTEN } }],
  [
    "input of a tool",
    {
      content: [
        { type: "tool_use", name: "f", input: TRAP },
        { type: "text", text: WRITTEN },
      ],
    },
  ],
  [
    "a block",
    { type: "content_block_start", content_block: { ...TRAP, type: "web_search_tool_result", content: [TRAP] } },
  ],
  [
    "arguments of Gemini",
    { candidates: [{ content: { parts: [{ functionCall: { args: TRAP } }, { text: WRITTEN }] } }] },
  ],
  ["arguments of Ollama", { message: { content: WRITTEN, tool_calls: [{ function: { arguments: TRAP } }] } }],
  ["arguments of Bedrock", { output: { message: { content: [{ toolUse: { input: TRAP } }, { text: WRITTEN }] } } }],
  ["logs", { choices: [{ logprobs: { content: [TRAP] }, message: {} }], error: TRAP, metadata: TRAP }],
])("nothing is believed that stands in %s", (_, answer) => {
  for (const [type, body] of [
    [JSON_TYPE, JSON.stringify({ ...answer, model: "m", usage: real })],
    [SSE, sse(answer, { model: "m", choices: [], usage: real })],
  ] as const) {
    for (const size of SIZES) {
      const scanner = scan(type, body, size);
      const { inputTokens, outputTokens, calls, tier, cacheWrite1hTokens } = scanner.usage()!;
      expect([scanner.model(), inputTokens, outputTokens, calls, tier, cacheWrite1hTokens]).toEqual([
        ...["m", 9, 3, undefined, undefined, 0],
      ]);
    }
  }
});

describe("names", () => {
  const LONG = "x".repeat(5_000);
  it.each<[string, string, string]>([
    ["long", `${"y".repeat(200)}-dear`, `${"y".repeat(200)}-dear`],
    ["longer than any that is looked at", LONG, LONG.slice(0, 256)],
    ["with escapes, as PHP writes them", "openai\\/gpt-5", "openai/gpt-5"],
    ["with escapes, as Python writes them", "\\u6a21\\u578b-1", "模型-1"],
    ["in Chinese", "模型-1", "模型-1"],
    ["with an escape that is none", "gpt\\q", "gpt\\q"],
  ])("of a model, %s, are the same for all chunks", (_, written, model) => {
    for (const size of SIZES) expect(scan(JSON_TYPE, `{"model":"${written}"}`, size).model()).toBe(model);
  });

  /** More tools than are counted. */
  const MANY = Array.from({ length: 100 }, (_, i) => `tool${i}`);
  it("of many tools: the first ones go on counting", () => {
    const asked = (calls: number) => Object.fromEntries(MANY.map((name) => [`${name}_requests`, calls]));
    const bodies = [
      sse(...[1, 5].map((calls) => stating({ ...real, server_tool_use: asked(calls) }))),
      bytesOf(
        JSON.stringify({
          output: Array(5)
            .fill(MANY.map((name) => ({ type: `${name}_call` })))
            .flat(),
          usage: real,
        }),
      ),
    ];
    for (const body of bodies) {
      for (const size of SIZES) {
        const { calls } = scan(body === bodies[0] ? SSE : JSON_TYPE, body, size).usage()!;
        expect(calls).toEqual(Object.fromEntries(MANY.slice(0, 64).map((name) => [name, 5])));
      }
    }
  });

  it("of tools that are too long are none, for all chunks", () => {
    const body = JSON.stringify({
      usage: { ...real, server_tool_use: { [`${LONG}_requests`]: 5, web_search_requests: 2 } },
    });
    for (const size of SIZES) expect(scan(JSON_TYPE, body, size).usage()!.calls).toEqual({ web_search: 2 });
  });

  it("of 1,000 models are put in order once: a new name costs no more than to compare it", () => {
    const patterns = Array.from({ length: 1_000 }, (_, i) => [`${"model-".repeat(40)}${i}*`, { ...PRICE, input: i }]);
    const prices = { ...(Object.fromEntries(patterns) as Record<string, Price>), default: PRICE };
    expect(priceOf(prices, `${"model-".repeat(40)}77-2026`)!.input).toBe(77);
    const lowered = vi.spyOn(String.prototype, "toLowerCase");
    expect(priceOf(prices, `${"model-".repeat(40)}x`)).toBe(PRICE);
    expect(lowered).toHaveBeenCalledTimes(1);
    lowered.mockRestore();
  });
});

describe("lines", () => {
  const line = (value: object) => JSON.stringify(value);
  const spoken = line({ message: { content: TEXT } });
  const end = line({ done: true, prompt_eval_count: 9, eval_count: 3 });
  it.each<[string, string, number | undefined]>([
    ["that end with CRLF", `${spoken}\r\n${end}\r\n`, 12],
    ["with empty ones, and no end", `\n\n${spoken}\n \n${end}`, 12],
    ["of which one is cut in a number", `${spoken}\n{"eval_count":4\n${end}\n`, 12],
    ["of which one is cut in a text", `{"message":{"content":"\n${spoken}\n${end}\n`, 12],
    ["of which one is cut in an escape", `{"message":{"content":"\\u00\n${spoken}\n${end}\n`, 12],
    ["of which one opens more than it closes", `[[{"message":\n${spoken}\n]]}}\n${end}\n`, 12],
    ["of which one is no JSON", `oops: 5, "eval_count": 9\n${end}\n`, 12],
    ["of which the last one is cut in a number", `${spoken}\n${end.slice(0, -1)}`, 9 + 2],
  ])("%s", (_, body, tokens) => expect(tokensOf(LINES, body)).toBe(tokens));
});

describe("frames", () => {
  const spoken = frame({ delta: { text: TEXT } }, "contentBlockDelta");
  const end = frame({ usage: { inputTokens: 9, outputTokens: 3, totalTokens: 12 } }, "metadata");
  /** @param total the length it says. @param headers that of its headers. */
  const saying = (one: Buffer, total: number, headers = one.readUInt32BE(4)) => {
    const changed = Buffer.from(one);
    changed.writeUInt32BE(total);
    changed.writeUInt32BE(headers, 4);
    return changed;
  };
  it.each<[string, readonly Buffer[], number | undefined]>([
    ["whose payload is no JSON", [spoken, frame("oops {"), frame(""), end], 12],
    ["whose base64 is none", [frame({ bytes: "!!!" }), frame({ bytes: 5 }), frame("null"), end], 12],
    ["whose base64 is no JSON", [frame({ bytes: "////" }), end], 12],
    ["whose JSON is cut", [frame('{"usage":{"inputTokens":5,"outputTokens":7'), spoken, end], 12],
    ["that are cut", [spoken, end.subarray(0, -5)], 77 + 2],
    ["that are cut in their first bytes", [spoken.subarray(0, 7)], undefined],
    // Nobody knows where the next one begins, and what it says.
    ["of length 0", [spoken, saying(spoken, 0), end], undefined],
    ["too short for their checksum", [spoken, saying(spoken, 15, 0), end], undefined],
    ["longer than a megabyte", [spoken, saying(spoken, 1_048_577), end], undefined],
    ["as long as numbers go", [spoken, saying(spoken, 0xffffffff), end], undefined],
    ["with headers that are longer", [spoken, saying(spoken, spoken.length, spoken.length), end], undefined],
    ["that break behind their usage", [end, saying(spoken, 0)], undefined],
    [
      "of Claude, in one of converse",
      [chunk({ type: "message_delta", usage: { input_tokens: 9, output_tokens: 3 } })],
      12,
    ],
  ])("%s", (_, all, tokens) => expect(tokensOf(AMAZON, new Uint8Array(Buffer.concat(all)))).toBe(tokens));

  it("of a megabyte are read", () => {
    const padding = "p".repeat(
      1_048_576 - frame({ ...JSON.parse("{}"), usage: { inputTokens: 9, outputTokens: 3 }, p: "" }).length,
    );
    const longest = frame({ usage: { inputTokens: 9, outputTokens: 3 }, p: padding });
    expect([longest.length, tokensOf(AMAZON, new Uint8Array(longest), [4_093, 65_536])]).toEqual([1_048_576, 12]);
  });
});
