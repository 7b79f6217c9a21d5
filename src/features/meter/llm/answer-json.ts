/** The JSON of an answer, byte by byte: what of it is text, and the numbers that it states. */

import { LONGEST_NAME } from "./format.ts";
import * as k from "./kinds.ts";
import { bytesOfUnit } from "./tokens.ts";
import { FIELD_NAMES, FIELDS, type Stated } from "./usage.ts";

/** Characters of a number: more would be no number of tokens. */
const LONGEST_NUMBER = 24;
/** Names of tools, and of models, that are counted. */
const MOST_NAMES = 64;

/** After so many events in a row that begin in other ways, their beginnings are not kept any more. */
const MOST_MISSES = 4;

/** Made by the first answer that is read. Most isolates read none, and would pay for it before their first answer. */
let tables: ReturnType<typeof makeTables> | undefined;

function makeTables() {
  return {
    stringStops: stopsOf('"\\\n\r'),
    otherStops: stopsOf('",:[]{}\n\r'),
    members: makeMembers(),
    objects: kindsBy(k.OBJECTS),
    lists: kindsBy(k.LISTS),
    inside: kindsBy(k.INSIDE),
    counted: kindsBy(k.COUNTED_STRINGS.map((want) => [want, 1])),
    itemBegins: hashOf(k.EVENT, "response.output_item.added"),
  };
}

/** Kinds in a table: what stands in none is `UNKNOWN`. */
function kindsBy(pairs: typeof k.OBJECTS): Uint8Array {
  const table = new Uint8Array(KINDS);
  for (const [key, kind] of pairs) table[key] = kind;
  return table;
}

/** More than there are, and 6 bits. */
const KINDS = 64;

/** 1 for each byte that is not skipped. Line ends are skipped only in a JSON answer. */
function stopsOf(chars: string): Uint8Array {
  const bytes = new Uint8Array(256);
  for (let i = 0; i < chars.length; i++) bytes[chars.charCodeAt(i)] = 1;
  return bytes;
}

/** One step of a hash, which has 30 bits: larger numbers would be slower. */
const add = (hash: number, c: number) => (Math.imul(hash, 31) + c) & 0x3fffffff;

function hashOf(kind: number, name: string): number {
  let hash = kind;
  for (let i = 0; i < name.length; i++) hash = add(hash, name.charCodeAt(i));
  return hash;
}

