/**
 * Reads the answer of a language model byte by byte while it passes: finds its `usage`, and counts the text that was
 * streamed. It keeps a few numbers, whatever the length of the answer, and does not parse: a `response.completed` event
 * repeats the whole text, and embeddings may be 75 MB.
 *
 * OpenAI: platform.openai.com/docs/api-reference/chat-streaming and /responses-streaming. Anthropic:
 * platform.claude.com/docs/en/build-with-claude/streaming. Event streams: html.spec.whatwg.org, section 9.2.6.
 */

import type { Estimate } from "./estimate.ts";
import { bytesOfUnit, tokensOfBytes } from "./tokens.ts";
import { inputOf, outputOf, type Usage, type UsageFields } from "./usage.ts";

/** Reads one answer. Any division of its bytes into chunks gives the same result. */
export interface AnswerScanner {
  /**
   * Reads the next bytes of the answer.
   *
   * @param from where in the chunk to begin. Default 0.
   * @param toEvent stop behind the first event that ends in the chunk.
   * @returns how far it has read: the end of the chunk, unless it stopped behind an event.
   */
  push(chunk: Uint8Array, from?: number, toEvent?: boolean): number;
  /** Whether an event of a stream has just ended, so that another event may follow here. */
  isBetweenEvents(): boolean;
  /** What the answer itself says that it used. `undefined`: it has not said it, or not yet. */
  usage(): Usage | undefined;
  /** What was used by the text so far: the input as told or as estimated, and a token for each 4 bytes of text. */
  streamed(): Usage;
}

// Single constants instead of lists: compilers put them in place.
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const U = 0x75;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** Bytes outside of strings that are not skipped: 1. Line ends are skipped only in a JSON answer. */
const STOPS = Uint8Array.from({ length: 256 }, (_, c) => Number('",:[]{}\n\r'.includes(String.fromCharCode(c))));

/** A line of an event stream: how many bytes of `data:` it begins with (all of them: then its JSON), or another field. */
const LINE_START = 0;
const IN_DATA = 5;
const OTHER_FIELD = 6;

/** What a string is: none, a name in an object (or an item of a list, never used), a value, or text to count. */
const NO_STRING = 0;
const NAME = 1;
const VALUE = 2;
const TEXT = 3;

/** What the value after a colon is wanted for. */
const NOTHING = 0;
const COUNT_TEXT = 1;
const READ_NUMBER = 2;
const READ_USAGE = 3;

/** Deeper objects and lists are only counted. Arguments of a tool call stand at depth 7. */
const MAX_DEPTH = 16;

/** Names are compared by a hash of 32 bits: the names at these places come from the provider. */
function hashOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return hash;
}

const hashesOf = (names: string) => new Set(names.split(" ").map(hashOf));

/** The members at the top under which the text of an answer stands. */
const TEXT_ROOTS = hashesOf("choices delta content output");
/** The members whose text the model has written. */
const TEXT_NAMES = hashesOf(
  "content text delta refusal reasoning reasoning_content thinking arguments input partial_json transcript",
);
const USAGE = hashOf("usage");
const MESSAGE = hashOf("message");
const USAGE_PARENTS = hashesOf("response message");
const DETAILS = hashesOf("prompt_tokens_details input_tokens_details");
const CACHED = "cached_tokens";
const FIELDS = new Map(
  (
    "prompt_tokens completion_tokens total_tokens input_tokens output_tokens" +
    " cache_creation_input_tokens cache_read_input_tokens"
  )
    .split(" ")
    .map((name) => [hashOf(name), name as keyof UsageFields]),
);
const CACHED_HASH = hashOf(CACHED);

/**
 * @param headers those of the answer.
 * @returns `undefined` for an answer that cannot be read: it is encoded, or neither JSON nor an event stream.
 */
