/** The Worker's bindings, checked: everything that wrangler.toml, `--var` and secrets can say (design, section 2). */

import type { Policy } from "../core/policy.ts";
import { describeValue, type Mistake, type MistakeCode } from "./mistake.ts";
import { type Parsed, parsePolicies } from "./policies.ts";

/** The Worker's bindings as they arrive: whatever was deployed, so nothing is believed of them. */
export type Bindings = Readonly<Record<string, unknown>>;

export const RATE_LIMIT_HEADERS = ["both", "draft-11", "legacy", "none"] as const;
/** Which fields answers get: `RateLimit…` of draft 11, `X-RateLimit-…`, both or none. */
export type RateLimitHeaders = (typeof RATE_LIMIT_HEADERS)[number];

/** Names of regions by Cloudflare's codes, looked up in this order. */
export interface RegionNames {
  /** By data centre, three letters: `{ FRA: "frankfurt" }`. */
  readonly colo: Readonly<Record<string, string>>;
  /** By country, two letters. */
  readonly country: Readonly<Record<string, string>>;
  /** By continent, two letters. */
  readonly continent: Readonly<Record<string, string>>;
}

export type Origin =
  /** The built-in demo. */
  | { readonly kind: "demo" }
  /** A base URL: its path is prefixed, Host becomes its host. */
  | { readonly kind: "url"; readonly url: URL }
  /** `fetch(request)` as it is, for a Worker on a route. */
  | { readonly kind: "route" }
  | { readonly kind: "service"; readonly service: OriginService };

/** As much of a service binding as is needed. */
interface OriginService {
  fetch(request: Request, init?: RequestInit): Promise<Response>;
}

export interface Settings {
  readonly policies: readonly Policy[];
  /** Absent: the memory store. */
  readonly redis: { readonly url: string; readonly token: string; readonly timeoutMs: number } | undefined;
  readonly origin: Origin;
  /** Until the origin's header section has arrived, in milliseconds; 0: no limit. */
  readonly originTimeoutMs: number;
  /** The name of this region, if it does not depend on the request. */
  readonly region: string | undefined;
  readonly regions: RegionNames;
  readonly keySecret: string | undefined;
  readonly rateLimitHeaders: RateLimitHeaders;
}

/** Cloudflare's limit on one variable (5 KB, 2026-11). */
const MAX_VARIABLE_BYTES = 5 * 1024;
const DEFAULT_REDIS_TIMEOUT_MS = 250;
const MAX_REDIS_TIMEOUT_MS = 30_000;
/** Cloudflare's own time-out for an origin's answer is 125 s (2026-11): ours comes first, and says so in our words. */
const DEFAULT_ORIGIN_TIMEOUT_MS = 100_000;
const MAX_ORIGIN_TIMEOUT_MS = 3_600_000;
const REGION_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/;

export function parseSettings(bindings: Bindings): Parsed<Settings> {
  const mistakes: Mistake[] = [];
  const wrong = (code: MistakeCode, path: string, expected: string, found: unknown) => {
    mistakes.push({ code, path, expected, found: describeValue(found) });
  };
  // A binding of "" is how `--var NAME:` and an emptied secret arrive.
  const get = (name: string) => (bindings[name] === "" || bindings[name] === null ? undefined : bindings[name]);

  const policies = readPolicies(bindings);
  if (policies.mistakes) mistakes.push(...policies.mistakes);

  const settings: Settings = {
    policies: policies.mistakes ? [] : policies.value,
    redis: readRedis(get, wrong),
    origin: readOrigin(get, wrong),
    originTimeoutMs: readMilliseconds(
      "ORIGIN_TIMEOUT_MS",
      0,
      MAX_ORIGIN_TIMEOUT_MS,
      DEFAULT_ORIGIN_TIMEOUT_MS,
      get,
      wrong,
    ),
    region: readRegion(get, wrong),
    regions: readRegions(get("REGIONS"), wrong),
    keySecret: readKeySecret(get, wrong),
    rateLimitHeaders: readHeaders(get, wrong),
  };
  return mistakes.length > 0 ? { mistakes } : { value: settings };
}

type Get = (name: string) => unknown;
type Wrong = (code: MistakeCode, path: string, expected: string, found: unknown) => void;

