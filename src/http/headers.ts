/**
 * The rate limit fields, one function per draft: when a draft changes, one function changes.
 *
 * `RateLimit-Policy` and `RateLimit` follow draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4. The
 * `X-RateLimit-` fields have no specification, and many clients read them.
 */

import { type Item, serializeItem, serializeList } from "structured-headers";
import type { RateLimitHeaders } from "../config/settings.ts";
import { isConcurrency } from "../core/concurrency.ts";
import type { LimitDecision } from "../core/decision.ts";
import type { Limit } from "../core/policy.ts";
import { quotaOf } from "./quota.ts";

const LEGACY_REMAINING = "X-RateLimit-Remaining";

/**
 * Adds the fields for `limits`. Lists get more members: those of another limiter stay. The `X-RateLimit-` fields show
 * one limit only: the limit with the fewest units left.
 *
 * @param nowMs ms since the epoch. @param elapsedMs since the decision, 0 or more: a slow handler shortens the waits.
 * @returns the names of the fields for `limits`.
 */
export function addRateLimitFields(
  headers: Headers,
  mode: RateLimitHeaders,
  limits: readonly LimitDecision[],
  nowMs: number,
  elapsedMs = 0,
): string[] {
  if (limits.length === 0 || mode === "none") return [];
  const lists = mode === "legacy" ? [] : draft11Fields(limits, elapsedMs);
  for (const [name, value] of lists) headers.append(name, value);
  const legacy = mode === "draft-11" ? [] : legacyFields(limits, nowMs, elapsedMs);
  if (!isTighterAlready(headers, legacy)) for (const [name, value] of legacy) headers.set(name, value);
  return [...lists, ...legacy].map(([name]) => name);
}

function isTighterAlready(headers: Headers, ours: readonly [string, string][]): boolean {
  const theirs = headers.get(LEGACY_REMAINING);
  const remaining = ours.find(([name]) => name === LEGACY_REMAINING)?.[1];
  return theirs !== null && /^\d{1,15}$/.test(theirs) && Number(theirs) < Number(remaining);
}

/** What `q` and `r` count under a meter. They are integers: dollars are told in the units that are counted. */
const QUOTA_UNITS = { tokens: "tokens", usd: "10-micro-usd" };

/** Members of `RateLimit-Policy` by limit: a limit's member is the same in every answer. */
const policyItems = new WeakMap<Limit, string>();

function policyItem(limit: Limit): string {
  const known = policyItems.get(limit);
  if (known !== undefined) return known;
  const { quota, windowMs } = quotaOf(limit);
  // The draft has whole seconds only. Any other window is left out: a rounded window would be wrong.
  const w = windowMs !== undefined && windowMs % 1000 === 0 ? windowMs / 1000 : undefined;
  const qu = isConcurrency(limit) ? "concurrent-requests" : limit.unit && QUOTA_UNITS[limit.unit];
  const text = serializeItem(item(limit.id, { q: quota, w, qu }));
  policyItems.set(limit, text);
  return text;
}

function draft11Fields(limits: readonly LimitDecision[], elapsedMs: number): [string, string][] {
  const states = limits.map(({ limit: { id }, remaining, growsAfterMs }) => {
    // At least 1 s: without a wait a client would believe that the remaining units are the whole quota.
    const t = growsAfterMs === undefined ? undefined : Math.max(1, toSeconds(growsAfterMs - elapsedMs));
    return item(id, { r: remaining, t });
  });
  return [
    ["RateLimit-Policy", limits.map(({ limit }) => policyItem(limit)).join(", ")],
    ["RateLimit", serializeList(states)],
  ];
}

/** The fields of one limit: the one with the fewest units left, and of several the one with the longest wait. */
function legacyFields(limits: readonly LimitDecision[], nowMs: number, elapsedMs: number): [string, string][] {
  const tightest = limits.reduce((a, b) => (isTighter(b, a) ? b : a));
  // Rounded once: two roundings could make it 2 s late.
  const resetAtMs = nowMs + stillMs(tightest.growsAfterMs ?? 0, elapsedMs);
  return [
    ["X-RateLimit-Limit", String(quotaOf(tightest.limit).quota)],
    [LEGACY_REMAINING, String(tightest.remaining)],
    ["X-RateLimit-Reset", String(toSeconds(resetAtMs))],
  ];
}

function isTighter(a: LimitDecision, b: LimitDecision): boolean {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return (a.growsAfterMs ?? 0) > (b.growsAfterMs ?? 0);
}

/** The rest of a wait that began with the decision. */
function stillMs(durationMs: number, elapsedMs: number): number {
  return Math.max(0, durationMs - elapsedMs);
}

/** Whole seconds, rounded up: no promised wait is too short. */
export function toSeconds(durationMs: number): number {
  return Math.ceil(durationMs / 1000);
}

function item(name: string, parameters: Record<string, number | string | undefined>): Item {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, number | string] => entry[1] !== undefined,
  );
  return [name, new Map(given)];
}
