// What providers answer, by the forms they document: the units, and the dollars to the last micro-dollar. And what
// broken or strange answers are taken for.

import { describe, expect, it, vi } from "vitest";
import type { Estimate } from "../../../src/features/meter/llm/estimate.ts";
import { costOf, priceOf } from "../../../src/features/meter/llm/prices.ts";
import { createAnswerScanner } from "../../../src/features/meter/llm/scanner.ts";
import { answeredUnits, settledUnits } from "../../../src/features/meter/llm/units.ts";
import type { Usage } from "../../../src/features/meter/llm/usage.ts";
import type { Price } from "../../../src/kernel/core/policy.ts";
import { AMAZON, ANSWERS, FORMS, frame, OPUS } from "./providers/answers.ts";

const JSON_TYPE = "application/json";
const SSE = "text/event-stream";
/** More than any answer costs: an answer that does not say all of its usage keeps it. */
const RESERVED = 1_000_000_001;
const ASKED: Estimate = { inputTokens: 77, model: "asked", format: "openai-chat" };
const PRICE: Price = { input: 1, output: 1 };
/** Of the chunks in which an answer comes. */
const SIZES = [1, 2, 3, 7, 64, Number.MAX_SAFE_INTEGER];

const bytesOf = (body: string | Uint8Array) => (typeof body === "string" ? new TextEncoder().encode(body) : body);

function scan(type: string | Headers, body: string | Uint8Array, size: number) {
  const headers = typeof type === "string" ? new Headers({ "Content-Type": type }) : type;
  const scanner = createAnswerScanner(headers, ASKED)!;
  const bytes = bytesOf(body);
  for (let i = 0; i < bytes.length; i += size) scanner.push(bytes.subarray(i, i + size));
  scanner.end();
  return scanner;
}

/** What a policy of dollars and one of tokens settle. Absent: what was reserved stays. */
function settle(scanner: ReturnType<typeof scan>, asked: Estimate, price: Price) {
  const prices = { default: price, "claude-opus*": OPUS };
  const meters = { usd: { unit: "usd", prices }, tokens: { unit: "tokens" } } as const;
  const unitsBy = Object.entries(meters).map(
    ([name, meter]) => [name, (usage: Usage) => answeredUnits(meter, scanner.model(), asked, usage)] as const,
  );
  return settledUnits(scanner, asked, { usd: RESERVED, tokens: RESERVED }, new Map(unitsBy));
}

describe("a documented answer costs what it costs by hand", () => {
  it.each(ANSWERS.map((one) => [one.name, one] as const))("%s", (_, answer) => {
    const { headers, body, format, tier, price, micros, units } = answer;
    for (const size of SIZES) {
      const scanner = scan(headers, body, size);
      const usage = scanner.usage()!;
      const others = (usage.others ?? []).map((other) => other.usage);
      const cost = others.reduce((sum, one) => sum + costOf(OPUS, one, undefined), costOf(price, usage, tier));
      const tokens = [usage, ...others].reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0);
      const settled = settle(scanner, { ...ASKED, format, tier }, price);
      expect([cost / 1e6, settled]).toEqual([micros, { usd: units, tokens }]);
    }
  });
});

/** The same for all sizes of chunks. @returns the tokens that are settled. Undefined: what was reserved stays. */
function tokensOf(type: string, body: string | Uint8Array, sizes = SIZES): number | undefined {
  const found = new Set(sizes.map((size) => settle(scan(type, body, size), ASKED, PRICE).tokens));
  expect(found.size).toBe(1);
  return [...found][0];
}

const sse = (...all: readonly string[]) => all.map((line) => FORMS.events![1](line)).join("");
/** 2 tokens of text. The input is estimated as 77. */
const SAID = '{"choices":[{"delta":{"content":"12345678"}}]}';
const stating = (input: number, output: number, more = "") =>
  `{"usage":{"prompt_tokens":${input},"completion_tokens":${output}${more}}}`;

