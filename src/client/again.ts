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

/** A problem document is shorter, and only its beginning is read: a body may be endless. */
const LONGEST_PROBLEM_BYTES = 4096;

/**
 * Whether the answer says that waiting does not help, because the request costs more than the limit:
 * `X-Should-Retry: false`, or a problem document with `"retry":"never"`. The caller can still read the whole body.
 *
 * @param patienceMs how long the document is waited for; 0: it is not read.
 * @param sleep waits until its signal is aborted.
 */
export async function saysNever(
  response: Response,
  patienceMs: number,
  sleep: (durationMs: number, signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const { headers } = response;
  if (headers.get("X-Should-Retry") === "false") return true;
  if (!patienceMs || !/problem\+json/i.test(headers.get("Content-Type") ?? "")) return false;
  const reader = response.clone().body?.getReader();
  const isOver = new AbortController();
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for (let bytes = 0; bytes < LONGEST_PROBLEM_BYTES; ) {
      const { value } = (await reader?.read()) ?? {};
      if (!value) return;
      bytes += value.length;
      text += decoder.decode(value, { stream: true });
    }
  };
  await Promise.race([read(), sleep(patienceMs, isOver.signal)]).catch(() => {});
  isOver.abort();
  // The promise is not awaited: it waits until the caller has given up the body too.
  reader?.cancel().catch(() => {});
  try {
    return JSON.parse(text).retry === "never";
  } catch {
    return false;
  }
}
