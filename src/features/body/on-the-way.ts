/** Policies that look at what the body of a request says: in their conditions, and in their keys. */

import type { Match } from "../../kernel/core/policy.ts";
import type { Asked, Feature } from "../../kernel/http/feature.ts";
import { clientKey } from "../../kernel/http/key.ts";
import { Kept } from "../../kernel/http/passage.ts";
import { createLines } from "../../kernel/lines.ts";
import { noteBodyTexts } from "../../kernel/request/body-texts.ts";
import { UNREAD } from "../../kernel/request/sources.ts";
import { compileBodies, decided, looksAtBody } from "./condition.ts";
import { countsByBody, mayCountByBody, pathsOf, pathsOfKind } from "./keys.ts";
import { type BodyValue, valuesIn } from "./values.ts";

/** What the body of a request says, by path. Absent: no policy of the request looks at it, or there is no body. */
const said = new Kept<ReadonlyMap<string, BodyValue>>();
const NOTHING: ReadonlyMap<string, BodyValue> = new Map();

/** Reads bodies for both, and decides conditions. */
export const bodyValues: Feature = {
  name: "bodyValues",
  needs: ["body"],
  isUsed: (policies) => policies.some((policy) => pathsOf(policy).length > 0),
  decides: looksAtBody,
  body: {
    looksAt: (policy) => pathsOf(policy).length > 0,
    // Before the body is read, nobody knows who is counted.
    early: (_, policy) => (mayCountByBody(policy) ? { cost: 1, atLeast: 0 } : undefined),
    read(passage, body) {
      const { matched, request } = passage;
      const find = valuesIn(body, request.headers);
      said.set(passage, new Map(matched.flatMap(({ policy }) => pathsOf(policy)).map((path) => [path, find(path)])));
    },
  },
  around(inner, { limiter, features }, way) {
    const verdict = compileBodies(limiter.policies);
    const others = features.filter((one) => one.decides && one !== bodyValues);
    const isOpen = (condition: Match) => others.some((one) => one.decides!(condition));
    return {
      async enter(passage) {
        if (!passage.matched.some(({ costBy }) => costBy)) return await inner.enter(passage);
        const values = said.of(passage) ?? NOTHING;
        const verdictOf = (condition: Match) => verdict(condition, (path) => values.get(path));
        passage.matched = decided(passage.matched, verdictOf, isOpen);
        if (passage.matched.length === 0) return await way.send(passage, passage.outgoing);
        return await inner.enter(passage);
      },
    };
  },
};

const write = createLines();

export const bodyKeys: Feature = {
  name: "bodyKeys",
  needs: ["body", "bodyValues"],
  isUsed: (policies) => policies.some(countsByBody),
  around: (inner, { limiter }) => ({
    ask(passage, asked) {
      const { request, region, address } = passage;
      const values = said.of(passage) ?? NOTHING;
      // What nobody can tell is present, too. It is never counted by its text.
      const present = [...values].flatMap(([path, value]) =>
        value === undefined ? [] : [[path, value ?? "?"] as const],
      );
      noteBodyTexts(request, new Map(present));
      const unread: string[] = [];
      const keyed = asked.map((one): Asked => {
        if (one.key || !countsByBody(one.policy)) return one;
        const key = clientKey(one.policy.key, request, region, limiter.ipv6Prefix, address);
        if (!pathsOfKind(key.kind).some((path) => values.get(path) === null)) return { ...one, key };
        unread.push(one.policy.name);
        return { ...one, key: UNREAD };
      });
      if (unread.length > 0) {
        write(() => ({ event: "body-unread", at: new Date().toISOString(), policies: unread }));
      }
      return inner.ask(passage, keyed);
    },
  }),
};
