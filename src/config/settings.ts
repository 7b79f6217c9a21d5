/** The Worker's bindings, checked: everything that wrangler.toml, `--var` and secrets can set. */

import { isNamespace, NAMESPACE_EXPECTED } from "../core/layout.ts";
import type { Policy } from "../core/policy.ts";
import { DEFAULT_IPV6_PREFIX, IPV6_PREFIX_RANGE } from "../keys/address.ts";
import { type AdminSettings, type AssetFiles, readAdmin, readAssets } from "./admin.ts";
import {
  type Bindings,
  type Get,
  isHttpUrl,
  readInteger,
  readInterval,
  reading,
  schemeOf,
  type Wrong,
} from "./bindings.ts";
import { readStats, type StatsSettings } from "./counts.ts";
import { type IssuerSettings, missingIdentity, readIdentity } from "./identity.ts";
import { describeValue, type Mistake, type MistakeCode, type Parsed } from "./mistake.ts";
import { parsePolicies } from "./policies.ts";
import { type RegionNames, readRegion, readRegions } from "./regions.ts";
import { readStore, type StoreSettings } from "./store.ts";

export type { Bindings, RegionNames };

export const RATE_LIMIT_HEADERS = ["both", "draft-11", "legacy", "none"] as const;
/** Which fields answers get: `RateLimit…` of draft 11, `X-RateLimit-…`, both or none. */
export type RateLimitHeaders = (typeof RATE_LIMIT_HEADERS)[number];

export type Origin =
  /** The built-in demo. */
  | { readonly kind: "demo" }
  /** A base URL: its path is prefixed, Host becomes its host. */
  | { readonly kind: "url"; readonly url: URL }
  /** `fetch(request)` as it is, for a Worker on a route. */
  | { readonly kind: "route" }
  | { readonly kind: "service"; readonly service: OriginService };

/** The part of a service binding that is used here. */
interface OriginService {
  fetch(request: Request, init?: RequestInit): Promise<Response>;
}

export interface Settings extends StoreSettings {
  readonly policies: readonly Policy[];
  readonly origin: Origin;
  /** Milliseconds until the origin's header section has arrived; 0: no limit. */
  readonly originTimeoutMs: number;
  /** The name of this region, if it does not depend on the request. */
  readonly region: string | undefined;
  readonly regions: RegionNames;
  readonly keySecret: string | undefined;
  /** Part of every key of the store. Empty: none. */
  readonly namespace: string;
  /** Whose live document is obeyed: the namespace, or the name of this deployment. Absent: anybody's. */
  readonly owner: string | undefined;
  /** How many bits of an IPv6 address name a client. */
  readonly ipv6Prefix: number;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Who issues tokens whose claims are keys. Absent: nobody. */
  readonly identity: readonly IssuerSettings[] | undefined;
  /** Absent: there is no admin API, and no live document is read. */
  readonly admin: AdminSettings | undefined;
  /** How often an isolate looks for a newer live document, in ms; 0: never. */
  readonly liveRefreshMs: number;
  /** Whether refusals carry a token that explains them to operators. */
  readonly explain: boolean;
  /** The share of the clients whose decisions are written down, 0 … 1. */
  readonly record: number;
  /** Whether the log gets a line with the tokens of each answer of a language model. */
  readonly logTokens: boolean;
  /** The files of the console. Absent: there is no console. */
  readonly assets: AssetFiles | undefined;
  readonly stats: StatsSettings;
}

/** Cloudflare's limit on one variable (5 KB, 2026-11). */
const MAX_VARIABLE_BYTES = 5_120;
/** Cloudflare waits 125 s for an origin's answer (2026-11). A shorter timeout answers with our own problem document. */
const ORIGIN_TIMEOUT_MS = { min: 0, max: 3_600_000, fallback: 100_000, unit: "milliseconds" };

