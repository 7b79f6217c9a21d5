// Errors as the providers document them: https://platform.openai.com/docs/guides/error-codes,
// https://platform.claude.com/docs/en/api/errors and https://ai.google.dev/gemini-api/docs/troubleshooting.

import type { MockEvent } from "./answer.ts";
import type { MockFormat } from "./plan.ts";

interface ProviderError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
}

const OPENAI: Record<number, ProviderError> = {
  400: { type: "invalid_request_error", message: "Unsupported value: 'temperature'.", code: "unsupported_value" },
  429: { type: "tokens", message: "Rate limit reached for the model.", code: "rate_limit_exceeded" },
  500: { type: "server_error", message: "The server had an error while processing your request." },
};

const ANTHROPIC: Record<number, ProviderError> = {
  400: { type: "invalid_request_error", message: "max_tokens: Field required" },
  429: { type: "rate_limit_error", message: "This request would exceed your rate limit." },
  500: { type: "api_error", message: "Internal server error" },
  529: { type: "overloaded_error", message: "Overloaded" },
};

const GEMINI: Record<number, ProviderError> = {
  400: { type: "INVALID_ARGUMENT", message: "Request contains an invalid argument." },
  429: { type: "RESOURCE_EXHAUSTED", message: "You exceeded your current quota." },
  500: { type: "INTERNAL", message: "An internal error has occurred." },
};

const ERRORS: Partial<Record<MockFormat, Record<number, ProviderError>>> = {
  "anthropic-messages": ANTHROPIC,
  "google-gemini": GEMINI,
};

/** A status without a documented error says what 500 says. */
export function providerError(format: MockFormat, status: number): ProviderError {
  const errors = ERRORS[format] ?? OPENAI;
  return errors[status] ?? errors[500]!;
}

/** The body of an answer with this status. */
export function errorJson(format: MockFormat, status: number): object {
  const { type, message, code = null } = providerError(format, status);
  if (format === "google-gemini") return { error: { code: status, message, status: type } };
  if (format !== "anthropic-messages") return { error: { message, type, param: null, code } };
  return { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" };
}

/** The event by which a stream says that it failed. */
export function errorEvent(format: MockFormat): MockEvent {
  if (format === "openai-responses") {
    const { message } = providerError(format, 500);
    const data = { type: "error", code: "server_error", message, param: null, sequence_number: 99 };
    return { event: "error", data: JSON.stringify(data) };
  }
  if (format !== "anthropic-messages") return { data: JSON.stringify(errorJson(format, 500)) };
  const { type, message } = providerError(format, 529);
  return { event: "error", data: JSON.stringify({ type: "error", error: { type, message } }) };
}
