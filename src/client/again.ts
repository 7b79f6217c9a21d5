/** What may be sent a second time, and what an answer says against it. */

/** Methods of which the second request changes nothing that the first has not (RFC 9110, section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/i;

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.test(method);
}

/**
 * Whether the body can be read again: a stream cannot, nor can that of a `Request`, which is used once it was sent.
 * Ask after sending.
 */
export function isReplayable(request: Request | undefined, body: unknown): boolean {
  if (body === undefined || body === null) return !request?.bodyUsed;
  return typeof body !== "object" || !("getReader" in body || Symbol.asyncIterator in body);
}

/**
 * `X-Should-Retry: false`, or a problem document that says `"retry":"never"`: the request costs more than the limit. Leaves the
 * body unread.
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
