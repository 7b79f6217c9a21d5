/** What the SDKs of APIs read in an error: when to try again, and of which kind it is. */

/**
 * The longest wait that clients obey: openai 7.57.0 and the Python clients of both providers try again at once after a
 * longer one. @anthropic-ai/sdk 1.12.0 would sleep for it, for days if it must, and its caller would not know why.
 */
const LONGEST_WAIT_MS = 60_000;

/**
 * The longest wait that a field says, in ms: the timers of many clients overflow after 24.8 days, and they try again at
 * once. Bodies say the true wait.
 */
export const LONGEST_STATED_MS = 86_400_000;

/** Fields that tell clients when to try again. */
export const WAIT_FIELDS = ["Retry-After", "retry-after-ms", "X-Should-Retry"] as const;

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request",
  403: "permission",
  429: "rate_limit",
  503: "overloaded",
};

/** The type of an error, as both providers name it in front of `_error`. */
export function errorType(status: number): string {
  return TYPES[status] ?? "api";
}

/** The `WAIT_FIELDS` of a refusal. */
export function retryFields(error: {
  readonly retryAfterMs?: number | undefined;
  readonly never?: boolean | undefined;
}): Record<string, string> {
  const { retryAfterMs, never } = error;
  const [inSeconds, inMs, shouldRetry] = WAIT_FIELDS;
  const fields: Record<string, string> = {};
  if (retryAfterMs !== undefined && !never) {
    // Anthropic's clients ignore a wait of 0.
    const waitMs = Math.min(Math.max(1, Math.ceil(retryAfterMs)), LONGEST_STATED_MS);
    fields[inSeconds] = String(Math.ceil(waitMs / 1_000));
    fields[inMs] = String(waitMs);
  }
  if (never || (retryAfterMs ?? 0) > LONGEST_WAIT_MS) fields[shouldRetry] = "false";
  return fields;
}