export function parseSettings(bindings: Bindings): Parsed<Settings> {
  const { get, wrong, mistakes } = reading(bindings);

  const policies = readPolicies(bindings, get("IDENTITY") === undefined);
  if (policies.mistakes) mistakes.push(...policies.mistakes);

  const namespace = readNamespace(get, wrong);
  const settings: Settings = {
    policies: policies.mistakes ? [] : policies.value,
    ...readStore(get, wrong),
    origin: readOrigin(get, wrong),
    originTimeoutMs: readInteger("ORIGIN_TIMEOUT_MS", "ERR_ORIGIN_TIMEOUT_MS", ORIGIN_TIMEOUT_MS, get, wrong),
    region: readRegion(get, wrong),
    regions: readRegions(get("REGIONS"), wrong),
    keySecret: readKeySecret(get, wrong) ?? missingKeySecret(get, wrong),
    namespace,
    owner: namespace || readDeployment(get, wrong),
    ipv6Prefix: readIpv6Prefix(get, wrong),
    rateLimitHeaders: readHeaders(get, wrong),
    identity: readIdentity(get, wrong),
    admin: readAdmin(get, wrong),
    liveRefreshMs: readInterval("LIVE_REFRESH", get, wrong),
    explain: readSwitch("EXPLAIN", get, wrong),
    record: readRecord(get, wrong),
    logTokens: readSwitch("LOG_TOKENS", get, wrong),
    assets: readAssets(get, wrong),
    stats: readStats(get, wrong),
  };
  checkLivePlace(settings, wrong);
  return mistakes.length > 0 ? { mistakes } : { value: settings };
}

/** Isolates of two deployments must agree where the live document lies, whatever nodes come and go. */
function checkLivePlace({ redis, admin }: Settings, wrong: Wrong): void {
  const nodes = redis?.nodes ?? [];
  if (!admin || nodes.length < 2 || nodes.some(({ live }) => live)) return;
  const expected = "live = true on the node that is to hold what the admin API changes (the live document)";
  wrong("ERR_REDIS_NODES", "REDIS_NODES", expected, "no node with it");
}

/**
 * `POLICIES`, then `POLICIES_2`, `POLICIES_3`, …: each an array or its JSON, concatenated.
 *
 * @param isAnonymous nobody issues tokens.
 */
function readPolicies(bindings: Bindings, isAnonymous: boolean): Parsed<readonly Policy[]> {
  const mistakes: Mistake[] = [];
  const all: unknown[] = [];
  const paths: string[] = [];
  for (const name of policyVariables(bindings, mistakes)) {
    for (const [i, policy] of readPolicyVariable(name, bindings[name], mistakes).entries()) {
      all.push(policy);
      paths.push(`${name}[${i}]`);
    }
  }
  if (mistakes.length > 0 && all.length === 0) return { mistakes };
  const parsed = parsePolicies(all, "POLICIES", paths, isAnonymous ? missingIdentity : undefined);
  if (mistakes.length === 0) return parsed;
  return { mistakes: [...mistakes, ...(parsed.mistakes ?? [])] };
}

/** Names in the order of reading. A name that only looks like a continuation is a mistake: it would be ignored. */
function policyVariables(bindings: Bindings, mistakes: Mistake[]): string[] {
  const continuations = Object.keys(bindings).filter((name) => /^POLICIES./.test(name));
  const expected = "no variable of that name: more policies go into POLICIES_2, POLICIES_3, …";
  const numberOf = (name: string) => Number(/^POLICIES_([2-9]|[1-9]\d{1,3})$/.exec(name)?.[1]);
  for (const name of continuations.filter((name) => Number.isNaN(numberOf(name)))) {
    mistakes.push({ code: "ERR_POLICIES_VARIABLE", path: name, expected, found: "a variable that is not read" });
  }
  const numbered = continuations.filter((name) => !Number.isNaN(numberOf(name)));
  return ["POLICIES", ...numbered.sort((a, b) => numberOf(a) - numberOf(b))];
}

