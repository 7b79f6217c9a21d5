/**
 * What the tables of docs/configuration.md and the sections of docs/errors.md say about each field in words.
 * build-fields.ts takes types, ranges and defaults from the fields themselves. No program carries this file.
 */

import type { FieldCode, MistakeCode } from "../../src/kernel/config/mistake.ts";
import type {
  BanInput,
  LimitInput,
  MeterInput,
  PolicyInput,
  RefusalInput,
} from "../../src/kernel/config/policy-input.ts";

/** A row of a table. */
export interface Row {
  /** What the field is for. "Required" is added. */
  readonly meaning: string;
  /** What it may be. Absent: it follows from the field. */
  readonly values?: string;
  /** Absent: it follows from the field. */
  readonly default?: string;
}

export const POLICY_ROWS: Readonly<Record<keyof PolicyInput, Row>> = {
  name: {
    meaning: "A unique name. Clients see it in headers",
    values: "1 to 32 of `a-z` `0-9` `-`",
  },
  match: {
    meaning:
      "[Which requests](#match-requests) the policy limits. Without it: all. `rpc` and `tool` are [calls in the body](mcp.md), `body` is [its fields](#fields-of-the-body)",
  },
  except: {
    meaning: '[Requests to leave out](#exclude-paths): `{ path = "/health" }`',
    values: "as `match`, or a list of such tables",
  },
  exempt: {
    meaning: '[Addresses to leave out](#exempt-addresses): `["10.0.0.0/8"]`',
    values: "list of 1 … 100 addresses and ranges",
  },
  key: {
    meaning: "[Who is counted](#who-is-counted): the first of these that the request has, otherwise its address",
  },
  fold: {
    meaning: "`true`: [`Ann` and `ann` count as one](#one-spelling-for-all)",
  },
  cost: {
    meaning:
      "What a request costs, 0 … 10^9: the first rule that matches, otherwise 1. With 0, it's checked but not counted. A table: [the response says it](#a-cost-that-the-response-states)",
    values: "list of `{ method, path, host, rpc, tool, body, cost }`, or `{ answer, reserve, keep }`",
  },
  limits: { meaning: "[The limits](#limits-of-a-policy). All of them must allow a request" },
  plans: {
    meaning: "[Other limits for clients on a plan](#plans)",
    values: "table of plans",
  },
  plan: { meaning: "Where a request says which plan its client is on" },
  consistency: {
    meaning:
      "`strict`: the store decides each request. `leased`: a process reserves part of the limit. `shared`: no request waits for the store's decision, and the limit is nearly exact. [Which one?](consistency.md#which-one)",
  },
  sync: {
    meaning:
      'Only with `shared`: how often a process reports to the store. Absent: `"1s"`. At most half of the shortest window',
  },
  mode: {
    meaning: "`shadow`: the policy counts and logs, but refuses only blocked clients, and appears in no header",
  },
  onStoreFailure: {
    meaning:
      "When the store doesn't answer: `local` counts in this process, `allow` admits, `deny` answers 503. [Every failure](failure-modes.md)",
  },
  documented: {
    meaning:
      "`false` hides the policy from [the page of limits](clients.md#the-page-of-limits). Shadow policies are always hidden",
  },
  originChecksMcpHeaders: {
    meaning: "`true`: your MCP server [checks its headers](mcp.md#the-headers-of-2026-07-28)",
  },
  meter: { meaning: "[Count the tokens or dollars](#meter) of language models", values: "table" },
  count: {
    meaning: "[Which requests stay counted](#failures-or-successes), by their status",
    values: '`"all"`, `"failures"`, `"successes"`, or statuses: `["401", "5xx"]`, `["all", "not 304"]`',
  },
  once: { meaning: "[Where a request has an id](#charge-once). A repeat of it isn't counted again" },
  onceFor: { meaning: "For how long repeats are free. Only with `once`" },
  repeats: { meaning: "How many repeats of a request are free. Only with `once`" },
  ban: {
    meaning: "[Refuse a client for longer](#ban) if it's refused too often",
  },
  refusal: { meaning: "[The response](#a-refusal-in-your-own-words) to a refused request" },
  overflow: {
    meaning: "[The policy that pays](#overflow) when this one refuses",
    values: "the name of a policy",
  },
  warn: {
    meaning: "[Warn you](#warnings-before-the-end) when a client has used this much of a limit: `[0.8, 0.95]`",
    values: "list of 1 … 10 numbers above 0 … 1",
  },
};

