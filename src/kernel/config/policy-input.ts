/** Policies as `createLimiter` and `POLICIES` take them. The entries of fields/ check them. */

import type { LimitInput } from "../core/algorithms.ts";
import type { Duration } from "../core/duration.ts";

export type { LimitInput } from "../core/algorithms.ts";

/** One source of a key. `<name>` is the name of a header, a claim, … */
export type KeyPart =
  | "ip"
  | "ip/64"
  | "ip/56"
  | "ip/48"
  | "ip/32"
  | "ip4/24"
  | "bearer"
  | `jwt:${string}`
  | `header:${string}`
  | `cookie:${string}`
  | `query:${string}`
  | `body:${string}`
  | "country"
  | "asn"
  | "host"
  | "region"
  | "global";

/** One source of a key, or several joined by `+`. */
export type KeyInput = KeyPart | `${KeyPart}+${string}`;

/** A policy. Every policy that matches a request applies. If one limit refuses the request, nothing is counted. */
export interface PolicyInput {
  /** 1 to 32 of `a-z`, `0-9` and `-`, not beginning with `-`. Unique; appears in headers and in Redis keys. */
  readonly name: string;
  /** Which requests the policy is for. Default: every request. `take` ignores it. */
  readonly match?: MatchInput | undefined;
  /** Requests that the policy leaves out, although they match. Default: none. */
  readonly except?: MatchInput | readonly MatchInput[] | undefined;
  /**
   * The policy skips clients at these addresses: 1 to 100 addresses or ranges in CIDR notation, for example
   * `["10.0.0.0/8", "2001:db8::/32"]`. `take` ignores it. Default: none.
   */
  readonly exempt?: string | readonly string[] | undefined;
  /**
   * Who is counted: the first that is present; if none is, the address. `ip`, `ip/64`, `ip/56`, `ip/48`, `ip/32`,
   * `ip4/24` (its network), `bearer`, `jwt:<name>`, `header:<name>`, `cookie:<name>`, `query:<name>`, `body:<name>`,
   * `country`, `asn`, `host`, `region`, `global`, or several joined by `+`. `jwt:<name>` is a claim of a verified
   * token, `jwt:org.id` one inside another: it needs `identity`. `body:<name>` is a field of the body,
   * `body:user.email` one inside another: in a program it needs the feature `body()`. Default `["ip"]`.
   */
  readonly key?: KeyInput | readonly KeyInput[] | undefined;
  /**
   * `true`: values of `header`, `cookie`, `query` and `body` in keys count as one if they differ only in case, in width
   * or in spaces around them (NFKC, lower case). Default `false`.
   */
  readonly fold?: boolean | undefined;
  /** Units of a request, by the first rule that matches, or as its answer says. Default: 1. */
  readonly cost?: readonly CostRuleInput[] | StatedCostInput | undefined;
  /** 1 to 8 limits. */
  readonly limits: readonly LimitInput[];
  /**
   * Where a request names its client's plan: one of `bearer`, `jwt:<name>`, `header:<name>`, `cookie:<name>`,
   * `query:<name>`, `country`, `host`, `region`. Default: only a program names plans (`plan` of `take` and of the
   * middlewares).
   */
  readonly plan?: string | undefined;
  /**
   * Other numbers for the limits, by the client's plan and the limit's id: `{ pro: { "api-1": 100 } }`. Without a plan,
   * and for an unknown one: the limits as written.
   */
  readonly plans?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined;
  /**
   * `"strict"` (default): the store admits every request. `"leased"`: units are taken from Redis ahead of demand and
   * spent without a call. `"shared"`: no request waits for the store, and the limit is kept within a few percent. The
   * last two are only for algorithms whose units can be counted ahead: docs/consistency.md. In a program they need the
   * features `leases()` and `shared()`.
   */
  readonly consistency?: "strict" | "leased" | "shared" | undefined;
  /**
   * Only with `"shared"`: how often an instance reports what it has admitted, 100 ms … 60 s. At most half of the
   * shortest window. Default `"1s"`.
   */
  readonly sync?: Duration | undefined;
  /** `"enforce"` (default). `"shadow"`: evaluated and counted, but it never refuses, and headers do not show it. */
  readonly mode?: "enforce" | "shadow" | undefined;
  /** While the store is down: an instance's own counts (`"local"`, default), no limit (`"allow"`) or 503 (`"deny"`). */
  readonly onStoreFailure?: "local" | "allow" | "deny" | undefined;
  /** Whether the limits page shows the policy. Default true. */
  readonly documented?: boolean | undefined;
  /**
   * For MCP servers. `true`: the server refuses requests whose headers `Mcp-Method` and `Mcp-Name` differ from their
   * body, so these headers name the call of a body that cannot be read: docs/mcp.md. Needs `rpc` or `tool` in `match`,
   * `except` or `cost`. Default `false`: such a body may be any call.
   */
  readonly originChecksMcpHeaders?: boolean | undefined;
  /**
   * For requests to language models: what a request costs is known after its answer. `reserve` counts an estimate
   * before, and `settle` counts what was used. Not beside `cost`, only with `consistency: "strict"`, and only for
   * algorithms that give back exactly what was counted: docs/configuration.md. In a program it needs the feature
   * `meter()`. Default: the cost is known before.
   */
  readonly meter?: MeterInput | undefined;
  /**
   * What stays counted, by the status of the answer: requests of any kind (`"all"`, default), those with a status of
   * 400 or more (`"failures"`), only the others (`"successes"`), a status (`"401"`), a class (`"5xx"`), or a list of
   * these, to which statuses to leave out may follow (`["all", "not 304"]`). The gateway and the middlewares reserve
   * the units before, and give them back when the status is known; `take` by hand counts. Not beside `meter`, and only
   * with `consistency: "strict"`. Algorithms: as for a `meter` of tokens.
   */
  readonly count?: CountTerm | readonly CountTerm[] | undefined;
  /**
   * Where a request names itself, so that it is counted once: one of `bearer`, `jwt:<name>`, `header:<name>`,
   * `cookie:<name>`, `query:<name>`. The same id again, from the same client with the same method, path and cost, is
   * admitted without being counted. Not beside `meter`, `count`, `overflow` or `concurrency`. Default: every request is
   * counted.
   */
  readonly once?: string | undefined;
  /** With `once`: for how long repeats are admitted, `"1s"` … `"1h"`. Default `"1m"`. */
  readonly onceFor?: Duration | undefined;
  /** With `once`: how many repeats are admitted without being counted, an integer 1 … 10. Default 2. */
  readonly repeats?: number | undefined;
  /**
   * Who is refused too often is refused for some time: `{ after: 20, within: "10m", for: ["10m", "1h", "1d"] }`.
   * Default: every request is decided by the limits alone.
   */
  readonly ban?: BanInput | undefined;
  /** Its own answer to the requests that it refuses. Default: a problem document with status 429. */
  readonly refusal?: RefusalInput | undefined;
  /**
   * The name of the policy that pays when this one refuses. It is asked only then: no request matches it. Chains have
   * at most 4 policies. Only with `mode: "enforce"`, and not beside `once`. Default: the request is refused.
   */
  readonly overflow?: string | undefined;
  /**
   * At which parts of a limit you hear that a client comes close to it: 1 to 10 numbers above 0, at most 1, for example
   * `[0.8, 0.95]`. A program hears by `onWarning`, a gateway tells a webhook (`ALERT_URL`). Not with `concurrency`.
   * Default: none.
   */
  readonly warn?: number | readonly number[] | undefined;
}

