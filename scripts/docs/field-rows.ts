/**
 * What the tables of docs/configuration.md and the sections of docs/errors.md say about each field in words.
 * build-fields.ts takes types, ranges and defaults from the fields themselves. No program carries this file.
 */

import type { FieldCode, MistakeCode } from "../../src/kernel/config/mistake.ts";
import type { LimitInput, MeterInput, PolicyInput, RefusalInput } from "../../src/kernel/config/policy-input.ts";

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
  name: { meaning: "Unique. Appears in headers and in Redis keys", values: "1 to 32 of `a-z` `0-9` `-`" },
  match: {
    meaning:
      "Which requests. Each is a string or a list; a request must match all that are given. `path` and `host` are [patterns](matching.md), `rpc` and `tool` [what the body calls](mcp.md), `*` for any text. `GET` matches `HEAD` too. `{}`: every request",
  },
  except: {
    meaning:
      '[Requests that the policy leaves out](matching.md#requests-that-a-policy-leaves-out): `{ path = "/health" }`',
    values: "as `match`, or a list of such",
  },
  exempt: {
    meaning:
      '[Clients that the policy skips](matching.md#addresses-that-a-policy-exempts): `["10.0.0.0/8", "2001:db8::/32"]`',
    values: "list of 1 … 100 addresses and ranges",
  },
  key: {
    meaning:
      "Who is counted: the first kind that the request has, otherwise its address. `a+b` combines two. Requests without an address share one count. `jwt:<name>` is a [verified claim](#claims-of-verified-tokens)",
  },
  cost: {
    meaning: "Units of a request, 0 … 10^9, by the first rule that matches; otherwise 1. 0 looks without charging",
    values: "list of `{ method, path, host, rpc, tool, cost }`",
  },
  limits: { meaning: "[Below](#limits-of-a-policy)" },
  plans: {
    meaning: "[Other numbers for clients on a plan](#plans): `{ pro = { api-1 = 100 } }`",
    values: "table of plans",
  },
  plan: { meaning: "Where a request names its client's plan" },
  consistency: {
    meaning:
      "`leased`: isolates take units ahead of demand, and most requests make no call. `shared`: no request waits, and the limit is kept to within a few per cent. [Which one](consistency.md#which-one)",
  },
  sync: {
    meaning:
      'Only with `shared`: how often an isolate tells the store what it has admitted; absent: `"1s"`. At most half of the shortest window, better a tenth',
  },
  mode: {
    meaning:
      "`shadow`: evaluated and charged, and its refusals are logged. It refuses nothing and appears in no header",
  },
  onStoreFailure: {
    meaning:
      "Without an answer of the store: `local` counts in this isolate, `allow` lets the request pass, `deny` answers 503 with `Retry-After: 1`. The strictest matching policy wins. [All failures](failure-modes.md)",
  },
  documented: {
    meaning: "`false`: not in [what clients are told](clients.md). Neither is a policy in shadow",
  },
  meter: { meaning: "[Counts tokens or dollars](#meter) of language models", values: "table" },
  count: {
    meaning:
      "[What stays charged](#failures-or-successes): all requests, those with a status of 400 or more, or the others",
  },
  once: {
    meaning: "[Where a request names itself](#charge-once): a repeat of an id is admitted without a charge",
  },
  onceFor: { meaning: "How long after the charge repeats are free. Only with `once`" },
  repeats: { meaning: "How many repeats of a request are free. Only with `once`" },
  refusal: {
    meaning: "[The policy's own answer](#a-refusal-in-your-own-words) to a request that it refuses",
  },
  overflow: {
    meaning: "[The policy that pays](#overflow) when this one refuses",
    values: "the name of a policy",
  },
};

type LimitField = LimitInput extends infer Limit ? (Limit extends unknown ? keyof Limit : never) : never;

