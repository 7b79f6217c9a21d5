/** Which policies apply to a request, and at what cost. docs/matching.md has the rules. */

import { BoundedMap } from "../bounded-map.ts";
import { ConfigurationError } from "../config/mistake.ts";
import { patternMistakes, sharedOverflows } from "../config/policies.ts";
import type { Match, Policy } from "../core/policy.ts";
import { addressTest } from "../keys/address-range.ts";
import { addressText } from "../keys/read.ts";
import type { RequestHead } from "../keys/request-head.ts";
import type { Work } from "../pattern/automaton.ts";
import { compilePattern, type Subject, type Test, type Verdict } from "../pattern/pattern.ts";
import { normalizeHost, normalizePath } from "../pattern/text.ts";

/** The parts of a request that matching looks at, computed once. */
interface RequestLine {
  /** The method, and the methods that method-override headers name. Upper case, each once. */
  readonly methods: readonly string[];
  /** Lower case, in the form of `normalizePath`; also with a slash at the end, which lets `/v1` match `/v1/*`. */
  readonly path: Subject;
  /** Lower case, without port and trailing dot. */
  readonly host: Subject;
  /** The request is a CORS preflight. */
  readonly preflight: boolean;
  /** Shared by all patterns. */
  readonly work: Work;
}

export interface Matched {
  readonly policy: Policy;
  /** Units. */
  readonly cost: number;
}

interface Condition {
  readonly takes: (method: string) => boolean;
  /** Looks at path and host. */
  readonly where: (line: RequestLine) => Verdict;
}

interface Rule extends Condition {
  /** Units. */
  readonly cost: number;
}

/** @param address returns the client's address, where something else than Cloudflare's edge knows it. */
export type Matcher = (request: RequestHead, address?: () => string | null | undefined) => readonly Matched[];

/** Headers by which frameworks let a POST stand for another method. Such a request matches as both methods. */
const METHOD_OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override"];
const METHOD = /^[A-Z][A-Z-]{0,31}$/;

/**
 * What some origins read as a slash, remove, or cut off with what follows: to them `/public/..%2Flogin` and
 * `/public/.%09./login` are `/login`, and so is `/login%3F.css`. Such a path is never left out.
 */
const TWO_READINGS = /[;\\]|%(?:[01].|2[35f]|3[bf]|5c)/;

/**
 * Steps for all patterns of a request, 10 to 25 ns each: two for each character of a 16 KiB path, the longest path that
 * reaches a Worker. After the last step a pattern counts as matched if the path begins and ends with the pattern's
 * fixed text.
 */
const MAX_STEPS = 32_768;

/** How many request lines are remembered by default. Any other line is tested against every pattern. */
const REMEMBERED_LINES = 1_000;
const LONGEST_REMEMBERED = 512;

/**
 * Compiles the patterns once. The policies that match a request line are remembered.
 *
 * @param rememberedLines how many request lines are remembered, 1 or more. At most twice as many are kept.
 * @throws {ConfigurationError} with every pattern that cannot be parsed.
 */
export function compileMatcher(all: readonly Policy[], rememberedLines = REMEMBERED_LINES): Matcher {
  const patterns = all.flatMap((policy, i) => patternMistakes(policy, `policies[${i}]`));
  const mistakes = patterns.length > 0 ? patterns : sharedOverflows(all, (i) => `policies[${i}]`);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  // An overflow is asked after the policy that matched, for the same request.
  const policies = all.filter(({ isOverflow }) => !isOverflow);
  const compiled = policies.map((policy) => {
    const rules = policy.cost.map((rule) => ({ ...compileMatch(rule), cost: rule.cost }));
    const exceptions = (policy.except ?? []).map(compileException);
    const namesOptions = policy.match.method?.includes("OPTIONS") ?? false;
    return { policy, ...compileMatch(policy.match), exceptions, rules, namesOptions };
  });
  const namesMethods = policies.some(({ match, except = [], cost }) =>
    [match, ...except, ...cost].some(({ method }) => method),
  );
  const remembered = new BoundedMap<string, readonly Matched[]>({ maxSize: rememberedLines });

  const match = (line: RequestLine): readonly Matched[] =>
    compiled
      .filter(({ namesOptions }) => !line.preflight || namesOptions)
      .filter(({ takes, where }) => line.methods.some(takes) && where(line) !== "no")
      .filter(({ takes, exceptions }) => !isLeftOut(line, takes, exceptions))
      .map(({ policy, rules }) => ({ policy, cost: costOf(line, rules) }));

  const matchedBy: Matcher = (request) => {
    const text = rememberedAs(request, namesMethods);
    const isLong = text.length > LONGEST_REMEMBERED;
    const known = isLong ? undefined : remembered.get(text);
    if (known) return known;
    const line = requestLine(request, namesMethods);
    const matched = match(line);
    if (!isLong && line.work.left >= 0) remembered.set(text, matched);
    return matched;
  };
  return policies.some(({ exempt }) => exempt) ? withoutExempt(matchedBy, policies) : matchedBy;
}

