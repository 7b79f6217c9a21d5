/**
 * The fields of a form, as browsers and the usual clients write one (HTML, section 4.10.22; RFC 7578). Any other
 * writing is not read: servers would find different fields in it.
 */

import { isNamedUtf8 } from "../../kernel/request/request-body.ts";

export interface Field {
  readonly name: string;
  /** undefined: it says nothing. null: nobody can tell, because it is a file. */
  readonly value: string | null | undefined;
}

type Fields = readonly Field[];

/** More than servers read, and as many as are read within a few milliseconds. */
const MOST_FIELDS = 4_000;
const URLENCODED = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";

export function isForm(headers: Pick<Headers, "get">): boolean {
  const type = typeOf(headers);
  return type.includes(URLENCODED) || type.includes(MULTIPART);
}

function typeOf(headers: Pick<Headers, "get">): string {
  return (headers.get("Content-Type") ?? "").trim().toLowerCase();
}

/** @returns undefined if servers may find other fields in it. */
export function readForm(bytes: Uint8Array, headers: Pick<Headers, "get">): Fields | undefined {
  if (!isNamedUtf8(headers)) return undefined;
  const type = /^([^;,\s]*)\s*(?:;|$)/.exec(typeOf(headers))?.[1];
  const fields = type === URLENCODED ? urlencoded(bytes) : type === MULTIPART ? multipart(bytes, headers) : undefined;
  return fields?.some(isOtherCharset) ? undefined : fields;
}

/** The field by which a form names its charset (HTML, section 4.10.22.5). */
function isOtherCharset({ name, value }: Field): boolean {
  return name === "_charset_" && value?.toLowerCase() !== "utf-8";
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @returns undefined if the bytes are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function urlencoded(bytes: Uint8Array): Fields | undefined {
  const text = textOf(bytes);
  // Some servers take a `;` for `&`. Nobody who writes a form leaves one as it is. Others read JSON whatever its type.
  if (text === undefined || text.includes(";") || /^[\s\uFEFF]*[{[]/.test(text)) return undefined;
  const pairs = text.split("&", MOST_FIELDS + 1);
  if (pairs.length > MOST_FIELDS) return undefined;
  const fields: Field[] = [];
  for (const pair of pairs) {
    const [name = "", ...rest] = pair.split("=");
    const decoded = [name, rest.join("=")].map(decode);
    if (decoded.includes(undefined)) return undefined;
    fields.push({ name: decoded[0]!, value: decoded[1] || undefined });
  }
  return fields;
}

/** @returns undefined if the text is not the percent-encoding of UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

const BOUNDARY = /;\s*boundary=(?:"([\w'()+,./:=? -]{0,69}[\w'()+,./:=?-])"|([\w'()+./:=?-]{1,70}))\s*(?:;|$)/i;
const DISPOSITION =
  /^content-disposition: ?form-data; ?name=(?:"([^"\\]*)"|([\w.[\]-]+))(; ?filename=(?:"[^"]*"|[^\s;"]+))?(; ?filename\*=[^\s;"]+)?$/i;
/** What else the head of a part says without changing how its text is read. */
const OTHER_HEADER =
  /^(?:content-(?:type:(?!\s*multipart\/)[^\r\n]*|length: ?\d+|transfer-encoding: ?(?:7bit|8bit|binary)))$/i;
const OTHER_CHARSET = /charset(?!\s*=\s*"?utf-?8"?\s*(?:;|$))/i;

function multipart(bytes: Uint8Array, headers: Pick<Headers, "get">): Fields | undefined {
  const type = headers.get("Content-Type")!;
  const [, quoted, plain] = BOUNDARY.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined || type.match(/boundary/gi)!.length > 1) return undefined;
  // Each byte is one character of this encoding: positions in the text are those in the bytes.
  const text = new TextDecoder("windows-1252").decode(bytes);
  const delimiter = `\r\n--${boundary}`;
  const [before, ...parts] = `\r\n${text}`.split(delimiter, MOST_FIELDS + 2);
  const end = parts.pop();
  if (before !== "" || parts.length > MOST_FIELDS || !/^--(?:\r\n)?$/.test(end ?? "")) return undefined;
  // Elsewhere too some servers would see the end of a part.
  if (text.split(`--${boundary}`).length !== parts.length + 2) return undefined;
  const fields: Field[] = [];
  let at = delimiter.length - 2;
  for (const part of parts) {
    const field = partField(part, bytes.subarray(at, at + part.length));
    if (!field) return undefined;
    fields.push(field);
    at += part.length + delimiter.length;
  }
  return fields;
}

function partField(part: string, bytes: Uint8Array): Field | undefined {
  const head = part.indexOf("\r\n\r\n");
  if (!part.startsWith("\r\n") || head < 0) return undefined;
  const text = textOf(bytes.subarray(2, Math.max(2, head)));
  const lines = text?.split("\r\n") ?? [];
  const named = lines.map((line) => DISPOSITION.exec(line)).filter((found) => found !== null);
  const isPlain = lines.every(
    (line) => DISPOSITION.test(line) || (OTHER_HEADER.test(line) && !OTHER_CHARSET.test(line)),
  );
  if (named.length !== 1 || !isPlain) return undefined;
  const [, quoted, plain, file, otherFile] = named[0]!;
  const name = quoted ?? plain!;
  if (file !== undefined || otherFile !== undefined) return { name, value: null };
  const value = textOf(bytes.subarray(head + 4));
  return value === undefined ? undefined : { name, value: value || undefined };
}
