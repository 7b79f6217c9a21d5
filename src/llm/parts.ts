/** Parts of messages that may be media: images, files and sounds count by a number, whatever their size. */

import { type Format, isOf } from "./format.ts";
import { nameOf, type Role, roleOf } from "./roles.ts";
import { BYTES_PER_TOKEN, bytesOfText } from "./tokens.ts";

/** What reaches the model. */
export interface Input {
  /** Bytes of text, names of members included. */
  textBytes: number;
  media: number;
}

/** Parts that are not text: the format, the type, and the members that hold the data or a reference. */
const MEDIA: readonly (readonly [Format, type: string | undefined, members: string])[] = [
  ["openai-chat", "image_url", "image_url image_url.url"],
  ["openai-chat", "video_url", "video_url.url"],
  ["openai-chat", "input_audio", "input_audio.data"],
  ["openai-chat", "file", "file.file_data file.file_id"],
  ["openai-responses", "input_image", "image_url file_id"],
  ["openai-responses", "input_audio", "input_audio.data"],
  ["openai-responses", "input_file", "file_data file_id file_url"],
  ["openai-responses", "computer_screenshot", "image_url file_id"],
  ["anthropic-messages", "image", "source.data source.url source.file_id"],
  ["anthropic-messages", "document", "source.data source.url source.file_id"],
  ["google-gemini", undefined, "inlineData.data inline_data.data fileData.fileUri file_data.file_uri"],
];
/** What an Anthropic source is. One of text is text. */
const SOURCES: readonly unknown[] = [undefined, "base64", "url", "file"];
/** Data in base64, a URL, or the name of a file. A data URL must say that it is no text. */
const DATA =
  /^(?:data:(?:(?:image|audio|video)\/|application\/(?:pdf|msword|vnd\.))[^,\s]*;base64,[\w+/=-]+|(?:https?|gs|s3):\/\/\S+|[\w+/=.-]+)$/i;

type Members = Readonly<Record<string, unknown>>;

/** Reads a part as JSON: `type` may stand behind the data. */
export function readPart(json: string, format: Format | undefined): Input {
  const input: Input = { textBytes: 0, media: 0 };
  // Lists instead of recursion: a body may be nested deeper than the stack.
  const open: [value: object, role: Role][] = [];
  const add = (value: unknown, role: Role) => {
    if (typeof value === "string") input.textBytes += bytesOfText(value);
    else if (isObject(value)) open.push([value, role]);
    else input.textBytes += BYTES_PER_TOKEN;
  };
  add(JSON.parse(json), "part");
  while (open.length > 0) {
    const [value, role] = open.pop()!;
    if (Array.isArray(value)) {
      for (const item of value) add(item, role);
      continue;
    }
    const { texts, media } = role === "part" ? splitPart(value as Members, format) : { texts: [value], media: 0 };
    input.media += media;
    for (const [name, item] of texts.flatMap(Object.entries)) {
      const bytes = new TextEncoder().encode(name);
      input.textBytes += bytes.length;
      add(item, roleOf(role, nameOf(bytes, 0, bytes.length)));
    }
  }
  return input;
}

/** The members of a part that are text, and how many are media. */
function splitPart(part: Members, format: Format | undefined): { texts: Members[]; media: number } {
  const found = MEDIA.filter(([of, type]) => isOf(format, of) && type === part.type);
  const members = found.flatMap(([, , names]) => names.split(" "));
  const inner: Members[] = [];
  let rest = part;
  let media = 0;
  for (const member of members) {
    const [name, innerName] = member.split(".") as [string, string?];
    const { [name]: held, type: _, ...others } = rest;
    if (innerName === undefined ? !isData(held) : !isSource(held) || !isData(dataOf(held, name, innerName))) continue;
    if (isObject(held)) {
      const { [innerName!]: __, type: ___, ...more } = held;
      inner.push(more);
    }
    rest = others;
    media++;
  }
  return { texts: [rest, ...inner], media };
}

/** Gemini names the type beside the data: the two are read as a data URL. */
function dataOf(source: Members, name: string, innerName: string): unknown {
  const { [innerName]: data, mimeType = source.mime_type } = source;
  return name.startsWith("inline") ? `data:${mimeType};base64,${data}` : data;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

function isSource(value: unknown): value is Members {
  return isObject(value) && SOURCES.includes(value.type);
}

function isData(value: unknown): boolean {
  return typeof value === "string" && DATA.test(value);
}
