/** Which policies apply to a request, and at what cost (design, section 6). */

import { BoundedMap } from "../bounded-map.ts";
import type { Match, Policy } from "../core/policy.ts";
import type { Work } from "../pattern/automaton.ts";
import { compilePattern, type Subject, type Test, type Verdict } from "../pattern/pattern.ts";
import { normalizeHost, normalizePath } from "../pattern/text.ts";

export { normalizePath };

/** What matching looks at, computed once for a request. */
interface RequestLine {
  /** The method, and those that method-override headers ask for. Upper case, each once. */
  readonly methods: readonly string[];
  /** Lower case, in the form of `normalizePath`, and with a slash at its end: `/v1` matches `/v1/*`, `/login/` matches `/login`. */
  readonly path: Subject;
  /** Lower case, without port and trailing dot. */
  readonly host: Subject;
  /** It is a CORS preflight. */
  readonly preflight: boolean;
  /** For all patterns together. */
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

export type Matcher = (request: Request) => readonly Matched[];

/** Headers by which frameworks let a POST stand for another method: the request then counts as both. */
const METHOD_OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override"];
const METHOD = /^[A-Z][A-Z-]{0,31}$/;

/**
 * Steps for all patterns of a request, 10 to 25 ns each: twice as many as a path of 16 KiB, the longest that reaches a
 * Worker, has characters. Beyond them a pattern counts as matched if its fixed text at both ends is there.
 */
const MAX_STEPS = 32_768;

/** A miss costs a test of every pattern: paths that come again should not pay it again. */
const REMEMBERED_LINES = 1_000;
const LONGEST_REMEMBERED = 512;

/** Patterns are compiled here, once; what they say of a request line is remembered. */
export function compileMatcher(policies: readonly Policy[]): Matcher {
  const compiled = policies.map((policy) => {
    const rules = policy.cost.map((rule) => ({ ...compileMatch(rule), cost: rule.cost }));
    const namesOptions = policy.match.method?.includes("OPTIONS") ?? false;
    return { policy, ...compileMatch(policy.match), rules, namesOptions };
  });
  const namesMethods = policies.some(({ match, cost }) => [match, ...cost].some(({ method }) => method));
  const remembered = new BoundedMap<string, readonly Matched[]>({ maxSize: REMEMBERED_LINES });

  const match = (line: RequestLine): readonly Matched[] =>
    compiled
      .filter(({ namesOptions }) => !line.preflight || namesOptions)
      .filter(({ takes, where }) => line.methods.some(takes) && where(line) !== "no")
      .map(({ policy, rules }) => ({ policy, cost: costOf(line, rules) }));

  return (request) => {
    const text = rememberedAs(request, namesMethods);
    const isLong = text.length > LONGEST_REMEMBERED;
    const known = isLong ? undefined : remembered.get(text);
    if (known) return known;
    const line = requestLine(request, namesMethods);
    const matched = match(line);
    if (!isLong && line.work.left >= 0) remembered.set(text, matched);
    return matched;
  };
}

/** All that matters here of a request, as it says it: to read that takes longer than to match it. No part holds a line break. */
function rememberedAs(request: Request, namesMethods: boolean): string {
  const { method, url } = request;
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  if (!readsOverrides(method, namesMethods)) return path;
  const overrides = METHOD_OVERRIDES.map((name) => request.headers.get(name) ?? "");
  return [method, path, isPreflight(request), ...overrides].join("\n");
}

/**
 * The dearest of what each method would cost: which one the origin goes by is not known here, and the client chose both. The dearest,
 * too, of the rules that perhaps match before one that does.
 */
function costOf(line: RequestLine, rules: readonly Rule[]): number {
  const verdicts: Verdict[] = [];
  const costs = line.methods.map((method) => {
    let dearest = 0;
    for (const [i, { takes, where, cost }] of rules.entries()) {
      if (!takes(method)) continue;
      const verdict = verdicts[i] ?? where(line);
      verdicts[i] = verdict;
      if (verdict !== "no") dearest = Math.max(dearest, cost);
      if (verdict === "yes") return dearest;
    }
    return Math.max(dearest, 1);
  });
  return Math.max(...costs);
}

/** Else overrides matter to preflights only. */
function readsOverrides(method: string, namesMethods: boolean): boolean {
  return namesMethods || method === "OPTIONS";
}

/** @param namesMethods some policy depends on the method. */
function requestLine(request: Request, namesMethods: boolean): RequestLine {
  const url = new URL(request.url);
  const readable = readsOverrides(request.method, namesMethods) ? METHOD_OVERRIDES : [];
  // A header sent twice arrives joined by commas. Of the values frameworks take the first or the last.
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
    // No browser puts an override into its preflight; an origin that goes by it would run the request uncounted.
    preflight: methods.length === 1 && isPreflight(request),
    work: { left: MAX_STEPS },
  };
}

/** A CORS preflight is the browser's question, not the client's request. */
function isPreflight({ method, headers }: Request): boolean {
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

function anyOf(tests: readonly Test[], subject: Subject, work: Work): Verdict {
  let verdict: Verdict = "no";
  for (const test of tests) {
    const one = test(subject, work);
    if (one === "yes") return one;
    if (one === "perhaps") verdict = one;
  }
  return verdict;
}
