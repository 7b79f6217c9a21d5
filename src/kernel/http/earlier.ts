/** What earlier middleware has left on a request and on its answer. */

import type { Decision } from "../core/decision.ts";

/** Fields that are lists: members from earlier middleware are added to those of a refusal. */
const LISTS = new Set(["vary", "access-control-expose-headers", "link"]);

/**
 * Fields in which earlier middleware describes the handler's answer: body and wait. A refusal drops them. Fields that
 * let an answer be stored are dropped from every refusal (kernel/http/refusal.ts).
 */
const ABOUT_THE_ANSWER =
  /^(?:content-(?!security-policy).*|accept-ranges|(?:repr-)?digest|retry-after(?:-ms)?|x-should-retry)$/;

/** Whether handlers are shown this decision in place of the earlier one: the one with the fewest units left. */
export function isShown(decision: Decision, earlier: Decision | undefined): boolean {
  const left = ({ remaining = Number.POSITIVE_INFINITY }: Decision) => remaining;
  return !earlier || !decision.allowed || left(decision) <= left(earlier);
}

/**
 * A refusal with the headers that earlier middleware has set, for example CORS headers, except those about the
 * handler's answer. An answer made with `c.text()` and similar methods has all of them already: no header is added
 * twice.
 */
export function withEarlier(refusal: Response, earlier: Headers): Response {
  const answer = new Response(refusal.body, refusal);
  const { headers } = answer;
  const cookies = headers.getSetCookie();
  for (const [name, value] of earlier) {
    const own = headers.get(name);
    if (name === "set-cookie") {
      if (!cookies.includes(value)) headers.append(name, value);
    } else if (ABOUT_THE_ANSWER.test(name)) {
      if (name !== "content-type" && own === value) headers.delete(name);
    } else if (!LISTS.has(name)) headers.set(name, value);
    else if (!`, ${own}, `.includes(`, ${value}, `)) headers.append(name, value);
  }
  return answer;
}
