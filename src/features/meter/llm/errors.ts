/**
 * Errors in the providers' own forms, so that their clients show the message and wait as the error says.
 *
 * OpenAI: platform.openai.com/docs/guides/error-codes. Anthropic: platform.claude.com/docs/en/api/errors. Gemini:
 * google.aip.dev/193 and ai.google.dev/gemini-api/docs/troubleshooting. Cohere: docs.cohere.com/reference/errors.
 * Bedrock: docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html. Ollama: docs.ollama.com/api/errors.
 */

import { errorType, retryFields } from "../../../kernel/http/sdk-errors.ts";
import type { Format } from "./format.ts";
import { frameOf } from "./frames.ts";
import type { FramingName } from "./framing.ts";

/** A refusal. */
export interface ErrorOptions {
  /** The status of the answer: 429, 403 or 503. */
  readonly status: number;
  /** For people: which limit it was, and what to do. */
  readonly message: string;
  /** When the same request would be admitted, in milliseconds. Absent: not known. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the request can never be admitted, so that clients need not try again. */
  readonly never?: boolean | undefined;
}

/** What OpenAI calls it, also in the middle of a stream. */
const RATE_LIMIT_EXCEEDED = "rate_limit_exceeded";

/** The codes of google.rpc.Code, by which Google's clients tell errors apart. */
const GOOGLE_CODES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  403: "PERMISSION_DENIED",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

/**
 * The body of a refusal: `{ "type": "error", "error": … }` for Anthropic, `{ "message": … }` for Cohere and Bedrock,
 * `{ "error": … }` for all others. Gemini's tells the wait, too: Google's clients read no field for it.
 */
export function errorBody(
  format: Format | undefined,
  error: Pick<ErrorOptions, "status" | "message" | "retryAfterMs">,
): string {
  const { status, message, retryAfterMs } = error;
  if (format === "google-gemini") {
    const retryDelay = retryAfterMs !== undefined && `${Math.max(1, Math.ceil(retryAfterMs)) / 1_000}s`;
    const details = retryDelay && { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] };
    return JSON.stringify({ error: { code: status, message, status: GOOGLE_CODES[status] ?? "UNKNOWN", ...details } });
  }
  if (/^(?:cohere|bedrock)/.test(format ?? "")) return JSON.stringify({ message });
  if (format?.startsWith("ollama")) return JSON.stringify({ error: message });
  const type = `${errorType(status)}_error`;
  return JSON.stringify(
    format === "anthropic-messages"
      ? { type: "error", error: { type, message } }
      : { error: { message, type, param: null, code: status === 429 ? RATE_LIMIT_EXCEEDED : type } },
  );
}

/** A refusal as the provider would answer it. Clients throw their own error for it, and wait as long as it says. */
export function refusal(format: Format | undefined, error: ErrorOptions): Response {
  const headers = { "Content-Type": "application/json", "Cache-Control": "no-store", ...retryFields(error) };
  const { never, retryAfterMs, ...told } = error;
  const body = errorBody(format, { ...told, retryAfterMs: never ? undefined : retryAfterMs });
  return new Response(body, { status: error.status, headers });
}

/** How Bedrock's clients name the error that a stream ends with. */
const THROTTLED = {
  ":message-type": "exception",
  ":exception-type": "throttlingException",
  ":content-type": "application/json",
};

/** The event that ends a stream with an error. It may stand behind any complete event. */
export function cutEvent(format: Format | undefined, framing: FramingName, message: string): Uint8Array {
  const body = errorBody(format, { status: 429, message });
  if (framing === "frames") return frameOf(THROTTLED, JSON.stringify({ message }));
  if (framing === "lines") return new TextEncoder().encode(`${body}\n`);
  let event = `data: ${body}`;
  if (format === "anthropic-messages") event = `event: error\n${event}`;
  if (format === "openai-responses") {
    // The number of the event is not known here, and clients do not read it.
    const data = { type: "error", code: RATE_LIMIT_EXCEEDED, message, param: null, sequence_number: 0 };
    event = `event: error\ndata: ${JSON.stringify(data)}`;
  }
  return new TextEncoder().encode(`${event}\n\n`);
}
