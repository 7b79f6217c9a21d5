/**
 * The only door to the gateway: every call of the admin API that the console makes, with the shapes of its answers.
 * Raw keys go in a field, because URLs reach logs. The session cookie is the browser's: no script can read it.
 */

/** `/.headgate`, also behind a proxy that puts a path before it. */
const ROOT = location.pathname.replace(/\/console(?:\/.*)?$/, "");
const ADMIN = `${ROOT}/admin`;

export type Mode = "enforce" | "shadow";
export type Outcome = "admitted" | "refused" | "spared" | "shadow_refused" | "blocked" | "unavailable";

/** A count of one minute or hour, which begins at this instant. Counts of 0 are left out. */
export interface At {
  readonly at: string;
}
export interface Point extends At {
  readonly policy: string;
  readonly region: string;
  readonly outcome: Outcome;
  readonly source: string;
  readonly count: number;
}
export interface LimitCount extends At {
  readonly policy: string;
  readonly limit: string;
  readonly count: number;
}
export interface StoreCalls extends At {
  readonly place: string;
  readonly outcome: string;
  readonly count: number;
  /** By upper bound in seconds: the calls above the next smaller bound. */
  readonly seconds: Readonly<Record<string, number>>;
  readonly sum: number;
}
interface PolicyCount extends At {
  readonly policy: string;
  readonly count: number;
}
export interface Limited {
  readonly key: string;
  readonly refused: number;
}
export interface Stats {
  readonly points: readonly Point[];
  readonly top: Readonly<Record<string, readonly Limited[]>>;
  readonly near: readonly LimitCount[];
  readonly shadowLimits: readonly LimitCount[];
  readonly calls: readonly StoreCalls[];
  readonly fallback: readonly PolicyCount[];
  readonly units: readonly (PolicyCount & { readonly outcome: string })[];
  readonly leases: readonly (PolicyCount & { readonly event: string })[];
  readonly open: readonly { readonly place: string; readonly isolates: number }[];
  /** The instant of the last batch. */
  readonly heard: string | null;
  /** Seconds that a point covers. */
  readonly step: 60 | 3600;
  /** `STATS_FLUSH` in seconds. */
  readonly flush: number;
}

/** What a meter counts: numbers of `usd` are dollars. Absent: there is no meter. */
export type Unit = "tokens" | "usd";
export interface Limit {
  readonly id: string;
  readonly algorithm: string;
  readonly limit: number;
  readonly window?: string;
  readonly timeout?: string;
  readonly burst?: number;
  readonly buckets?: number;
  readonly oldest?: string;
  readonly scope?: string;
  readonly shadowLimit?: number;
}
export interface LivePolicy {
  readonly mode?: Mode;
  readonly limits?: Readonly<Record<string, number>>;
}
export interface Policy {
  readonly name: string;
  readonly match: Readonly<Record<string, unknown>>;
  readonly except?: readonly Readonly<Record<string, unknown>>[];
  readonly key: readonly string[];
  readonly limits: readonly Limit[];
  readonly mode: Mode;
  readonly consistency: string;
  readonly onStoreFailure: string;
  readonly plans?: Readonly<Record<string, unknown>>;
  readonly meter?: { readonly unit: Unit };
  /** What the live document changes. */
  readonly live: LivePolicy | null;
}

/** What a live document says of one client. */
export interface Effect {
  readonly limits?: Readonly<Record<string, number>>;
  readonly factor?: number;
  readonly plan?: string;
  readonly exempt?: true;
  readonly block?: true;
  readonly until?: string;
  readonly note?: string;
}
export interface Override extends Effect {
  readonly policy: string;
  readonly kind: string;
  /** The hash of the client's key. */
  readonly key: string;
}
/** As it is stored. data/entries.ts knows what can be shown of it. */
export interface LiveDocument {
  readonly version: number;
  readonly policies: Readonly<Record<string, unknown>>;
  readonly overrides: readonly unknown[];
  readonly secret?: string;
  readonly ignored?: readonly unknown[];
  readonly notes?: readonly string[];
}
export interface Counts {
  readonly policy: string;
  readonly kind: string;
  readonly key: string;
  readonly override: Override | null;
  readonly limits: readonly {
    readonly id: string;
    readonly limit: number;
    readonly remaining: number;
    readonly resetAfterMs: number;
    readonly unit?: Unit;
  }[];
}
/** A client as an admin names it: the parts of its raw key, of one kind, under one policy. */
export interface RawClient {
  readonly policy: string;
  readonly kind: string;
  readonly raw: readonly string[];
}
export interface Explained {
  readonly at: string;
  readonly region: string;
  readonly source: string;
  readonly allowed: boolean;
  readonly method: string;
  readonly path: string;
  readonly version: number | null;
  readonly policies: readonly {
    readonly policy: string;
    readonly kind: string;
    readonly key: string;
    readonly cost: number;
    readonly mode: Mode;
    readonly unit?: Unit;
  }[];
  readonly limits: readonly {
    readonly id: string;
    readonly policy: string;
    readonly limit: number;
    readonly algorithm: string;
    readonly admitted: boolean;
    readonly remaining: number;
    readonly retryAfterMs?: number;
    readonly resetAfterMs: number;
    readonly shadow: boolean;
    readonly unit?: Unit;
  }[];
  readonly violated: readonly string[];
  /** How many did not fit into the token. */
  readonly omitted?: { readonly policies: number; readonly limits: number };
  readonly retryAfterMs?: number;
  readonly failure?: string;
}
export interface Session {
  readonly by: string;
  readonly until: string | null;
}
interface Nobody {
  readonly by: null;
}

