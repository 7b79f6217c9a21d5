/** How an answer is divided into texts of JSON: lines of an event stream, lines of JSON, Amazon's binary frames. */

import type { AnswerJson } from "./answer-json.ts";
import { CHECKSUM, PRELUDE } from "./frames.ts";
import * as k from "./kinds.ts";

export type FramingName = "json" | "events" | "lines" | "frames";

/** Finds the JSON in the bytes of an answer. */
export interface Framing {
  /** @returns how far it has read: at most up to where an event ends. */
  read(chunk: Uint8Array, from: number): number;
  /** Whether an event has just ended, so that another one may follow here. */
  readonly isBetween: boolean;
  /** Whether what has come is no such answer: nobody can say what it has used. */
  readonly isBroken: boolean;
}

export function createFraming(name: FramingName, json: AnswerJson): Framing {
  switch (name) {
    case "events":
      return new EventLines(json);
    case "lines":
      return new JsonLines(json);
    case "frames":
      return new Frames(json);
    default:
      return { read: (chunk, from) => json.read(chunk, from), isBetween: false, isBroken: false };
  }
}

/** An event stream: html.spec.whatwg.org, section 9.2.6. */
class EventLines implements Framing {
  isBetween = false;
  readonly isBroken = false;
  readonly #json: AnswerJson;
  #line = k.LINE_START;
  #isAfterCr = false;

  constructor(json: AnswerJson) {
    this.#json = json;
  }

  read(chunk: Uint8Array, from: number): number {
    if (this.#line < k.OUTSIDE) return this.#readField(chunk, from);
    const i = this.#json.read(chunk, from);
    // The end of the line is read as that of any other field.
    if (i < chunk.length) this.#line = k.OTHER_FIELD;
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
          this.isBetween = true;
          this.#json.begin();
          return i;
        }
        at = k.LINE_START;
      } else if (at === k.OTHER_FIELD) {
        while (i < chunk.length && chunk[i] !== k.LF && chunk[i] !== k.CR) i++;
      } else {
        this.#isAfterCr = this.isBetween = false;
        // A byte order mark may stand before the first line.
        if (at !== k.LINE_START || c < 0x80) at = c === "data:".charCodeAt(at) ? at + 1 : k.OTHER_FIELD;
      }
    }
    this.#line = at;
    return i;
  }
}

/** A text of JSON in each line, as Ollama streams. */
class JsonLines implements Framing {
  isBetween = false;
  readonly isBroken = false;
  readonly #json: AnswerJson;

  constructor(json: AnswerJson) {
    this.#json = json;
  }

  read(chunk: Uint8Array, from: number): number {
    const i = this.#json.read(chunk, from);
    this.isBetween = i < chunk.length;
    if (!this.isBetween) return i;
    this.#json.begin();
    return i + 1;
  }
}

/** A longer frame is read by nobody here. Bedrock sends a few tokens in each. */
const LONGEST_FRAME = 1024 * 1024;

/** Amazon's frames. The payload is JSON, of `invoke` with an answer of the model in base64: `{ "bytes": "…" }`. */
class Frames implements Framing {
  isBetween = false;
  isBroken = false;
  readonly #json: AnswerJson;
  #frame = new Uint8Array(PRELUDE);
  #length = 0;

  constructor(json: AnswerJson) {
    this.#json = json;
  }

  read(chunk: Uint8Array, from: number): number {
    this.isBetween = false;
    if (this.isBroken) return chunk.length;
    const to = Math.min(chunk.length, from + this.#frame.length - this.#length);
    this.#frame.set(chunk.subarray(from, to), this.#length);
    this.#length += to - from;
    if (this.#length < this.#frame.length) return to;
    if (this.#length === PRELUDE) this.#readPrelude();
    else this.#readPayload();
    return to;
  }

  #lengthAt(at: number): number {
    return new DataView(this.#frame.buffer).getUint32(at);
  }

  #readPrelude(): void {
    const [total, headers] = [this.#lengthAt(0), this.#lengthAt(4)];
    if (total > LONGEST_FRAME || headers > total - PRELUDE - CHECKSUM) {
      this.isBroken = true;
      return;
    }
    const frame = new Uint8Array(total);
    frame.set(this.#frame);
    this.#frame = frame;
  }

  #readPayload(): void {
    const payload = this.#frame.subarray(PRELUDE + this.#lengthAt(4), -CHECKSUM);
    const inner = bytesIn(payload);
    this.#json.begin();
    this.#json.read(inner, 0);
    this.#json.begin();
    this.#frame = new Uint8Array(PRELUDE);
    this.#length = 0;
    this.isBetween = true;
  }
}

/** The answer in a payload of `invoke`. Of others, the payload. */
function bytesIn(payload: Uint8Array): Uint8Array {
  try {
    const { bytes } = JSON.parse(new TextDecoder().decode(payload)) as { readonly bytes?: unknown };
    if (typeof bytes === "string") return Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  } catch {
    // No JSON, or no base64: it is read as it is.
  }
  return payload;
}