/** `POLICIES`, then `POLICIES_2`, `POLICIES_3`, …: each an array or its JSON, concatenated. */
function readPolicies(bindings: Bindings): Parsed<readonly Policy[]> {
  const mistakes: Mistake[] = [];
  const all: unknown[] = [];
  const places: string[] = [];
  for (const name of policyVariables(bindings, mistakes)) {
    const part = readPolicyVariable(name, bindings[name]);
    mistakes.push(...(part.mistakes ?? []));
    for (const [i, policy] of (part.mistakes ? [] : part.value).entries()) {
      all.push(policy);
      places.push(`${name}[${i}]`);
    }
  }
  if (mistakes.length > 0 && all.length === 0) return { mistakes };
  const parsed = parsePolicies(all, "POLICIES", places);
  if (mistakes.length === 0) return parsed;
  return { mistakes: [...mistakes, ...(parsed.mistakes ?? [])] };
}

/** Names in the order of reading. One that looks like a continuation and is none would be policies that nobody enforces. */
function policyVariables(bindings: Bindings, mistakes: Mistake[]): string[] {
  const continuations = Object.keys(bindings).filter((name) => /^POLICIES./.test(name));
  const expected = "no variable of that name: POLICIES goes on in POLICIES_2, POLICIES_3, …";
  const numberOf = (name: string) => Number(/^POLICIES_([2-9]|[1-9]\d{1,3})$/.exec(name)?.[1]);
  for (const name of continuations.filter((name) => Number.isNaN(numberOf(name)))) {
    mistakes.push({ code: "ERR_POLICIES_VARIABLE", path: name, expected, found: "a variable that would not be read" });
  }
  const numbered = continuations.filter((name) => !Number.isNaN(numberOf(name)));
  return ["POLICIES", ...numbered.sort((a, b) => numberOf(a) - numberOf(b))];
}

function readPolicyVariable(name: string, value: unknown): Parsed<readonly unknown[]> {
  const fail = (code: MistakeCode, expected: string, found: string): Parsed<never> => ({
    mistakes: [{ code, path: name, expected, found }],
  });
  if (value === undefined || value === "") return { value: [] };
  const bytes = new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length;
  if (bytes > MAX_VARIABLE_BYTES) {
    const expected = `at most ${MAX_VARIABLE_BYTES} bytes of JSON: move policies to POLICIES_2, POLICIES_3, …`;
    return fail("ERR_POLICIES_SIZE", expected, `${bytes} bytes`);
  }
  let list: unknown = value;
  if (typeof value === "string") {
    try {
      list = JSON.parse(value);
    } catch (error) {
      return fail(
        "ERR_POLICIES_JSON",
        "an array of policies as JSON",
        `${describeValue(value)}: ${(error as Error).message}`,
      );
    }
  }
  if (!Array.isArray(list)) return fail("ERR_POLICIES_JSON", "an array of policies", describeValue(list));
  return { value: list };
}

function readRedis(get: Get, wrong: Wrong): Settings["redis"] {
  const [url, token] = [get("UPSTASH_REDIS_REST_URL"), get("UPSTASH_REDIS_REST_TOKEN")];
  const timeoutMs = readMilliseconds("REDIS_TIMEOUT_MS", 1, MAX_REDIS_TIMEOUT_MS, DEFAULT_REDIS_TIMEOUT_MS, get, wrong);
  if (url === undefined && token === undefined) return undefined;

  if (!isHttpUrl(url)) {
    const expected = "the http(s) URL of the REST service, without credentials (not redis://)";
    wrong("ERR_REDIS_URL", "UPSTASH_REDIS_REST_URL", expected, schemeOf(url));
  }
  if (typeof token !== "string" || /\s/.test(token)) {
    const found = token === undefined ? undefined : "a value that is not shown";
    wrong("ERR_REDIS_TOKEN", "UPSTASH_REDIS_REST_TOKEN", "the token of the REST service, without white space", found);
  }
  return { url: String(url), token: String(token), timeoutMs };
}

