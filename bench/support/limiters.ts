/** The Workers that are measured, and how each of them is told its limit. */

export interface WorkerLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export interface LimiterWorker {
  /** A part of the path to the REST service, which shows whose call it is. */
  readonly id: string;
  readonly title: string;
  readonly library: string;
  /** The file in bench/workers. */
  readonly file: string;
  readonly bindings: (url: string, token: string, limit: WorkerLimit) => Readonly<Record<string, unknown>>;
  /** Why this is not a count that all isolates share. Absent if it is one. */
  readonly local?: string;
}

const upstash = (algorithm: string, cache: boolean): LimiterWorker["bindings"] => {
  return (url, token, { limit, windowMs }) => {
    return { URL: url, TOKEN: token, LIMIT: limit, WINDOW_MS: windowMs, ALGORITHM: algorithm, CACHE: cache };
  };
};

const headgate = (consistency: "strict" | "leased"): LimiterWorker["bindings"] => {
  return (url, token, { limit, windowMs }) => ({
    POLICIES: [{ name: "default", consistency, limits: [{ limit, window: `${windowMs}ms` }] }],
    UPSTASH_REDIS_REST_URL: url,
    UPSTASH_REDIS_REST_TOKEN: token,
    // The timeout is long, so that a busy machine causes no fallback decisions.
    REDIS_TIMEOUT_MS: 5_000,
  });
};

const plain: LimiterWorker["bindings"] = (url, token, { limit, windowMs }) => {
  return { URL: url, TOKEN: token, LIMIT: limit, WINDOW_MS: windowMs };
};

/** The gateway in front of an origin, with a policy that never matches. */
export const UNMATCHED: LimiterWorker = {
  id: "unmatched",
  title: "headgate, no policy matches",
  library: "headgate (the whole gateway)",
  file: "headgate.mjs",
  bindings: () => ({ POLICIES: [{ name: "none", match: { path: "/none" }, limits: [{ limit: 1, window: "1s" }] }] }),
};

/** A minimal Worker that sends a limiter's header fields, without a limiter. */
export const FIELDS: LimiterWorker = {
  id: "fields",
  title: "no limiter, five fields that never change",
  library: "no limiter",
  file: "fields.mjs",
  bindings: () => ({}),
};

/** The library's limiter called by hand in a minimal Worker, as the Worker of `@upstash/ratelimit` calls its own. */
export const LIBRARY: LimiterWorker = {
  id: "library",
  title: "headgate's library, `limiter.take` by hand",
  library: "headgate (the library)",
  file: "library.mjs",
  bindings: plain,
};

/** Workers in front of an origin over HTTP. The first one only forwards requests and is the baseline. */
export function forwarding(originUrl: string): readonly LimiterWorker[] {
  const gateway = { library: "headgate (the whole gateway)", file: "gateway.mjs" };
  const withOrigin = (bindings: LimiterWorker["bindings"]): LimiterWorker["bindings"] => {
    return (...args) => ({ ...bindings(...args), ORIGIN_URL: originUrl });
  };
  return [
    {
      id: "forward",
      title: "no limiter",
      library: "no limiter",
      file: "forward.mjs",
      bindings: withOrigin(() => ({})),
    },
    {
      ...FIELDS,
      title: "no limiter, timeout, abort and five fields that never change",
      file: "forward-fields.mjs",
      bindings: withOrigin(() => ({})),
    },
    { ...UNMATCHED, ...gateway, bindings: withOrigin(UNMATCHED.bindings) },
    { ...gateway, id: "strict", title: "headgate, strict", bindings: withOrigin(headgate("strict")) },
    { ...gateway, id: "leased", title: "headgate, leased", bindings: withOrigin(headgate("leased")) },
  ];
}

/** The first Worker is the baseline. */
export const WORKERS: readonly LimiterWorker[] = [
  { id: "none", title: "no limiter", library: "no limiter", file: "none.mjs", bindings: () => ({}) },
  {
    id: "strict",
    title: "headgate, strict",
    library: "headgate (the whole gateway)",
    file: "headgate.mjs",
    bindings: headgate("strict"),
  },
  {
    id: "leased",
    title: "headgate, leased",
    library: "headgate (the whole gateway)",
    file: "headgate.mjs",
    bindings: headgate("leased"),
  },
  {
    id: "upstash",
    title: "@upstash/ratelimit slidingWindow, cache",
    library: "@upstash/ratelimit",
    file: "upstash.mjs",
    bindings: upstash("slidingWindow", true),
  },
  {
    id: "upstash-plain",
    title: "@upstash/ratelimit slidingWindow, no cache",
    library: "@upstash/ratelimit",
    file: "upstash.mjs",
    bindings: upstash("slidingWindow", false),
  },
  {
    id: "upstash-cached",
    title: "@upstash/ratelimit cachedFixedWindow",
    library: "@upstash/ratelimit",
    file: "upstash.mjs",
    bindings: upstash("cachedFixedWindow", true),
    local: "experimental, each isolate counts by itself",
  },
  {
    id: "hono",
    title: "hono-rate-limiter, Redis",
    library: "hono-rate-limiter",
    file: "hono-rate-limiter.mjs",
    bindings: plain,
  },
  {
    id: "incr",
    title: "`INCR` + `EXPIRE`",
    library: "`INCR` + `EXPIRE` over @upstash/redis",
    file: "script.mjs",
    bindings: plain,
  },
  {
    id: "binding",
    title: "rate limit binding (Miniflare's simulation)",
    library: "rate limit binding",
    file: "binding.mjs",
    bindings: () => ({}),
    local: "simulated in the same process, no Redis",
  },
];
