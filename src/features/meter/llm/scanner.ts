/**
 * Reads the answer of a language model byte by byte while it passes: finds its `usage`, and counts the text that was
 * streamed. It keeps a few numbers and how the last event began, whatever the length of the answer, and does not parse:
 * a `response.completed` event repeats the whole text, and embeddings may be 75 MB.
 *
 * OpenAI: platform.openai.com/docs/api-reference/chat-streaming and /responses-streaming. Anthropic:
 * platform.claude.com/docs/en/build-with-claude/streaming. Gemini: ai.google.dev/api/generate-content. Cohere:
 * docs.cohere.com/reference/chat-stream. Bedrock: docs.aws.amazon.com/bedrock/latest/APIReference. Ollama:
 * docs.ollama.com/api.
 */

import { isEncoded } from "../../../kernel/request/request-body.ts";
import { AnswerJson } from "./answer-json.ts";
import type { Estimate } from "./estimate.ts";
import { LONGEST_NAME } from "./format.ts";
import { createFraming, type Framing, type FramingName } from "./framing.ts";
import { tokensOfBytes } from "./tokens.ts";
import { type Stated, statesOutput, statesZero, type Usage, usageOf } from "./usage.ts";

/** What the header section of an answer states: Gemini and Bedrock name the tier there, Bedrock the tokens too. */
interface HeaderUsage {
  readonly tier: string;
  /** Counts if the body states none. Absent: it states none. */
  readonly stated?: Stated;
}

/** Reads one answer. Any division of its bytes into chunks gives the same result. */
export class AnswerScanner {
  /** Whether the answer is a stream of texts of JSON, and not one of them. */
  readonly isStream: boolean;
  readonly framing: FramingName;
  readonly #estimated: number;
  readonly #header: HeaderUsage;
  readonly #json: AnswerJson;
  readonly #reader: Framing;
  #isEnded = false;

  constructor(framing: FramingName, { inputTokens }: Pick<Estimate, "inputTokens">, header: HeaderUsage) {
    this.framing = framing;
    this.#header = header;
    this.isStream = framing !== "json";
    this.#estimated = inputTokens;
    this.#json = new AnswerJson(framing === "events" || framing === "lines");
    this.#reader = createFraming(framing, this.#json);
  }

  /**
   * Reads the next bytes of the answer.
   *
   * @param from where in the chunk to begin. Default 0.
   * @param toEvent stop behind the first event that ends in the chunk.
   * @returns how far it has read: the end of the chunk, unless it stopped behind an event.
   */
  push(chunk: Uint8Array, from = 0, toEvent = false): number {
    let i = from;
    while (i < chunk.length) {
      i = this.#reader.read(chunk, i);
      if (toEvent && this.#reader.isBetween) break;
    }
    return i;
  }

  /** Whether an event of a stream has just ended, so that another event may follow here. */
  isBetweenEvents(): boolean {
    return this.#reader.isBetween;
  }

  /** The answer has ended as it should. */
  end(): void {
    this.#isEnded = true;
  }

  /** What the answer itself says that it used. `undefined`: it has not said it, or not yet. */
  usage(): Usage | undefined {
    // Some answers tell their input only.
    return this.#hasUsage() ? this.#usage(tokensOfBytes(this.#json.textBytes)) : undefined;
  }

  /**
   * What was used by the text so far: the input as stated or as estimated, and a token for each 4 bytes of text.
   * `undefined`: a JSON answer has no text so far. Its model may work on, and be asked later.
   */
  streamed(): Usage | undefined {
    const { textBytes } = this.#json;
    if ((!this.isStream && textBytes === 0) || this.#reader.isBroken) return undefined;
    return { ...this.#usage(0), outputTokens: tokensOfBytes(textBytes) };
  }

  #usage(streamed: number): Usage {
    const { calls, speed } = this.#json;
    const tier = speed || this.#json.tier || this.#header.tier;
    const usage: { -readonly [name in keyof Usage]: Usage[name] } = usageOf(this.#stated(), this.#estimated, streamed);
    const others = this.#json.others().map(([model, stated]) => ({ model, usage: usageOf(stated, 0, 0) }));
    if (calls.size > 0) usage.calls = Object.fromEntries(calls);
    if (others.length > 0) usage.others = others;
    if (tier !== "") usage.tier = tier;
    return usage;
  }

  #stated(): Stated {
    const { stated } = this.#header;
    return stated && !this.#json.statesSome() ? stated : this.#json.stated();
  }

  /** Whether the output is told, as a number or as text. The text of a JSON answer counts when it has ended. */
  isOutputKnown(): boolean {
    const { isStated, textBytes } = this.#json;
    if (this.#reader.isBroken) return false;
    // Bedrock states the input of embeddings, which have no output.
    const { stated } = this.#header;
    const isEmbedding = stated && stated.output === undefined && this.#isEnded;
    if (textBytes === 0) return this.#hasUsage() && (isEmbedding || statesOutput(this.#stated()));
    return isStated || this.isStream || this.#isEnded || stated?.output !== undefined;
  }

  /** Whether it states that there was no input, or no output although it has text. */
  hasZeros(): boolean {
    const { isStated, textBytes } = this.#json;
    return isStated && statesZero(this.#json.stated(), textBytes > 0);
  }

  /** The model that has answered, as the answer names it. */
  model(): string | undefined {
    return this.#json.model || undefined;
  }

  #hasUsage(): boolean {
    return this.#header.stated !== undefined || (this.#json.isStated && this.#json.statesSome());
  }
}

/** By the numbers of a usage. Their names go on behind `x-amzn-bedrock-`. Bedrock's input is without caches. */
const COUNTS = [
  ["input", "input-token-count"],
  ["output", "output-token-count"],
  ["read", "cache-read-input-token-count"],
  ["created", "cache-write-input-token-count"],
] as const;

function headerUsage(headers: Headers): HeaderUsage {
  const named = headers.get("x-gemini-service-tier") ?? headers.get("x-amzn-bedrock-service-tier") ?? "";
  const tier = named.toLowerCase().slice(0, LONGEST_NAME);
  // Most answers have none of them.
  if (!/^\d{1,15}$/.test(headers.get("x-amzn-bedrock-input-token-count") ?? "")) return { tier };
  const counts = COUNTS.flatMap(([field, name]) => {
    const count = headers.get(`x-amzn-bedrock-${name}`);
    return count && /^\d{1,15}$/.test(count) ? [[field, Number(count)]] : [];
  });
  return { tier, stated: Object.fromEntries(counts) };
}

/** By the type of the answer. */
const FRAMINGS: readonly (readonly [type: RegExp, framing: FramingName])[] = [
  [/^text\/event-stream$/i, "events"],
  [/^application\/(?:x-ndjson|jsonl|x-jsonlines)$/i, "lines"],
  [/^application\/vnd\.amazon\.eventstream$/i, "frames"],
  [/^application\/(?:[\w.-]+\+)?json$/i, "json"],
];

/**
 * @param headers those of the answer.
 * @returns `undefined` for an answer that cannot be read: it is encoded, or neither JSON nor a stream of it.
 */
export function createAnswerScanner(
  headers: Headers,
  estimate: Pick<Estimate, "inputTokens">,
): AnswerScanner | undefined {
  const type = (headers.get("Content-Type") ?? "").split(";", 1)[0]!.trim();
  const framing = FRAMINGS.find(([form]) => form.test(type))?.[1];
  return framing === undefined || isEncoded(headers)
    ? undefined
    : new AnswerScanner(framing, estimate, headerUsage(headers));
}
