/** What is allowed and surely not meant: in wrangler's file, in a meter, and between environments. */

import { parseSettings } from "../../features/configuration.ts";
import { ENDINGS } from "../../features/meter/llm/format.ts";
import { UNMETERED_SEGMENTS } from "../../features/meter/unmetered.ts";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import type { Mistake } from "../../kernel/config/mistake.ts";
import type { Bindings } from "../../kernel/config/settings.ts";
import { guardedBy } from "../../kernel/config/warnings.ts";
import type { Meter, Policy } from "../../kernel/core/policy.ts";
import { nearest } from "../../kernel/nearest.ts";
import { ANY, NAME, parsePattern } from "../../kernel/request/pattern.ts";
import { type Bound, boundIn, environmentsIn, namesIn, type WranglerConfig } from "../wrangler/config-file.ts";

export function surelyWrong(bindings: Bindings, config: WranglerConfig, environmentName: string | undefined): string[] {
  const bound = boundIn(config, environmentName);
  return [
    ...misplaced(config, bound),
    ...notInherited(config, bound, environmentName),
    ...unlimited(bound),
    ...tooOld(config, environmentName),
    ...misspelt(bindings),
    ...Object.keys(bindings)
      .filter((name) => /^POLICIES(?:_\d+)?$/.test(name))
      .flatMap((name) => methods(parsed(bindings[name]), name)),
  ];
}

/** Every binding that the Worker reads, as its settings ask for them. */
const asked = new Set<string>();
parseSettings(new Proxy({}, { get: (_, name) => void asked.add(String(name)) }));
export const BINDING_NAMES: readonly string[] = [...asked];

/** Fields of wrangler's file. In TOML every line below `[vars]` is a variable, up to the next heading. */
const WRANGLER_FIELDS = (
  "account_id assets compatibility_date compatibility_flags d1_databases durable_objects keep_names kv_namespaces " +
  "main migrations minify observability placement preview_urls r2_buckets route routes services triggers " +
  "upload_source_maps workers_dev"
).split(" ");

function misplaced(config: WranglerConfig, { vars }: Bound): string[] {
  const isVariable = (name: string) => BINDING_NAMES.includes(name) || /^POLICIES_\d+$/.test(name);
  const inVars = Object.keys(vars).filter((name) => WRANGLER_FIELDS.includes(name));
  const outside = Object.keys(config).filter(isVariable);
  return [
    ...inVars.map(
      (name) => `vars.${name}: wrangler does not look for ${name} among the variables. Move it above [vars]`,
    ),
    ...outside.map((name) => `${name}: the Worker sees only variables. Move it into [vars]`),
  ];
}

function notInherited(config: WranglerConfig, { vars }: Bound, environmentName: string | undefined): string[] {
  const isMissing = boundIn(config, undefined).vars.POLICIES !== undefined && vars.POLICIES === undefined;
  if (environmentName === undefined || !isMissing) return [];
  return [`env.${environmentName}: an environment does not inherit [vars]. Give it POLICIES and all other variables`];
}

/** Cloudflare answers a request for a static file by itself, unless the Worker comes first. */
function unlimited({ assets }: Bound): string[] {
  if (assets.directory === undefined || assets.run_worker_first === true) return [];
  return ["assets.run_worker_first: requests for static files are answered without limits. Set it to true"];
}

/** Workers of an earlier date cannot call Durable Objects and services by RPC. */
const OLDEST_DATE = "2024-04-03";

function tooOld(config: WranglerConfig, environmentName: string | undefined): string[] {
  const chosen = environmentName === undefined ? config : environmentsIn(config)[environmentName];
  const date = (isTable(chosen) ? chosen.compatibility_date : undefined) ?? config.compatibility_date;
  if (typeof date !== "string" || date >= OLDEST_DATE) return [];
  return [`compatibility_date: before ${OLDEST_DATE} a Worker cannot call the object that counts. Found ${date}`];
}