describe("a number of tokens", () => {
  // Of the output, beside 100 of input. If it is not stated, the text counts.
  it.each<[string, string, number]>([
    ["between gaps", "\r\n\t 12 \n", 112],
    ["with decimals", "11.2", 112],
    ["with an exponent", "1.2E+1", 112],
    ["zero", "0", 102],
    ["null", "null", 102],
    ["as text", '"12"', 102],
    ["in an object", '{"output":12}', 102],
    ["negative", "-12", 102],
    ["above all doubles", "1e400", 102],
    ["2^53: the most that is counted", "9007199254740992", 1_000_000_000],
  ])("%s", (_, number, tokens) => {
    const text = '"choices":[{"message":{"content":"12345678"}}]';
    const stated = `"usage":{"prompt_tokens":100,"completion_tokens":${number}}`;
    expect(tokensOf(JSON_TYPE, `{${text},${stated}}`)).toBe(tokens);
    expect(tokensOf(JSON_TYPE, `{${stated},${text}}`)).toBe(tokens);
  });

  it.each([`1${"0".repeat(30)}`, "-12", "1e400", "null", '"12"'])("%s is none, and not 0 either", (number) => {
    // There is no text: what was reserved stays.
    expect(tokensOf(JSON_TYPE, stating(9, 1).replace(":1}", `:${number}}`))).toBeUndefined();
  });

  it("behind a gap of a megabyte", () => {
    const body = stating(9, 3).replaceAll(/[:}]/g, (c) => " ".repeat(1_000_000) + c);
    expect(tokensOf(JSON_TYPE, body, [4_093, 65_536])).toBe(12);
  });
});

describe("usage", () => {
  it.each<[string, string, number | undefined]>([
    ["early", sse(stating(9, 30), SAID), 39],
    ["late", sse(SAID, "[DONE]", stating(9, 30)), 39],
    ["that becomes less", sse(stating(9, 30), SAID, stating(8, 2)), 39],
    ["with zeros by other names", sse(SAID, stating(9, 30, ',"input_tokens":0,"output_tokens":0')), 39],
    ["of zeros", sse(SAID, stating(0, 0)), 77 + 2],
    ["of zeros without text", sse(stating(0, 0)), undefined],
    ["null", sse(SAID, '{"usage":null}'), 77 + 2],
    ["in a list", sse(SAID, stating(9, 3).replace(/{(.*)}}/, "[$1]}")), 77 + 2],
  ])("%s", (_, body, tokens) => expect(tokensOf(SSE, body)).toBe(tokens));

  it.each(["", "-1", "1e3", "12x"])("in a field of the header section is no number: %j", (count) => {
    const headers = new Headers({ "Content-Type": JSON_TYPE, "x-amzn-bedrock-input-token-count": count });
    expect(settle(scan(headers, '{"outputs":[]}', 9), ASKED, PRICE)).toEqual({});
  });

  it("of a cache is the most that was stated by any name", () => {
    const body = stating(9, 3, ',"cached_tokens":5,"prompt_cache_hit_tokens":0');
    expect(scan(JSON_TYPE, body, 3).usage()).toMatchObject({ cachedInputTokens: 5 });
  });
});

/** What means something elsewhere, as users and models may write it. */
const COUNTS = '{"prompt_tokens":5e4,"input_tokens":5e4,"completion_tokens":5e4,"output_tokens":5e4}';
const TRAP =
  `"model":"trap","speed":"fast","service_tier":"priority","serviceTier":{"type":"priority"},"x_groq":{"usage":${COUNTS}},
  "usage":{"prompt_tokens":5e4,"server_tool_use":{"web_search_requests":7},"speed":"fast","iterations":[{"model":"trap","input_tokens":5e4}],
  "cacheDetails":[{"ttl":"1h","inputTokens":5e4}]},"usageMetadata":{"promptTokenCount":5e4,"trafficType":"ON_DEMAND_FLEX"},"meta":{"billed_units":${COUNTS}},
  "prompt_eval_count":5e4,"eval_count":5e4,"prompt_token_count":5e4,"generation_token_count":5e4,
  "amazon-bedrock-invocationMetrics":{"inputTokenCount":5e4},"item":{"type":"web_search_call"},
  "output":[{"type":"web_search_call"}]`.replaceAll(/\n */g, "");