/** Which statuses of answers count. */
export type CountTerm = "all" | "failures" | "successes" | `${number}` | `${number}xx` | `not ${string}`;

/** When a client is banned, and for how long. */
export interface BanInput {
  /** So many refusals within `within` begin a ban, an integer 1 … 10^9. Refusals by the ban itself do not count. */
  readonly after: number;
  /** `"1s"` … `"31d"`. */
  readonly within: Duration;
  /**
   * How long a ban lasts: one duration, or a list of 1 to 8, for the first ban, the second, and so on; each further one
   * lasts as long as the last. `"1s"` … `"31d"`. A ban that ended longer ago than the longest of them is forgotten.
   */
  readonly for: Duration | readonly Duration[];
}

/** What a policy answers to a request that it refuses. The headers are those of every refusal. */
export interface RefusalInput {
  /** 402, 403, 420 to 429 or 503. Default 429. With `as: "auto"` also 200, for errors of JSON-RPC only. */
  readonly status?: number | undefined;
  /**
   * `"auto"`: the form that the caller's protocol reads, also for gRPC, Connect and event streams. `"problem"`: always
   * the problem document. Default: a JSON-RPC error if the policy has `tool` or `rpc`, the provider's error if it has a
   * `meter`, and the problem document for all others.
   */
  readonly as?: "problem" | "auto" | undefined;
  /** The media type of `body`. Default `"application/json"`, and `body` must then be JSON. */
  readonly type?: string | undefined;
  /**
   * 1 to 8,192 characters. Replaced are `{retryAfter}` (seconds, or `null`: never), `{policy}` (its name) and `{limit}`
   * (the id of the limit that refuses for longest). Default: the problem document, with this status.
   */
  readonly body?: string | undefined;
  /**
   * The code of the error that answers a JSON-RPC request, an integer outside of -32768 … -32000: docs/mcp.md. Default:
   * the status.
   */
  readonly code?: number | undefined;
}

