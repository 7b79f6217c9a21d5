/**
 * `Headgate-Paid-By`: the policies that paid for a request, on the request that goes on. A client's own field of this
 * name is removed.
 */

import type { NodeRequest } from "./node.ts";

const PAID_BY = "Headgate-Paid-By";

/** Whether a request names payers. A client may have named them. */
export function namesPayer({ headers }: Request): boolean {
  return headers.has(PAID_BY);
}

/** Requests whose field another limiter around the same handler has set. */
const ours = new WeakSet<object>();

/**
 * The request that goes on: the given one if there is nothing to change.
 *
 * @param paidBy as in `Decision`. @param request with a body that nobody has read, if somebody is to read it.
 */
export function withPayer(request: Request, paidBy: string | undefined): Request {
  const earlier = request.headers.get(PAID_BY);
  const kept = earlier !== null && ours.has(request) ? [earlier] : [];
  if (paidBy === undefined && (earlier === null || kept.length > 0)) return request;
  const outgoing = copyOf(request);
  const payers = [...kept, ...(paidBy === undefined ? [] : [paidBy])];
  if (payers.length > 0) {
    outgoing.headers.set(PAID_BY, payers.join(", "));
    ours.add(outgoing);
  } else outgoing.headers.delete(PAID_BY);
  return outgoing;
}

/** A program that has read the body itself has it already: its copy is without one. */
function copyOf(request: Request): Request {
  const { url, method, headers, signal, cf, bodyUsed, body } = request;
  if (!bodyUsed && !body?.locked) return new Request(request, { signal });
  return new Request(url, { method, headers, signal, ...(cf && { cf }) } as RequestInit);
}

/** The same for a request of `node:http`, which is changed itself. @param paidBy absent: a client's own is removed. */
export function notePayer(request: NodeRequest, paidBy: string | undefined): void {
  const headers = request.headers as Record<string, string | string[] | undefined>;
  const name = PAID_BY.toLowerCase();
  if (!ours.has(request)) delete headers[name];
  if (paidBy === undefined) return;
  headers[name] = [headers[name] ?? [], paidBy].flat().join(", ");
  ours.add(request);
}