export const LIMIT_ROWS: Readonly<Record<LimitField, Row>> = {
  algorithm: {
    meaning: "[Which to choose](algorithms.md)",
    values: "those of the table below",
  },
  limit: {
    meaning: "Units per window; `concurrency`: requests at a time; under a `usd` [meter](#meter): dollars",
  },
  window: { meaning: '`"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`: always with its unit' },
  buckets: {
    meaning:
      "How many buckets make the window; it must divide the window. More buckets are more exact, and take more bytes",
  },
  oldest: {
    meaning: "How the oldest bucket counts: by the part that the window covers, or in full",
  },
  burst: { meaning: "Capacity in units. Absent: `limit`" },
  maxDelay: { meaning: "A request that would be admitted within this time is held until then" },
  timeout: { meaning: "A slot that is neither given back nor renewed is free after this time" },
  zone: {
    meaning:
      'The time zone in which periods begin at midnight: `"America/Los_Angeles"`, in any case of letters. No offset (`"+05:00"`), no abbreviation (`"PST"`)',
    values: "a name of the IANA database",
  },
  weekStart: { meaning: 'The day on which weeks begin. Absent: Monday. Only beside `window = "week"`' },
  monthDay: {
    meaning:
      'The day on which months and years begin; years in January. Absent: 1. Only beside `window = "month"` and `"year"`',
  },
  scope: { meaning: "`region`: each region counts by itself" },
};

export const METER_ROWS: Readonly<Record<keyof MeterInput, Row>> = {
  unit: { meaning: "`tokens`: input and output. `usd`: their price" },
  maxOutput: {
    meaning: "The most output tokens that are reserved, also for a request without a maximum of its own",
  },
  perImage: { meaning: "Input tokens of an image or a file" },
  onExceeded: {
    meaning:
      "When a stream needs more than was reserved: `finish` charges the rest at its end; `cut` charges while it runs, and ends it when a limit refuses",
  },
  prices: {
    meaning:
      "Only with `usd`, and required: dollars per million tokens, `input`, `output` and `cachedInput` (absent: as `input`). `*` in a name stands for any text, the longest match wins, and `default` is required",
    values: "table of models",
  },
};

export const REFUSAL_ROWS: Readonly<Record<keyof RefusalInput, Row>> = {
  status: { meaning: "The status of the answer", values: "402, 403, 420 … 429, 503" },
  type: { meaning: "The `Content-Type` of `body`", values: "a media type", default: '`"application/json"`' },
  body: {
    meaning: "Absent: the problem document of other refusals, with this status",
    values: "1 … 8,192 characters",
  },
  code: {
    meaning: "The error code for a [JSON-RPC](mcp.md) request without an own `body`",
    values: "32-bit integer outside of -32768 … -32000",
    default: "the status",
  },
};

