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
import type { Estimate } from "./estimate.ts";
import * as k from "./kinds.ts";
import { bytesOfUnit, tokensOfBytes } from "./tokens.ts";
import { FIELD_NAMES, statesOutput, statesZero, type Usage, type UsageFields, usageOf } from "./usage.ts";

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
  /** Whether the answer is an event stream, and not JSON. */
  readonly isStream: boolean;
  /** The answer has ended as it should. */
  end(): void;
  /** What the answer itself says that it used. `undefined`: it has not said it, or not yet. */
  usage(): Usage | undefined;
  /**
   * What was used by the text so far: the input as stated or as estimated, and a token for each 4 bytes of text.
   * `undefined`: a JSON answer has no text so far. Its model may work on, and be asked later.
   */
  streamed(): Usage | undefined;
  /** Whether the output is told, as a number or as text. The text of a JSON answer counts when it has ended. */
  isOutputKnown(): boolean;
  /** Whether it states that there was no input, or no output although it has text. */
  hasZeros(): boolean;
  /** The model that has answered, as the answer names it. */
  model(): string | undefined;
}

/** Characters of a model's name that are kept, about. */
const LONGEST_MODEL = 100;

/** After so many events in a row that begin in other ways, their beginnings are not kept any more. */
const MOST_MISSES = 4;

/** Made by the first answer that is read. Most isolates read none, and would pay for it before their first answer. */
let tables: ReturnType<typeof makeTables> | undefined;

function makeTables() {
  return { stringStops: stopsOf('"\\\n\r'), otherStops: stopsOf('",:[]{}\n\r'), members: makeMembers() };
}

/** 1 for each byte that is not skipped. Line ends are skipped only in a JSON answer. */
function stopsOf(chars: string): Uint8Array {
  const bytes = new Uint8Array(256);
  for (let i = 0; i < chars.length; i++) bytes[chars.charCodeAt(i)] = 1;
  return bytes;
}

/** One step of a hash, which has 30 bits: larger numbers would be slower. */
const add = (hash: number, c: number) => (Math.imul(hash, 31) + c) & 0x3fffffff;

/** By a hash of an object's kind and a name in it: the kind of the object times 32, plus that of the value. */
function makeMembers(): ReadonlyMap<number, number> {
  const members = new Map<number, number>();

  function define(object: number, kind: number, names: string): void {
    for (const name of names.split(" ")) {
      let hash = object;
      for (let i = 0; i < name.length; i++) hash = add(hash, name.charCodeAt(i));
      members.set(hash, object * 32 + kind);
    }
  }

  define(k.ROOT, k.TEXT, "choices delta content output candidates");
  define(
    k.IN_TEXT,
    k.TEXT,
    "content text delta refusal reasoning reasoning_content thinking arguments input partial_json transcript parts",
  );
  define(k.ROOT, k.RESPONSE, "response");
  define(k.ROOT, k.MESSAGE, "message");
  for (const object of [k.ROOT, k.RESPONSE, k.MESSAGE]) {
    define(object, k.USAGE, "usage usageMetadata");
    define(object, k.MODEL, "model modelVersion");
  }
  define(k.USAGE, k.DETAILS, "prompt_tokens_details input_tokens_details");
  FIELD_NAMES.forEach((names, i) => {
    for (const object of [k.USAGE, k.DETAILS]) define(object, k.FIELD + i, names);
  });
  return members;
}

/**
 * @param headers those of the answer.
 * @returns `undefined` for an answer that cannot be read: it is encoded, or neither JSON nor an event stream.
 */
