/** Whether a request may be sent a second time. */

/** Idempotent methods: a second request changes nothing beyond the first one (RFC 9110, section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/i;

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.test(method);
}

/**
 * Whether the body can be sent again. A stream cannot, nor can the body of a `Request`: sending uses it up.
 * Call this after the first request was sent.
 */
export function isReplayable(request: Request | undefined, body: unknown): boolean {
  if (body === undefined || body === null) return !request?.bodyUsed;
  return typeof body !== "object" || !("getReader" in body || Symbol.asyncIterator in body);
}

/**
 * Whether the answer says that waiting does not help, because the request costs more than the limit:
 * `X-Should-Retry: false`, or a problem document with `"retry":"never"`. The body stays unread.
 */
export async function saysNever(response: Response): Promise<boolean> {
  const { headers } = response;
  if (headers.get("X-Should-Retry") === "false") return true;
  if (!/problem\+json/i.test(headers.get("Content-Type") ?? "")) return false;
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => {});
  return (problem as { retry?: unknown } | null)?.retry === "never";
}
