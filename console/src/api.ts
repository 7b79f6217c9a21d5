/**
 * The only door to the gateway: every call of the admin API that the console makes, with the shapes of its answers.
 * Raw keys go in a field, because URLs reach logs. The session cookie is the browser's: no script can read it.
 */

import type { ChangedEntry, LiveOverride, MadeChange } from "../../src/features/live/document.ts";
import type { OverrideFields } from "../../src/features/live/fields.ts";
import type { MeterUnit } from "../../src/kernel/core/units.ts";
import type {
  Explanation,
  LiveAnswer,
  LiveMistake,
  NobodyAnswer,
  PoliciesAnswer,
  PolicyAnswer,
  SessionAnswer,
} from "../../src/operate/admin/answers.ts";
import type { Outcome } from "../../src/operate/stats/count.ts";
import type { StatsReply } from "../../src/operate/stats/object/reply.ts";

/** `/.headgate`, also behind a proxy that puts a path before it. */
const ROOT = location.pathname.replace(/\/console(?:\/.*)?$/, "");
const ADMIN = `${ROOT}/admin`;

export type { LimitAnswer as Limit } from "../../src/operate/admin/answers.ts";
export type Override = LiveOverride;
export type { LivePolicy, OverrideFields } from "../../src/features/live/fields.ts";
export type { ChangedEntry, LiveAnswer, MadeChange, PolicyAnswer };
export type Session = SessionAnswer;
export type Explained = Explanation;
/** What a meter counts: numbers of `usd` are dollars. Absent: there is no meter. */
export type { MeterUnit, Outcome };
/** A count of one minute or hour, which begins at this instant. Counts of 0 are left out. */
export type StatsPoint = StatsReply["points"][number] & { readonly outcome: Outcome };
export type At = Pick<StatsPoint, "at">;
/** What `GET /counts/:policy` answers. */
export interface CountsAnswer {
  /** Of the live document; 0: there is none. Absent: this gateway reads none. */
  readonly version?: number;
  readonly policy: string;
  readonly kind: string;
  /** The hash of the client's key. */
  readonly key: string;
  readonly override: LiveOverride | null;
  readonly limits: readonly {
    readonly id: string;
    readonly limit: number;
    readonly remaining: number;
    readonly resetAfterMs: number;
    readonly unit?: MeterUnit;
  }[];
}

export interface StatsAnswer extends Omit<StatsReply, "points"> {
  readonly points: readonly StatsPoint[];
}
export type StoreCalls = StatsAnswer["calls"][number];
export type Limited = StatsAnswer["top"][string][number];

/** A client as an admin names it: the parts of its raw key, of one kind, under one policy. */
export interface RawClient {
  readonly policy: string;
  readonly kind: string;
  readonly raw: readonly string[];
}

interface RefusedMore {
  readonly method?: string;
  readonly mistakes?: readonly LiveMistake[];
  readonly retryAfter?: number;
}

/** The gateway said no, or said nothing (status 0). */
export class Refused extends Error {
  readonly status: number;
  readonly mistakes: readonly LiveMistake[];
  /** Seconds; 0: it said none. */
  readonly retryAfter: number;
  /** Whether what was asked for may have been done all the same: its answer was lost, or says so. */
  readonly mayBeDone: boolean;

  constructor(status: number, message: string, { method = "GET", mistakes = [], retryAfter = 0 }: RefusedMore = {}) {
    super(message);
    this.status = status;
    this.mistakes = mistakes;
    this.retryAfter = retryAfter;
    this.mayBeDone = method !== "GET" && (status < 400 || status >= 500);
  }
}

interface SentCall {
  readonly client?: RawClient;
  readonly body?: unknown;
  /** The version of the live document that is meant. */
  readonly version?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the admin API. */
  readonly under?: string;
}

let signedOut = () => {};
/** Called whenever the gateway answers that there is no session. */
export function onSignedOut(listener: () => void): void {
  signedOut = listener;
}

let clockAheadMs = 0;
/** Now by the gateway's clock, as far as its answers tell: the reader's clock may be wrong. */
export function now(): number {
  return Date.now() + clockAheadMs;
}

async function send<T>(
  method: string,
  path: string,
  { client, body, version, headers = {}, under = ADMIN }: SentCall = {},
): Promise<T> {
  const key = client && { "Headgate-Key": client.raw.map(encodeURIComponent).join(",") };
  const match = version !== undefined && { "If-Match": `"${version}"` };
  const json = body !== undefined && { "Content-Type": "application/json" };
  let response: Response;
  try {
    response = await fetch(under + path, {
      method,
      headers: { Accept: "application/json", ...key, ...match, ...json, ...headers },
      cache: "no-store",
      // A redirect leads to a page for signing in somewhere else.
      redirect: "error",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused(0, "The gateway does not answer.", { method });
  }
  const date = Date.parse(response.headers.get("Date") ?? "");
  // The field has whole seconds.
  if (Math.abs(date - Date.now()) > 2_000) clockAheadMs = date - Date.now();
  else if (!Number.isNaN(date)) clockAheadMs = 0;
  const answer: Record<string, unknown> = await response.json().catch(() => ({}));
  if (response.ok) return answer as T;
  if (response.status === 401) signedOut();
  const { detail, title, mistakes = [] } = answer as { detail?: string; title?: string; mistakes?: LiveMistake[] };
  const text = detail ?? title ?? `The gateway answered ${response.status}.`;
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  throw new Refused(response.status, text, { method, mistakes, retryAfter });
}

function policyPath(table: string, { policy, kind }: RawClient): string {
  return `/${table}/${encodeURIComponent(policy)}?kind=${encodeURIComponent(kind)}`;
}

/** What a change has made, and the version of the live document after it. */
type Made<T> = T & { readonly version: number };
type MadeOverride = Made<{ readonly override: Override | null }>;

export const api = {
  /** Not of the admin API, which answers 401 to the signed out: the browser would report that as an error. */
  session: () => send<Session | NobodyAnswer>("GET", "/session", { under: `${ROOT}/console` }),
  signIn: (token: string) => send("POST", "/session", { headers: { Authorization: `Bearer ${token}` } }),
  signOut: () => send("DELETE", "/session"),

  stats: (minutes: number) => send<StatsAnswer>("GET", `/stats?minutes=${minutes}`),
  explain: (token: string) => send<Explained>("GET", `/explain?token=${encodeURIComponent(token)}`),

  policies: () => send<PoliciesAnswer>("GET", "/policies"),
  patchPolicy: (policy: string, body: object, version: number) =>
    send<Made<{ policy: object }>>("PATCH", `/policies/${encodeURIComponent(policy)}`, { body, version }),

  live: () => send<LiveAnswer>("GET", "/live"),
  putLive: (body: object, version: number) => send<LiveAnswer>("PUT", "/live", { body, version }),

  counts: (client: RawClient) => send<CountsAnswer>("GET", policyPath("counts", client), { client }),
  reset: (client: RawClient) => send("DELETE", policyPath("counts", client), { client }),
  putOverride: (client: RawClient, body: OverrideFields, version: number) =>
    send<MadeOverride>("PUT", policyPath("overrides", client), { client, body, version }),
  removeOverride: (client: RawClient, version: number) =>
    send<MadeOverride>("DELETE", policyPath("overrides", client), { client, version }),
};
