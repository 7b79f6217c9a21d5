/**
 * Reads the answer of a language model byte by byte while it passes: finds its `usage`, and counts the text that was
 * streamed. It keeps a few numbers and how the last event began, whatever the length of the answer, and does not parse:
 * a `response.completed` event repeats the whole text, and embeddings may be 75 MB.
 *
 * OpenAI: platform.openai.com/docs/api-reference/chat-streaming and /responses-streaming. Anthropic:
 * platform.claude.com/docs/en/build-with-claude/streaming. Gemini: ai.google.dev/api/generate-content. Event streams:
 * html.spec.whatwg.org, section 9.2.6.
 */

import { isEncoded } from "../../../kernel/request/request-body.ts";
import { AnswerJson } from "./answer-json.ts";
import type { Estimate } from "./estimate.ts";
import * as k from "./kinds.ts";
import { tokensOfBytes } from "./tokens.ts";
import { statesOutput, statesZero, type Usage, usageOf } from "./usage.ts";

/** Reads one answer. Any division of its bytes into chunks gives the same result. */
export class AnswerScanner {
  /** Whether the answer is an event stream, and not JSON. */
  readonly isStream: boolean;
  readonly #estimated: number;
  readonly #json: AnswerJson;
  /** A JSON answer is like one line of data. */
  #line: number;
  #isAfterCr = false;
  #isBetween = false;
  #isEnded = false;

  constructor(isStream: boolean, { inputTokens }: Pick<Estimate, "inputTokens">) {
    this.isStream = isStream;
    this.#estimated = inputTokens;
    this.#json = new AnswerJson(isStream);
    this.#line = isStream ? k.LINE_START : k.OUTSIDE;
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
      if (this.#line < k.OUTSIDE) {
        i = this.#readField(chunk, i);
      } else {
        i = this.#json.read(chunk, i);
        // The end of the line is read as that of any other field.
        if (i < chunk.length) this.#line = k.OTHER_FIELD;
      }
      if (toEvent && this.#isBetween) break;
    }
    return i;
  }

  /** Reads a line: up to its JSON if it is a line of data, otherwise up to its end. */
  #readField(chunk: Uint8Array, from: number): number {
    let [i, at] = [from, this.#line];
    while (i < chunk.length && at < k.OUTSIDE) {
      const c = chunk[i++]!;
      if (c === k.LF || c === k.CR) {
        const isRest = c === k.LF && this.#isAfterCr;
        this.#isAfterCr = c === k.CR;
        if (isRest) continue;
        this.#line = k.LINE_START;
        if (at === k.LINE_START) {
          this.#isBetween = true;
          this.#json.begin();
          return i;
        }
        at = k.LINE_START;
      } else if (at === k.OTHER_FIELD) {
        while (i < chunk.length && chunk[i] !== k.LF && chunk[i] !== k.CR) i++;
      } else {
        this.#isAfterCr = this.#isBetween = false;
        // A byte order mark may stand before the first line.
        if (at !== k.LINE_START || c < 0x80) at = c === "data:".charCodeAt(at) ? at + 1 : k.OTHER_FIELD;
      }
    }
    this.#line = at;
    return i;
  }

  /** Whether an event of a stream has just ended, so that another event may follow here. */
  isBetweenEvents(): boolean {
    return this.#isBetween;
  }

  /** The answer has ended as it should. */
  end(): void {
    this.#isEnded = true;
  }

  /** What the answer itself says that it used. `undefined`: it has not said it, or not yet. */
  usage(): Usage | undefined {
    // Some answers tell their input only.
    return this.#hasUsage()
      ? usageOf(this.#json.stated, this.#estimated, tokensOfBytes(this.#json.textBytes))
      : undefined;
  }

  /**
   * What was used by the text so far: the input as stated or as estimated, and a token for each 4 bytes of text.
   * `undefined`: a JSON answer has no text so far. Its model may work on, and be asked later.
   */
  streamed(): Usage | undefined {
    const { stated, textBytes } = this.#json;
    if (!this.isStream && textBytes === 0) return undefined;
    return { ...usageOf(stated, this.#estimated, 0), outputTokens: tokensOfBytes(textBytes) };
  }

  /** Whether the output is told, as a number or as text. The text of a JSON answer counts when it has ended. */
  isOutputKnown(): boolean {
    const { stated, isStated, textBytes } = this.#json;
    if (textBytes === 0) return this.#hasUsage() && statesOutput(stated);
    return isStated || this.isStream || this.#isEnded;
  }

  /** Whether it states that there was no input, or no output although it has text. */
  hasZeros(): boolean {
    const { stated, isStated, textBytes } = this.#json;
    return isStated && statesZero(stated, textBytes > 0);
  }

  /** The model that has answered, as the answer names it. */
  model(): string | undefined {
    return this.#json.model || undefined;
  }

  #hasUsage(): boolean {
    return this.#json.isStated && this.#json.stated.some(Boolean);
  }
}

/**
 * @param headers those of the answer.
 * @returns `undefined` for an answer that cannot be read: it is encoded, or neither JSON nor an event stream.
 */
export function createAnswerScanner(
  headers: Headers,
  estimate: Pick<Estimate, "inputTokens">,
): AnswerScanner | undefined {
  const type = /^\s*(?:(text\/event-stream)|application\/([\w.-]+\+)?json)\s*(;|$)/i.exec(
    headers.get("Content-Type") ?? "",
  );
  if (!type || isEncoded(headers)) return undefined;
  return new AnswerScanner(type[1] !== undefined, estimate);
}
