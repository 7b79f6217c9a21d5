/**
 * CORS preflights. A browser sends one before the client's own request: it has a count of its own of the same size, is
 * always counted strictly, and no header tells of it.
 */

import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { type Matched, methodsOf } from "../../kernel/http/match.ts";
import type { Passage } from "../../kernel/http/passage.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";

/** A policy that names OPTIONS counts preflights as all other requests. */
const isApart = ({ match }: Policy) => !match.method;

export const preflight: Feature = {
  name: "preflight",
  isUsed: (policies) => policies.some(isApart),
  around: (inner) => ({
    enter(passage) {
      if (passage.request.method === "OPTIONS") noteApart(passage);
      return inner.enter(passage);
    },
  }),
};

function noteApart(passage: Passage): void {
  const { request, matched } = passage;
  if (!isPreflight(request)) return;
  passage.matched = apart(matched);
  if (matched.some(({ policy }) => isApart(policy))) passage.rateLimitHeaders = "none";
}

/** The policies of a preflight. */
export function apart(matched: readonly Matched[]): readonly Matched[] {
  return matched.map((one) => (isApart(one.policy) ? { ...one, isPreflight: true } : one));
}

/** A preflight has no body. Browsers put no override of the method into it: an origin could run it, uncounted. */
export function isPreflight(request: RequestHead): boolean {
  const { method, headers, body } = request;
  const isAsked = method === "OPTIONS" && headers.has("Origin") && headers.has("Access-Control-Request-Method");
  return isAsked && (body === undefined || body === null) && methodsOf(request).length === 1;
}
