/** The JSON of an answer, byte by byte: what of it is text, and the numbers that it states. */

import * as k from "./kinds.ts";
import { bytesOfUnit } from "./tokens.ts";
import { FIELD_NAMES, type UsageFields } from "./usage.ts";

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

export class AnswerJson {
  /** Of the text so far. */
  textBytes = 0;
  /** The largest numbers that all usages have stated. */
  readonly stated: UsageFields = [];
  isStated = false;
  /** The model that has answered. Empty: none is named. */
  model = "";
  readonly #tables: ReturnType<typeof makeTables>;
  readonly #isStream: boolean;
  // What is open, and what the next value is.
  readonly #kinds = new Uint8Array(k.MAX_DEPTH);
  #at = k.OUTSIDE;
  #depth = 0;
  #wanted = k.ROOT;
  #hash = 0;
  /** Behind a backslash -1. Behind `\u` its digits, with a 1 before them. Otherwise 0. */
  #escaped = 0;
  // The number and the usage that are being read.
  #number = -1;
  #fields: UsageFields = [];
  // Events of a stream begin alike: how the last one began, up to its first text, and the kinds that are open there.
  // To read the same once more changes nothing: numbers count by their maximum, and a model by its first name.
  #start = new Uint8Array();
  #startKinds = this.#start;
  #misses = 0;

  /** @param isStream whether the answer is a stream of events, each with JSON of its own. */
  constructor(isStream: boolean) {
    tables ??= makeTables();
    this.#tables = tables;
    this.#isStream = isStream;
  }

  /** What follows is another text. */
  begin(): void {
    this.#depth = this.#escaped = this.#hash = 0;
    this.#wanted = k.ROOT;
  }

  /** Whether the bytes from here on are the beginning of the last event. */
  #isStart(chunk: Uint8Array, from: number): boolean {
    const known = this.#start;
    // A read beyond the end of the chunk would be slow from then on.
    if (known.length === 0 || chunk.length - from < known.length) return false;
    for (let n = 0; n < known.length; n++) if (chunk[from + n] !== known[n]) return false;
    this.#misses = 0;
    return true;
  }

  #keepStart(bytes: Uint8Array, open: number): void {
    this.#misses++;
    this.#start = this.#misses > MOST_MISSES ? new Uint8Array() : bytes.slice();
    this.#startKinds = this.#kinds.slice(0, open + 1);
  }

  /** Reads the byte behind a backslash, or a digit of its number. */
  #readEscaped(c: number): void {
    if (this.#escaped > 0) {
      this.#escaped = this.#escaped * 16 + (c & 15) + (c > k.NINE ? 9 : 0);
      if (this.#escaped < 0x10000) return;
      this.textBytes += bytesOfUnit(this.#escaped & 0xffff);
    } else if (c === k.U) {
      this.#escaped = 1;
      return;
    } else {
      this.textBytes++;
    }
    this.#escaped = 0;
  }

  /** @param kind that of the object which the usage is a member of. */
  #endUsage(kind: number): void {
    const fields = this.#fields;
    if (fields.length === 0) return;
    for (const i of fields.keys()) {
      const [one, before] = [fields[i], this.stated[i]];
      if (one !== undefined) this.stated[i] = Math.max(one, before ?? 0);
    }
    this.isStated ||= kind !== k.MESSAGE;
  }

  /**
   * Reads the next bytes. What every byte needs is in local variables: it is read twice as fast.
   *
   * @returns how far it has read: the end of the chunk, or of a stream the end of its line.
   */
  read(chunk: Uint8Array, from: number): number {
    const end = chunk.length;
    const { stringStops, otherStops, members } = this.#tables;
    const [kinds, isStream] = [this.#kinds, this.#isStream];
    let [i, at, want, h, d, value] = [from, this.#at, this.#wanted, this.#hash, this.#depth, this.#number];
    /** Where an event begins, until its first text. */
    let begin = -1;
    if (want === k.ROOT && d === 0 && at === k.OUTSIDE && h === 0 && this.#misses <= MOST_MISSES) {
      if (this.#isStart(chunk, i)) {
        i += this.#start.length;
        at = k.COUNTED;
        want = k.TEXT;
        h = k.AFTER_COLON;
        d = this.#startKinds.length - 1;
        kinds.set(this.#startKinds);
      } else {
        begin = i;
      }
    }
    let kind = kinds[d]!;
    while (i < end) {
      let c = chunk[i]!;
      if (c <= k.CR && isStream && (c === k.LF || c === k.CR)) {
        at = k.OUTSIDE;
        break;
      }
      i++;
      if (at === k.OUTSIDE) {
        if (c === k.QUOTE) {
          if (h === k.AFTER_COLON) {
            // Gemini names its model in each event.
            at = want === k.TEXT ? k.COUNTED : want === k.MODEL && this.model === "" ? k.KEPT : k.SKIPPED;
            if (begin >= 0 && at === k.COUNTED) {
              this.#keepStart(chunk.subarray(begin, i), d);
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
          if (want >= k.FIELD && value >= 0) this.#fields[want - k.FIELD] = value;
          if (c === k.OPEN || c === k.OPEN_LIST) {
            if (c === k.OPEN_LIST && want === k.ROOT) kind = k.ROOTS;
            else kind = want === k.TEXT ? k.IN_TEXT : c === k.OPEN || want === k.IN_TEXT ? want : k.UNKNOWN;
            kinds[++d] = kind;
            if (d >= k.MAX_DEPTH) kind = k.UNKNOWN;
            if (kind === k.USAGE) this.#fields = [];
          } else if (c !== k.COMMA && d > 0) {
            d--;
            if (kind === k.USAGE) this.#endUsage(kinds[d]!);
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
      } else if (this.#escaped !== 0) {
        if (at === k.COUNTED) this.#readEscaped(c);
        else this.#escaped = 0;
      } else if (c === k.QUOTE) {
        at = k.OUTSIDE;
      } else if (c === k.BACKSLASH) {
        this.#escaped = -1;
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
        if (at === k.COUNTED) this.textBytes += i - start;
        else if (at === k.KEPT && this.model.length < LONGEST_MODEL)
          this.model += String.fromCharCode(...chunk.subarray(start, Math.min(i, start + LONGEST_MODEL)));
      }
    }
    this.#at = at;
    this.#wanted = want;
    this.#hash = h;
    this.#depth = d;
    this.#number = value;
    return i;
  }
}