/** What the limits of a policy count of requests to language models. */
export interface MeterInput {
  /**
   * `"tokens"`: input and output. `"usd"`: their price. Numbers of a `usd` policy's limits are dollars above 0 … 10,000
   * with at most 5 decimals, and are counted in units of 10 micro-dollars.
   */
  readonly unit: "tokens" | "usd";
  /**
   * The most output tokens that are reserved, and what is reserved if a request does not say its own maximum. An
   * integer 1 … 10^9. Default 4096.
   */
  readonly maxOutput?: number | undefined;
  /** Input tokens that an image or a file in a request counts as, an integer 0 … 10^9. Default 1000. */
  readonly perImage?: number | undefined;
  /**
   * What happens to requests that nobody can meter: images, audio, videos, batches, files, fine-tuning, sockets, and
   * bodies that can't be read. `"refuse"` (default) is a 400. `{ cost: 10 }` lets them pass for so many tokens
   * or dollars, as the limits count; for what the answer says if that is more, unless the path says what it is.
   */
  readonly unmetered?: "refuse" | { readonly cost: number } | undefined;
  /**
   * When a stream needs more than was reserved: `"finish"` (default) counts it at the end, `"cut"` counts it while it
   * streams, and ends the stream when a limit refuses.
   */
  readonly onExceeded?: "finish" | "cut" | undefined;
  /**
   * With `usd` only, and required: prices by model. `*` stands for any text, and the longest match wins. The name
   * `default` is required: models that no other name matches. Names: 1 to 128 letters, digits and `* . _ : / @ + -`.
   */
  readonly prices?: Readonly<Record<string, PriceInput>> | undefined;
  /**
   * With `tokens` only: how much a token of each kind counts, 0 … 1000 in steps of 0.1. Default: 1 each. Rounded up
   * once a request. For example `{ input: 1, cachedInput: 0, output: 5 }`.
   */
  readonly weights?: WeightsInput | undefined;
}