function readOrigin(get: Get, wrong: Wrong): Origin {
  const [url, service] = [get("ORIGIN_URL"), get("ORIGIN")];
  if (url !== undefined && service !== undefined) {
    wrong("ERR_ORIGIN_TWICE", "ORIGIN_URL", "either ORIGIN_URL or the service binding ORIGIN", "both");
  }
  if (service !== undefined) {
    if (typeof (service as { fetch?: unknown } | null)?.fetch === "function") {
      return { kind: "service", service: service as OriginService };
    }
    wrong("ERR_ORIGIN_URL", "ORIGIN", "a service binding ([[services]] in wrangler.toml)", service);
    return { kind: "demo" };
  }
  if (url === undefined) return { kind: "demo" };
  if (url === "route") return { kind: "route" };
  if (isHttpUrl(url) && !/[?#]/.test(url)) return { kind: "url", url: new URL(url) };
  const expected = 'an http(s) URL without credentials, query or fragment, or "route"';
  wrong("ERR_ORIGIN_URL", "ORIGIN_URL", expected, schemeOf(url));
  return { kind: "demo" };
}

/** All that is repeated of a wrong URL: it may carry a password, or be a token that was pasted in the wrong place. */
function schemeOf(url: unknown): unknown {
  if (typeof url !== "string") return url;
  const [scheme] = /^[a-z]{2,8}:(?=\/\/)/i.exec(url) ?? [];
  return scheme ? `${scheme}…` : "a value that is not shown";
}

function readRegion(get: Get, wrong: Wrong): string | undefined {
  const region = get("REGION");
  if (region === undefined) return undefined;
  if (typeof region === "string" && REGION_NAME.test(region)) return region;
  wrong("ERR_REGION", "REGION", "1 to 32 letters, digits, _ . or -", region);
  return undefined;
}

function readRegions(value: unknown, wrong: Wrong): RegionNames {
  const names = { colo: {}, country: {}, continent: {} } as Record<keyof RegionNames, Record<string, string>>;
  if (value === undefined) return names;
  let table: unknown = value;
  if (typeof value === "string") {
    try {
      table = JSON.parse(value);
    } catch {
      table = undefined;
    }
  }
  if (!isTable(table)) {
    wrong("ERR_REGIONS", "REGIONS", "a table { colo = {…}, country = {…}, continent = {…} }", value);
    return names;
  }
  for (const [kind, codes] of Object.entries(table)) {
    if (!Object.hasOwn(names, kind) || !isTable(codes)) {
      wrong("ERR_REGIONS", `REGIONS.${kind}`, "colo, country or continent, each a table of codes to names", codes);
      continue;
    }
    for (const [code, name] of Object.entries(codes)) {
      if (!/^[A-Za-z0-9]{2,3}$/.test(code) || typeof name !== "string" || !REGION_NAME.test(name)) {
        const expected = "a code of 2 or 3 letters, and a name of 1 to 32 letters, digits, _ . or -";
        wrong("ERR_REGIONS", `REGIONS.${kind}.${code}`, expected, name);
        continue;
      }
      names[kind as keyof RegionNames][code.toUpperCase()] = name;
    }
  }
  return names;
}

function readKeySecret(get: Get, wrong: Wrong): string | undefined {
  const secret = get("KEY_SECRET");
  if (secret === undefined) return undefined;
  if (typeof secret === "string" && secret.length >= 16) return secret;
  wrong("ERR_KEY_SECRET", "KEY_SECRET", "at least 16 characters", "a value that is not shown");
  return undefined;
}

function readHeaders(get: Get, wrong: Wrong): RateLimitHeaders {
  const mode = get("RATE_LIMIT_HEADERS") ?? "both";
  if (RATE_LIMIT_HEADERS.includes(mode as RateLimitHeaders)) return mode as RateLimitHeaders;
  wrong("ERR_RATE_LIMIT_HEADERS", "RATE_LIMIT_HEADERS", RATE_LIMIT_HEADERS.map((name) => `"${name}"`).join(", "), mode);
  return "both";
}

function isHttpUrl(value: unknown): value is string {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type MillisecondsName = "REDIS_TIMEOUT_MS" | "ORIGIN_TIMEOUT_MS";

/** A variable of milliseconds, as a number or as text. */
function readMilliseconds(
  name: MillisecondsName,
  min: number,
  max: number,
  fallback: number,
  get: Get,
  wrong: Wrong,
): number {
  const value = get(name) ?? fallback;
  const ms = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof ms === "number" && Number.isSafeInteger(ms) && ms >= min && ms <= max) return ms;
  wrong(`ERR_${name}`, name, `an integer of milliseconds from ${min} to ${max}`, value);
  return fallback;
}
