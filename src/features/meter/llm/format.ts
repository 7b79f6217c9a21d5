/** The formats of language models that headgate knows, and how a request names its format and its model. */

import { normalizePath } from "../../../kernel/request/text.ts";

/** Characters of a model's name that are looked at. */
export const LONGEST_NAME = 256;

/** What a request and its answer look like. */
export type Format = "openai-chat" | "openai-responses" | "openai-embeddings" | "anthropic-messages" | "google-gemini";

const FORMATS: Readonly<Record<string, Format>> = {
  "/chat/completions": "openai-chat",
  "/responses": "openai-responses",
  "/embeddings": "openai-embeddings",
  "/messages": "anthropic-messages",
  ":generatecontent": "google-gemini",
  ":streamgeneratecontent": "google-gemini",
};

/** How the paths of all formats end. */
export const ENDINGS = Object.keys(FORMATS);

/**
 * The format by the end of the path: `/chat/completions`, `/responses`, `/embeddings`, `/messages`, `:generateContent`
 * or `:streamGenerateContent`, in any spelling of it that policies match. `undefined` for other paths: their requests
 * and answers are read by their shape.
 */
export function formatOf({ url }: Pick<Request, "url">): Format | undefined {
  const end = /(?:\/(?:chat\/completions|responses|embeddings|messages)|[^/]:(?:stream)?generateContent)$/i.exec(
    pathOf(url),
  );
  return end ? FORMATS[end[0].toLowerCase().replace(/^[^/]:/, ":")] : undefined;
}

/** Whether what belongs to one format is read: in that format, and on paths that name none. */
export function isOf(format: Format | undefined, of: Format): boolean {
  return format === undefined || format === of;
}

/**
 * The model that the path names, which decides. Azure: `/openai/deployments/<name>/chat/completions`. Gemini:
 * `/v1beta/models/<name>:generateContent`.
 */
export function modelInPath(url: string): string | undefined {
  const [, deployment, model] =
    /\/deployments\/([^/]+)\/|\/([^/]+):(?:stream)?generateContent$/i.exec(pathOf(url)) ?? [];
  return deployment ?? model;
}

function pathOf(url: string): string {
  return normalizePath(new URL(url).pathname);
}
