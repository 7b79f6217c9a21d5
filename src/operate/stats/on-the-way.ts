/** What the gateway counts of a request beside its decision: what the origin answered, and where it was refused. */

import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { compileMatcher, conditionsOf } from "../../kernel/http/match.ts";
import { isUnlearned } from "../../kernel/http/passage.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";
import { labelOf } from "./count.ts";
import type { Counting } from "./stats.ts";

/** In place of a route: no pattern of the configuration is one of the request's path. */
const NO_ROUTE = "*";
/** In place of a country that Cloudflare does not know. */
const NO_COUNTRY = "?";

export const countsOnTheWay = (counting: Counting, policies: readonly Policy[]): Feature => {
  const routeOf = routesOf(policies);
  return {
    name: "counting",
    isUsed: () => true,
    around: (inner) => ({
      answer(passage, decision) {
        if (!decision.allowed) counting.onRefusal(decision, routeOf(passage.request), countryOf(passage.request));
        return inner.answer(passage, decision);
      },
      async send(passage, outgoing) {
        const answer = await inner.send(passage, outgoing);
        if (!isUnlearned(answer)) counting.onAnswer(`${Math.floor(answer.status / 100)}xx`, passage.background);
        // Of a client that has left, nobody knows what it would have got.
        else if (!outgoing.signal.aborted) counting.onAnswer("none", passage.background);
        return answer;
      },
    }),
  };
};

/** The pattern of the configuration that is one of the request's path: the longest one. Nothing else of it is told. */
function routesOf([first, ...others]: readonly Policy[]): (request: RequestHead) => string {
  const all = [first!, ...others].flatMap(conditionsOf).flatMap(({ path = [] }) => path);
  const patterns = [...new Set(all)].sort((a, b) => b.length - a.length);
  const { isOverflow: _, exempt: __, ...policy } = first!;
  const match = compileMatcher(
    patterns.map((path) => ({ ...policy, name: labelOf(path), match: { path: [path] }, except: [], cost: [] })),
  );
  return (request) => match(request)[0]?.policy.name ?? NO_ROUTE;
}

/** A Worker that calls this one can put anything into `cf`. */
function countryOf({ cf }: RequestHead): string {
  const { country } = (cf ?? {}) as { readonly country?: unknown };
  return typeof country === "string" && /^[A-Z][A-Z0-9]$/.test(country) ? country : NO_COUNTRY;
}
