/** The Worker's bindings, checked: everything that wrangler.toml, `--var` and secrets can set. */

import { isNamespace, NAMESPACE_EXPECTED } from "../core/layout.ts";
import type { Policy } from "../core/policy.ts";
import { DEFAULT_IPV6_PREFIX, LEAST_IPV6_PREFIX, MOST_IPV6_PREFIX } from "../request/address.ts";
import { type AdminSettings, type AssetFiles, readAdmin, readAssets, readTakeToken } from "./admin.ts";
import { readStatsAndAlerts } from "./alerts.ts";
import {
  type Bindings,
  type Get,
  isHttpUrl,
  isSecureUrl,
  isTable,
  parseJson,
  reading,
  schemeOf,
  type Wrong,
} from "./bindings.ts";
import { type ClientIp, wrongHeader } from "./client-ip.ts";
import type { StatsSettings } from "./counts.ts";
import { INTERVAL, readSetting } from "./fields/setting.ts";
import { type IssuerSettings, missingIdentity, readIdentity } from "./identity.ts";
import { describeValue, type Mistake, type MistakeCode, type Parsed } from "./mistake.ts";
import type { FindMistakes } from "./policy-fields.ts";
import { type RegionNames, readRegion, readRegions } from "./regions.ts";
import { readStore, type StoreSettings } from "./store.ts";

export type { Bindings, RegionNames };

export const RATE_LIMIT_HEADERS = ["both", "draft-11", "legacy", "none"] as const;
/** Which headers answers get: `RateLimit…` of draft 11, `X-RateLimit-…`, both or none. */
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

/** What the operator says of the API, as plain text. */
interface About {
  readonly title?: string | undefined;
  /** An https URL or a mail address. */
  readonly contact?: string | undefined;
  /** What stands above the limits. */
  readonly before?: string | undefined;
  /** What stands below them. */
  readonly after?: string | undefined;
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
  /** Where the client's address is, behind other proxies. Absent: where Cloudflare says it. */
  readonly clientIp: ClientIp | undefined;
  /** How many bits of an IPv6 address name a client. */
  readonly ipv6Prefix: number;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Answers that shared caches may keep get these headers, too. */
  readonly isForCaches: boolean;
  /** Who issues tokens whose claims are keys. Absent: nobody. */
  readonly identity: readonly IssuerSettings[] | undefined;
  /** Absent: there is no admin API, and no live document is read. */
  readonly admin: AdminSettings | undefined;
  /** The token of programs that take over HTTP. Absent: none can. */
  readonly takeToken: string | undefined;
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
  /** For those who read its limits. */
  readonly about: About;
  /** Whether warnings about clients are sent to somebody. */
  readonly isAlerting: boolean;
}

/** Cloudflare's limit on one variable (5 KB, 2026-11). */
const MAX_VARIABLE_BYTES = 5_120;

const LONGEST_PROSE = 2_000;
const PROSE = {
  is: "text",
  isOptional: true,
  isRight: (text: string) => isOfLength(text, LONGEST_PROSE),
  expected: `1 to ${LONGEST_PROSE} characters of plain text; an empty line begins a paragraph`,
} as const;

const SWITCH = { is: "word", words: ["on", "off"], default: "off" } as const;

/** Those that a limiter's options give, too. */
export const OPTION_SETTINGS = {
  KEY_SECRET: { is: "text", form: /^.{16}/s, isOptional: true, isSecret: true, expected: "at least 16 characters" },
  NAMESPACE: { is: "text", isRight: isNamespace, expected: NAMESPACE_EXPECTED, default: "" },
  IPV6_PREFIX: {
    is: "integer",
    least: LEAST_IPV6_PREFIX,
    most: MOST_IPV6_PREFIX,
    default: DEFAULT_IPV6_PREFIX,
  },
} as const;

export const GATEWAY_SETTINGS = {
  /** Cloudflare waits 125 s for an origin's answer (2026-11). Before that we answer with our own problem document. */
  ORIGIN_TIMEOUT_MS: { is: "integer", least: 0, most: 3_600_000, default: 100_000, counts: "milliseconds" },
  DEPLOYMENT: { is: "text", isRight: isNamespace, expected: NAMESPACE_EXPECTED, isOptional: true },
  RATE_LIMIT_HEADERS: { is: "word", words: RATE_LIMIT_HEADERS, default: "both" },
  RATE_LIMIT_HEADERS_ON_CACHEABLE: SWITCH,
  EXPLAIN: SWITCH,
  /** The share of the clients whose decisions are recorded. */
  RECORD: {
    is: "text",
    form: /^(on|off|\d{1,3}(\.\d{1,4})?%)$/,
    isRight: (text: string) => text === "off" || (shareOf(text) > 0 && shareOf(text) <= 1),
    default: "off",
    expected: '"on", "off" or a share of the clients, for example "10%"',
  },
  LOG_TOKENS: SWITCH,
  LIMITS_TITLE: {
    is: "text",
    isOptional: true,
    isRight: (text: string) => isOfLength(text, 100),
    expected: "1 to 100 characters",
  },
  LIMITS_CONTACT: {
    is: "text",
    isOptional: true,
    isRight: (text: string) => isOfLength(text, 200) && (isMailAddress(text) || isSecureUrl(text)),
    expected: "an https URL or a mail address, at most 200 characters",
  },
  LIMITS_BEFORE: PROSE,
  LIMITS_AFTER: PROSE,
  LIVE_REFRESH: INTERVAL,
} as const;