type LimitField = LimitInput extends infer Limit ? (Limit extends unknown ? keyof Limit : never) : never;

export const LIMIT_ROWS: Readonly<Record<LimitField, Row>> = {
  algorithm: {
    meaning: "[Which one to choose](start/algorithm.md)",
    values:
      "`sliding-window`, `fixed-window`, `sliding-log`, `token-bucket`, `leaky-bucket`, `concurrency`, `calendar`",
  },
  limit: {
    meaning: "How many requests per window. `concurrency`: how many at once. With a [meter](#meter): tokens or dollars",
  },
  window: { meaning: 'A number with its unit: `"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`' },
  buckets: {
    meaning: "Into how many equal buckets the window is divided. More are more exact, and take more bytes",
  },
  oldest: {
    meaning:
      "How the oldest bucket counts. `weighted`: by the part that is still in the window. `whole`: in full, so that the limit holds in any window",
  },
  burst: { meaning: "How much the bucket holds. Absent: `limit`" },
  maxDelay: { meaning: "Hold a request that would be admitted within this time, instead of refusing it" },
  timeout: { meaning: "When a lost slot (neither released nor renewed) is free again" },
  sockets: {
    meaning:
      "How long a WebSocket holds its slot: `handshake` until it's open, `open` [until it closes](algorithms.md#concurrency). Absent: `handshake`; with Express or plain Node `open`",
  },
  zone: {
    meaning:
      'The time zone whose midnight begins a period: `"America/Los_Angeles"`. No offsets (`"+05:00"`) or abbreviations (`"PST"`)',
    values: "a name of the IANA database",
  },
  weekStart: { meaning: 'The first day of the week. Absent: Monday. Only with `window = "week"`' },
  monthDay: {
    meaning:
      'The day of the month on which a month begins. A year begins on this day of January. Absent: 1. Only with `window = "month"` and `"year"`',
  },
  scope: {
    meaning:
      "`region`: each region counts by itself. By default, the region is the client's continent ([`REGIONS`](#bindings))",
  },
};

export const METER_ROWS: Readonly<Record<keyof MeterInput, Row>> = {
  unit: { meaning: "`tokens`: input and output together. `usd`: what they cost" },
  maxOutput: {
    meaning: "The most output tokens to reserve. A request that sets no maximum reserves them all",
  },
  perImage: { meaning: "How many input tokens an image or a file counts as" },
  unmetered: {
    meaning:
      "What happens to [requests that can't be metered](llm.md#what-is-not-metered), such as images, batches and sockets. `refuse`: the response is a 400. A cost: they're admitted for so many tokens or dollars. If the path or the body could still reach a model, the usage in the response counts if it's more",
    values: '`"refuse"` or `{ cost = … }`',
  },
  onExceeded: {
    meaning:
      "What happens to a stream that uses more than was reserved. `finish`: the rest is counted at its end. `cut`: it's counted while it runs, and cut off when a limit refuses",
  },
  prices: {
    meaning:
      "[Dollars per million tokens](llm.md#prices), by model. `input` and `output` are required, and so is the model `default`. Only with `usd`, and required there",
    values: "table of models",
  },
  weights: {
    meaning:
      "[How much a token counts](llm.md#weights), by what it is: `input`, `cachedInput`, `cacheWrite`, `output`. Absent: 1. Only with `tokens`",
    values: "table of numbers 0 … 1000, in steps of 0.1",
  },
};

export const BAN_ROWS: Readonly<Record<keyof BanInput, Row>> = {
  after: { meaning: "How many refusals begin a ban. Those by the ban itself don't count" },
  within: { meaning: "The time within which they must happen" },
  for: {
    meaning:
      "How long the first ban lasts, the second, and so on. Further ones last as long as the last. A ban is forgotten when the longest of these times has passed since its end",
    values: '`"1s"` … `"31d"`, or a list of 1 … 8 of them',
  },
};

export const REFUSAL_ROWS: Readonly<Record<keyof RefusalInput, Row>> = {
  status: { meaning: "The status", values: '402, 403, 420 … 429, 503; with `as = "auto"` 200' },
  as: {
    meaning:
      "`auto`: in the form that [the caller's protocol](#refusals-that-the-caller-can-read) reads. `problem`: always the problem document",
    values: "`problem`, `auto`",
  },
  type: { meaning: "The `Content-Type` of `body`", values: "a media type", default: '`"application/json"`' },
  body: {
    meaning: "The body. Absent: the usual problem document",
    values: "1 … 8,192 characters",
  },
  code: {
    meaning: "The error code for a [JSON-RPC](mcp.md) request, if you set no `body`",
    values: "32-bit integer outside of -32768 … -32000",
    default: "the status",
  },
};