/** By a hash of an object's kind and a name in it: the kind of the object times `KINDS`, plus that of the value. */
function makeMembers(): ReadonlyMap<number, number> {
  const members = new Map<number, number>();

  function define(object: number, kind: number, names: string): void {
    for (const name of names.split(" ")) members.set(hashOf(object, name), object * KINDS + kind);
  }

  const texts =
    "content text delta refusal reasoning reasoning_content thinking arguments input partial_json transcript parts outputText";
  for (const object of [k.IN_TEXT, k.CHOICE, k.ITEM]) define(object, k.TEXT, texts);
  // Anthropic and Gemini; Ollama; Llama, Mistral and Titan on Bedrock.
  define(k.ROOT, k.TEXT, "content candidates thinking generation outputs results outputText");
  define(k.MESSAGE, k.TEXT, "content thinking tool_calls");
  define(k.ROOT, k.CHOICES, "choices");
  define(k.ROOT, k.CHOICE, "delta");
  define(k.ROOT, k.STEP, "item");
  define(k.ROOT, k.RESPONSE, "response");
  define(k.ROOT, k.MESSAGE, "message");
  define(k.ROOT, k.HOLDER, "x_groq");
  define(k.ROOT, k.USAGE, "amazon-bedrock-invocationMetrics");
  define(k.ROOT, k.ITEMS, "output");
  define(k.RESPONSE, k.REPEATS, "output");
  // Cohere's answers to chats of the first version, and to texts that it embeds.
  for (const object of [k.ROOT, k.RESPONSE]) define(object, k.USAGE, "meta");
  for (const object of [k.ROOT, k.RESPONSE, k.MESSAGE]) {
    define(object, k.USAGE, "usage usageMetadata");
    define(object, k.MODEL, "model modelVersion");
  }
  for (const object of [k.CHOICE, k.HOLDER]) define(object, k.USAGE, "usage");
  for (const object of [k.ROOT, k.RESPONSE, k.USAGE]) define(object, k.TIER, "service_tier");
  // Gemini's: the one of Google Cloud, whose clients choose a tier by a field of the header section.
  define(k.USAGE, k.TIER, "serviceTier trafficType");
  // Bedrock's converse.
  define(k.ROOT, k.TIERED, "serviceTier");
  define(k.TIERED, k.TIER, "type");
  define(k.ROOT, k.EVENT, "type");
  for (const object of [k.ITEM, k.STEP, k.REPEATED]) define(object, k.TYPE, "type");
  for (const object of [k.USAGE, k.ITERATION]) {
    define(object, k.DETAILS, "prompt_tokens_details input_tokens_details cache_creation billed_units");
  }
  define(k.DETAILS, k.DETAILS, "cache_write_tokens_details");
  define(k.USAGE, k.SPEED, "speed");
  define(k.ITERATION, k.PART_MODEL, "model");
  define(k.USAGE, k.ITERATIONS, "iterations");
  define(k.USAGE, k.SPARE, "tokens");
  define(k.USAGE, k.TOOL_USE, "server_tool_use");
  define(k.USAGE, k.WRITES, "cacheDetails");
  define(k.WRITE, k.TTL, "ttl");
  FIELDS.forEach((field, i) => {
    for (const object of [k.USAGE, k.DETAILS, k.ITERATION, k.SPARE]) define(object, k.FIELD + i, FIELD_NAMES[field]);
  });
  // Llama on Bedrock, Titan, and Ollama.
  define(k.ROOT, k.FIELD + indexOf("prompt"), "prompt_token_count prompt_eval_count inputTextTokenCount");
  define(k.ROOT, k.FIELD + indexOf("output"), "generation_token_count eval_count");
  define(k.WRITE, k.FIELD + indexOf("input"), "inputTokens");
  return members;
}

/** By position in `FIELDS`. Absent: not stated. */
type Numbers = (number | undefined)[];

const indexOf = (field: keyof Stated) => FIELDS.indexOf(field);

/** Whether the numbers in an object of this kind are kept apart until it ends. */
function isPart(kind: number): boolean {
  return kind === k.USAGE || kind === k.ITERATION || kind === k.SPARE || kind === k.WRITE;
}

/** A name as a provider has written it. @param json the bytes between the quotes, a character each. */
function nameOf(json: string): string {
  if (!/[\\\x80-\xff]/.test(json)) return json;
  try {
    const bytes = Uint8Array.from(json, (c) => c.charCodeAt(0));
    return JSON.parse(`"${new TextDecoder().decode(bytes)}"`) as string;
  } catch {
    // It is cut in an escape, or none.
    return json;
  }
}

/** What ends the name of a version: `claude-sonnet-4-5-20250929` is `claude-sonnet-4-5`. */
const VERSION = /[-@:](?:\d{4}-?\d{2}-?\d{2}|latest)$/i;

/** Whether these are names of one model. A proxy may put a prefix before it. "": it has no name of its own. */
function isSameModel(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => name.slice(name.lastIndexOf("/") + 1).replace(VERSION, ""));
  return a === "" || b === "" || a === b;
}

function keepLargest(kept: Numbers, more: Numbers): void {
  for (const i of more.keys()) {
    const [one, before] = [more[i], kept[i]];
    if (one !== undefined) kept[i] = Math.max(one, before ?? 0);
  }
}

function addAll(sums: Numbers, more: Numbers): void {
  for (const i of more.keys()) sums[i] = (sums[i] ?? 0) + (more[i] ?? 0);
}

