/**
 * Reads the body of a request as bytes. Nothing is decoded or parsed except what the estimate is made of: strings are
 * skipped at the speed of a search for the quote at their end.
 */

import type { Format } from "./format.ts";
import { BACKSLASH, COLON, COMMA, CR, LF, NINE, OPEN, OPEN_LIST, QUOTE, SPACE, U, ZERO } from "./kinds.ts";
import { type Input, readPart } from "./parts.ts";
import { isCounted, nameOf, type Role, roleOf } from "./roles.ts";
import { BYTES_PER_TOKEN, bytesOfUnit } from "./tokens.ts";

/** What a body says. */
export interface RequestBody extends Readonly<Input> {
  /** Members that say what is asked for, by their names. Objects and lists are `true`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The last bytes, where they are no JSON or are cut off. */
  readonly unreadBytes: number;
  /** Whether this is the whole body. */
  readonly isWhole: boolean;
}

const CLOSE_LIST = 0x5d;
const CLOSE = 0x7d;
const TAB = 0x09;
const MINUS = 0x2d;
const N = 0x6e;
const WORDS: Readonly<Record<number, string>> = { 102: "false", [N]: "null", 116: "true" };

/** What may come next. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const AFTER_NAME = 4;
const AFTER_VALUE = 5;
const END = 6;

/** A string that is longer is searched for its end by the runtime: a call costs as much as so many bytes. */
const SHORT = 32;

const decoder = new TextDecoder();

/** @param isCut the body goes on behind these bytes: it is read up to the last value that is complete. */
export function readRequest(bytes: Uint8Array, isCut: boolean, format: Format | undefined): RequestBody {
  try {
    return read(bytes, isCut, format);
  } catch {
    // It is not JSON.
    return { fields: {}, textBytes: 0, media: 0, unreadBytes: bytes.length, isWhole: false };
  }
}

function read(bytes: Uint8Array, isCut: boolean, format: Format | undefined): RequestBody {
  const end = bytes.length;
  const json = (from: number, to: number) => decoder.decode(bytes.subarray(from, to));
  const strings = createStrings(bytes);
  const fields: Record<string, unknown> = {};
  let textBytes = 0;
  let media = 0;
  // The innermost object or list that is open, and those around it.
  let role: Role = "skipped";
  let isList = true;
  const roles: Role[] = [];
  const lists: boolean[] = [];
  /** What the next value is. */
  let valueRole: Role = "body";
  let field: string | undefined;
  let next = VALUE;
  // The outermost part that is open. If it may be media, it is read again when it ends.
  let partDepth = 0;
  let partFrom = 0;
  let partTextBytes = 0;
  let mayBeMedia = false;
  // How far the last complete value goes.
  let completeTo = 0;
  let completeTextBytes = 0;

  // A byte order mark may stand before the JSON.
  let i = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (i < end) {
    const c = bytes[i]!;
    if (c <= SPACE) {
      if (c !== SPACE && c !== LF && c !== CR && c !== TAB) fail();
      i++;
    } else if (c === QUOTE) {
      const from = i;
      const to = strings.endOf(from + 1);
      if (to >= end) break;
      i = to + 1;
      const length = to - from - 1 - strings.escapesSave;
      if (next <= VALUE_OR_END) {
        if (roles.length === 0) fail();
        if (isCounted(valueRole)) textBytes += length;
        if (field !== undefined) fields[field] = JSON.parse(json(from, i));
        field = undefined;
        next = AFTER_VALUE;
      } else if (next <= NAME_OR_END) {
        if (isCounted(role)) textBytes += length;
        next = AFTER_NAME;
        if (role === "text" || role === "skipped") continue;
        const name = strings.escapesSave === 0 ? nameOf(bytes, from + 1, to) : escapedName(json(from, i));
        valueRole = roleOf(role, name);
        field = name?.fields.get(role);
        if (role === "part" && name?.isMedia) mayBeMedia = true;
      } else {
        fail();
      }
    } else if (c === COLON) {
      if (next !== AFTER_NAME) fail();
      next = VALUE;
      i++;
    } else if (c === COMMA) {
      if (next !== AFTER_VALUE) fail();
      next = isList ? VALUE : NAME;
      completeTo = i++;
      completeTextBytes = textBytes;
    } else if (c === OPEN || c === OPEN_LIST) {
      if (next > VALUE_OR_END || (roles.length === 0 && c !== OPEN)) fail();
      if (field !== undefined) fields[field] = true;
      field = undefined;
      roles.push(role);
      lists.push(isList);
      role = valueRole;
      isList = c === OPEN_LIST;
      next = isList ? VALUE_OR_END : NAME_OR_END;
      if (role === "part" && !isList && partDepth === 0) {
        partDepth = roles.length;
        partFrom = i;
        partTextBytes = textBytes;
        mayBeMedia = false;
      }
      completeTo = ++i;
      completeTextBytes = textBytes;
    } else if (c === CLOSE || c === CLOSE_LIST) {
      if (next !== AFTER_VALUE && next !== (isList ? VALUE_OR_END : NAME_OR_END)) fail();
      if (roles.length === 0 || isList !== (c === CLOSE_LIST)) fail();
      completeTo = ++i;
      if (roles.length === partDepth) {
        partDepth = 0;
        if (mayBeMedia) {
          const part = readPart(json(partFrom, i), format);
          textBytes = partTextBytes + part.textBytes;
          media += part.media;
        }
      }
      completeTextBytes = textBytes;
      valueRole = role = roles.pop()!;
      isList = lists.pop()!;
      next = roles.length === 0 ? END : AFTER_VALUE;
    } else {
      if (next > VALUE_OR_END || roles.length === 0) fail();
      const from = i;
      if (c === MINUS || (c >= ZERO && c <= NINE)) while (i < end && isOfNumber(bytes[i]!)) i++;
      else i = endOfWord(bytes, from);
      // What goes up to the end of the bytes may be cut off.
      if (i >= end) break;
      if (field !== undefined) fields[field] = JSON.parse(json(from, i));
      field = undefined;
      // A member of a body that is null is as good as absent.
      if (isCounted(valueRole) && !(role === "body" && c === N)) textBytes += BYTES_PER_TOKEN;
      next = AFTER_VALUE;
    }
  }

  if (!isCut && next === END) return { fields, textBytes, media, unreadBytes: 0, isWhole: true };
  if (!isCut || completeTo === 0) fail();
  if (partDepth > 0 && mayBeMedia) {
    const open = [...lists.slice(partDepth), isList].reverse();
    const part = readPart(json(partFrom, completeTo) + open.map((one) => (one ? "]" : "}")).join(""), format);
    completeTextBytes = partTextBytes + part.textBytes;
    media += part.media;
  }
  return { fields, textBytes: completeTextBytes, media, unreadBytes: end - completeTo, isWhole: false };
}