/** Leaves out the policies that exempt the client's address. What matches a request line does not depend on it. */
function withoutExempt(match: Matcher, policies: readonly Policy[]): Matcher {
  const tests = new Map(policies.flatMap((one) => (one.exempt ? [[one, addressTest(one.exempt)]] : [])));
  return (request, address = () => addressText(request.headers)) => {
    const matched = match(request);
    if (!matched.some(({ policy }) => tests.has(policy))) return matched;
    const text = address() ?? "";
    return matched.filter(({ policy }) => !tests.get(policy)?.(text));
  };
}

/** The parts of a request that decide what matches, unparsed: parsing is slow. No part contains a line break. */
function rememberedAs(request: RequestHead, namesMethods: boolean): string {
  const { method, url } = request;
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  if (!readsOverrides(method, namesMethods)) return path;
  const overrides = METHOD_OVERRIDES.map((name) => request.headers.get(name) ?? "");
  return [method, path, isPreflight(request), ...overrides].join("\n");
}

/**
 * Whether exceptions surely match the request by every method that the policy takes: the client chose the methods, and
 * only the origin knows which one it uses.
 */
function isLeftOut(line: RequestLine, takes: Condition["takes"], exceptions: readonly Condition[]): boolean {
  const sure = exceptions.filter(({ where }) => where(line) === "yes");
  return sure.length > 0 && line.methods.filter(takes).every((method) => sure.some((one) => one.takes(method)));
}

/**
 * The highest cost over all methods of the request: the client chose them all, and only the origin knows which one it
 * uses. For one method: the highest cost of the first rule that surely matches and of the rules before it that perhaps
 * match.
 */
function costOf(line: RequestLine, rules: readonly Rule[]): number {
  const verdicts: Verdict[] = [];
  const costs = line.methods.map((method) => {
    let highest = 0;
    for (const [i, { takes, where, cost }] of rules.entries()) {
      if (!takes(method)) continue;
      const verdict = verdicts[i] ?? where(line);
      verdicts[i] = verdict;
      if (verdict !== "no") highest = Math.max(highest, cost);
      if (verdict === "yes") return highest;
    }
    return Math.max(highest, 1);
  });
  return Math.max(...costs);
}

/** Method overrides matter if a policy names methods, and for OPTIONS: they decide what a preflight is. */
function readsOverrides(method: string, namesMethods: boolean): boolean {
  return namesMethods || method === "OPTIONS";
}

/** What makes two requests with one id the same: the methods and the path, as matching reads them. */
export function sameRequest(request: RequestHead): readonly [methods: string, path: string] {
  const { methods, path } = requestLine(request, true);
  // As for patterns, a slash at the end makes no difference.
  return [methods.join(" "), path.text.replace(/(?!^)\/$/, "")];
}

/** @param namesMethods some policy depends on the method. */
function requestLine(request: RequestHead, namesMethods: boolean): RequestLine {
  const url = new URL(request.url);
  const readable = readsOverrides(request.method, namesMethods) ? METHOD_OVERRIDES : [];
  // A header that was sent twice arrives joined by commas. Some frameworks take the first value, some the last.
  const overrides = readable.flatMap((name) => {
    const values = request.headers.get(name)?.toUpperCase();
    return values ? [values.split(",", 1)[0]!.trim(), values.slice(values.lastIndexOf(",") + 1).trim()] : [];
  });
  const methods = [...new Set([request.method.toUpperCase(), ...overrides.filter((method) => METHOD.test(method))])];
  const [path, host] = [normalizePath(url.pathname).toLowerCase(), normalizeHost(url.hostname)];
  return {
    methods,
    path: { text: path, longer: path === "/" ? path : `${path}/` },
    host: { text: host, longer: host },
    // Browsers put no override into a preflight. With an override, an origin could run the request, uncounted.
    preflight: methods.length === 1 && isPreflight(request),
    work: { left: MAX_STEPS },
  };
}

/** The browser sends a CORS preflight before the client's own request. */
export function isPreflight({ method, headers }: RequestHead): boolean {
  return method === "OPTIONS" && headers.has("Origin") && headers.has("Access-Control-Request-Method");
}

function compileMatch({ method, path, host }: Match): Condition {
  const methods = method && new Set(method.includes("GET") ? [...method, "HEAD"] : method);
  const paths = path?.map((pattern) => compilePattern(pattern, "path"));
  const hosts = host?.map((pattern) => compilePattern(pattern, "host"));
  return {
    takes: (name) => !methods || methods.has(name),
    where: (line) => {
      const onHost = hosts ? anyOf(hosts, line.host, line.work) : "yes";
      if (onHost === "no" || !paths) return onHost;
      const onPath = anyOf(paths, line.path, line.work);
      return onPath === "yes" ? onHost : onPath;
    },
  };
}

function compileException(match: Match): Condition {
  const { takes, where } = compileMatch(match);
  const isUnsure = ({ path }: RequestLine) => match.path !== undefined && TWO_READINGS.test(path.text);
  return { takes, where: (line) => (isUnsure(line) ? "no" : where(line)) };
}

function anyOf(tests: readonly Test[], subject: Subject, work: Work): Verdict {
  let verdict: Verdict = "no";
  for (const test of tests) {
    const one = test(subject, work);
    if (one === "yes") return one;
    if (one === "perhaps") verdict = one;
  }
  return verdict;
}
