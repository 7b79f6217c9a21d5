/**
 * What metering costs in CPU: milliseconds per MiB of an answer, for each format. Chunks are 16 KiB.
 *
 *   npm run bench:llm
 */

import { createAnswerScanner } from "../src/features/meter/llm/scanner.ts";

const MIB = 1_048_576;
const CHUNK = 16_384;
/** Each format counts with the quickest of this many runs, because other work shares the machine. */
const RUNS = 9;

const encoder = new TextEncoder();
const WORDS = [" the", " model", " answers", ' "quoted"', "\n", " für", " 日本", " 🎉", " return", " {}"];
const word = (i: number) => WORDS[(i * 7) % WORDS.length]!;
const TEXT = Array.from({ length: 200_000 }, (_, i) => word(i)).join("");

const event = (data: unknown, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

function events(make: (text: string) => string, last: string): string[] {
  const all: string[] = [];
  for (let i = 0, length = 0; length < MIB; i++) {
    all.push(make(word(i)));
    length += all.at(-1)!.length;
  }
  return [...all, last];
}

/** The events of OpenAI's responses count themselves: no two begin alike. */
let sequence = 0;
const CHAT_USAGE = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 };
const RESPONSE_USAGE = { input_tokens: 9, output_tokens: 7, total_tokens: 16 };
const chunk = (choices: unknown, usage: unknown) => {
  const head = { id: "chatcmpl-9nK2", object: "chat.completion.chunk", created: 1_790_000_000, model: "gpt-5.2" };
  return event({ ...head, service_tier: "default", system_fingerprint: null, choices, usage, obfuscation: "aB3xY9" });
};

const CASES: Readonly<Record<string, readonly string[]>> = {
  "chat, stream": events(
    (content) => chunk([{ index: 0, delta: { content }, logprobs: null, finish_reason: null }], null),
    chunk([], CHAT_USAGE),
  ),
  "chat, JSON": [JSON.stringify({ choices: [{ message: { content: TEXT.slice(0, MIB) } }], usage: CHAT_USAGE })],
  "responses, stream": events(
    (delta) =>
      event(
        { type: "response.output_text.delta", sequence_number: sequence++, item_id: "msg_68", output_index: 0, delta },
        "response.output_text.delta",
      ),
    event({ type: "response.completed", response: { usage: RESPONSE_USAGE } }, "response.completed"),
  ),
  "responses, last event": [
    event({
      type: "response.completed",
      response: { output: [{ content: [{ type: "output_text", text: TEXT }] }], usage: RESPONSE_USAGE },
    }),
  ],
  "embeddings, numbers": [
    JSON.stringify({
      data: Array.from({ length: 32 }, (_, index) => ({
        index,
        embedding: Array.from({ length: 1_536 }, (_, i) => Math.sin(i + index) / 20),
      })),
      usage: { prompt_tokens: 8, total_tokens: 8 },
    }),
  ],
  "embeddings, base64": [
    JSON.stringify({ data: [{ embedding: "aB3x".repeat(MIB / 4) }], usage: { prompt_tokens: 8, total_tokens: 8 } }),
  ],
  "messages, stream": events(
    (text) =>
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }, "content_block_delta"),
    event({ type: "message_delta", delta: {}, usage: { output_tokens: 7 } }, "message_delta"),
  ),
  "Gemini, stream": events(
    (text) =>
      event({
        candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0 }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 7, totalTokenCount: 16 },
        modelVersion: "gemini-2.5-flash",
        responseId: "mAitaLmkHPPlz7IPvtfUqQ4",
      }),
    event({ candidates: [], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 7 } }),
  ),
  "messages, JSON": [JSON.stringify({ content: [{ type: "text", text: TEXT.slice(0, MIB) }], usage: RESPONSE_USAGE })],
};

function msPerMib(bytes: number, run: () => void): string {
  let least = Infinity;
  for (let r = 0; r < RUNS; r++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return ((least * MIB) / bytes).toFixed(2);
}

/** @throws if the answer's usage was not found: then the time would mean nothing. */
function scan(chunks: readonly Uint8Array[], type: string): void {
  const scanner = createAnswerScanner(new Headers({ "Content-Type": type }), { inputTokens: 1 })!;
  for (const one of chunks) scanner.push(one);
  if (!scanner.usage()) throw new Error("bench: the usage was not found");
}

const rows = Object.entries(CASES).map(([what, parts]) => {
  const all = encoder.encode(parts.join(""));
  const type = parts[0]!.startsWith("{") ? "application/json" : "text/event-stream";
  const even = Array.from({ length: Math.ceil(all.length / CHUNK) }, (_, i) =>
    all.subarray(i * CHUNK, (i + 1) * CHUNK),
  );
  return `| ${what} | ${msPerMib(all.length, () => scan(even, type))} |`;
});
console.log("| answer | ms per MiB |\n|---|---|");
console.log(rows.join("\n"));
