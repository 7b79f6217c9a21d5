/** The formats of language models that headgate knows, and how a request names its format. */

import { normalizePath } from "../pattern/text.ts";

/** What a request and its answer look like. */
export type Format = "openai-chat" | "openai-responses" | "openai-embeddings" | "anthropic-messages";

/**
 * The format by the end of the path: `/chat/completions`, `/responses`, `/embeddings` or `/messages`, in any spelling
 * of it that policies match. `undefined` for other paths: their requests and answers are read by their shape.
 */
export function formatOf(request: Pick<Request, "url">): Format | undefined {
  const path = normalizePath(new URL(request.url).pathname);
  const [, end, chat] = /\/(responses|embeddings|messages|(chat)\/completions)$/i.exec(path) ?? [];
  const name = (chat ?? end)?.toLowerCase();
  return name === undefined ? name : (`${name === "messages" ? "anthropic" : "openai"}-${name}` as Format);
}