export function createAnswerScanner(
  headers: Headers,
  estimate: Pick<Estimate, "inputTokens">,
): AnswerScanner | undefined {
  if (!/^(?:identity)?$/i.test(headers.get("Content-Encoding") ?? "")) return undefined;
  const type = /^\s*(text\/event-stream|application\/(?:[\w.-]+\+)?json)\s*(?:;|$)/i.exec(
    headers.get("Content-Type") ?? "",
  )?.[1];
  return type === undefined ? undefined : scanner(/^text/i.test(type), estimate);
}

function scanner(isStream: boolean, estimate: Pick<Estimate, "inputTokens">): AnswerScanner {
  // The line of the stream. A JSON answer is like one line of data.
  let line = isStream ? LINE_START : IN_DATA;
  let afterCr = false;
  let between = false;
  // The JSON text.
  const names = new Int32Array(MAX_DEPTH);
  let depth = 0;
  let string = NO_STRING;
  let escaped = 0;
  let unit = 0;
  let hash = 0;
  let isValue = false;
  let wanted = NOTHING;
  let isInText = false;
  let textBytes = 0;
  // The usage that is being read, and what all usages have told. A member that is told again counts as told last.
  let usageDepth = 0;
  let field: keyof UsageFields = CACHED;
  let number = -1;
  let fields: UsageFields = {};
  const told: UsageFields = {};
  let isTold = false;

  function resetJson(): void {
    depth = 0;
    string = NO_STRING;
    escaped = 0;
    isValue = false;
    wanted = NOTHING;
    isInText = false;
    usageDepth = 0;
  }

  /** Reads the bytes of a line that is not data, or its begin. */
  function scanField(bytes: Uint8Array, from: number): number {
    let i = from;
    if (line === OTHER_FIELD) while (i < bytes.length && bytes[i] !== LF && bytes[i] !== CR) i++;
    if (i === bytes.length) return i;
    const c = bytes[i]!;
    if (c === LF && afterCr) {
      afterCr = false;
    } else if (c === LF || c === CR) {
      afterCr = c === CR;
      if (line === LINE_START) {
        resetJson();
        between = true;
      }
      line = LINE_START;
    } else {
      afterCr = false;
      between = false;
      // A byte order mark may stand before the first line.
      if (line !== LINE_START || c < 0x80) line = c === "data:".charCodeAt(line) ? line + 1 : OTHER_FIELD;
    }
    return i + 1;
  }

  /** What the value of a member is wanted for. */
  function wantedOf(name: number, at: number): number {
    if (usageDepth > 0) {
      const told = at === usageDepth ? FIELDS.get(name) : undefined;
      const isCached = at === usageDepth + 1 && at <= MAX_DEPTH && name === CACHED_HASH && DETAILS.has(names[at - 1]!);
      if (!told && !isCached) return NOTHING;
      field = told ?? CACHED;
      number = -1;
      return READ_NUMBER;
    }
    if (at === 1) isInText = TEXT_ROOTS.has(name);
    if (name === USAGE && (at === 1 || (at === 2 && USAGE_PARENTS.has(names[1]!)))) return READ_USAGE;
    return isInText && TEXT_NAMES.has(name) ? COUNT_TEXT : NOTHING;
  }

  function endNumber(): void {
    if (number >= 0 && Number.isSafeInteger(number)) fields[field] = number;
  }

  function endUsage(): void {
    usageDepth = 0;
    if (Object.keys(fields).length === 0) return;
    Object.assign(told, fields);
    // `message_start` tells the input, and an output that is only the first tokens.
    if (names[1] !== MESSAGE) isTold = true;
  }

  /** Reads JSON up to the end of its line. What every byte needs is in local variables: it is read twice as fast. */
  function scanJson(bytes: Uint8Array, from: number): number {
    const end = bytes.length;
    let [i, inside, at, want, isAfterColon] = [from, string, depth, wanted, isValue];
    while (i < end) {
      let c = bytes[i]!;
      if (isStream && (c === LF || c === CR)) break;
      if (escaped > 0) {
        i++;
        if (inside !== TEXT) {
          escaped = 0;
        } else if (escaped > 1) {
          unit = unit * 16 + (c & 15) + (c > NINE ? 9 : 0);
          if (++escaped > 5) {
            textBytes += bytesOfUnit(unit);
            escaped = 0;
          }
        } else if (c === U) {
          escaped = 2;
          unit = 0;
        } else {
          textBytes++;
          escaped = 0;
        }
      } else if (inside !== NO_STRING) {
        const start = i;
        if (inside === NAME) {
          let h = hash;
          while (c >= SPACE && c !== QUOTE && c !== BACKSLASH) {
            h = (Math.imul(h, 31) + c) | 0;
            if (++i === end) break;
            c = bytes[i]!;
          }
          hash = h;
        } else {
          while (c >= SPACE && c !== QUOTE && c !== BACKSLASH) {
            if (++i === end) break;
            c = bytes[i]!;
          }
          if (inside === TEXT) textBytes += i - start;
        }
        if (i === end) break;
        if (isStream && (c === LF || c === CR)) break;
        if (c === QUOTE) {
          inside = NO_STRING;
        } else if (c === BACKSLASH) {
          escaped = 1;
          if (inside === NAME) {
            // No provider escapes a name. It is no name that is known here.
            inside = VALUE;
            hash = 0;
          }
        }
        i++;
      } else if (c === QUOTE) {
        if (!isAfterColon) {
          inside = NAME;
          hash = 0;
        } else inside = want === COUNT_TEXT ? TEXT : VALUE;
        if (want === READ_NUMBER) want = NOTHING;
        i++;
      } else if (c === COLON) {
        if (at < MAX_DEPTH) names[at] = hash;
        want = at < MAX_DEPTH ? wantedOf(hash, at) : NOTHING;
        isAfterColon = true;
        i++;
      } else if (c > SPACE && STOPS[c]) {
        if (want === READ_NUMBER) endNumber();
        if (c === OPEN || c === OPEN_LIST) {
          at++;
          if (want === READ_USAGE && c === OPEN) {
            usageDepth = at;
            fields = {};
          }
        } else if (c !== COMMA) {
          if (usageDepth > 0 && at === usageDepth) endUsage();
          if (at > 0) at--;
        }
        if (at < MAX_DEPTH && c !== CLOSE && c !== CLOSE_LIST) names[at] = 0;
        want = NOTHING;
        isAfterColon = false;
        i++;
      } else if (want === READ_NUMBER && c > SPACE) {
        // Counts of tokens are whole: another number is not read.
        if (c >= ZERO && c <= NINE) number = Math.max(number, 0) * 10 + c - ZERO;
        else want = NOTHING;
        i++;
      } else {
        i++;
        while (i < end && !STOPS[bytes[i]!] && want !== READ_NUMBER) i++;
      }
    }
    string = inside;
    depth = at;
    wanted = want;
    isValue = isAfterColon;
    // The end of the line is read as that of any other field.
    if (i < end) line = OTHER_FIELD;
    return i;
  }

  return {
    push(chunk, from = 0, toEvent = false) {
      let i = from;
      while (i < chunk.length) {
        i = line === IN_DATA ? scanJson(chunk, i) : scanField(chunk, i);
        if (toEvent && between) break;
      }
      return i;
    },
    isBetweenEvents: () => between,
    usage() {
      if (!isTold) return undefined;
      const input = inputOf(told) ?? { inputTokens: estimate.inputTokens, cachedInputTokens: 0 };
      return { ...input, outputTokens: outputOf(told) };
    },
    streamed() {
      const input = inputOf(told) ?? { inputTokens: estimate.inputTokens, cachedInputTokens: 0 };
      return { ...input, outputTokens: tokensOfBytes(textBytes) };
    },
  };
}
