/** The program around the limiter: what it says in place of the policies, and how it answers. */

import type { ClientIp } from "../../kernel/config/client-ip.ts";
import type { RegionNames } from "../../kernel/config/regions.ts";
import type { RateLimitHeaders } from "../../kernel/config/settings.ts";
import type { Decision } from "../../kernel/core/decision.ts";
import type { Numbers } from "../../kernel/core/policy.ts";
import type { Asked, Feature } from "../../kernel/http/feature.ts";
import { Kept, type Passage } from "../../kernel/http/passage.ts";
import { asRefusal } from "../../kernel/http/refusal.ts";
import { namedKey } from "../../kernel/limiter/key-by-hand.ts";
import { checkCost } from "../../kernel/limiter/takes.ts";

/** @typeParam C the functions' argument: a `Request`, or Hono's context. */
export interface RateLimitOptions<C> {
  /** Headers of answers: `"both"` (default), `"draft-11"` (`RateLimit…`), `"legacy"` (`X-RateLimit…`), `"none"`. */
  readonly rateLimitHeaders?: RateLimitHeaders;
  /**
   * `true`: answers that a shared cache may keep get these headers too, so that clients may see each other's numbers.
   * Default `false`.
   */
  readonly rateLimitHeadersOnCacheable?: boolean;
  /**
   * Where limits with `scope: "region"` count: a name, names by Cloudflare's codes
   * (`{ colo: { FRA: "frankfurt" }, country: {…}, continent: {…} }`, in that order; without a name the continent's
   * code, without a code `"local"`), or a function. Default: the limiter's region.
   */
  readonly region?: string | Partial<RegionNames> | ((request: Request) => string);
  /** Who is counted, under every policy that matches. `undefined` or empty: the policy's `key` decides. */
  readonly key?: (c: C) => string | undefined | Promise<string | undefined>;
  /**
   * Units of a request under every policy that matches, an integer 0 … 10^9; 0 only peeks. Default: the
   * policy's `cost`. A function may read the body: the handler can read it again. Under a policy with a `meter` it is
   * what is reserved, and a request that is not metered costs nothing.
   *
   * The body that the function reads is kept in memory for the handler. Limit its size: check `Content-Length` first,
   * or put a body limit in front. Any other result is a `TypeError` for the caller, and nothing is counted.
   */
  readonly cost?: number | ((c: C) => number | undefined | Promise<number | undefined>);
  /** The client's plan, under every policy that matches. `undefined` or empty: read as the policy's `plan` says. */
  readonly plan?: (c: C) => string | undefined | Promise<string | undefined>;
  /**
   * Other numbers for this client by the ids of limits, for example `{ "api-1": 200 }`; they come before those of a
   * plan. `undefined`, and a limit without a number: those of the plan, or as written. A number that a limit cannot
   * have, and an id that no limit has, is a `TypeError` for the caller, and nothing is counted.
   */
  readonly limits?: (c: C) => Numbers | undefined | Promise<Numbers | undefined>;
  /**
   * Whose address the key `ip` counts. Needed outside of Cloudflare Workers: without it, a limiter that may count by
   * address is refused; and if `key` names clients, the first one that it does not name. See {@link ClientIp}.
   */
  readonly clientIp?: ClientIp;
  /** `true`: the request is not limited, and its answer gets no rate limit headers. */
  readonly skip?: (c: C) => boolean | Promise<boolean>;
  /**
   * Answers a refused request in place of `standard`: the problem document with its `Retry-After` (429, or 503 if the
   * store does not answer and a policy says `deny`), the policy's own `refusal`, or the provider's error if a policy of
   * the request has a `meter`.
   * The returned answer gets the rate limit headers, the `Retry-After` of `standard` unless it has its own, and
   * `Cache-Control: no-store` in place of headers that let an answer be stored.
   */
  readonly response?: (decision: Decision, c: C, standard: Response) => Response | Promise<Response>;
}

/** Rules of the program, in place of the policies' rules. Called only if a policy matches. */
export type OwnRules<C> = {
  readonly [Rule in "key" | "cost" | "plan" | "limits" | "response"]?: RateLimitOptions<C>[Rule] | undefined;
} & {
  /** Answers a request whose body could not be read, in place of `standard`. Absent: `standard` does. */
  readonly notRead?: (standard: Response, c: C) => Response;
  /** Called before the request goes on or is refused. */
  readonly onDecision?: (decision: Decision, c: C, passage: Passage) => void;
};

/** What the program's rules have said about a request. */
const ruled = new Kept<Awaited<ReturnType<typeof saidBy>>>();

/** What carries out the rules of a program. Who makes them makes the passages, and knows `C`. */
export function ruledBy<C>(rules: OwnRules<C>): readonly Feature[] {
  return [answers(rules), asks(rules)];
}

const asks = <C>(rules: OwnRules<C>): Feature => ({
  name: "asks",
  costs: costsOf(rules),
  isUsed: () => [rules.key, rules.cost, rules.plan, rules.limits].some((rule) => rule !== undefined),
  around: (inner) => ({
    async ask(passage, asked) {
      const said = ruled.of(passage) ?? (await saidBy(rules, passage.c as C));
      ruled.set(passage, said);
      const { key, cost, plan, limits } = said;
      const isMatched = (one: Asked) => passage.matched.some(({ policy }) => policy === one.policy);
      const named = asked.map((one) => ({
        ...one,
        // The program names the client of the policies that match. What is asked in place of one has its own client.
        ...(key && isMatched(one) && { key: namedKey(key) }),
        ...(cost !== undefined && !one.onlyLooks && { cost: checkCost(cost) }),
      }));
      const takes = await inner.ask(passage, named);
      return takes.map((take) => ({ ...take, plan, limits }));
    },
  }),
});

function costsOf<C>({ cost }: OwnRules<C>): Feature["costs"] {
  if (cost === undefined) return undefined;
  return typeof cost === "function" ? "perhapsByBody" : "known";
}

/** Asks the program's own rules, one after another: they may read the body. */
async function saidBy<C>(rules: OwnRules<C>, c: C) {
  const key = rules.key && (await rules.key(c));
  const cost = typeof rules.cost === "function" ? await rules.cost(c) : rules.cost;
  const plan = rules.plan && (await rules.plan(c));
  const limits = rules.limits && (await rules.limits(c));
  return { key, cost, plan, limits };
}

const answers = <C>(rules: OwnRules<C>): Feature => ({
  name: "answers",
  isUsed: () => [rules.response, rules.notRead, rules.onDecision].some((rule) => rule !== undefined),
  around: (inner) => ({
    answer(passage, decision) {
      rules.onDecision?.(decision, passage.c as C, passage);
      return inner.answer(passage, decision);
    },
    async refuse(passage, reason) {
      const { request, decision } = passage;
      const c = passage.c as C;
      const standard = await inner.refuse(passage, reason);
      // Without a refusal by a limit the body could not be read.
      const isRefused = decision && !decision.allowed;
      const own = isRefused ? await rules.response?.(decision, c, standard) : rules.notRead?.(standard, c);
      return own ? asRefusal(isRefused ? new Response(own.body, own) : own, standard, request) : standard;
    },
  }),
});