export function createAnswerScanner(
  headers: Headers,
  { inputTokens }: Pick<Estimate, "inputTokens">,
): AnswerScanner | undefined {
  const type = /^\s*(?:(text\/event-stream)|application\/([\w.-]+\+)?json)\s*(;|$)/i.exec(
    headers.get("Content-Type") ?? "",
  );
  if (!type || isEncoded(headers)) return undefined;

  tables ??= makeTables();
  const { stringStops, otherStops, members } = tables;
  const isStream = type[1] !== undefined;
  // A JSON answer is like one line of data.
  let mode = isStream ? k.LINE_START : k.OUTSIDE;
  let isAfterCr = false;
  let isBetween = false;
  // The JSON text: what is open, and what the next value is.
  const kinds = new Uint8Array(k.MAX_DEPTH);
  let depth = 0;
  let wanted = k.ROOT;
  let hash = 0;
  /** Behind a backslash -1. Behind `\u` its digits, with a 1 before them. Otherwise 0. */
  let escaped = 0;
  let textBytes = 0;
  // The number and the usage that are being read, and the largest numbers that all usages have stated.
  let number = -1;
  let fields: UsageFields = [];
  const stated: UsageFields = [];
  let isStated = false;
  let isEnded = false;
  let model = "";
  // Events of a stream begin alike: how the last one began, up to its first text, and the kinds that are open there.
  // To read the same once more changes nothing: numbers count by their maximum, and a model by its first name.
  let start = new Uint8Array();
  let startKinds = start;
  let misses = 0;

  /** Whether the bytes from here on are the beginning of the last event. */
  function isStart(chunk: Uint8Array, from: number): boolean {
    const known = start;
    // A read beyond the end of the chunk would be slow from then on.
    if (known.length === 0 || chunk.length - from < known.length) return false;
    for (let n = 0; n < known.length; n++) if (chunk[from + n] !== known[n]) return false;
    misses = 0;
    return true;
  }

  function keepStart(bytes: Uint8Array, open: number): void {
    misses++;
    start = misses > MOST_MISSES ? new Uint8Array() : bytes.slice();
    startKinds = kinds.slice(0, open + 1);
  }

  /** Reads a line: up to its JSON if it is a line of data, otherwise up to its end. */
  function readField(chunk: Uint8Array, from: number): number {
    let [i, at] = [from, mode];
    while (i < chunk.length && at < k.OUTSIDE) {
      const c = chunk[i++]!;
      if (c === k.LF || c === k.CR) {
        const isRest = c === k.LF && isAfterCr;
        isAfterCr = c === k.CR;
        if (isRest) continue;
        mode = k.LINE_START;
        if (at === k.LINE_START) {
          isBetween = true;
          depth = escaped = hash = 0;
          wanted = k.ROOT;
          return i;
        }
        at = k.LINE_START;
      } else if (at === k.OTHER_FIELD) {
        while (i < chunk.length && chunk[i] !== k.LF && chunk[i] !== k.CR) i++;
      } else {
        isAfterCr = isBetween = false;
        // A byte order mark may stand before the first line.
        if (at !== k.LINE_START || c < 0x80) at = c === "data:".charCodeAt(at) ? at + 1 : k.OTHER_FIELD;
      }
    }
    mode = at;
    return i;
  }

  /** Reads the byte behind a backslash, or a digit of its number. */
  function readEscaped(c: number): void {
    if (escaped > 0) {
      escaped = escaped * 16 + (c & 15) + (c > k.NINE ? 9 : 0);
      if (escaped < 0x10000) return;
      textBytes += bytesOfUnit(escaped & 0xffff);
    } else if (c === k.U) {
      escaped = 1;
      return;
    } else {
      textBytes++;
    }
    escaped = 0;
  }

  /** Reads JSON up to the end of its line. What every byte needs is in local variables: it is read twice as fast. */
  function readJson(chunk: Uint8Array, from: number): number {
    const end = chunk.length;
    let [i, at, want, h, d, value] = [from, mode, wanted, hash, depth, number];
    /** Where an event begins, until its first text. */
    let begin = -1;
    if (want === k.ROOT && d === 0 && at === k.OUTSIDE && h === 0 && misses <= MOST_MISSES) {
      if (isStart(chunk, i)) {
        i += start.length;
        at = k.COUNTED;
        want = k.TEXT;
        h = k.AFTER_COLON;
        d = startKinds.length - 1;
        kinds.set(startKinds);
      } else {
        begin = i;
      }
    }
    let kind = kinds[d]!;
    while (i < end) {
      let c = chunk[i]!;
      // The end of the line is read as that of any other field.
      if (c <= k.CR && isStream && (c === k.LF || c === k.CR)) {
        at = k.OTHER_FIELD;
        break;
      }
      i++;
      if (at === k.OUTSIDE) {
        if (c === k.QUOTE) {
          if (h === k.AFTER_COLON) {
            // Gemini names its model in each event.
            at = want === k.TEXT ? k.COUNTED : want === k.MODEL && model === "" ? k.KEPT : k.SKIPPED;
            if (begin >= 0 && at === k.COUNTED) {
              keepStart(chunk.subarray(begin, i), d);
              begin = -1;
            }
          } else {
            at = k.NAME;
            h = kind;
          }
        } else if (c === k.COLON) {
          const member = members.get(h);
          if (member !== undefined && member >> 5 === kind) want = member & 31;
          h = k.AFTER_COLON;
          value = -1;
        } else if (c > k.SPACE && otherStops[c] !== 0) {
          if (want >= k.FIELD && value >= 0) fields[want - k.FIELD] = value;
          if (c === k.OPEN || c === k.OPEN_LIST) {
            if (c === k.OPEN_LIST && want === k.ROOT) kind = k.ROOTS;
            else kind = want === k.TEXT ? k.IN_TEXT : c === k.OPEN || want === k.IN_TEXT ? want : k.UNKNOWN;
            kinds[++d] = kind;
            if (d >= k.MAX_DEPTH) kind = k.UNKNOWN;
            if (kind === k.USAGE) fields = [];
          } else if (c !== k.COMMA && d > 0) {
            d--;
            if (kind === k.USAGE && fields.length > 0) {
              for (const i of fields.keys()) {
                const [one, before] = [fields[i], stated[i]];
                if (one !== undefined) stated[i] = Math.max(one, before ?? 0);
              }
              isStated ||= kinds[d] !== k.MESSAGE;
            }
            kind = kinds[d]!;
          }
          want = kind === k.IN_TEXT ? k.IN_TEXT : kind === k.ROOTS ? k.ROOT : k.UNKNOWN;
          h = 0;
        } else if (want < k.FIELD) {
          while (i < end && otherStops[chunk[i]!] === 0) i++;
        } else if (c > k.SPACE) {
          // Counts of tokens are whole: another number is not read.
          value = Math.max(value, 0) * 10 + (c >= k.ZERO && c <= k.NINE ? c - k.ZERO : NaN);
        }
      } else if (escaped !== 0) {
        if (at === k.COUNTED) readEscaped(c);
        else escaped = 0;
      } else if (c === k.QUOTE) {
        at = k.OUTSIDE;
      } else if (c === k.BACKSLASH) {
        escaped = -1;
        // No provider escapes a name. It is no name that is known here.
        if (at === k.NAME) {
          at = k.SKIPPED;
          h = 0;
        }
      } else if (at === k.NAME) {
        h = add(h, c);
        for (; i < end; i++) {
          c = chunk[i]!;
          if (stringStops[c] !== 0) break;
          h = add(h, c);
        }
      } else {
        const start = i - 1;
        while (i < end && stringStops[chunk[i]!] === 0) i++;
        if (at === k.COUNTED) textBytes += i - start;
        else if (at === k.KEPT && model.length < LONGEST_MODEL)
          model += String.fromCharCode(...chunk.subarray(start, Math.min(i, start + LONGEST_MODEL)));
      }
    }
    mode = at;
    wanted = want;
    hash = h;
    depth = d;
    number = value;
    return i;
  }

  const text = () => tokensOfBytes(textBytes);
  const hasUsage = () => isStated && stated.some(Boolean);

  return {
    push(chunk, from = 0, toEvent = false) {
      let i = from;
      while (i < chunk.length) {
        i = mode < k.OUTSIDE ? readField(chunk, i) : readJson(chunk, i);
        if (toEvent && isBetween) break;
      }
      return i;
    },
    isBetweenEvents: () => isBetween,
    isStream,
    end: () => {
      isEnded = true;
    },
    // Some answers tell their input only.
    usage: () => (hasUsage() ? usageOf(stated, inputTokens, text()) : undefined),
    streamed: () => {
      if (!isStream && textBytes === 0) return undefined;
      return { ...usageOf(stated, inputTokens, 0), outputTokens: text() };
    },
    isOutputKnown() {
      if (textBytes === 0) return hasUsage() && statesOutput(stated);
      return isStated || isStream || isEnded;
    },
    hasZeros: () => isStated && statesZero(stated, textBytes > 0),
    model: () => model || undefined,
  };
}