/** By binding, in the order of the table. `{{values}}` stands for what it may be, from its entry. */
export const SETTING_ROWS: Readonly<Record<string, { readonly kind: string; readonly meaning: string }>> = {
  UPSTASH_REDIS_REST_URL: { kind: "variable", meaning: "`http(s)` base URL of the REST service of the central Redis" },
  UPSTASH_REDIS_REST_TOKEN: {
    kind: "secret",
    meaning: "Its bearer token. One of the two without the other is a mistake",
  },
  REDIS_NODES: {
    kind: "variable",
    meaning:
      "[Several Redis](stores.md#several-redis), in place of the URL: a list of `{ name, url, token, region, live }`, or its JSON; `token` names a secret. Needs `KEY_SECRET`",
  },
  REDIS_TIMEOUT_MS: {
    kind: "variable",
    meaning:
      "Time budget of the calls of one decision to Redis or the Durable Object, connection included; {{values}} ms",
  },
  COUNTS: {
    kind: "Durable Object",
    meaning: "Class `HeadgateCounts`: it [counts](#where-the-counts-are) for all locations if no Redis is configured",
  },
  COUNTS_LOCATION: {
    kind: "variable",
    meaning:
      "Where Cloudflare creates that object: `wnam`, `enam`, `sam`, `weur`, `eeur`, `apac`, `apac-ne`, `apac-se`, `oc`, `afr` or `me`. Absent: near the first request. It does not move later",
  },
  COUNTS_SHARDS: { kind: "variable", meaning: "How many objects share the keys, {{values}}" },
  ORIGIN_URL: {
    kind: "variable",
    meaning: '[Where allowed requests go](#the-origin): a base URL, or `"route"`. Without it and `ORIGIN`: the demo',
  },
  ORIGIN: { kind: "service", meaning: "Another Worker in place of `ORIGIN_URL`; not both" },
  ORIGIN_TIMEOUT_MS: {
    kind: "variable",
    meaning:
      "Time for the origin to send its header section, for requests without a body; then 504. {{values}} ms, 0: no limit",
  },
  POLICIES: {
    kind: "variable",
    meaning:
      "The policies, as an array or its JSON. `POLICIES_2`, `POLICIES_3`, … are appended in that order. Required",
  },
  REGION: {
    kind: "variable",
    meaning:
      'This region\'s name, for limits with `scope = "region"`: 1 to 32 letters, digits, `_` `.` `-`, beginning with a letter or digit',
  },
  REGIONS: {
    kind: "variable",
    meaning:
      "Names by place: `{ colo = {…}, country = {…}, continent = {…} }`, codes to names, in that order. No name: the continent's code. No place: `local`",
  },
  KEY_SECRET: {
    kind: "secret",
    meaning:
      "Key of the HMAC that hides clients' keys; at least 16 characters. Absent: [derived](#where-the-counts-are) from the REST token or an object's id",
  },
  NAMESPACE: {
    kind: "variable",
    meaning:
      "The name of this deployment among those [over the same store](deploy.md#staging-and-production): part of every key, so they share nothing. Up to 24 letters, digits and `-`. After a change all counts begin at zero",
  },
  DEPLOYMENT: {
    kind: "variable",
    meaning:
      "Whose [live document](operate.md) is obeyed, without a `NAMESPACE`: one that another deployment has written is not. Absent: anybody's",
  },
  IPV6_PREFIX: {
    kind: "variable",
    meaning:
      "How many bits of an IPv6 address name a client, {{values}}. Many providers give a subscriber a /56 or a /48. After a change, clients at IPv6 addresses begin at zero",
  },
  IDENTITY: {
    kind: "variable",
    meaning:
      "Who issues the tokens whose [claims are keys](#claims-of-verified-tokens): `{ jwks, issuer, audience, cookie }`, a list of these, or JSON",
  },
  RATE_LIMIT_HEADERS: {
    kind: "variable",
    meaning:
      "`both`, `draft-11` (`RateLimit`, `RateLimit-Policy`), `legacy` (`X-RateLimit-…`) or `none`. Clients with `ratelimit-header-parser` read nothing from `both` and `draft-11`: they need `legacy`",
  },
  ADMIN_TOKEN: {
    kind: "secret",
    meaning:
      "Bearer token of the [admin API](operate.md); at least 32 characters. Without it and `ACCESS_TEAM` there is no admin API, and no live document is read",
  },
  ACCESS_TEAM: {
    kind: "variable",
    meaning:
      "The Cloudflare Zero Trust team whose [Access application](operate.md#cloudflare-access) opens the admin API",
  },
  ACCESS_AUD: {
    kind: "variable",
    meaning: "The audience tag of that application. One of the two without the other is a mistake",
  },
  EXPLAIN: {
    kind: "variable",
    meaning:
      '`"on"`: refusals carry a token that [explains them](operate.md#find-out-why-somebody-was-refused) to operators. Needs the admin API',
  },
  RECORD: {
    kind: "variable",
    meaning:
      '`"on"`: [a log line for each decision](replay.md#record-decisions), which `headgate replay` reads. `"10%"`: for a tenth of the clients',
  },
  LOG_TOKENS: {
    kind: "variable",
    meaning:
      '`"on"`: [a log line with the tokens of each answer](metrics.md#tokens) of a language model, under a `meter`',
  },
  ASSETS: {
    kind: "static files",
    meaning:
      "The files of the [console](operate.md#get-in), with `run_worker_first = true`: without that, requests for them would have no limits. Needs the admin API",
  },
  LIVE_REFRESH: {
    kind: "variable",
    meaning:
      "How often an isolate looks for [changed limits](operate.md#when-a-change-takes-effect): {{values}}; `0s`: never",
  },
  STATS: {
    kind: "Durable Object",
    meaning: "Class `HeadgateStats`: it adds up [what the isolates have counted](metrics.md). Needs the admin API",
  },
  STATS_FLUSH: {
    kind: "variable",
    meaning:
      "How often an isolate hands its counts on ([costs](metrics.md#what-it-costs)): {{values}}; `0s`: nothing is counted. An idle isolate hands on after 20 s, if that is sooner",
  },
};

