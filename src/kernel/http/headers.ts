/**
 * The rate limit fields, one function per draft: when a draft changes, one function changes.
 *
 * `RateLimit-Policy` and `RateLimit` follow draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4. The
 * `X-RateLimit-` fields have no specification, and many clients read them.
 */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { LimitDecision } from "../core/decision.ts";
import type { Limit } from "../core/policy.ts";
import { quotaOf } from "./quota.ts";
import { LONGEST_STATED_MS } from "./sdk-errors.ts";

const LISTS = ["RateLimit-Policy", "RateLimit"];
const LEGACY_REMAINING = "X-RateLimit-Remaining";
const LEGACY = ["X-RateLimit-Limit", LEGACY_REMAINING, "X-RateLimit-Reset"];
const NAMES: Readonly<Record<RateLimitHeaders, readonly string[]>> = {
  both: [...LISTS, ...LEGACY],
  "draft-11": LISTS,
  legacy: LEGACY,
  none: [],
};

/** The header fields of an answer that has not begun. */
export type AnswerHeaders = Pick<Headers, "append" | "delete" | "get" | "set">;

/**
 * Adds the fields for `limits`. Lists get more members: those of another limiter stay. The `X-RateLimit-` fields show
 * one limit only: the limit with the fewest units left.
 *
 * @param decidedAtMs ms since the epoch. @param elapsedMs since then, 0 or more: a slow handler shortens the waits.
 * @returns the names of the fields for `limits`.
 */
export function addRateLimitFields(
  headers: AnswerHeaders,
  mode: RateLimitHeaders,
  limits: readonly LimitDecision[],
  decidedAtMs: number,
  elapsedMs = 0,
): readonly string[] {
  if (limits.length === 0 || mode === "none") return [];
  if (mode !== "legacy") addDraft11(headers, limits, elapsedMs);
  if (mode !== "draft-11") setLegacy(headers, limits, decidedAtMs, elapsedMs);
  return NAMES[mode];
}

/** What `q` and `r` count under a meter. They are integers: dollars are stated in the units that are counted. */
const QUOTA_UNITS = { tokens: "tokens", usd: "10-micro-usd" };

/** What the fields say about a limit in every answer, as long as its window has this length. */
interface WrittenLimit {
  readonly windowMs: number | undefined;
  readonly name: string;
  /** The member of `RateLimit-Policy`. */
  readonly policy: string;
  readonly quota: string;
}

const written = new WeakMap<Limit, WrittenLimit>();

/** A month has its own length: the decision says it. */
function writtenOf({ limit, windowMs }: LimitDecision): WrittenLimit {
  const known = written.get(limit);
  return known && (windowMs ?? known.windowMs) === known.windowMs ? known : write(limit, windowMs);
}

function write(limit: Limit, present: number | undefined): WrittenLimit {
  const { quota, windowMs: usual } = quotaOf(limit);
  const windowMs = present ?? usual;
  // The draft has whole seconds only. Any other window is left out: a rounded window would be wrong.
  const w = windowMs !== undefined && windowMs % 1000 === 0 ? windowMs / 1000 : undefined;
  const qu = windowMs === undefined ? "concurrent-requests" : limit.unit && QUOTA_UNITS[limit.unit];
  // An id holds nothing that a text of RFC 9651 has to escape.
  const name = `"${limit.id}"`;
  const policy = `${name};q=${quota}${w === undefined ? "" : `;w=${w}`}${qu === undefined ? "" : `;qu="${qu}"`}`;
  const made = { windowMs, name, policy, quota: String(quota) };
  written.set(limit, made);
  return made;
}

function addDraft11(headers: AnswerHeaders, limits: readonly LimitDecision[], elapsedMs: number): void {
  const policies: string[] = [];
  const states: string[] = [];
  for (const one of limits) {
    const { remaining, growsAfterMs } = one;
    const { name, policy } = writtenOf(one);
    // At least 1 s: without a wait a client would believe that the remaining units are the whole quota.
    const wait =
      growsAfterMs === undefined
        ? ""
        : `;t=${Math.min(Math.max(1, toSeconds(growsAfterMs - elapsedMs)), LONGEST_STATED_MS / 1_000)}`;
    policies.push(policy);
    states.push(`${name};r=${remaining}${wait}`);
  }
  headers.append("RateLimit-Policy", policies.join(", "));
  headers.append("RateLimit", states.join(", "));
}

/** The fields of one limit: the one with the fewest units left, and of several the one with the longest wait. */
function setLegacy(
  headers: AnswerHeaders,
  limits: readonly LimitDecision[],
  decidedAtMs: number,
  elapsedMs: number,
): void {
  const tightest = limits.reduce((a, b) => (isTighter(b, a) ? b : a));
  // Another limiter may have shown fewer units already.
  const theirs = headers.get(LEGACY_REMAINING) ?? "";
  if (/^\d{1,15}$/.test(theirs) && Number(theirs) < tightest.remaining) return;
  // By the store's clock, and rounded once: the end of one window is the same second in every answer.
  const { growsAfterMs = 0, growsAtMs = decidedAtMs + growsAfterMs } = tightest;
  const resetAtMs = growsAtMs + Math.max(0, elapsedMs - growsAfterMs);
  headers.set("X-RateLimit-Limit", writtenOf(tightest).quota);
  headers.set(LEGACY_REMAINING, String(tightest.remaining));
  headers.set("X-RateLimit-Reset", String(toSeconds(resetAtMs)));
}

function isTighter(a: LimitDecision, b: LimitDecision): boolean {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return (a.growsAfterMs ?? 0) > (b.growsAfterMs ?? 0);
}

/** Whole seconds, rounded up: no promised wait is too short. */
export function toSeconds(durationMs: number): number {
  return Math.ceil(durationMs / 1000);
}

/** Outside of quotes. `private="Name"` keeps others from one header only, and `private-name` from none. */
const FOR_ONE = /^(?:[^"]|"[^"]*")*?(?<![^\s,])(?:no-store|private)\s*(?:,|$)/i;
const FOR_MANY = /(?:^|[\s,;])(?:public|s-maxage|max-age\s*=\s*"?0*[1-9])/i;

/**
 * Whether a cache that several clients share may keep the answer (RFC 9111, section 3): it would show the numbers of
 * one client to others. `Vary` makes no difference, since caches differ in how they read it.
 *
 * @param nowMs ms since the epoch.
 */
export function isForMany(headers: Pick<AnswerHeaders, "get">, nowMs: number): boolean {
  const control = headers.get("Cache-Control") ?? "";
  // Caches of CDNs obey these instead (RFC 9213).
  const cdn = headers.get("CDN-Cache-Control") ?? "no-store";
  const cloudflare = headers.get("Cloudflare-CDN-Cache-Control") ?? "no-store";
  const surrogate = headers.get("Surrogate-Control") ?? "no-store";
  const isForOneOfCdn = FOR_ONE.test(cdn) && FOR_ONE.test(cloudflare) && FOR_ONE.test(surrogate);
  // An `Expires` that is no date has passed: many send 0 or -1.
  const isFresh = FOR_MANY.test(control) || Date.parse(headers.get("Expires") ?? "") > nowMs;
  return !isForOneOfCdn || (isFresh && !FOR_ONE.test(control));
}
