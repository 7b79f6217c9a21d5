/** The formats of language models that headgate knows, and how a request names its format and its model. */

import { normalizePath } from "../../../kernel/request/text.ts";

/** Characters of a model's name that are looked at. */
export const LONGEST_NAME = 256;

/** What a request and its answer look like. */
export type Format =
  | "openai-chat"
  | "openai-completions"
  | "openai-responses"
  | "openai-embeddings"
  | "anthropic-messages"
  | "google-gemini"
  | "cohere-chat"
  | "cohere-embed"
  | "bedrock-invoke"
  | "bedrock-converse"
  | "ollama-chat"
  | "ollama-generate"
  | "ollama-embed";

/** How the paths of the formats end. `*` stands for one segment, or the rest of one. */
const ENDS: readonly (readonly [ending: string, format: Format])[] = [
  ["/chat/completions", "openai-chat"],
  ["/completions", "openai-completions"],
  ["/responses", "openai-responses"],
  ["/api/embeddings", "ollama-embed"],
  ["/embeddings", "openai-embeddings"],
  ["/messages", "anthropic-messages"],
  ["*:generateContent", "google-gemini"],
  ["*:streamGenerateContent", "google-gemini"],
  ["/v1/chat", "cohere-chat"],
  ["/v2/chat", "cohere-chat"],
  ["/v1/embed", "cohere-embed"],
  ["/v2/embed", "cohere-embed"],
  ["/model/*/invoke", "bedrock-invoke"],
  ["/model/*/invoke-with-response-stream", "bedrock-invoke"],
  ["/model/*/converse", "bedrock-converse"],
  ["/model/*/converse-stream", "bedrock-converse"],
  ["/api/chat", "ollama-chat"],
  ["/api/generate", "ollama-generate"],
  ["/api/embed", "ollama-embed"],
];

const PATTERNS = ENDS.map(([ending, format]) => ({
  pattern: new RegExp(`${ending.replaceAll("*", "[^/]+")}$`, "i"),
  format,
}));

/** How the paths of all formats end, behind what may be any text. */
export const ENDINGS = ENDS.map(([ending]) => ending.slice(ending.lastIndexOf("*") + 1));

/**
 * The format by the end of the path, in any spelling of it that policies match: `/chat/completions`, `/completions`,
 * `/responses`, `/embeddings`, `/messages`, `:generateContent`, Cohere's `/v2/chat` and `/v2/embed`, Bedrock's
 * `/model/<id>/invoke` and `/converse` with their streams, Ollama's `/api/chat`, `/api/generate` and `/api/embed`.
 * `undefined` for other paths: their requests and answers are read by their shape.
 */
export function formatOf({ url }: Pick<Request, "url">): Format | undefined {
  const path = pathOf(url);
  return PATTERNS.find(({ pattern }) => pattern.test(path))?.format;
}

/** Whether what belongs to one format is read: in that format, and on paths that name none. */
export function isOf(format: Format | undefined, of: Format): boolean {
  return format === undefined || format === of;
}

/** Whether answers have text: those that are embeddings have none. */
export function hasOutput(format: Format): boolean {
  return !format.includes("-embed");
}

/**
 * The model that the path names, which decides. Azure: `/openai/deployments/<name>/chat/completions`. Gemini:
 * `/v1beta/models/<name>:generateContent`. Bedrock: `/model/<id>/invoke`.
 */
export function modelInPath(url: string): string | undefined {
  const path = pathOf(url);
  const [, deployment, gemini] = /\/deployments\/([^/]+)\/|\/([^/]+):(?:stream)?generateContent$/i.exec(path) ?? [];
  const bedrock = /\/model\/([^/]+)\/(?:invoke|converse)[^/]*$/i.exec(path)?.[1];
  return deployment ?? gemini ?? bedrock?.replaceAll(/%2f/gi, "/");
}

function pathOf(url: string): string {
  return normalizePath(new URL(url).pathname);
}
