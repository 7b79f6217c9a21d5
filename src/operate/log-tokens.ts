/**
 * With `LOG_TOKENS = "on"` the gateway writes one JSON line for each answer of a language model. The names are
 * OpenTelemetry's (github.com/open-telemetry/semantic-conventions-genai, in development, read 2026-11).
 */

import { type Format, hasOutput } from "../features/meter/llm/format.ts";
import type { OnSettled } from "../features/meter/settled.ts";
import { createLines } from "../kernel/lines.ts";

/** `gen_ai.operation.name`. Of other paths it is not known. */
function operationOf(format: Format): string {
  if (!hasOutput(format)) return "embeddings";
  if (format === "google-gemini") return "generate_content";
  return format === "openai-completions" || format === "ollama-generate" ? "text_completion" : "chat";
}

/** No line is left out: sums over them are what was settled. */
export function logTokens(): OnSettled {
  const writeLine = createLines(console.log, Number.POSITIVE_INFINITY);
  return ({ settled, format, model, answeredBy, usage, isEstimated }) => {
    if (!usage) return;
    writeLine(() => ({
      event: "answer",
      at: new Date().toISOString(),
      policies: settled.map(({ policy }) => policy),
      "gen_ai.operation.name": format && operationOf(format),
      "gen_ai.request.model": model,
      "gen_ai.response.model": answeredBy,
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
      "gen_ai.usage.cache_creation.input_tokens": (usage.cacheWriteTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0),
      "gen_ai.usage.output_tokens": usage.outputTokens,
      ...(isEstimated && { estimated: true }),
    }));
  };
}