function misspelt(bindings: Bindings): string[] {
  const tokens = namesIn(parsed(bindings.REDIS_NODES), "token");
  return Object.keys(bindings).flatMap((name) => {
    const meant = tokens.includes(name) ? undefined : meantBinding(name);
    // With the right name beside it, the other one is a variable of the user's own program.
    return meant === undefined || bindings[meant] !== undefined ? [] : [`${name} is not read. Did you mean ${meant}?`];
  });
}

/** The binding that this name probably means. Undefined: the name is read, or belongs to the user's own program. */
function meantBinding(name: string): string | undefined {
  if (BINDING_NAMES.includes(name) || /^POLICIES/.test(name)) return undefined;
  if (/^policy$/i.test(name)) return "POLICIES";
  return nearest(name, BINDING_NAMES) ?? BINDING_NAMES.find((known) => hasSameWords(name, known));
}

/** Whether one name has all words of the other, in any order, and at least two: `UPSTASH_REDIS_URL`, `SECRET_KEY`. */
function hasSameWords(name: string, known: string): boolean {
  const [words, knownWords] = [name.toUpperCase().split("_"), known.split("_")];
  return words.length > 1 && words.every((word) => knownWords.includes(word));
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];

/** Misspelt methods, wherever policies name some: in `match`, `except` and `cost`. */
function methods(value: unknown, path: string): string[] {
  if (path.endsWith(".method")) {
    return [value].flat().flatMap((method) => {
      if (typeof method !== "string" || METHODS.includes(method.toUpperCase())) return [];
      const meant = nearest(method, METHODS);
      return meant === undefined ? [] : [`${path}: no client sends ${method}. Did you mean ${meant}?`];
    });
  }
  if (Array.isArray(value)) return value.flatMap((one, i) => methods(one, `${path}[${i}]`));
  return isTable(value) ? Object.entries(value).flatMap(([name, one]) => methods(one, `${path}.${name}`)) : [];
}

/** A variable may be JSON in a text. */
function parsed(value: unknown): unknown {
  return typeof value === "string" ? parseJson(value) : value;
}

/** Dollars per million tokens. The cheapest models of 2026 cost ten times as much. */
const TOO_CHEAP = 0.001;

export function meterWarnings(policies: readonly Policy[]): string[] {
  const matched = policies.filter(({ isOverflow }) => !isOverflow);
  const budgets = matched.filter(({ key, meter, mode }) => meter && mode === "enforce" && !key.some(isMadeUp));
  const hasBudget = guardedBy(budgets);
  return policies.flatMap((policy) => {
    const { name, key, match, meter } = policy;
    if (!meter) return [];
    const { method, path } = match;
    const warnings: string[] = [];
    const kind = key.find(isMadeUp);
    if (kind !== undefined && matched.includes(policy) && !hasBudget(policy)) {
      const instead = "add a policy with a meter that counts the same requests by user, token or address";
      warnings.push(
        `policy ${name}: each new ${kind} gets a budget of its own, and a client can make it up: ${instead}`,
      );
    }
    if (method && !method.includes("POST")) {
      warnings.push(`policy ${name} has a meter and does not match POST: no request is metered`);
    }
    if (path && !path.some(canEnd)) {
      const ends = `none of its paths ends with ${ENDINGS.join(", ")}`;
      // A request to another path is estimated by its length.
      warnings.push(`policy ${name} has a meter, and ${ends}: estimates are coarse`);
    }
    return [...warnings, ...priceWarnings(name, meter)];
  });
}

export function meterNotes(policies: readonly Policy[]): string[] {
  const names = policies.filter(({ meter }) => meter).map(({ name }) => name);
  if (names.length === 0) return [];
  const costs = "its length (a token for each 4 bytes), maxOutput, and with usd the dearest price";
  const unread = `${names.join(", ")}: a body beyond 1 MiB is not read, for example one with images. It reserves ${costs}`;
  return [unread, ...policies.flatMap(unmeteredNotes)];
}

/** Which requests of a policy nobody can meter, and what becomes of them. */
function unmeteredNotes({ name, match: { path = ["*"] }, meter }: Policy): string[] {
  if (!meter || !path.some(canBeUnmetered)) return [];
  const { unmetered = "refuse" } = meter;
  const become = unmetered === "refuse" ? "are refused with 400" : `cost ${unmetered.cost} each`;
  return [`${name}: requests with a body ${become} if their path has the segment ${UNMETERED_SEGMENTS.join(", ")}`];
}