/** Those of a model. One too many counts as the model that has answered. */
function numbersOf(all: Map<string, Numbers>, model: string): Numbers {
  const name = all.has(model) || all.size < MOST_NAMES ? model : "";
  const numbers = all.get(name) ?? [];
  all.set(name, numbers);
  return numbers;
}

/** Google Cloud's types of traffic are `ON_DEMAND_PRIORITY` and so on. */
function tierIn(text: string): string {
  const [, type] = /^ON_DEMAND_(\w+)$/.exec(text) ?? [];
  return type?.toLowerCase() ?? text;
}

function statedOf(numbers: Numbers): Stated {
  return Object.fromEntries(FIELDS.flatMap((field, i) => (numbers[i] === undefined ? [] : [[field, numbers[i]]])));
}

/** Most answers are by one model. */
const NO_OTHERS: readonly (readonly [model: string, Stated])[] = [];

/** How Anthropic names the number of a tool's calls, and OpenAI an item that is one. */
const REQUESTS = "_requests";
const CALL = "_call";

export class AnswerJson {
  /** Of the text so far. */
  textBytes = 0;
  isStated = false;
  /** The model that has answered. Empty: none is named. */
  model = "";
  /** The service tier that was named last. Empty: none. */
  tier = "";
  /** The speed that was named last, if it isn't the usual one. Empty: none. */
  speed = "";
  /** The most calls of the provider's tools that were stated, by the name of the tool. */
  readonly calls = new Map<string, number>();
  /** The largest numbers that all usages have stated, in the order of `FIELDS`. */
  readonly #stated: Numbers = [];
  /** The largest sums of the parts of a usage, by their models. Empty: the part names none. */
  readonly #parts = new Map<string, Numbers>();
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
  // The number, and the string that is kept, that are being read.
  #number = "";
  #kept = "";
  // The usage that is being read: its own numbers, the sums of its parts, and those for which there are none.
  #fields: Numbers = [];
  #sums = new Map<string, Numbers>();
  #spare: Numbers = [];
  /** Those of its part that is being read, and the model of it. */
  #part: Numbers = [];
  #partModel = "";
  /** How long the part of a cache is kept that is being read. */
  #ttl = "";
  /** The hash of the event's type, and the calls in the event and in all events that begin an item. */
  #event = 0;
  readonly #inEvent = new Map<string, number>();
  readonly #begun = new Map<string, number>();
  // Events of a stream begin alike: how the last one began, up to its first text, and the kinds that are open there.
  // To read the same once more changes nothing: numbers count by their maximum, a model by its first name, and items
  // have ids.
  #start = new Uint8Array();
  #startKinds = this.#start;
  #startEvent = 0;
  #misses = 0;

  /** @param isStream whether the answer is a stream of events, each with JSON of its own. */
  constructor(isStream: boolean) {
    tables ??= makeTables();
    this.#tables = tables;
    this.#isStream = isStream;
  }

  /** What follows is another text. */
  begin(): void {
    this.#at = k.OUTSIDE;
    this.#depth = this.#escaped = this.#hash = this.#event = 0;
    this.#wanted = k.ROOT;
    this.#number = "";
    this.#inEvent.clear();
  }