/** By binding, in the order of the table. `{{values}}` stands for what it may be, from its entry. */
export const SETTING_ROWS: Readonly<Record<string, { readonly kind: string; readonly meaning: string }>> = {
  UPSTASH_REDIS_REST_URL: {
    kind: "variable",
    meaning: "The URL of Redis's REST API ([Upstash](stores.md#upstash) or your own)",
  },
  UPSTASH_REDIS_REST_TOKEN: { kind: "secret", meaning: "The token of that API. Set both or neither" },
  REDIS_NODES: {
    kind: "variable",
    meaning:
      "[Several Redis databases](stores.md#several-redis-databases): a list of `{ name, url, token, region, live }`, or its JSON. `token` names a secret. Needs `KEY_SECRET`",
  },
  REDIS_TIMEOUT_MS: {
    kind: "variable",
    meaning: "How long one decision may wait for the store: {{values}} ms",
  },
  COUNTS: {
    kind: "Durable Object",
    meaning: "The class `HeadgateCounts`, which [keeps the counts](#where-the-counts-are) if you have no Redis",
  },
  COUNTS_LOCATION: {
    kind: "variable",
    meaning:
      "Where Cloudflare creates the object `COUNTS`: `wnam`, `enam`, `sam`, `weur`, `eeur`, `apac`, `apac-ne`, `apac-se`, `oc`, `afr` or `me`. Absent: near the first request. It never moves",
  },
  COUNTS_SHARDS: { kind: "variable", meaning: "How many objects share the keys: {{values}}" },
  ORIGIN_URL: {
    kind: "variable",
    meaning:
      '[Where allowed requests go](#the-origin): the URL of a server, or `"route"`. Without it and `ORIGIN`, the gateway answers with a demo page',
  },
  ORIGIN: { kind: "service", meaning: "Another Worker that gets the allowed requests, instead of `ORIGIN_URL`" },
  ORIGIN_TIMEOUT_MS: {
    kind: "variable",
    meaning:
      "How long the origin may take to begin its response. After that, the client gets 504. Only for requests without a body. {{values}} ms; 0: no limit",
  },
  POLICIES: {
    kind: "variable",
    meaning: "[The policies](#policies), as an array or its JSON. `POLICIES_2`, `POLICIES_3`, … are added. Required",
  },
  REGION: {
    kind: "variable",
    meaning:
      'The name of this region, for limits with `scope = "region"`: 1 to 32 letters, digits, `_` `.` `-`, beginning with a letter or digit',
  },
  REGIONS: {
    kind: "variable",
    meaning:
      "Names of regions by Cloudflare's codes of the data centre, or of the client's country or continent: `{ colo = {…}, country = {…}, continent = {…} }`. The first match wins; otherwise it's the continent's code, or `local` if that's unknown",
  },
  KEY_SECRET: {
    kind: "secret",
    meaning:
      "Hashes the names of clients; at least 16 characters. When it changes, all counts start at zero. Absent: [derived](#where-the-counts-are) from the REST token or the id of an object",
  },
  NAMESPACE: {
    kind: "variable",
    meaning:
      "Keeps deployments [over the same store](deploy.md#staging-and-production) apart. Up to 24 letters, digits and `-`. When it changes, all counts start at zero",
  },
  DEPLOYMENT: {
    kind: "variable",
    meaning: "Without a `NAMESPACE`: obey the [live document](operate.md) only if a deployment of this name wrote it",
  },
  CLIENT_IP: {
    kind: "variable",
    meaning:
      "Behind another proxy or CDN: [where the client's address is](runtimes.md#behind-a-proxy-or-cdn), `{ header, trust }` or `{ header, hops }`, or JSON",
  },
  IPV6_PREFIX: {
    kind: "variable",
    meaning: "How many bits of an IPv6 address make a client: {{values}}",
  },
  IDENTITY: {
    kind: "variable",
    meaning:
      "Who issues the tokens whose [claims are keys](#claims-of-verified-tokens): `{ jwks, issuer, audience, cookie }`, a list of these, or JSON",
  },
  RATE_LIMIT_HEADERS: {
    kind: "variable",
    meaning:
      "Which headers clients get: `both`, `draft-11` (`RateLimit`, `RateLimit-Policy`), `legacy` (`X-RateLimit-…`) or `none`",
  },
  RATE_LIMIT_HEADERS_ON_CACHEABLE: {
    kind: "variable",
    meaning:
      "`on`: responses that a [shared cache](clients.md#answers-from-a-cache) may keep get these headers too. Clients may then see each other's numbers",
  },
  ADMIN_TOKEN: {
    kind: "secret",
    meaning: "Opens the [admin API](operate.md); at least 32 characters",
  },
  TAKE_TOKEN: {
    kind: "secret",
    meaning:
      "Lets [programs in other languages](recipes/other-languages.md) take from the limits; at least 32 characters, and not `ADMIN_TOKEN`",
  },
  ACCESS_TEAM: {
    kind: "variable",
    meaning:
      "The Cloudflare Zero Trust team whose [Access application](operate.md#cloudflare-access) opens the admin API",
  },
  ACCESS_AUD: { kind: "variable", meaning: "The audience tag of that application. Set both or neither" },
  EXPLAIN: {
    kind: "variable",
    meaning:
      '`"on"`: every refusal carries a token that [tells you why](operate.md#find-out-why-somebody-was-refused). Needs the admin API',
  },
  RECORD: {
    kind: "variable",
    meaning: '`"on"`: [a log line for each decision](replay.md#record-decisions). `"10%"`: for a tenth of the clients',
  },
  LOG_TOKENS: {
    kind: "variable",
    meaning: '`"on"`: [a log line with the tokens of each response](metrics.md#tokens), for policies with a `meter`',
  },
  LIMITS_TITLE: {
    kind: "variable",
    meaning: "The name of your API on [the page of limits](clients.md#the-page-of-limits)",
  },
  LIMITS_CONTACT: { kind: "variable", meaning: "Whom its readers can ask: an https URL or a mail address" },
  LIMITS_BEFORE: { kind: "variable", meaning: "Your own words above the limits: plain text, up to 2,000 characters" },
  LIMITS_AFTER: { kind: "variable", meaning: "The same below the limits" },
  ASSETS: {
    kind: "static files",
    meaning:
      "The files of the [console](operate.md#get-in). Set `run_worker_first = true`, otherwise requests for them have no limits. Needs the admin API",
  },
  LIVE_REFRESH: {
    kind: "variable",
    meaning:
      "How often a Worker instance looks for [changed limits](operate.md#when-a-change-takes-effect): {{values}}; `0s`: never",
  },
  STATS: {
    kind: "Durable Object",
    meaning:
      "The class `HeadgateStats`, which adds up the [metrics](metrics.md) (needs the admin API) and delivers [warnings](#warnings-before-the-end)",
  },
  STATS_FLUSH: {
    kind: "variable",
    meaning:
      "How often a Worker instance sends its metrics ([costs](metrics.md#what-it-costs)): {{values}}; `0s`: there are no metrics",
  },
  ALERT_URL: {
    kind: "secret",
    meaning:
      "The webhook that gets [warnings](#warnings-before-the-end): an `https` URL, `http` only for this machine. Needs `ALERT_SECRET` and `STATS`",
  },
  ALERT_SECRET: {
    kind: "secret",
    meaning: "Signs what the webhook gets: at least 32 characters. Needed with `ALERT_URL`",
  },
};