export interface Mistake {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** The gateway said no, or said nothing (status 0). */
export class Refused extends Error {
  readonly status: number;
  readonly mistakes: readonly Mistake[];
  /** Seconds; 0: it said none. */
  readonly retryAfter: number;

  constructor(status: number, message: string, mistakes: readonly Mistake[] = [], retryAfter = 0) {
    super(message);
    this.status = status;
    this.mistakes = mistakes;
    this.retryAfter = retryAfter;
  }
}

interface Call {
  readonly client?: RawClient;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the admin API. */
  readonly under?: string;
}

interface Answer<T> {
  readonly body: T;
  readonly etag: string | null;
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
  { client, body, headers = {}, under = ADMIN }: Call = {},
): Promise<Answer<T>> {
  const key = client && { "Headgate-Key": client.raw.map(encodeURIComponent).join(",") };
  const json = body !== undefined && { "Content-Type": "application/json" };
  let response: Response;
  try {
    response = await fetch(under + path, {
      method,
      headers: { Accept: "application/json", ...key, ...json, ...headers },
      cache: "no-store",
      // A redirect leads to a page for signing in somewhere else.
      redirect: "error",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused(0, "The gateway does not answer.");
  }
  const date = Date.parse(response.headers.get("Date") ?? "");
  // The field has whole seconds.
  if (Math.abs(date - Date.now()) > 2_000) clockAheadMs = date - Date.now();
  else if (!Number.isNaN(date)) clockAheadMs = 0;
  const answer: Record<string, unknown> = await response.json().catch(() => ({}));
  if (response.ok) return { body: answer as T, etag: response.headers.get("ETag") };
  if (response.status === 401) signedOut();
  const { detail, title, mistakes = [] } = answer as { detail?: string; title?: string; mistakes?: Mistake[] };
  const text = detail ?? title ?? `The gateway answered ${response.status}.`;
  throw new Refused(response.status, text, mistakes, Number(response.headers.get("Retry-After")) || 0);
}

function policyPath(table: string, { policy, kind }: RawClient): string {
  return `/${table}/${encodeURIComponent(policy)}?kind=${encodeURIComponent(kind)}`;
}

const bodyOf = <T>(answer: Answer<T>) => answer.body;

export const api = {
  /** Not of the admin API, which answers 401 to the signed out: the browser would report that as an error. */
  session: () => send<Session | Nobody>("GET", "/session", { under: `${ROOT}/console` }).then(bodyOf),
  signIn: (token: string) => send("POST", "/session", { headers: { Authorization: `Bearer ${token}` } }),
  signOut: () => send("DELETE", "/session"),

  stats: (minutes: number) => send<Stats>("GET", `/stats?minutes=${minutes}`).then(bodyOf),
  explain: (token: string) => send<Explained>("GET", `/explain?token=${encodeURIComponent(token)}`).then(bodyOf),

  policies: () => send<{ version: number; policies: readonly Policy[] }>("GET", "/policies").then(bodyOf),
  patchPolicy: (policy: string, body: object) =>
    send<{ version: number }>("PATCH", `/policies/${encodeURIComponent(policy)}`, { body }).then(bodyOf),

  live: () => send<LiveDocument>("GET", "/live"),
  putLive: (body: object, etag: string) =>
    send<LiveDocument>("PUT", "/live", { body, headers: { "If-Match": etag } }).then(bodyOf),

  counts: (client: RawClient) => send<Counts>("GET", policyPath("counts", client), { client }).then(bodyOf),
  reset: (client: RawClient) => send("DELETE", policyPath("counts", client), { client }).then(bodyOf),
  putOverride: (client: RawClient, body: Effect) =>
    send<{ version: number }>("PUT", policyPath("overrides", client), { client, body }).then(bodyOf),
  removeOverride: (client: RawClient) =>
    send<{ version: number }>("DELETE", policyPath("overrides", client), { client }).then(bodyOf),
};