function canBeUnmetered(pattern: string): boolean {
  const segments = parsePattern(pattern, "path").split("/");
  return segments.some((one) => one.includes(ANY) || one.includes(NAME) || UNMETERED_SEGMENTS.includes(one));
}

/** What clients write as they like. */
const WRITTEN = /^(?:header|cookie|query|body):/;
/** Where clients show their key of a provider, which answers no made-up one. */
const CREDENTIALS = /^(?:header:(?:authorization|api-key|x-api-key|x-goog-api-key)|query:key)$/;

/** Whether a client can make up a value of this kind, and is answered all the same. */
function isMadeUp(kind: string): boolean {
  return kind.split("+").some((part) => WRITTEN.test(part) && !CREDENTIALS.test(part));
}

/** Whether some path that matches ends like a known format: what stands after the last wildcard is compared. */
function canEnd(pattern: string): boolean {
  const parsed = parsePattern(pattern, "path").replace(/\/$/, "");
  const tail = parsed.slice(1 + Math.max(parsed.lastIndexOf(ANY), parsed.lastIndexOf(NAME)));
  // Patterns are in lower case.
  return ENDINGS.map((ending) => ending.toLowerCase()).some((ending) => ending.endsWith(tail) || tail.endsWith(ending));
}

function priceWarnings(name: string, { prices = {} }: Meter): string[] {
  return Object.entries(prices).flatMap(([model, price]) => {
    const subject = `policy ${name}: the prices of ${model}`;
    const most = Math.max(price.input, price.output);
    if (most === 0) return model === "default" ? [`${subject} are 0: an unknown model costs nothing`] : [];
    if (most < TOO_CHEAP) return [`${subject} are very low: they are dollars per million tokens, not per token`];
    const isSwapped = (price.cachedInput ?? 0) > price.input;
    return isSwapped ? [`${subject} have cached input that costs more than other input`] : [];
  });
}

/**
 * Environments of one file that count in the same store as the chosen one: what each does would reach the clients of
 * the other. A store whose address is a secret cannot be known here, and the objects of an
 * environment are its own unless it names the script that has them.
 */
export function sharedStores(config: WranglerConfig, chosen: string | undefined) {
  const mistakes: Mistake[] = [];
  const warnings: string[] = [];
  const own = boundIn(config, chosen);
  const stores = new Set(storesOf(own));
  const others = [undefined, ...Object.keys(environmentsIn(config))].filter((name) => name !== chosen);
  for (const name of others) {
    const other = boundIn(config, name);
    const shared = storesOf(other).find((store) => stores.has(store));
    const what = name === undefined ? "the environment without a name" : `env.${name}`;
    if (shared === undefined || textOf(own.vars.NAMESPACE) !== textOf(other.vars.NAMESPACE)) continue;
    if (textOf(own.vars.DEPLOYMENT) !== textOf(other.vars.DEPLOYMENT)) {
      warnings.push(`NAMESPACE: ${what} has the same, and counts in the same store (${shared}): both use up one limit`);
      continue;
    }
    const expected = `another NAMESPACE than ${what}, which counts in the same store (${shared})`;
    mistakes.push({ code: "ERR_NAMESPACE", path: "NAMESPACE", expected, found: "the same NAMESPACE and DEPLOYMENT" });
  }
  return { mistakes, warnings };
}

/** Where an environment counts, as far as the file says it. */
function storesOf({ vars, counts }: Bound): string[] {
  const nodes = Array.isArray(vars.REDIS_NODES) ? vars.REDIS_NODES : [];
  const urls = [vars.UPSTASH_REDIS_REST_URL, ...nodes.map((node) => (isTable(node) ? node.url : undefined))];
  const hosts = urls.flatMap((url) => (typeof url === "string" && URL.canParse(url) ? [new URL(url).host] : []));
  // With a Redis no object counts.
  return hosts.length > 0 || counts === undefined ? hosts : [`the objects of ${counts}`];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
