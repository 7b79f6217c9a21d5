/** What the admin API answers, for those who call it. `/stats` answers `StatsReply`. */

import type { MadeChange } from "../../features/live/document.ts";
import type { LivePolicy } from "../../features/live/fields.ts";
import type { Ignored } from "../../features/live/view.ts";
import type { Mistake } from "../../kernel/config/mistake.ts";
import type { PolicyInput } from "../../kernel/config/policy-input.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { type Problem, ProblemType } from "../../kernel/http/problem.ts";
import type { DecisionLine } from "../log.ts";

/** What is wrong with a live document: as for mistakes of the configuration. */
export type LiveMistake = Pick<Mistake, "path" | "expected" | "found">;

/** A limit in force, as an operator could write it. Which of the fields it has depends on its algorithm. */
export interface LimitAnswer {
  readonly id: string;
  readonly algorithm: string;
  readonly limit: number;
  /** For people, after the number: `per 1m`. */
  readonly per: string;
  readonly window?: string;
  readonly zone?: string;
  readonly weekStart?: string;
  readonly monthDay?: number;
  readonly burst?: number;
  readonly buckets?: number;
  readonly oldest?: string;
  readonly scope: string;
}

export interface PolicyAnswer
  extends Omit<Policy, "limits" | "once" | "ban">,
    Pick<PolicyInput, "once" | "onceFor" | "repeats" | "ban"> {
  readonly limits: readonly LimitAnswer[];
  /** What the live document changes, as it is stored. */
  readonly live: LivePolicy | null;
}

export interface PoliciesAnswer {
  /** Of the live document; 0: there is none. */
  readonly version: number;
  readonly policies: readonly PolicyAnswer[];
}

/** The live document as it is stored: somebody may have written anything into the store by hand. */
export interface LiveAnswer {
  readonly version: number;
  readonly policies: Readonly<Record<string, unknown>>;
  readonly overrides: readonly unknown[];
  /** The deployment that has written what is stored. */
  readonly owner?: string;
  /** The fingerprint of the key secret. */
  readonly secret?: string;
  /** The last changes, the newest last. */
  readonly changes?: readonly MadeChange[];
  readonly ignored?: readonly Ignored[];
  readonly notes?: readonly string[];
}

/** What the token of a refusal tells: the line of the log, and what was asked for. */
export interface Explanation extends DecisionLine {
  /** The version of the live document that the isolate knew; 0: there is none yet. Null: it was never read. */
  readonly version: number | null;
  readonly method: string;
  /** The path of the request without the query, at most 200 characters. */
  readonly path: string;
  /** What its body calls, for example `tools/call search`: at most 5. Absent: no policy looks at the body. */
  readonly calls?: readonly string[];
  /** How many did not fit into the token: those with the most left, and those in shadow, are left out first. */
  readonly omitted?: { readonly policies: number; readonly limits: number };
}

/** Who is signed in. */
export interface SessionAnswer {
  readonly by: string;
  /** Null: a token has no end. */
  readonly until: string | null;
}

export interface NobodyAnswer {
  readonly by: null;
}

/** JSON that nobody stores, and that no page of another origin can read. */
export function answer<T>(body: T, headers: Record<string, string> = {}): Response {
  return Response.json(body, { headers: { "Cache-Control": "no-store", ...headers } });
}

type AdminProblem = Partial<Problem> & Pick<Problem, "title" | "status" | "detail"> & { readonly version?: number };

export function problem(shown: AdminProblem, headers: Record<string, string> = {}): Response {
  const all = { "Content-Type": "application/problem+json", "Cache-Control": "no-store", ...headers };
  return new Response(JSON.stringify({ type: ProblemType.blank, ...shown }), { status: shown.status, headers: all });
}

export function badRequest(detail: string): Response {
  return problem({ title: "Bad Request", status: 400, detail });
}

export function notFound(detail: string): Response {
  return problem({ title: "Not Found", status: 404, detail });
}

/** @param known what could be found out without the store. */
export function unavailable(detail: string, known: object = {}): Response {
  const type = ProblemType.temporaryReducedCapacity;
  return problem({ type, title: "Temporary Reduced Capacity", status: 503, detail, ...known }, { "Retry-After": "1" });
}
