/** Refusals as the providers write theirs: the clients of OpenAI and Anthropic show the message and obey the wait. */

import { type ErrorOptions, errorBody, retryFields } from "../../llm/errors.ts";
import { formatOf } from "../../llm/format.ts";
import type { ProblemOptions } from "../problem.ts";

/** @param request the request to answer: HEAD gets no body. */
export function providerRefusal(request: Request, error: ErrorOptions, shown: ProblemOptions): Response {
  const { helpPath, anyOrigin = true } = shown;
  const format = formatOf(request);
  const origin = request.headers.get("Origin");
  const waits = retryFields(error);
  return new Response(request.method === "HEAD" ? null : errorBody(format, error), {
    status: error.status,
    headers: {
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      ...(origin !== null && {
        Vary: "Origin",
        ...(anyOrigin && { "Access-Control-Allow-Origin": origin }),
        "Access-Control-Expose-Headers": Object.keys(waits).join(", "),
      }),
      ...(helpPath !== undefined && { Link: `<${helpPath}>; rel="help"` }),
      ...waits,
    },
  });
}