/** What each code means. `{{mode}}` stands for a sentence that says what `mode` is. Absent: that sentence alone. */
export const ERRORS: Partial<Readonly<Record<MistakeCode, string>>> &
  Readonly<Record<Exclude<MistakeCode, FieldCode>, string>> = {
  ERR_POLICIES_MISSING: "`POLICIES` is absent or empty. Write at least one `[[vars.POLICIES]]`.",
  ERR_POLICIES_JSON:
    'A `POLICIES` variable that is text must be a JSON array. On a command line, quote the whole argument: `--var \'POLICIES:[{"name":"api", …}]\'`.',
  ERR_POLICIES_SIZE:
    "One variable has at most 5 KB, counted as JSON. Move some policies to `POLICIES_2`, `POLICIES_3`, ….",
  ERR_POLICIES_VARIABLE:
    "`POLICIES_1`, `POLICIES2` or `POLICIES_02` is not read. More policies go into `POLICIES_2` … `POLICIES_9999`.",
  ERR_POLICY_TYPE: "A policy is a table: `[[vars.POLICIES]]` with `name`, `key` and `limits`.",
  ERR_POLICY_FIELD:
    "The field does not exist here: a typing error, or a field of another algorithm. `burst` belongs to `token-bucket` and `leaky-bucket`, `maxDelay` to `leaky-bucket`, `buckets` and `oldest` to `sliding-window`, `timeout` to `concurrency`, which has no `window`.",
  ERR_FEATURE_MISSING:
    'Of the library: a policy has a field, and the limiter does not have the feature that it belongs to. Import the feature from `headgate`, and give it to `createLimiter`: `features: [meter()]`. `meter` needs `meter()`, `rpc` and `tool` need `rpc()`, `consistency = "leased"` needs `leases()`, `"shared"` and `sync` need `shared()`. A gateway has all features.',
  ERR_POLICY_NAME: "A name has 1 to 32 characters of `a-z`, `0-9` and `-`, and does not begin with `-`.",
  ERR_POLICY_NAME_TAKEN: "Two policies have the same name, and would share their counts.",
  ERR_POLICY_MATCH:
    "`match` is a table of `method`, `path`, `host`, `rpc` and `tool`, each a text or a list of texts. A path begins with `/` or `*`; a host has no scheme and no port. A [pattern](matching.md#patterns) is text, `*` and `:name`; one that no request can match is refused. `rpc` and `tool` ([MCP](mcp.md)) have 1 to 128 characters, without white space, quotes, commas, brackets and `? + ^ | \\`. `*` stands for any text.",
  ERR_POLICY_EXCEPT:
    "`except` is a table as `match`, or a list of such tables, none of them empty: [rules](matching.md#requests-that-a-policy-leaves-out).",
  ERR_POLICY_EXEMPT:
    '`exempt` is an address or a range in CIDR notation, or a list of 1 to 100: `"203.0.113.7"`, `"10.0.0.0/8"`, `"2001:db8::/32"`. A range is written with its first address, numbers without a zero in front.',
  ERR_POLICY_KEY:
    "`key` lists `ip`, `bearer`, `jwt:<name>`, `header:<name>`, `cookie:<name>`, `query:<name>`, `country`, `asn`, `host`, `region` or `global`. `a+b` combines two. Names of claims have neither white space nor a `+`.",
  ERR_POLICY_COST:
    "`cost` is a list of rules, each with a `cost` from 0 to 10^9 and conditions as in `match`. A policy with a `meter` has none.",
  ERR_POLICY_COST_NEVER:
    "The cost is above the policy's smallest limit (for a bucket: above its `burst`): no such request would ever be admitted.",
  ERR_POLICY_LIMITS: "A policy has 1 to 8 limits. More go into a second policy with the same key.",
  ERR_POLICY_LIMIT:
    '{{limit}}. A `sliding-log` has at most 10,000: for more, a `sliding-window` with `oldest = "whole"` keeps the same promise.\n\nUnder `meter = { unit = "usd" }`, `limit` and the numbers of plans are dollars: from 0.00001 to 10,000, with at most 5 decimals and without a sign.',
  ERR_POLICY_LIMIT_TWICE:
    "Two limits of a policy would share one count, and the larger one could never be reached. Remove it, or change a field that the message names. A token bucket and a leaky bucket with the same window share a count too: use a second policy, or another window (10 per 1s is also 20 per 2s with `burst = 10`).",
  ERR_POLICY_LIMIT_ID_TAKEN:
    "Two limits have the same id: the policy's name, or `<name>-<n>` if the policy has several limits. A policy `api` with two limits and a policy `api-2` collide. Rename one policy.",
  ERR_POLICY_ALGORITHM:
    "`algorithm` is `sliding-window` (default), `fixed-window`, `sliding-log`, `token-bucket`, `leaky-bucket`, `concurrency` or `calendar`. A `meter` of tokens takes `sliding-window`, `fixed-window`, `token-bucket` and `calendar`; one of dollars only `fixed-window` and `calendar`, and it must be written. Put a `concurrency` limit into a second policy.",
  ERR_POLICY_WINDOW:
    '{{window}}, with its unit: `"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. With `algorithm = "calendar"` it is `"day"`, `"week"`, `"month"` or `"year"`: such a day has 23 or 25 hours when the clocks change.',
  ERR_POLICY_BUCKETS: "{{buckets}}. It divides the window in milliseconds.",
  ERR_POLICY_BURST: "{{burst}}. Absent: `limit`.",
  ERR_POLICY_MAX_DELAY: "{{maxDelay}}. With 0 no request is delayed.",
  ERR_POLICY_TIMEOUT: "{{timeout}}. Slots of requests in flight are renewed: answers may take longer.",
  ERR_POLICY_ZONE:
    '`zone` is a time zone of the IANA database, for example `"America/Los_Angeles"` or `"UTC"` (default), in any case. An offset such as `"+05:00"` is refused: five hours ahead of UTC is `"Etc/GMT-5"`. So are abbreviations such as `"PST"`, unless the database has them (`"CET"`), and names that the runtime does not know.',
  ERR_POLICY_WEEK_START: '{{weekStart}}. Absent: Monday. It stands only beside `window = "week"`.',
  ERR_POLICY_MONTH_DAY: '{{monthDay}}. Absent: 1. It stands only beside `window = "month"` or `"year"`.',
  ERR_POLICY_RANGE:
    "Decisions use exact integers: `limit * window / buckets` must be below 2^53, with the window in milliseconds, and for a bucket `burst * window + maxDelay * limit`. The message names the largest number that fits. More `buckets`, or the same rate over a shorter window, also help.",
  ERR_POLICY_PLAN: "{{plan}}, not combined.",
  ERR_POLICY_PLANS:
    "`plans` is a table of plans, each a table of numbers, none of them empty: `plans = { pro = { api-1 = 100 } }`. A name has 1 to 64 letters, digits, `_`, `.`, `:` and `-`, and begins with a letter or digit. `plan` needs `plans`. Without `plan`, only programs name plans.",
  ERR_POLICY_PLAN_LIMIT:
    "A plan names its limits by their ids: `<policy>` if the policy has one limit, otherwise `<policy>-1`, `<policy>-2`, ….",
  ERR_POLICY_PLAN_NUMBER: "A number of a plan is an integer from 1 to 1000000000. A plan cannot remove a limit.",
  ERR_POLICY_CONSISTENCY:
    '{{consistency}}. A policy with a `meter`, or with another algorithm than `sliding-window`, `fixed-window`, `token-bucket` and `calendar`, is `"strict"`. Beside `"shared"`, `onStoreFailure` is `"local"` ([consistency](consistency.md)).',
  ERR_POLICY_SYNC:
    '{{sync}}, and at most half of the policy\'s shortest `window`. Absent: `1s`. It stands only beside `consistency = "shared"`.',
  ERR_POLICY_METER:
    '`meter` is a table with `unit = "tokens"` or `unit = "usd"`, and [these fields](configuration.md#meter).',
  ERR_POLICY_PRICES:
    '`unit = "usd"` needs `prices`, and `unit = "tokens"` has none. Each model has `input` and `output`, and may have `cachedInput`: dollars per million tokens, 0 or more. `default` is required. Names have 1 to 128 letters, digits and `* . _ : / @ + -`; `*` stands for any text.',
  ERR_POLICY_COUNT:
    '{{count}}. The last two need `consistency = "strict"` and `sliding-window`, `fixed-window`, `token-bucket` or `calendar`, and no `meter`.',
  ERR_POLICY_ONCE:
    '{{once}}, not combined. It does not stand beside `meter`, a `concurrency` limit, or a `count` other than `"all"`: [once](configuration.md#charge-once).',
  ERR_POLICY_ONCE_FOR: "{{onceFor}}, with its unit. It stands only beside `once`.",
  ERR_POLICY_REPEATS: "{{repeats}}. It stands only beside `once`.",
  ERR_POLICY_REFUSAL:
    '`refusal` is a table of `status`, `type`, `body` and `code`: [their values](configuration.md#a-refusal-in-your-own-words). `type` needs a `body`. Placeholders have no spaces. If `type` is JSON or absent, the body must be JSON with `{retryAfter}` as a number and as `null`: `{"seconds":{retryAfter},"limit":"{limit}"}`.',
  ERR_POLICY_OVERFLOW:
    '`overflow` is the name of another policy: `overflow = "team"`. The message names the broken [rule](configuration.md#overflow). No policy is in a chain twice.',
  ERR_REDIS_URL:
    "`UPSTASH_REDIS_REST_URL` is the http(s) URL of the REST service, not a `redis://` URL, without credentials. This code also appears if the token is set without a URL.",
  ERR_REDIS_TOKEN:
    "`UPSTASH_REDIS_REST_TOKEN` goes with the URL, without white space. Set it with `npx wrangler secret put UPSTASH_REDIS_REST_TOKEN`, and on your machine in `.dev.vars`.",
  ERR_REDIS_TIMEOUT_MS: "{{REDIS_TIMEOUT_MS}}.",
  ERR_REDIS_NODES:
    "`REDIS_NODES` is an array of 1 to 100 tables, or its JSON ([example](stores.md#several-redis)). `name` has 1 to 32 lower case letters, digits or `-`, begins with a letter or digit, and is there once. `token` names a secret, `region` is a name as in `REGION`, and at least one node has none. Beside `ADMIN_TOKEN` or Cloudflare Access, exactly one of several nodes has `live = true`: what the admin API changes is stored there. `UPSTASH_REDIS_REST_URL` must not be set, and `KEY_SECRET` must be.",
  ERR_COUNTS:
    '`COUNTS` is a Durable Object namespace: `[[durable_objects.bindings]]` with `name = "COUNTS"` and `class_name = "HeadgateCounts"`, and a migration with `new_sqlite_classes = ["HeadgateCounts"]`.\n\n`headgate check` also reports that there is neither this object nor a Redis: each isolate would count by itself. Bind the object, also in each environment of the file, or allow it with `--memory`.',
  ERR_COUNTS_LOCATION: "`COUNTS_LOCATION` is one of [Cloudflare's hints](configuration.md#bindings), such as `weur`.",
  ERR_COUNTS_SHARDS: "{{COUNTS_SHARDS}}.",
  ERR_ORIGIN_URL:
    "`ORIGIN_URL` is an http(s) URL without credentials, query or fragment, or the word `route`. `ORIGIN` is a service binding.\n\nNo check can see that an origin leads back to the gateway. Such a request is answered 508 (`Loop Detected`), with a line `origin-loop` in the log; only the first of these requests is counted. A loop over several isolates ends where the request comes by a second time.",
  ERR_ORIGIN_TWICE: "`ORIGIN_URL` and the service binding `ORIGIN` are both set. Remove one.",
  ERR_ORIGIN_TIMEOUT_MS: "{{ORIGIN_TIMEOUT_MS}}. 0: no limit.",
  ERR_REGION:
    "`REGION`, and every `region` of the library, is 1 to 32 letters, digits, `_`, `.` or `-`, beginning with a letter or digit.",
  ERR_REGIONS:
    "`REGIONS` is a table of `colo`, `country` and `continent`, each a table of Cloudflare's codes to region names.",
  ERR_KEY_SECRET:
    "`KEY_SECRET` has at least 16 characters. `openssl rand -base64 32` makes one; set it with `npx wrangler secret put KEY_SECRET`.",
  ERR_NAMESPACE:
    "`NAMESPACE`, in the library `namespace`, has at most 24 letters, digits and `-`. Two environments that count in the same store need different ones.",
  ERR_DEPLOYMENT: "`DEPLOYMENT` has at most 24 letters, digits and `-`.",
  ERR_IPV6_PREFIX: "{{IPV6_PREFIX}}, without a slash. In the library it is `ipv6Prefix`.",
  ERR_RATE_LIMIT_HEADERS: "{{RATE_LIMIT_HEADERS}}.",
  ERR_IDENTITY:
    "`IDENTITY`, in the library the argument of `jwtIdentity`, is a table `{ jwks, issuer, audience, cookie }`, or a list of 1 to 10 ([fields](configuration.md#claims-of-verified-tokens)). `jwks` is an `https` URL without credentials, or `http` on the loopback. Two issuers of one place, the bearer token or a cookie, have different names.",
  ERR_IDENTITY_MISSING:
    "A policy names a claim (`jwt:sub`) in `key` or `plan`, and nothing says who issues the tokens. Set `IDENTITY`, or the option `identity` of `createLimiter`.",
  ERR_CLIENT_IP:
    'Of the library, elsewhere than on Workers: the option `clientIp` of `rateLimit` or `withRateLimit` must say [whose address is counted](runtimes.md#whose-address-is-counted), for example `"socket"`. The error comes with the first request that is counted by its address. In tests outside of workerd, and in `vite dev`, `{ header: "cf-connecting-ip" }` reads what Workers read.',
  ERR_ADMIN_TOKEN:
    "`ADMIN_TOKEN` is at least 32 characters of ASCII, without white space. `openssl rand -base64 32` makes one; set it with `npx wrangler secret put ADMIN_TOKEN`.",
  ERR_ACCESS_TEAM: "`ACCESS_TEAM` is `acme` for `https://acme.cloudflareaccess.com`. It needs `ACCESS_AUD`.",
  ERR_ACCESS_AUD:
    "`ACCESS_AUD` is the audience tag of the Access application: 64 hexadecimal digits, in its overview. It needs `ACCESS_TEAM`.",
  ERR_LIVE_REFRESH: "{{LIVE_REFRESH}}, or `0s`: never.",
  ERR_EXPLAIN: "{{EXPLAIN}}: [explanations](operate.md#find-out-why-somebody-was-refused).",
  ERR_RECORD:
    '`RECORD` is `"on"`, `"off"` (default), or a share of the clients from `"0.0001%"` to `"100%"`: [recording](replay.md#record-decisions).',
  ERR_LOG_TOKENS: "{{LOG_TOKENS}}: [tokens of answers](metrics.md#tokens).",
  ERR_ASSETS:
    '`ASSETS` is a binding to static files: `[assets]` with `directory`, `binding = "ASSETS"` and `run_worker_first = true`.',
  ERR_STATS:
    '`STATS` is the Durable Object that adds up what the isolates have counted. Bind its class:\n\n```toml\n[[durable_objects.bindings]]\nname = "STATS"\nclass_name = "HeadgateStats"\n```',
  ERR_ANALYTICS:
    "The gateway has no binding `ANALYTICS`. `onDecision` writes data points: [recipe](recipes/analytics-engine.md).",
  ERR_STATS_FLUSH: "{{STATS_FLUSH}}, or `0s`: nothing is counted.",
};