const SEARCH = '{"type":"web_search_call"}';

// `%` stands for these members, `@` for an object of them, and `"~"` for its text.
it.each([
  ["a message", '{"choices":[{"message":{%,"content":"~","refusal":"~"}}]}'],
  ["parts of a message", `{"choices":[{"message":{"content":[@,${SEARCH},{"text":"~","annotations":[@]}]}}]}`],
  ["a delta", '{"choices":[{"delta":{%,"content":"~"}}]}'],
  [
    "arguments",
    '{"choices":[{"message":{"tool_calls":[@,{"function":{"arguments":"~"}},{"function":{"arguments":@}}]}}]}',
  ],
  ["a log", '{"choices":[{"logprobs":{"content":[@]},"message":{}}],"error":@,"metadata":@}'],
  ["an item", `{"output":[{%,"type":"message","content":[@,${SEARCH}]},{"type":"function","arguments":"~"}]}`],
  ["an item that is added", `{"type":"response.output_item.added","item":{%,"type":"message","content":[${SEARCH}]}}`],
  ["an item that is done", `{"type":"response.output_item.done","item":${SEARCH}}`],
  ["what a response repeats", '{"response":{"metadata":@,"instructions":[@],"tools":[@],"text":@}}'],
  ["an item of a response", `{"response":{"output":[{%,"type":"message","content":[@,${SEARCH}]}]}}`],
  ["a delta of JSON", '{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"~"}}'],
  ["an input", '{"content":[{"type":"tool_use","input":@},{"type":"text","text":"~"}]}'],
  ["a result", '{"type":"content_block_start","content_block":{%,"type":"web_search_tool_result","content":[@]}}'],
  ["arguments of Gemini", '{"candidates":[{"content":{"parts":[{"functionCall":{"args":@}},{"text":"~"}]}}]}'],
  ["arguments of Ollama", '{"message":{"content":"~","tool_calls":[{"function":{"arguments":@}}]}}'],
  ["arguments of Bedrock", '{"output":{"message":{"content":[{"toolUse":{"input":@}},{"text":"~"}]}}}'],
])("nothing is believed that stands in %s", (_, form) => {
  const answer = form
    .replaceAll('"~"', JSON.stringify(`{${TRAP}}`))
    .replaceAll("@", `{${TRAP}}`)
    .replaceAll("%", TRAP);
  const end = `"model":"m",${stating(9, 3).slice(1)}`;
  for (const [type, body] of [
    [JSON_TYPE, `${answer.slice(0, -1)},${end}`],
    [SSE, sse(answer, `{${end}`)],
  ] as const) {
    for (const size of SIZES) {
      const scanner = scan(type, body, size);
      const { inputTokens, outputTokens, calls, tier, cacheWrite1hTokens } = scanner.usage()!;
      const found = { model: scanner.model(), inputTokens, outputTokens, calls, tier, cacheWrite1hTokens };
      expect(found).toEqual({ model: "m", inputTokens: 9, outputTokens: 3, cacheWrite1hTokens: 0 });
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
  const asking = (calls: number) =>
    stating(9, 3, `,"server_tool_use":{${MANY.map((name) => `"${name}_requests":${calls}`).join()}}`);
  it.each([
    ["in numbers", SSE, sse(asking(1), asking(5))],
    [
      "in items",
      JSON_TYPE,
      `{"output":[${Array(5).fill(MANY.map((name) => `{"type":"${name}_call"}`))}],${stating(9, 3).slice(1)}`,
    ],
  ])("of many tools %s: the first ones go on counting", (_, type, body) => {
    const counted = Object.fromEntries(MANY.slice(0, 64).map((name) => [name, 5]));
    for (const size of SIZES) expect(scan(type, body, size).usage()!.calls).toEqual(counted);
  });

  it("of tools that are too long are none, for all chunks", () => {
    const body = stating(9, 3, `,"server_tool_use":{"${LONG}_requests":5,"web_search_requests":2}`);
    for (const size of SIZES) expect(scan(JSON_TYPE, body, size).usage()!.calls).toEqual({ web_search: 2 });
  });

  it("of 1,000 models are put in order once: of a new name only its own case is changed", () => {
    const start = "model-".repeat(40);
    const patterns = Array.from({ length: 1_000 }, (_, i) => [`${start}${i}*`, { ...PRICE, input: i }]);
    const prices = { ...(Object.fromEntries(patterns) as Record<string, Price>), default: PRICE };
    expect(priceOf(prices, `${start}77-2026`)!.input).toBe(77);
    const lowered = vi.spyOn(String.prototype, "toLowerCase");
    expect(priceOf(prices, `${start}x`)).toBe(PRICE);
    expect(lowered).toHaveBeenCalledTimes(1);
    lowered.mockRestore();
  });
});

describe("lines", () => {
  const SPOKEN = '{"message":{"content":"12345678"}}';
  const END = '{"prompt_eval_count":9,"eval_count":3}';
  it.each<[string, string, number]>([
    ["that end with CRLF", `${SPOKEN}\r\n${END}\r\n`, 12],
    ["with empty ones, and no end", `\n\n${SPOKEN}\n \n${END}`, 12],
    ["of which one is cut in a number", `${SPOKEN}\n{"eval_count":4\n${END}\n`, 12],
    ["of which one is cut in a text", `{"message":{"content":"\n${END}\n`, 12],
    ["of which one is cut in an escape", `{"message":{"content":"\\u00\n${END}\n`, 12],
    ["of which one opens more than is looked at", `${"[".repeat(20)}\n${END}\n${"]".repeat(9)}\n`, 12],
    ["of which the last one is cut in a number", `${SPOKEN}\n${END.slice(0, -1)}`, 9 + 2],
  ])("%s", (_, body, tokens) => expect(tokensOf("application/x-ndjson", body)).toBe(tokens));
});

describe("frames", () => {
  const SPOKEN = frame('{"delta":{"text":"12345678"}}', "contentBlockDelta");
  const padded = (length: number) => frame(`{"usage":{"inputTokens":9,"outputTokens":3},"p":"${"p".repeat(length)}"}`);
  const END = padded(0);
  const MEGABYTE = 1_048_576;
  /** @param total the length it says. @param headers that of its headers. */
  const saying = (total: number, headers = SPOKEN.readUInt32BE(4)) => {
    const changed = Buffer.from(SPOKEN);
    changed.writeUInt32BE(total);
    changed.writeUInt32BE(headers, 4);
    return changed;
  };
  it.each<[string, readonly Buffer[], number | undefined]>([
    ["whose payload is no JSON", [SPOKEN, frame("oops {"), frame(""), END], 12],
    ["whose base64 is none", [frame('{"bytes":"!!!"}'), frame('{"bytes":5}'), frame("null"), END], 12],
    ["whose base64 is no JSON", [frame('{"bytes":"////"}'), END], 12],
    ["whose JSON is cut in a number", [frame('{"eval_count":5'), frame('{"eval_count":3,"prompt_eval_count":9}')], 12],
    ["that are cut", [SPOKEN, END.subarray(0, -5)], 77 + 2],
    ["that are cut in their first bytes", [SPOKEN.subarray(0, 7)], undefined],
    // Nobody knows where the next one begins.
    ["of length 0", [SPOKEN, saying(0), END], undefined],
    ["too short for their checksum", [SPOKEN, saying(15, 0), END], undefined],
    ["longer than a megabyte", [SPOKEN, saying(MEGABYTE + 1), END], undefined],
    ["with headers that are longer", [SPOKEN, saying(SPOKEN.length, SPOKEN.length), END], undefined],
    ["that break behind their usage", [END, saying(0)], undefined],
  ])("%s", (_, all, tokens) => expect(tokensOf(AMAZON, Buffer.concat(all))).toBe(tokens));

  it("of a megabyte are read", () => {
    const longest = padded(MEGABYTE - END.length);
    expect([longest.length, tokensOf(AMAZON, longest, [4_093, 65_536])]).toEqual([MEGABYTE, 12]);
  });
});
