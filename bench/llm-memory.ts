/**
 * How much memory a metered stream of a million tokens holds: the largest heap and buffers after garbage collection, in
 * MiB above the start. The stream ends with an event that repeats its whole text.
 *
 *   node --expose-gc bench/llm-memory.ts
 *
 * Ends with status 1 if that is 1 MiB or more, or if what was used is not what the stream has told.
 */

import { createCut } from "../src/features/meter/llm/cut.ts";
import { createAnswerScanner } from "../src/features/meter/llm/scanner.ts";
import type { Usage } from "../src/features/meter/llm/usage.ts";
import { pipeScanned } from "../src/features/meter/pipe-scanned.ts";
import { collected } from "./support/heap.ts";

const MIB = 1024 * 1024;
const TOKENS = 1_000_000;
const TOKENS_PER_CHUNK = 1_000;
const CHUNKS = TOKENS / TOKENS_PER_CHUNK;

function heldMib(): number {
  const { heapUsed, external } = collected();
  return (heapUsed + external) / MIB;
}

const encoder = new TextEncoder();
const event = `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"four"}\n\n`;
const CHUNK = encoder.encode(event.repeat(TOKENS_PER_CHUNK));
const TEXT = encoder.encode("four".repeat(TOKENS_PER_CHUNK));
const BEGIN = encoder.encode('data: {"response":{"output":[{"content":[{"text":"');
const END = encoder.encode(`"}]}],"usage":{"input_tokens":5,"output_tokens":${TOKENS}}}}\n\n`);

/** The same buffers again and again, so that the stream itself holds nothing. */
function* chunks(): Generator<Uint8Array> {
  for (let i = 0; i < CHUNKS; i++) yield CHUNK;
  yield BEGIN;
  for (let i = 0; i < CHUNKS; i++) yield TEXT;
  yield END;
}

console.log(`| ${TOKENS} tokens | MiB |\n|---|---|`);
for (const mode of ["finish", "cut"] as const) {
  const source = chunks();
  const given = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = source.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  const scanner = createAnswerScanner(new Headers({ "Content-Type": "text/event-stream" }), { inputTokens: 1 })!;
  const reservation = { reserved: { tokens: 1 }, extend: async () => ({ allowed: true }) };
  const prices = new Map([["tokens", (usage: Usage) => usage.outputTokens]]);
  const cut = createCut(scanner, "openai-responses", reservation, prices);
  const { readable, writable } = new TransformStream();
  const { signal } = new AbortController();
  const ended = pipeScanned(given, writable, scanner, mode === "cut" ? cut : undefined, signal);
  const reader = readable.getReader();
  for (let i = 0; i < 100; i++) await reader.read();
  const startMib = heldMib();
  let largestMib = 0;
  for (let i = 0; ; i++) {
    const { done } = await reader.read();
    if (i % 100 === 0 || done) largestMib = Math.max(largestMib, heldMib() - startMib);
    if (done) break;
  }
  await ended;
  console.log(`| ${mode} | ${largestMib.toFixed(2)} |`);
  const isRight = scanner.usage()?.outputTokens === TOKENS && scanner.streamed()?.outputTokens === TOKENS;
  if (largestMib >= 1 || !isRight) process.exitCode = 1;
}