/** The policies of one variable. Of a wrong one: none, and a mistake more. */
function readPolicyVariable(name: string, value: unknown, mistakes: Mistake[]): readonly unknown[] {
  const wrong = (code: MistakeCode, expected: string, found: string) => {
    mistakes.push({ code, path: name, expected, found });
    return [];
  };
  if (value === undefined || value === "") return [];
  const bytes = new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length;
  if (bytes > MAX_VARIABLE_BYTES) {
    const expected = `at most ${MAX_VARIABLE_BYTES} bytes of JSON: move policies to POLICIES_2, POLICIES_3, …`;
    return wrong("ERR_POLICIES_SIZE", expected, `${bytes} bytes`);
  }
  let list: unknown = value;
  if (typeof value === "string") {
    try {
      list = JSON.parse(value);
    } catch (error) {
      const found = `${describeValue(value)}: ${(error as Error).message}`;
      return wrong("ERR_POLICIES_JSON", "an array of policies as JSON", found);
    }
  }
  return Array.isArray(list) ? list : wrong("ERR_POLICIES_JSON", "an array of policies", describeValue(list));
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

/** Several Redis have several tokens: none of them may decide how keys are hashed. */
function missingKeySecret(get: Get, wrong: Wrong): undefined {
  if (get("REDIS_NODES") === undefined || get("KEY_SECRET") !== undefined) return;
  wrong("ERR_KEY_SECRET", "KEY_SECRET", "at least 16 characters: REDIS_NODES needs this secret", undefined);
}

/** @param name of the binding, or of the option with the same meaning. */
export function readKeySecret(get: Get, wrong: Wrong, name = "KEY_SECRET"): string | undefined {
  const secret = get(name);
  if (secret === undefined) return undefined;
  if (typeof secret === "string" && secret.length >= 16) return secret;
  wrong("ERR_KEY_SECRET", name, "at least 16 characters", "a value that is not shown");
  return undefined;
}

/** @param name of the binding, or of the option with the same meaning. */
export function readNamespace(get: Get, wrong: Wrong, name: "NAMESPACE" | "namespace" = "NAMESPACE"): string {
  const value = get(name) ?? "";
  if (isNamespace(value)) return value;
  wrong("ERR_NAMESPACE", name, NAMESPACE_EXPECTED, value);
  return "";
}

/** The name of this deployment among those over the same store. */
function readDeployment(get: Get, wrong: Wrong): string | undefined {
  const value = get("DEPLOYMENT");
  if (value === undefined || isNamespace(value)) return value;
  wrong("ERR_DEPLOYMENT", "DEPLOYMENT", NAMESPACE_EXPECTED, value);
  return undefined;
}

/** @param name of the binding, or of the option with the same meaning. */
export function readIpv6Prefix(get: Get, wrong: Wrong, name = "IPV6_PREFIX"): number {
  return readInteger(name, "ERR_IPV6_PREFIX", { ...IPV6_PREFIX_RANGE, fallback: DEFAULT_IPV6_PREFIX }, get, wrong);
}

function readHeaders(get: Get, wrong: Wrong): RateLimitHeaders {
  const mode = get("RATE_LIMIT_HEADERS") ?? "both";
  if (RATE_LIMIT_HEADERS.includes(mode as RateLimitHeaders)) return mode as RateLimitHeaders;
  wrong("ERR_RATE_LIMIT_HEADERS", "RATE_LIMIT_HEADERS", RATE_LIMIT_HEADERS.map((name) => `"${name}"`).join(", "), mode);
  return "both";
}

function readSwitch(name: "EXPLAIN" | "LOG_TOKENS", get: Get, wrong: Wrong): boolean {
  const value = get(name) ?? "off";
  if (value === "on" || value === "off") return value === "on";
  wrong(`ERR_${name}`, name, '"on" or "off"', value);
  return false;
}

/** The share of the clients whose decisions are recorded, 0 … 1. */
function readRecord(get: Get, wrong: Wrong): number {
  const value = get("RECORD") ?? "off";
  if (value === "off") return 0;
  if (value === "on") return 1;
  const share = typeof value === "string" && /^\d{1,3}(\.\d{1,4})?%$/.test(value) ? Number.parseFloat(value) / 100 : 0;
  if (share > 0 && share <= 1) return share;
  wrong("ERR_RECORD", "RECORD", '"on", "off" or a share of the clients, for example "10%"', value);
  return 0;
}