/** Finds the ends of strings. */
function createStrings(bytes: Uint8Array) {
  const end = bytes.length;
  // Where the next quote and the next backslash are, as far as they were searched.
  let quoteAt = -1;
  let backslashAt = -1;

  const search = (byte: number, from: number) => {
    const found = bytes.indexOf(byte, from);
    return found < 0 ? end : found;
  };

  return {
    /** By how many bytes the escapes of the last string are longer than what they stand for. */
    escapesSave: 0,
    /** @returns where the quote at the end of a string is. The length of the bytes: it is not there. */
    endOf(from: number): number {
      let i = from;
      this.escapesSave = 0;
      while (i < end) {
        const near = Math.min(end, i + SHORT);
        while (i < near && bytes[i] !== QUOTE && bytes[i] !== BACKSLASH) i++;
        if (i === near) {
          if (quoteAt < i) quoteAt = search(QUOTE, i);
          if (backslashAt < i) backslashAt = search(BACKSLASH, i);
          i = Math.min(quoteAt, backslashAt);
        }
        if (i >= end || bytes[i] === QUOTE) return i;
        let saved = 1;
        if (bytes[i + 1] === U) {
          let unit = 0;
          for (let digit = i + 2; digit < i + 6; digit++) unit = unit * 16 + digitOf(bytes[digit]!);
          saved = 6 - bytesOfUnit(unit & 0xffff);
        }
        this.escapesSave += saved;
        i += 2;
      }
      return end;
    },
  };
}

/** @returns where `true`, `false` or `null` ends. @throws for another word. */
function endOfWord(bytes: Uint8Array, from: number): number {
  const word = WORDS[bytes[from]!] ?? fail();
  for (let i = 1; i < word.length && from + i < bytes.length; i++) {
    if (bytes[from + i] !== word.charCodeAt(i)) fail();
  }
  return from + word.length;
}

function fail(): never {
  throw new SyntaxError("expected JSON");
}

/** A name with escapes, which no client writes. */
function escapedName(json: string) {
  const bytes = new TextEncoder().encode(JSON.parse(json));
  return nameOf(bytes, 0, bytes.length);
}

function digitOf(c: number): number {
  return (c & 15) + (c > NINE ? 9 : 0);
}

/** Whether a byte is in a number: digits and `+-.eE`. */
function isOfNumber(c: number): boolean {
  return (c >= ZERO && c <= NINE) || c === 0x2e || c === 0x65 || c === 0x45 || c === 0x2b || c === MINUS;
}
