/** `/.headgate/limits`, the limits for everybody, and `/.headgate/limits/me`, what the caller has left. */

import { compileBodies, decided, looksAtBody } from "../../features/body/condition.ts";
import { mayCountByBody } from "../../features/body/keys.ts";
import { withLinks } from "../../features/overflow/on-the-way.ts";
import { type RpcCalls, TOOL_METHOD } from "../../features/rpc/calls.ts";
import { compileCalls, looksAtCalls } from "../../features/rpc/condition.ts";
import type { RateLimitHeaders, Settings } from "../../kernel/config/settings.ts";
import { toWritten } from "../../kernel/core/units.ts";
import { createWay } from "../../kernel/http/enforce.ts";
import { clientKey, namedPlan } from "../../kernel/http/key.ts";
import { compileMatcher } from "../../kernel/http/match.ts";
import { FetchPassage } from "../../kernel/http/passage.ts";
import { ProblemType, prefersHtml, problemResponse } from "../../kernel/http/problem.ts";
import { quotaOf } from "../../kernel/http/quota.ts";
import { blockedByOperator, refusal } from "../../kernel/http/refusal.ts";
import { retryFields } from "../../kernel/http/sdk-errors.ts";
import type { InsideLimiter, Limiter } from "../../kernel/limiter/types.ts";
import type { Background } from "../../kernel/place/taker.ts";
import type { ReadAddress } from "../../kernel/request/sources.ts";
import { describeLimits, isDocumented } from "./document.ts";
import { contentSecurityPolicy, digest, renderPage } from "./page.ts";

/**
 * The document as a page for people and as JSON for programs. It asks the store for nothing but the live document, as
 * every request does.
 */
export function serveLimits(
  settings: Settings,
  { limiter, regionOf }: Pick<RemainingOptions, "limiter" | "regionOf">,
): (request: Request, background: Background | undefined) => Promise<Response> {
  return async (request, background) => {
    const html = prefersHtml(request);
    await limiter.live?.ready(background);
    limiter.live?.freshen(background);
    const view = limiter.live?.view();
    // With the numbers and modes that hold.
    const policies = view ? settings.policies.map(view.policy) : settings.policies;
    const document = describeLimits({ ...settings, policies }, regionOf(request));
    const body = html ? renderPage(document) : JSON.stringify(document);
    const etag = `"${await digest(body)}"`;
    const headers = {
      "Content-Type": html ? "text/html; charset=utf-8" : "application/json",
      ...(html && { "Content-Security-Policy": await contentSecurityPolicy() }),
      // Another client may be in another region: shared caches must not keep the answer.
      "Cache-Control": "private, max-age=60",
      ETag: etag,
      Vary: "Accept",
      "Access-Control-Allow-Origin": "*",
      "X-Content-Type-Options": "nosniff",
    };
    const known = tagsIn(request.headers.get("If-None-Match") ?? "");
    if (known.includes(etag) || known.includes("*")) return new Response(null, { status: 304, headers });
    return new Response(request.method === "HEAD" ? null : body, { headers });
  };
}

/** The tags of a list, each as a strong one (RFC 9110, section 13.1.2): compression on the way makes a tag weak. */
export function tagsIn(list: string): string[] {
  return list.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
}

/** Limits of the looks: per address, and for all addresses together. Counted in memory: a refusal costs no call. */
export const LOOK_POLICIES = [
  { name: "limits-me", limits: [{ limit: 30, window: "1m" }] },
  { name: "limits-me-all", key: "global", limits: [{ limit: 20, window: "1s" }] },
] as const;

export interface RemainingOptions {
  readonly limiter: InsideLimiter;
  /** A limiter of `LOOK_POLICIES` with a memory store. */
  readonly looks: Limiter;
  readonly regionOf: (request: Request) => string;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Reads the client's address. Absent: it is where Cloudflare says it. */
  readonly addressOf?: ReadAddress | undefined;
  readonly helpPath: string;
}