function isOfLength(text: string, most: number): boolean {
  return text.trim() !== "" && text.length <= most;
}

/** Whether a contact is a mail address, for which a link needs `mailto:`. */
export function isMailAddress(contact: string): boolean {
  return /^[^\s@:/?#<>]+@[^\s@:/?#<>]+$/.test(contact);
}

function shareOf(record: string): number {
  return record === "on" ? 1 : record === "off" ? 0 : Number.parseFloat(record) / 100;
}

/** Checks policies: see `parseFields`. Which fields they may have is known where features are put together. */
export type ParsePolicies = (
  input: unknown,
  path: string,
  paths?: readonly string[],
  more?: FindMistakes,
) => Parsed<readonly Policy[]>;

export function readSettings(bindings: Bindings, parsePolicies: ParsePolicies): Parsed<Settings> {
  const { get, wrong, mistakes } = reading(bindings);

  const policies = readPolicies(bindings, parsePolicies, get("IDENTITY") === undefined);
  if (policies.mistakes) mistakes.push(...policies.mistakes);

  const setting = <N extends keyof typeof GATEWAY_SETTINGS>(name: N) => readSetting(GATEWAY_SETTINGS, name, get, wrong);
  const namespace = readSetting(OPTION_SETTINGS, "NAMESPACE", get, wrong);
  const settings: Settings = {
    policies: policies.mistakes ? [] : policies.value,
    ...readStore(get, wrong),
    origin: readOrigin(get, wrong),
    originTimeoutMs: setting("ORIGIN_TIMEOUT_MS"),
    region: readRegion(get, wrong),
    regions: readRegions(get("REGIONS"), wrong),
    keySecret: readSetting(OPTION_SETTINGS, "KEY_SECRET", get, wrong) ?? missingKeySecret(get, wrong),
    namespace,
    owner: namespace || setting("DEPLOYMENT"),
    clientIp: readClientIp(get, wrong),
    ipv6Prefix: readSetting(OPTION_SETTINGS, "IPV6_PREFIX", get, wrong),
    rateLimitHeaders: setting("RATE_LIMIT_HEADERS"),
    isForCaches: setting("RATE_LIMIT_HEADERS_ON_CACHEABLE") === "on",
    identity: readIdentity(get, wrong),
    admin: readAdmin(get, wrong),
    takeToken: readTakeToken(get, wrong),
    liveRefreshMs: setting("LIVE_REFRESH"),
    explain: setting("EXPLAIN") === "on",
    record: shareOf(setting("RECORD")),
    logTokens: setting("LOG_TOKENS") === "on",
    about: {
      title: setting("LIMITS_TITLE"),
      contact: setting("LIMITS_CONTACT"),
      before: setting("LIMITS_BEFORE"),
      after: setting("LIMITS_AFTER"),
    },
    assets: readAssets(get, wrong),
    ...readStatsAndAlerts(get, wrong),
  };
  checkLivePlace(settings, wrong);
  return mistakes.length > 0 ? { mistakes } : { value: settings };
}

/** A table, or its JSON. A Worker has no socket. */
function readClientIp(get: Get, wrong: Wrong): ClientIp | undefined {
  const given = get("CLIENT_IP");
  if (given === undefined) return undefined;
  const value = typeof given === "string" ? (parseJson(given) ?? given) : given;
  const mistake = wrongHeader(isTable(value) ? value : { value });
  if (!mistake) return value as ClientIp;
  wrong("ERR_CLIENT_IP", "CLIENT_IP", mistake[0], isTable(value) ? mistake[1] : value);
  return undefined;
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
function readPolicies(
  bindings: Bindings,
  parsePolicies: ParsePolicies,
  isAnonymous: boolean,
): Parsed<readonly Policy[]> {
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
  const expected = "no variable with that name: more policies go into POLICIES_2, POLICIES_3, …";
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