/** How much a token counts, by what it is. */
export interface WeightsInput {
  /** Of input that no cache had or got. */
  readonly input?: number | undefined;
  /** Of input that was read from a cache. */
  readonly cachedInput?: number | undefined;
  /** Of input that was written to a cache, for whatever time. */
  readonly cacheWrite?: number | undefined;
  /** Of output. */
  readonly output?: number | undefined;
}

/** Dollars per million tokens, 0 or more, for requests with more input. */
export interface PriceStepInput {
  /** Input that the provider's cache neither had nor got. */
  readonly input: number;
  /** Input that the provider reads from its cache. Default: `input`. */
  readonly cachedInput?: number | undefined;
  /** Input that the provider writes to its cache for some minutes. Default: 1.25 times `input`. */
  readonly cacheWrite?: number | undefined;
  /** Input that the provider writes to its cache for an hour. Default: twice `input`. */
  readonly cacheWrite1h?: number | undefined;
  /** Output, reasoning included. */
  readonly output?: number | undefined;
}

/** What one model costs. */
export interface PriceInput extends PriceStepInput {
  readonly output: number;
  /**
   * Other prices for requests with more input than so many tokens (1 … 10^9), caches included: they hold for the whole
   * request. Prices that a step leaves out keep their ratio to `input`.
   */
  readonly above?: Readonly<Record<string, PriceStepInput>> | undefined;
  /** What the prices of tokens are multiplied by, above 0, by the service tier that the response names. Others: 1. */
  readonly tier?: Readonly<Record<string, number>> | undefined;
  /** Dollars for each call of one of the provider's own tools, for example `{ web_search: 0.01 }`. */
  readonly call?: Readonly<Record<string, number>> | undefined;
}

/** Conditions on a request: all given fields must match. A list matches if one of its values does. */
export interface MatchInput {
  /** Any case. `GET` matches `HEAD` too. */
  readonly method?: string | readonly string[] | undefined;
  /**
   * A path, for example `/v1/*`: `*` stands for any text, `:name` for a segment. Case does not matter, nor does a slash
   * at the end.
   */
  readonly path?: string | readonly string[] | undefined;
  /** A host name, for example `*.example.com`: `*` stands for any text, `:name` for a label; case does not matter. */
  readonly host?: string | readonly string[] | undefined;
  /**
   * Methods of JSON-RPC that the body calls, for example `"resources/read"`. `*` stands for any text, and case does not
   * matter. A body that cannot be read matches: docs/mcp.md. In a program it needs the feature `rpc()`.
   */
  readonly rpc?: string | readonly string[] | undefined;
  /** Tools of an MCP server that the body calls: the `name` of `tools/call`. As for `rpc`. */
  readonly tool?: string | readonly string[] | undefined;
  /**
   * Fields of the body, for example `{ model: "gpt-5*" }`; `"user.email"` names a field inside another. `*` stands for
   * any text, and case does not matter. A body that cannot be read matches: docs/configuration.md. In a program it
   * needs the feature `body()`.
   */
  readonly body?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/**
 * The answer says what its request has cost: `reserve` is counted before, and corrected by the answer. An answer with a
 * status of 500 or more that says nothing is free, and any other keeps what was reserved. `take` by hand counts what it
 * is given. Only with `consistency: "strict"`, for `sliding-window`, `fixed-window` and `calendar`, and not beside
 * `meter`, `count` and `once`.
 */
export interface StatedCostInput {
  /** The header of the answer with its cost, an integer 0 … 10^9. */
  readonly answer: string;
  /** Units counted until the answer comes, an integer 1 … 10^9, at most the policy's smallest limit. Default 1. */
  readonly reserve?: number | undefined;
  /** `true`: the client sees the header. Default `false`: it is removed. */
  readonly keep?: boolean | undefined;
}

/** The cost of the requests that match. */
export interface CostRuleInput extends MatchInput {
  /** Units, an integer 0 … 10^9, at most the policy's smallest limit; 0 only peeks. */
  readonly cost: number;
}
