/** Which policies apply to a request, and at what cost (design, section 6). */

import type { Match, Policy } from "../core/policy.ts";
import { Lru } from "../lru.ts";

/** What matching looks at, computed once for a request. */
interface RequestLine {
  /** The method, and those that method-override headers ask for. Upper case, each once. */
  readonly methods: readonly string[];
  /** The path in the form that patterns are tested against: see `normalizePath`. */
  readonly path: string;
  /** Lower case, without port and trailing dot. */
  readonly host: string;
  /** It is a CORS preflight. */
  readonly preflight: boolean;
}

export interface Matched {
  readonly policy: Policy;
  /** Units. */
  readonly cost: number;
}

interface Rule {
  readonly test: (line: RequestLine) => boolean;
  /** Units. */
  readonly cost: number;
}

export type Matcher = (request: Request) => readonly Matched[];

/** Headers by which frameworks let a POST stand for another method: the request then counts as both. */
const METHOD_OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override"];
const METHOD = /^[A-Z][A-Z-]{0,31}$/;

/** A miss costs a test of every pattern, about 1 µs each: paths that come again should not pay it again. */
const REMEMBERED_LINES = 1_000;
const LONGEST_REMEMBERED = 512;

/** Patterns are compiled here, once; what they say of a request line is remembered. */
export function compileMatcher(policies: readonly Policy[]): Matcher {
  const compiled = policies.map((policy) => {
    const rules = policy.cost.map((rule) => ({ test: compileMatch(rule), cost: rule.cost }));
    const namesOptions = policy.match.method?.includes("OPTIONS") ?? false;
    return { policy, test: compileMatch(policy.match), rules, namesOptions };
  });
  const namesMethods = policies.some(({ match, cost }) => [match, ...cost].some(({ method }) => method));
  const remembered = new Lru<string, readonly Matched[]>({ maxSize: REMEMBERED_LINES });

  const match = (line: RequestLine): readonly Matched[] =>
    compiled
      .filter(({ test, namesOptions }) => (!line.preflight || namesOptions) && test(line))
      .map(({ policy, rules }) => ({ policy, cost: costOf(line, rules) }));

  return (request) => {
    const text = rememberedAs(request, namesMethods);
    let matched = remembered.get(text);
    if (!matched) {
      matched = match(requestLine(request, namesMethods));
      if (text.length <= LONGEST_REMEMBERED) remembered.set(text, matched);
    }
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

/** The dearest of what each method would cost: which one the origin goes by is not known here, and the client chose both. */
function costOf(line: RequestLine, rules: readonly Rule[]): number {
  return Math.max(
    ...line.methods.map((method) => rules.find(({ test }) => test({ ...line, methods: [method] }))?.cost ?? 1),
  );
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
    const values = request.headers.get(name)?.toUpperCase().split(",");
    return values ? [values[0]!.trim(), values.at(-1)!.trim()] : [];
  });
  const methods = [...new Set([request.method.toUpperCase(), ...overrides.filter((method) => METHOD.test(method))])];
  const [path, host] = [normalizePath(url.pathname), normalizeHost(url.hostname)];
  // No browser puts an override into its preflight; an origin that goes by it would run the request uncounted.
  return { methods, path, host, preflight: methods.length === 1 && isPreflight(request) };
}

/** A CORS preflight is the browser's question, not the client's request. */
function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("Origin") && headers.has("Access-Control-Request-Method");
}

/**
 * One form for the paths that an origin is likely to treat as one: unreserved characters decoded (once: `%256c` is
 * another path), repeated slashes merged, no trailing slash. Dot segments were resolved by URL; `;` and `%2F` stay.
 */
export function normalizePath(pathname: string): string {
  const decoded = pathname.replace(/%[2-7][0-9a-f]/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code;
  });
  const merged = decoded.replace(/\/{2,}/g, "/");
  return merged.length > 1 && merged.endsWith("/") ? merged.slice(0, -1) : merged;
}

/** `Example.com.` and `example.com` are one host. */
function normalizeHost(hostname: string): string {
  return hostname.replace(/\.+$/, "").toLowerCase();
}

function compileMatch({ method, path, host }: Match): (line: RequestLine) => boolean {
  const methods = method && new Set(method.includes("GET") ? [...method, "HEAD"] : method);
  const paths = path?.map((pathname) => new URLPattern({ pathname }, { ignoreCase: true }));
  const hosts = host?.map((hostname) => new URLPattern({ hostname }, { ignoreCase: true }));
  return (line) =>
    (!methods || line.methods.some((name) => methods.has(name))) &&
    (!paths || paths.some((pattern) => testsPath(pattern, line.path))) &&
    (!hosts || hosts.some((pattern) => pattern.test({ hostname: line.host })));
}

/** With or without its trailing slash, so that `/v1` matches `/v1/*` and `/login` matches `/login/`. */
function testsPath(pattern: URLPattern, path: string): boolean {
  return pattern.test({ pathname: path }) || (path !== "/" && pattern.test({ pathname: `${path}/` }));
}