/** What each code means. `{{mode}}` stands for a sentence that says what `mode` is. Absent: that sentence alone. */
export const ERRORS: Partial<Readonly<Record<MistakeCode, string>>> &
  Readonly<Record<Exclude<MistakeCode, FieldCode>, string>> = {
  ERR_POLICIES_MISSING: "There are no policies. Write a `[[vars.POLICIES]]`.",
  ERR_POLICIES_JSON:
    'If `POLICIES` is text, it must be a JSON array. On a command line, quote the whole argument: `--var \'POLICIES:[{"name":"api", …}]\'`.',
  ERR_POLICIES_SIZE:
    "Cloudflare allows 5 KB for one variable, counted as JSON. Move some policies to `POLICIES_2`, `POLICIES_3`, ….",
  ERR_POLICIES_VARIABLE:
    "A variable such as `POLICIES_1`, `POLICIES2` or `POLICIES_02` would never be read. Further policies go into `POLICIES_2` … `POLICIES_9999`.",
  ERR_POLICY_TYPE: "A policy is a table: `[[vars.POLICIES]]` with a `name`, a `key` and `limits`.",
  ERR_POLICY_FIELD:
    "There's no such field here: it's a typing error, or the field belongs to [another algorithm](configuration.md#limits-of-a-policy).",
  ERR_FEATURE_MISSING:
    "Only in the library: a policy uses a feature that the limiter doesn't have. Import it from `headgate` and pass it to `createLimiter`, for example `features: [meter()]`. The message names it ([all features](library.md#features)).",
  ERR_POLICY_NAME: "A name has 1 to 32 characters of `a-z`, `0-9` and `-`, and doesn't begin with `-`.",
  ERR_POLICY_NAME_TAKEN: "Two policies have the same name, so they would share their counts. Rename one.",
  ERR_POLICY_MATCH:
    '`match` is a table of `method`, `path`, `host`, `rpc`, `tool` and `body`. Each but `body` is a string or a list of strings. A path begins with `/` or `*`. A host has no scheme and no port. A [pattern](configuration.md#patterns) that no request can match is refused. `rpc` and `tool` ([MCP](mcp.md)) have 1 to 128 characters, but no white space, quotes, commas, brackets or `? + ^ | \\`.\n\n[`body`](configuration.md#fields-of-the-body) is a table like `{ model = "gpt-5*" }`. Names have 1 to 128 characters, but no white space and no `+`. Each value is a text of 1 to 256 characters, or a list of these. Write `true` as `"true"`.',
  ERR_POLICY_EXCEPT:
    "`except` is a table like `match`, or a list of such tables, none of them empty: [how to exclude paths](configuration.md#exclude-paths).",
  ERR_POLICY_EXEMPT:
    '`exempt` is an address, a range in CIDR notation, or a list of 1 to 100 of them: `"203.0.113.7"`, `"10.0.0.0/8"`, `"2001:db8::/32"`. A range begins with its first address.',
  ERR_POLICY_KEY:
    "`key` is a list of `ip`, `ip/64`, `ip/56`, `ip/48`, `ip/32`, `ip4/24`, `bearer`, `jwt:<name>`, `header:<name>`, `cookie:<name>`, `query:<name>`, `body:<name>`, `country`, `asn`, `host`, `region` and `global`. `a+b` combines two of them.",
  ERR_POLICY_FOLD:
    "{{fold}}. It changes only values of `header`, `cookie`, `query` and `body`: the `key` needs one of these.",
  ERR_POLICY_COST:
    "`cost` is a list of rules. Each has a `cost` from 0 to 10^9 and conditions like those of `match`. A policy with a `meter` can't have one.\n\nOr it's a table, if [the response states the cost](configuration.md#a-cost-that-the-response-states): `answer` names a header, `reserve` is an integer from 1 to 10^9 (default 1), and `keep` is `true` or `false` (default). The message says what such a policy can't have.",
  ERR_POLICY_ORIGIN_CHECKS_MCP_HEADERS:
    "{{originChecksMcpHeaders}}. It's about policies [for MCP servers](mcp.md#the-headers-of-2026-07-28): `match`, `except` or `cost` needs `rpc` or `tool`.",
  ERR_POLICY_COST_NEVER:
    "The cost is above the policy's smallest limit, or for a bucket above its `burst`, so such a request would never be admitted.",
  ERR_POLICY_LIMITS: "A policy has 1 to 8 limits. Put more of them into a second policy with the same key.",
  ERR_POLICY_LIMIT:
    '{{limit}}. A `sliding-log` has at most 10,000; if you need more, a `sliding-window` with `oldest = "whole"` makes the same promise.\n\nWith `meter = { unit = "usd" }`, `limit` and the numbers of plans are dollars: from 0.00001 to 10,000, with at most 5 decimals and no dollar sign.',
  ERR_POLICY_LIMIT_TWICE:
    "Two limits of a policy would share one count, so the larger one could never be reached. Remove it, or change a field that the message names. A token bucket and a leaky bucket with the same window share a count too.",
  ERR_POLICY_LIMIT_ID_TAKEN:
    "Two limits have the same id. If a policy `api` has several limits, their ids are `api-1`, `api-2`, …, and a `ban` has `api-ban`: no other policy can have such a name.",
  ERR_POLICY_ALGORITHM:
    "`algorithm` is `sliding-window` (default), `fixed-window`, `sliding-log`, `token-bucket`, `leaky-bucket`, `concurrency` or `calendar`. A `meter` of tokens works with `sliding-window`, `fixed-window`, `token-bucket` and `calendar`, one of dollars only with `fixed-window` and `calendar`.",
  ERR_POLICY_WINDOW:
    '{{window}}, written with its unit: `"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. With `algorithm = "calendar"` it is `"day"`, `"week"`, `"month"` or `"year"`.',
  ERR_POLICY_BUCKETS: "{{buckets}}. The window in milliseconds must be divisible by it.",
  ERR_POLICY_BURST: "{{burst}}. Absent: `limit`.",
  ERR_POLICY_MAX_DELAY: "{{maxDelay}}. With 0, no request is delayed.",
  ERR_POLICY_SOCKETS: "{{sockets}}. All `concurrency` limits of a policy say the same.",
  ERR_POLICY_TIMEOUT: "{{timeout}}. An answer may take longer: it renews its slot.",
  ERR_POLICY_ZONE:
    '`zone` is a time zone of the IANA database that the runtime knows, such as `"America/Los_Angeles"` or `"UTC"` (default). Instead of an offset such as `"+05:00"` (five hours ahead of UTC), write `"Etc/GMT-5"`. Most abbreviations such as `"PST"` don\'t work.',
  ERR_POLICY_WEEK_START: '{{weekStart}}. Absent: Monday. Only with `window = "week"`.',
  ERR_POLICY_MONTH_DAY: '{{monthDay}}. Absent: 1. Only with `window = "month"` or `"year"`.',
  ERR_POLICY_RANGE:
    "The numbers are too large to calculate with exactly: `limit * window / buckets`, or `burst * window + maxDelay * limit` of a bucket, must be below 2^53, in milliseconds. The message says which number fits.",
  ERR_POLICY_PLAN: "{{plan}}, and can't be combined with `+`.",
  ERR_POLICY_PLANS:
    "`plans` is a table of plans, and each plan is a table of numbers: `plans = { pro = { api-1 = 100 } }`. None of them may be empty. A plan's name has 1 to 64 letters, digits, `_`, `.`, `:` and `-`, and begins with a letter or digit. `plan` needs `plans`.",
  ERR_POLICY_PLAN_LIMIT:
    "A plan names limits by their ids: `<policy>` if the policy has one limit, otherwise `<policy>-1`, `<policy>-2`, ….",
  ERR_POLICY_PLAN_NUMBER: "A number in a plan is an integer from 1 to 1000000000. A plan can't remove a limit.",
  ERR_POLICY_CONSISTENCY:
    '{{consistency}}. `"leased"` and `"shared"` work only with `sliding-window`, `fixed-window`, `token-bucket` and `calendar`, and not with a `meter`. With `"shared"`, `onStoreFailure` must be `"local"` ([consistency](consistency.md)).',
  ERR_POLICY_SYNC:
    '{{sync}}, and at most half of the policy\'s shortest `window`. Absent: `1s`. Only with `consistency = "shared"`.',
  ERR_POLICY_METER:
    '`meter` is a table with `unit = "tokens"` or `unit = "usd"`, and [these fields](configuration.md#meter).',
  ERR_POLICY_PRICES:
    '`unit = "usd"` needs `prices`; `unit = "tokens"` can\'t have them. Each model has `input` and `output`, and may have `cachedInput`, `cacheWrite` and `cacheWrite1h`: dollars per million tokens, 0 or more. `above` has other prices by the number of input tokens, `tier` has factors above 0, and `call` has dollars for each call of a tool ([prices](llm.md#prices)). `default` is required. The name of a model has 1 to 128 letters, digits and `* . _ : / @ + -`.',
  ERR_POLICY_WEIGHTS:
    'Only with `unit = "tokens"`. A weight is a number from 0 to 1000 with at most one decimal: `weights = { input = 1, cachedInput = 0, output = 5 }` ([weights](llm.md#weights)).',
  ERR_POLICY_BAN:
    '`ban` is a table of `after`, `within` and `for`, with [these values](configuration.md#ban): `{ after = 20, within = "10m", for = ["10m", "1h", "1d"] }`.',
  ERR_POLICY_COUNT:
    '`count` is `"all"` (default), `"failures"`, `"successes"`, a status such as `"401"`, a class such as `"5xx"`, or a list of these and of statuses to leave out (`"not 304"`). A list names at least one that counts. All but `"all"` need `consistency = "strict"`, and no `meter`, `sliding-log`, `leaky-bucket` or `concurrency`.',
  ERR_POLICY_ONCE:
    "{{once}}, and can't be combined with `+`. [`once`](configuration.md#charge-once) doesn't work together with `meter`, with a `concurrency` limit, or with a `count` other than `\"all\"`.",
  ERR_POLICY_ONCE_FOR: "{{onceFor}}, written with its unit. Only with `once`.",
  ERR_POLICY_REPEATS: "{{repeats}}. Only with `once`.",
  ERR_POLICY_REFUSAL:
    '`refusal` is a table of `status`, `as`, `type`, `body` and `code`, with [these values](configuration.md#a-refusal-in-your-own-words). `type` needs a `body`, and neither stands beside `as`. `status = 200` needs `as = "auto"`. Placeholders have no spaces. If `type` is JSON or absent, `body` must be valid JSON, also when `{retryAfter}` is `null`: `{"seconds":{retryAfter},"limit":"{limit}"}`.',
  ERR_POLICY_OVERFLOW:
    '`overflow` is the name of another policy: `overflow = "team"`. The message says which of the [rules](configuration.md#overflow) is broken.',
  ERR_POLICY_WARN:
    "`warn` is a list of 1 to 10 different numbers above 0 and at most 1: `warn = [0.8, 0.95]`. It doesn't work with a `concurrency` limit.",
  ERR_REDIS_URL:
    "`UPSTASH_REDIS_REST_URL` is the http(s) URL of a REST API, without credentials. A `redis://` URL doesn't work. You also get this code if only the token is set.",
  ERR_REDIS_TOKEN:
    "`UPSTASH_REDIS_REST_TOKEN` is a [secret](deploy.md#secrets) without white space. It must be set if the URL is.",
  ERR_REDIS_TIMEOUT_MS: "{{REDIS_TIMEOUT_MS}}.",
  ERR_REDIS_NODES:
    "`REDIS_NODES` is an array of 1 to 100 tables, or its JSON ([example](stores.md#several-redis-databases)). Each `name` is used once and has 1 to 32 lower case letters, digits or `-`, beginning with a letter or digit. `token` is the name of a secret. At least one node must have no `region`. With the admin API, exactly one of several nodes has `live = true`. `UPSTASH_REDIS_REST_URL` must not be set, and `KEY_SECRET` must be.",
  ERR_COUNTS:
    '`COUNTS` must be a Durable Object namespace: write `[[durable_objects.bindings]]` with `name = "COUNTS"` and `class_name = "HeadgateCounts"`, and a migration with `new_sqlite_classes = ["HeadgateCounts"]`.\n\n`headgate check` also uses this code if there is neither this object nor a Redis, because then each Worker instance would count by itself. Bind the object in each environment of the file, or allow it with `--memory`.',
  ERR_COUNTS_LOCATION: "`COUNTS_LOCATION` is one of [Cloudflare's hints](configuration.md#bindings), such as `weur`.",
  ERR_COUNTS_SHARDS: "{{COUNTS_SHARDS}}.",
  ERR_ORIGIN_URL:
    "`ORIGIN_URL` is an http(s) URL without credentials, query or fragment, or the word [`route`](configuration.md#the-origin). `ORIGIN` is a service binding. If either leads back to the gateway, requests get 508 (`Loop Detected`), and the log has a line `origin-loop`.",
  ERR_ORIGIN_TWICE: "`ORIGIN_URL` and the service binding `ORIGIN` are both set. Remove one.",
  ERR_ORIGIN_TIMEOUT_MS: "{{ORIGIN_TIMEOUT_MS}}. 0: no limit.",
  ERR_REGION:
    "`REGION`, and every `region` in the library, has 1 to 32 letters, digits, `_`, `.` or `-`, and begins with a letter or digit.",
  ERR_REGIONS:
    "`REGIONS` is a table of `colo`, `country` and `continent`. Each is a table that gives Cloudflare's codes the names of regions.",
  ERR_KEY_SECRET: "`KEY_SECRET` is a [secret](deploy.md#secrets) of at least 16 characters.",
  ERR_NAMESPACE:
    "`NAMESPACE`, in the library `namespace`, has at most 24 letters, digits and `-`. Environments with the same store need different ones.",
  ERR_DEPLOYMENT: "`DEPLOYMENT` has at most 24 letters, digits and `-`.",
  ERR_IPV6_PREFIX: "{{IPV6_PREFIX}}, without a slash. In the library it's called `ipv6Prefix`.",
  ERR_RATE_LIMIT_HEADERS: "{{RATE_LIMIT_HEADERS}}.",
  ERR_RATE_LIMIT_HEADERS_ON_CACHEABLE: "`RATE_LIMIT_HEADERS_ON_CACHEABLE` is `on` or `off` (default).",
  ERR_IDENTITY:
    "`IDENTITY`, in the library the argument of `jwtIdentity`, is a table `{ jwks, issuer, audience, cookie }`, or a list of 1 to 10 of them ([fields](configuration.md#claims-of-verified-tokens)). `jwks` is an `https` URL without credentials; `http` works only for `localhost`. Issuers with the same `cookie`, or without one, need different `issuer`s.",
  ERR_IDENTITY_MISSING:
    "A policy uses a claim (`jwt:sub`) in `key` or `plan`, but nothing says who issues the tokens. Set `IDENTITY`, or the option `identity` of `createLimiter`.",
  ERR_CLIENT_IP:
    'In the gateway, `CLIENT_IP` is a table `{ header, trust }` or `{ header, hops }`, or its JSON. In the library, outside of Workers, the option `clientIp` must say [whose address is counted](runtimes.md#whose-address-is-counted), for example `"socket"`, if a policy may count by address. This is checked when the middleware is made, or at the first request if a function of `env` makes the limiter. For a Worker in tests, builds or `vite dev`, use `{ header: "cf-connecting-ip" }`.',
  ERR_ADMIN_TOKEN:
    "`ADMIN_TOKEN` is a [secret](deploy.md#secrets) of at least 32 ASCII characters, without white space.",
  ERR_TAKE_TOKEN:
    "`TAKE_TOKEN` is a [secret](deploy.md#secrets) of at least 32 ASCII characters, without white space, and differs from `ADMIN_TOKEN`.",
  ERR_ACCESS_TEAM: "For `https://acme.cloudflareaccess.com`, `ACCESS_TEAM` is `acme`. It needs `ACCESS_AUD`.",
  ERR_ACCESS_AUD:
    "`ACCESS_AUD` is the audience tag of the Access application: 64 hexadecimal digits. It needs `ACCESS_TEAM`.",
  ERR_LIVE_REFRESH: "{{LIVE_REFRESH}}, or `0s`: never.",
  ERR_EXPLAIN: "{{EXPLAIN}}: [find out why somebody was refused](operate.md#find-out-why-somebody-was-refused).",
  ERR_RECORD:
    '`RECORD` is `"on"`, `"off"` (default), or a share of the clients from `"0.0001%"` to `"100%"`: [record decisions](replay.md#record-decisions).',
  ERR_LOG_TOKENS: "{{LOG_TOKENS}}: [tokens in the log](metrics.md#tokens).",
  ERR_LIMITS_TITLE: "`LIMITS_TITLE` has 1 to 100 characters.",
  ERR_LIMITS_CONTACT: "`LIMITS_CONTACT` is an https URL or a mail address, at most 200 characters.",
  ERR_LIMITS_BEFORE: "`LIMITS_BEFORE` has 1 to 2,000 characters. An empty line begins a paragraph.",
  ERR_LIMITS_AFTER: "`LIMITS_AFTER` has 1 to 2,000 characters. An empty line begins a paragraph.",
  ERR_ASSETS:
    '`ASSETS` must be a binding to static files: `[assets]` with `directory`, `binding = "ASSETS"` and `run_worker_first = true`.',
  ERR_STATS:
    '`STATS` must be the Durable Object of the metrics, which `ALERT_URL` needs. Bind its class:\n\n```toml\n[[durable_objects.bindings]]\nname = "STATS"\nclass_name = "HeadgateStats"\n```',
  ERR_ANALYTICS:
    "Remove the binding `ANALYTICS`: the gateway doesn't use it. To write data points, use `onDecision`: [recipe](recipes/analytics-engine.md).",
  ERR_STATS_FLUSH: "{{STATS_FLUSH}}, or `0s`: there are no metrics. With `ALERT_URL` it can't be `0s`.",
  ERR_ALERT_URL:
    "`ALERT_URL` is the `https` URL of the webhook that gets [warnings](configuration.md#warnings-before-the-end), without credentials in front of the host. `http` works only for `localhost`. Set it like a [secret](deploy.md#secrets): messages don't show it.",
  ERR_ALERT_SECRET: "`ALERT_SECRET` is a [secret](deploy.md#secrets) of at least 32 characters. `ALERT_URL` needs it.",
};
