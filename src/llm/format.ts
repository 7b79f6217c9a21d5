/** The formats of language models that headgate knows, and how a request names its format. */

/** What a request and its answer look like. */
export type Format = "openai-chat" | "openai-responses" | "openai-embeddings" | "anthropic-messages";

const BY_END: Readonly<Record<string, Format>> = {
  "chat/completions": "openai-chat",
  responses: "openai-responses",
  embeddings: "openai-embeddings",
  messages: "anthropic-messages",
};

/**
 * The format by the end of the path: `/chat/completions`, `/responses`, `/embeddings` or `/messages`, in any case, with
 * or without a trailing slash. `undefined` for other paths: their requests and answers are read by their shape.
 */
export function formatOf(request: Pick<Request, "url">): Format | undefined {
  const end = /\/(chat\/+completions|responses|embeddings|messages)\/*$/i.exec(new URL(request.url).pathname)?.[1];
  return end === undefined ? undefined : BY_END[end.toLowerCase().replace(/\/+/, "/")];
}
