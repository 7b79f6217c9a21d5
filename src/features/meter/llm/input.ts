/** What of a request's body reaches the model: text, and media, which count by a number whatever their size. */

import type { JsonObject } from "../../../kernel/request/request-body.ts";
import { type Format, isOf } from "./format.ts";
import { BYTES_PER_TOKEN, bytesOfText } from "./tokens.ts";

export interface ModelInput {
  /** Bytes of text, names of members included. */
  textBytes: number;
  media: number;
  /** The objects of Gemini's `generationConfig`, which say what is asked for. */
  readonly configs: JsonObject[];
}

/**
 * What a value is. A list is what its items are. `text` counts with all that it holds, whatever its names: the schema
 * of a tool, the arguments of a call. Of a `body` and a `config` only the members named here are read.
 */
type Role =
  | "body"
  | "config"
  | "skipped"
  | "text"
  | "message"
  | "prompt"
  | "variables"
  | "part"
  | "source"
  | "result"
  /** Data in base64 and references are media, whatever holds them. */
  | "images";

/** By what a value is a member of: what it is, and the names it has. */
const ROLES: readonly (readonly [parent: Role, role: Role, names: string])[] = [
  [
    "body",
    "text",
    "instructions system tools functions response_format text output_config toolConfig preamble documents texts inputText",
  ],
  ["body", "message", "messages input inputs contents systemInstruction system_instruction message chat_history"],
  ["body", "prompt", "prompt suffix"],
  ["body", "config", "generationConfig generation_config inferenceConfig textGenerationConfig options"],
  ["body", "images", "images"],
  ["config", "text", "responseSchema response_schema responseJsonSchema response_json_schema"],
  ["message", "part", "content output parts"],
  ["message", "images", "images"],
  ["prompt", "variables", "variables"],
  // The result of a tool, and a document that is a list of parts.
  ["part", "part", "content"],
  ["part", "source", "source"],
  // Bedrock's converse, in `source`.
  ["part", "images", "image document video"],
  ["images", "text", "text name context"],
  ["part", "result", "functionResponse function_response"],
  ["source", "part", "content"],
  ["result", "part", "parts"],
];

/** Where a part that is not text holds its data or a reference: in a member, or in a member of that. */
interface Medium {
  readonly format: Format;
  readonly type: string | undefined;
  readonly places: readonly (readonly [name: string, innerName?: string])[];
}

/** Parts that are not text: the format, the type, and the members that hold the data or a reference. */
const MEDIA = (
  [
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
    ["cohere-chat", "image_url", "image_url.url"],
    ["cohere-embed", "image_url", "image_url.url"],
    ["bedrock-invoke", "image", "source.data"],
    ["bedrock-invoke", "document", "source.data"],
  ] as const
).map(([format, type, names]): Medium => {
  const places = names.split(" ").map((name) => name.split(".") as [string, string?]);
  return { format, type, places };
});
/** What an Anthropic source is. One of text is text. */
const SOURCES: readonly unknown[] = [undefined, "base64", "url", "file"];
/** Data in base64, a URL, or the name of a file. A data URL must say that it is no text. */
const DATA =
  /^(?:data:(?:(?:image|audio|video)\/|application\/(?:pdf|msword|vnd\.))[^,\s]*;base64,[\w+/=-]+|(?:https?|gs|s3):\/\/\S+|[\w+/=.-]+)$/i;

/** By parent and name. Made when a request is first read: most isolates read none. */
let roles: Map<Role, Map<string, Role>> | undefined;

function makeRoles(): Map<Role, Map<string, Role>> {
  const made = new Map<Role, Map<string, Role>>();
  for (const [parent, role, names] of ROLES) {
    const members = made.get(parent) ?? new Map<string, Role>();
    for (const name of names.split(" ")) members.set(name, role);
    made.set(parent, members);
  }
  return made;
}

/** What a member is of which only the parent is known. */
function otherRole(parent: Role): Role {
  if (parent === "variables") return "part";
  if (parent === "images") return "images";
  return isCounted(parent) ? "text" : "skipped";
}

/** Whether the strings and the names in a value reach the model. */
function isCounted(role: Role): boolean {
  return role !== "skipped" && role !== "body" && role !== "config";
}

/** @param body as `JSON.parse` has it: of a member that is there twice the last one. */
export function inputOf(body: JsonObject, format: Format | undefined): ModelInput {
  roles ??= makeRoles();
  const media = MEDIA.filter((medium) => isOf(format, medium.format));
  const input: ModelInput = { textBytes: 0, media: 0, configs: [] };
  // A list instead of recursion: a body may be nested deeper than the stack.
  const open: [value: object, role: Role][] = [];
  const add = (value: unknown, role: Role) => {
    if (isObject(value)) open.push([value, role]);
    else if (role === "images" && isData(value)) input.media++;
    else if (isCounted(role)) input.textBytes += typeof value === "string" ? bytesOfText(value) : BYTES_PER_TOKEN;
  };
  const addMembers = (members: JsonObject, role: Role) => {
    const known = roles!.get(role);
    for (const name of Object.keys(members)) {
      if (isCounted(role)) input.textBytes += bytesOfText(name);
      // A member of a body that is null is as good as absent.
      if (role !== "body" || members[name] !== null) add(members[name], known?.get(name) ?? otherRole(role));
    }
  };
  addMembers(body, "body");
  while (open.length > 0) {
    const [value, as] = open.pop()!;
    const role = as === "images" && hasTextIn(value as JsonObject) ? "text" : as;
    if (role === "skipped") continue;
    if (Array.isArray(value)) {
      for (const item of value) add(item, role);
      continue;
    }
    const members = value as JsonObject;
    if (role === "config") input.configs.push(members);
    const found = role === "part" ? media.filter(({ type }) => type === members.type) : [];
    const { texts, count } = splitPart(members, found);
    input.media += count;
    for (const text of texts) addMembers(text, role);
  }
  return input;
}

function splitPart(part: JsonObject, media: readonly Medium[]): { texts: JsonObject[]; count: number } {
  const inner: JsonObject[] = [];
  let rest = part;
  let count = 0;
  for (const [name, innerName] of media.flatMap(({ places }) => places)) {
    const held = rest[name];
    if (innerName === undefined ? !isData(held) : !isSource(held) || !isData(dataOf(held, name, innerName))) continue;
    const { [name]: _, type: __, ...others } = rest;
    if (isObject(held)) {
      const { [innerName!]: ___, type: ____, ...more } = held;
      inner.push(more);
    }
    rest = others;
    count++;
  }
  return { texts: [rest, ...inner], count };
}

/** Gemini names the type beside the data: the two are read as a data URL. */
function dataOf(source: JsonObject, name: string, innerName: string): unknown {
  const { [innerName]: data, mimeType = source.mime_type } = source;
  return name.startsWith("inline") ? `data:${mimeType};base64,${data}` : data;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function isSource(value: unknown): value is JsonObject {
  return isObject(value) && SOURCES.includes(value.type);
}

/** Whether a document of Bedrock is a text, in base64. */
function hasTextIn({ format }: JsonObject): boolean {
  return /^(?:txt|csv|html|md)$/i.test(String(format));
}

function isData(value: unknown): boolean {
  return typeof value === "string" && DATA.test(value);
}