/** What the caller has left. It never charges. It is limited: each look is a Redis call. */
export function serveRemaining({ limiter, looks, addressOf, ...answering }: RemainingOptions) {
  // The live document may enforce a policy in shadow, and block a client under any policy.
  const shown = limiter.live ? limiter.policies : limiter.policies.filter(isDocumented);
  // Who is counted by what a body says cannot be known here.
  const policies = shown.filter((policy) => !mayCountByBody(policy));
  const match = compileMatcher(policies, (condition) => looksAtCalls(condition) || looksAtBody(condition));
  const matchCalls = compileCalls(policies);
  const bodyVerdict = compileBodies(policies);
  const way = createWay({ limiter: looks, features: [], ...answering });

  async function look(request: Request): Promise<Response> {
    const asked = askedFor(request);
    if (!asked) {
      const detail = "Ask for a method and a path, for example ?method=GET&path=/.";
      return problemResponse(request, { type: ProblemType.blank, title: "Bad Request", status: 400, detail });
    }
    const regionName = answering.regionOf(request);
    const region = () => regionName;
    const address = addressOf && (() => addressOf(request));
    // Nothing is known of a body: all policies that may match one, at the highest cost. Without a call, too.
    const found = decided(match(asked, address), (condition) => bodyVerdict(condition, () => null), looksAtCalls);
    const calls = callsAskedFor(request);
    const matched = calls ? matchCalls(found, calls) : found;
    const all = withLinks(matched);
    await limiter.identify?.(asked, all);
    const takes = all.map(({ policy, link }) => ({
      ...(link !== undefined && { link }),
      policy,
      cost: 0,
      key: clientKey(policy.key, asked, region, limiter.ipv6Prefix, address),
      plan: policy.plan && namedPlan(policy.plan, asked, region),
    }));
    // Each by itself, to show what all of a chain have left. Only in its chain may an overflow be blocked.
    const alone = takes.map(({ link: _, ...one }) => one);
    const each = await limiter.peekMatched(alone, region);
    const decision = each.outcome === "blocked" ? await limiter.peekMatched(takes, region) : each;
    if (decision.source === "fallback") {
      const detail = "What is left cannot be looked up at the moment.";
      const problem = { type: ProblemType.temporaryReducedCapacity, title: "Temporary Reduced Capacity", status: 503 };
      return problemResponse(request, { ...problem, detail }, retryFields({ retryAfterMs: 1_000 }));
    }
    if (decision.outcome === "blocked") return refusal(request, blockedByOperator(decision), {});
    const documented = decision.limits.filter(({ policy, limit }) => isDocumented(policy) && limit.algorithm !== "ban");
    const limits = documented.map(({ policy, limit, remaining, growsAfterMs, resetAfterMs }) => ({
      policy: policy.name,
      id: limit.id,
      unit: limit.unit,
      // What is spent and what is reserved, in one number.
      used: limit.unit && toWritten(quotaOf(limit).quota - remaining, limit.unit),
      remaining: toWritten(remaining, limit.unit),
      remainingUsd: limit.unit === "usd" ? toWritten(remaining, limit.unit) : undefined,
      quota: toWritten(quotaOf(limit).quota, limit.unit),
      // Under a meter the cost is known only after the answer.
      cost: policy.meter ? undefined : all.find((one) => one.policy.name === policy.name)!.cost,
      growsAfterMs,
      resetAfterMs,
    }));
    const headers = new Headers({ "Cache-Control": "no-store" });
    const origin = request.headers.get("Origin");
    if (origin !== null) {
      headers.set("Access-Control-Allow-Origin", origin);
      headers.set("Vary", "Origin");
    }
    return Response.json({ region: regionName, limits }, { headers });
  }

  return (request: Request) => {
    return way.enter(new FetchPassage(request, look, { address: addressOf && (() => addressOf(request)) }));
  };
}

/** The request that the caller asks about, with the caller's own address, headers and location. */
function askedFor(request: Request): Request | undefined {
  const { origin, searchParams } = new URL(request.url);
  const [method, path] = [searchParams.get("method") ?? "GET", searchParams.get("path") ?? "/"];
  if (!path.startsWith("/")) return undefined;
  try {
    return new Request(`${origin}${path}`, { method, headers: request.headers, cf: request.cf } as RequestInit);
  } catch {
    return undefined;
  }
}

/** The call that the caller asks about: a tool, or a method of JSON-RPC. */
function callsAskedFor({ url }: Request): RpcCalls | undefined {
  const { searchParams } = new URL(url);
  const tool = searchParams.get("tool");
  const rpc = searchParams.get("rpc") ?? (tool === null ? null : TOOL_METHOD);
  if (rpc === null) return undefined;
  const call = rpc.toLowerCase() === TOOL_METHOD ? { rpc, tool } : { rpc };
  return { calls: [{ call, times: 1 }], ids: [], isBatch: false };
}