  /** The largest numbers that all usages have stated, of the model that has answered. */
  stated(): Stated {
    if (this.#parts.size === 0) return statedOf(this.#stated);
    const own: Numbers = [];
    for (const [model, numbers] of this.#parts) if (isSameModel(model, this.model)) addAll(own, numbers);
    keepLargest(own, this.#stated);
    return statedOf(own);
  }

  /** The same of other models, by their names. */
  others(): readonly (readonly [model: string, Stated])[] {
    if (this.#parts.size === 0) return NO_OTHERS;
    const others = [...this.#parts].filter(([model]) => !isSameModel(model, this.model));
    return others.map(([model, numbers]) => [model, statedOf(numbers)] as const);
  }

  /** Whether it has stated a number above 0. */
  statesSome(): boolean {
    return this.#stated.some(Boolean) || [...this.#parts.values()].some((numbers) => numbers.some(Boolean));
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
    this.#startEvent = this.#event;
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

  /** An object of a usage begins. */
  #open(kind: number): void {
    if (kind === k.USAGE) {
      this.#fields = [];
      this.#sums.clear();
      this.#spare = [];
      this.#part = this.#fields;
    } else {
      this.#part = kind === k.SPARE ? this.#spare : [];
      this.#partModel = "";
    }
  }

  /** An object of a usage has ended. @param around the kind of the object that it is a member of. */
  #close(kind: number, around: number): void {
    const [part, fields] = [this.#part, this.#fields];
    this.#part = fields;
    if (kind === k.ITERATION) addAll(numbersOf(this.#sums, this.#partModel), part);
    if (kind === k.WRITE) {
      const i = indexOf(this.#ttl === "1h" ? "created1h" : "created5m");
      fields[i] = (fields[i] ?? 0) + (part[indexOf("input")] ?? 0);
    }
    if (kind !== k.USAGE) return;
    for (const [model, sums] of this.#sums) keepLargest(numbersOf(this.#parts, model), sums);
    for (const i of this.#spare.keys()) fields[i] ??= this.#spare[i];
    if (fields.length === 0 && this.#sums.size === 0) return;
    keepLargest(this.#stated, fields);
    this.isStated ||= around !== k.MESSAGE;
  }

  /** A number has ended. Those of tokens may be written as any number of JSON. @param kind that of its object. */
  #endNumber(want: number, kind: number): void {
    const number = this.#number === "" ? Number.NaN : Number(this.#number);
    this.#number = "";
    if (!(number >= 0 && number < Number.POSITIVE_INFINITY)) return;
    const count = Math.ceil(number);
    if (want === k.CALLS) {
      this.#count(this.#kept.slice(0, -REQUESTS.length), count);
      return;
    }
    const i = want - k.FIELD;
    const numbers = kind === k.ROOT ? this.#stated : this.#part;
    numbers[i] = Math.max(count, numbers[i] ?? 0);
    this.isStated ||= kind === k.ROOT;
  }

  /** One by one: a copy and a call with all of them would take three times as long. */
  #keep(chunk: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + LONGEST_NAME - this.#kept.length);
    for (let i = from; i < end; i++) this.#kept += String.fromCharCode(chunk[i]!);
  }

  /** A string that is kept has ended. @param kind that of its object. */
  #endKept(want: number, kind: number): void {
    const text = this.#kept;
    if (want === k.MODEL) this.model ||= nameOf(text);
    else if (want === k.TTL) this.#ttl = text;
    else if (want === k.PART_MODEL) this.#partModel = nameOf(text);
    else if (want === k.SPEED) this.speed = text === "standard" ? "" : text;
    // "auto" is what was asked for: no answer comes from it.
    else if (want === k.TIER) this.tier = text === "auto" ? this.tier : tierIn(text);
    else if (text.endsWith(CALL)) {
      const isBegun = kind === k.STEP;
      if (isBegun && this.#event !== this.#tables.itemBegins) return;
      const [name, counts] = [text.slice(0, -CALL.length), isBegun ? this.#begun : this.#inEvent];
      const count = (counts.get(name) ?? 0) + 1;
      if (count > 1 || counts.size < MOST_NAMES) counts.set(name, count);
      this.#count(name, count);
    }
  }

  /** Notes so many calls of a tool. */
  #count(tool: string, calls: number): void {
    const before = this.calls.get(tool) ?? 0;
    if (calls > before && (before > 0 || this.calls.size < MOST_NAMES)) this.calls.set(tool, calls);
  }

  /**
   * Reads the next bytes. What every byte needs is in local variables: it is read twice as fast.
   *
   * @returns how far it has read: the end of the chunk, or of a stream the end of its line.
   */
  read(chunk: Uint8Array, from: number): number {
    const end = chunk.length;
    const { stringStops, otherStops, members, objects, lists, inside, counted } = this.#tables;
    const [kinds, isStream] = [this.#kinds, this.#isStream];
    let [i, at, want, h, d] = [from, this.#at, this.#wanted, this.#hash, this.#depth];
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
        this.#event = this.#startEvent;
      } else {
        begin = i;
      }
    }
    let kind = kinds[d] ?? k.UNKNOWN;
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
            at = counted[want] !== 0 ? k.COUNTED : k.SKIPPED;
            if (want === k.EVENT) {
              at = k.NAME;
              h = k.EVENT;
              // Gemini names its model in each event.
            } else if (want >= k.MODEL && want < k.CALLS && (want !== k.MODEL || this.model === "")) {
              at = k.KEPT;
              this.#kept = "";
            }
            if (begin >= 0 && at === k.COUNTED) {
              this.#keepStart(chunk.subarray(begin, i), d);
              begin = -1;
            }
          } else {
            at = k.NAME;
            h = kind;
            if (kind === k.TOOL_USE) this.#kept = "";
          }
        } else if (c === k.COLON) {
          const member = members.get(h);
          if (member !== undefined && member >> 6 === kind) want = member & 63;
          if (kind === k.TOOL_USE && this.#kept.endsWith(REQUESTS)) want = k.CALLS;
          h = k.AFTER_COLON;
        } else if (c > k.SPACE && otherStops[c] !== 0) {
          if (want >= k.CALLS) this.#endNumber(want, kind);
          if (c === k.OPEN || c === k.OPEN_LIST) {
            kind = (c === k.OPEN ? objects : lists)[want]!;
            kinds[++d] = kind;
            if (d >= k.MAX_DEPTH) kind = k.UNKNOWN;
            if (isPart(kind)) this.#open(kind);
          } else if (c !== k.COMMA && d > 0) {
            d--;
            const around = d < k.MAX_DEPTH ? kinds[d]! : k.UNKNOWN;
            if (isPart(kind)) this.#close(kind, around);
            kind = around;
          }
          want = inside[kind]!;
          h = 0;
        } else if (want < k.CALLS) {
          while (i < end && otherStops[chunk[i]!] === 0) i++;
        } else if (c > k.SPACE) {
          // Words become no number, and a number that is too long is none.
          this.#number += String.fromCharCode(c);
          if (this.#number.length > LONGEST_NUMBER) this.#number = "?";
        }
      } else if (this.#escaped !== 0) {
        if (at === k.COUNTED) this.#readEscaped(c);
        else this.#escaped = 0;
        if (at === k.KEPT) this.#keep(chunk, i - 1, i);
      } else if (c === k.QUOTE) {
        if (at === k.KEPT) this.#endKept(want, kind);
        else if (want === k.EVENT) this.#event = h;
        at = k.OUTSIDE;
      } else if (c === k.BACKSLASH) {
        this.#escaped = -1;
        if (at === k.KEPT) this.#keep(chunk, i - 1, i);
        // No provider escapes a name. It is no name that is known here.
        if (at === k.NAME) {
          at = k.SKIPPED;
          h = 0;
        }
      } else if (at === k.NAME) {
        const start = i - 1;
        h = add(h, c);
        for (; i < end; i++) {
          c = chunk[i]!;
          if (stringStops[c] !== 0) break;
          h = add(h, c);
        }
        if (kind === k.TOOL_USE) this.#keep(chunk, start, i);
      } else {
        const start = i - 1;
        while (i < end && stringStops[chunk[i]!] === 0) i++;
        if (at === k.COUNTED) this.textBytes += i - start;
        else if (at === k.KEPT) this.#keep(chunk, start, i);
      }
    }
    this.#at = at;
    this.#wanted = want;
    this.#hash = h;
    this.#depth = d;
    return i;
  }
}
