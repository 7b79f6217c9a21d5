/**
 * The only place where a decision becomes HTTP. Whoever has a request makes a passage of it and sends the answer: the
 * gateway, `withRateLimit`, the Hono middleware and the Express middleware. What single features do on the way is in
 * src/features, and its order.ts says which of them is around which.
 */

import type { Match } from "../core/policy.ts";
import type { Take } from "../limiter/types.ts";
import type { Feature, Way, WayOptions } from "./feature.ts";
import { clientKey } from "./key.ts";
import { compileMatcher } from "./match.ts";
import { type Passage, withoutStatus } from "./passage.ts";
import { reasonOf, refusal } from "./refusal.ts";
import { createAddressNotes } from "./shared-address.ts";

/** The way, and its two doors. */
export interface WayIn {
  /** Answers a request: refuses it, or lets it pass and adds the rate limit fields. */
  enter(passage: Passage): Response | Promise<Response>;
  /** Sends a request on that no policy counts. */
  send(passage: Passage): Response | Promise<Response>;
}

/** Composes the way of these options. */
export function createWay(options: WayOptions): WayIn {
  const { limiter, rateLimitHeaders, isForCaches = false, regionOf, matchBy = (match) => match } = options;
  const features = onTheWay(options);
  const composed = { ...options, features };
  const isLater = (condition: Match) => features.some((one) => one.decides?.(condition));
  const match = matchBy(compileMatcher(limiter.policies, isLater));
  const noteAddress = createAddressNotes();

  const way: Way = {
    async enter(passage) {
      const takes = await way.ask(passage, passage.matched);
      return await way.answer(passage, await way.take(passage, takes));
    },
    ask({ request, region, address }, asked) {
      return asked.map(({ policy, cost, isPreflight, key: named }): Take => {
        const key = named ?? clientKey(policy.key, request, region, limiter.ipv6Prefix, address);
        noteAddress(request, key);
        return { policy, cost, key, isPreflight };
      });
    },
    take: ({ region, background }, takes) => limiter.takeMatched(takes, region, background),
    async answer(passage, decision) {
      passage.decision = decision;
      passage.decidedAtMs = Date.now();
      if (decision.allowed) return passage.complete(await way.pass(passage));
      const answer = await way.refuse(passage, reasonOf(decision, passage.region)!);
      passage.addFields(answer.headers);
      return answer;
    },
    refuse: ({ request }, reason) => refusal(request, reason, options),
    pass: (passage) => (passage.isGone() ? clientIsGone() : way.send(passage, passage.outgoing)),
    send: (passage, outgoing) => passage.handle(outgoing),
  };
  for (const feature of features.toReversed()) {
    Object.assign(way, feature.around({ ...way }, composed, way));
  }

  return {
    enter(passage) {
      const matched = match(passage.request, passage.address);
      if (matched.length === 0) return way.send(passage, passage.outgoing);
      passage.matched = matched;
      let region: string | undefined;
      passage.region = () => (region ??= regionOf(passage.request));
      passage.rateLimitHeaders = rateLimitHeaders;
      passage.isForCaches = isForCaches;
      return way.enter(passage);
    },
    send: (passage) => way.send(passage, passage.outgoing),
  };
}

/** The features that are used, and those that they need. Of two with one name the first counts. */
export function onTheWay(options: WayOptions): readonly Feature[] {
  const { features, limiter } = options;
  const used = features.filter((one) => one.isUsed?.(limiter.policies, options));
  const names = new Set(used.flatMap(({ name, needs = [] }) => [name, ...needs]));
  // A name that was taken is gone.
  return features.filter(({ name }) => names.delete(name));
}

/** The answer to a client that has gone away. Not an error: many errors would fill the log. */
export function clientIsGone(): Response {
  return withoutStatus(new Response(null, { status: 499 }));
}
