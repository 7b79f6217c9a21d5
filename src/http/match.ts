/** Which policies apply to a request, and at what cost. docs/matching.md has the rules. */

import { BoundedMap } from "../bounded-map.ts";
import { ConfigurationError } from "../config/mistake.ts";
import { patternMistakes, sharedOverflows } from "../config/policies.ts";
import { MAX_UNITS } from "../core/layout.ts";
import type { Match, Policy } from "../core/policy.ts";
import { type RpcCall, type RpcCalls, UNREAD } from "../json-rpc/calls.ts";
import { type CallTest, type CallVerdict, compileCallTest, looksAtCalls } from "../json-rpc/condition.ts";
import { addressTest } from "../keys/address-range.ts";
import { addressText } from "../keys/read.ts";
import type { RequestHead } from "../keys/request-head.ts";
import { compilePattern } from "../pattern/pattern.ts";
import { normalizeHost, normalizePath } from "../pattern/text.ts";

/** The parts of a request that matching looks at, computed once. */
type RequestLine = ReturnType<typeof requestLine>;

export interface Matched {
  readonly policy: Policy;
  /** Units. With `byCalls`: of a body that cannot be read, the most for a single call. */
  readonly cost: number;
  /** With `byCalls`: the units that every body costs. Absent: some body costs nothing. */
  readonly atLeast?: number;
  /**
   * The units of what the body calls, the sum over all calls that match. `undefined`: none of them does. Absent: the
   * policy does not look at the body. @param calls absent: the request has no body.
   */
  readonly byCalls?: (calls: RpcCalls | undefined) => number | undefined;
  /** The request is a preflight, and counts apart from others. Absent: it is none, or the policy names OPTIONS. */
  readonly isPreflight?: true;
}

interface Condition {
  readonly takes: (method: string) => boolean;
  /** Looks at path and host. */
  readonly where: (line: RequestLine) => boolean;
  /** Looks at a call of the body. Absent: every call will do. */
  readonly calls?: CallTest | undefined;
}

/** A condition with its cost, in units. */
type Rule = Condition & { readonly cost: number };
type Compiled = ReturnType<typeof compilePolicy>;

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

/** How many request lines are remembered; at most twice as many are kept. Others are tested against every pattern. */
const REMEMBERED_LINES = 1_000;
const LONGEST_REMEMBERED = 512;

/**
 * Compiles the patterns once. The policies that match a request line are remembered.
 *
 * @throws {ConfigurationError} with every pattern that cannot be parsed.
 */
export function compileMatcher(all: readonly Policy[]): Matcher {
  const patterns = all.flatMap((policy, i) => patternMistakes(policy, `policies[${i}]`));
  const mistakes = patterns.length > 0 ? patterns : sharedOverflows(all, (i) => `policies[${i}]`);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  // An overflow is asked after the policy that matched, for the same request.
  const policies = all.filter(({ isOverflow }) => !isOverflow);
  const compiled = policies.map(compilePolicy);
  const namesMethods = policies.some(({ match, except = [], cost }) =>
    [match, ...except, ...cost].some(({ method }) => method),
  );
  const remembered = new BoundedMap<string, readonly Matched[]>({ maxSize: REMEMBERED_LINES });

  const match = (line: RequestLine): readonly Matched[] =>
    compiled
      .filter(({ takes, where }) => line.methods.some(takes) && where(line))
      .filter(({ takes, exceptions }) => !isLeftOut(line.methods, takes, sureOf(line, exceptions)))
      .map((one) => {
        const found = one.readsCalls ? matchByCalls(line, one) : { policy: one.policy, cost: costOf(line, one.rules) };
        return line.preflight && !one.namesOptions ? { ...found, isPreflight: true } : found;
      });

  const matchedBy: Matcher = (request) => {
    const text = rememberedAs(request, namesMethods);
    const isLong = text.length > LONGEST_REMEMBERED;
    const known = isLong ? undefined : remembered.get(text);
    if (known) return known;
    const line = requestLine(request, namesMethods);
    const matched = match(line);
    if (!isLong) remembered.set(text, matched);
    return matched;
  };
  return policies.some(({ exempt }) => exempt) ? withoutExempt(matchedBy, policies) : matchedBy;
}

function compilePolicy(policy: Policy) {
  const rules = policy.cost.map((rule) => ({ ...compileMatch(rule), cost: rule.cost }));
  const exceptions = (policy.except ?? []).map(compileException);
  const namesOptions = policy.match.method?.includes("OPTIONS") ?? false;
  return { policy, ...compileMatch(policy.match), exceptions, rules, namesOptions, readsCalls: readsCalls(policy) };
}

/** Whether a policy looks at what the body of a request calls. */
export function readsCalls({ match, except = [], cost }: Policy): boolean {
  return [match, ...except, ...cost].some(looksAtCalls);
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
  return [method, path, isPreflight(request), isUpgrade(request), ...overrides].join("\n");
}

/** Exceptions that surely match the request, whatever its method. Those that look at calls wait for the body. */
function sureOf(line: RequestLine, exceptions: readonly Condition[]): readonly Condition[] {
  return exceptions.filter(({ where, calls }) => !calls && where(line));
}

/**
 * Whether exceptions match the request by every method that the policy takes: the client chose the methods, and only
 * the origin knows which one it uses.
 *
 * @param takes the methods of the policy. @param sure exceptions that surely match, by all but the method.
 */
function isLeftOut(methods: readonly string[], takes: Condition["takes"], sure: readonly Condition[]): boolean {
  return sure.length > 0 && methods.filter(takes).every((method) => sure.some((one) => one.takes(method)));
}

/** The highest cost over all methods of the request: only the origin knows which one it uses. */
function costOf(line: RequestLine, rules: readonly Rule[]): number {
  return costBy(line.methods, rules, (i) => (rules[i]!.where(line) ? "yes" : "no"));
}

/**
 * The highest cost over all methods. For one method: the highest cost of the first rule that surely matches and of the
 * rules before it that perhaps match.
 *
 * @param verdictOf whether the rule at this position matches, by all but the method.
 */
function costBy(methods: readonly string[], rules: readonly Rule[], verdictOf: (i: number) => CallVerdict): number {
  const costs = methods.map((method) => {
    let highest = 0;
    for (const [i, { takes, cost }] of rules.entries()) {
      const verdict = takes(method) ? verdictOf(i) : "no";
      if (verdict !== "no") highest = Math.max(highest, cost);
      if (verdict === "yes") return highest;
    }
    return Math.max(highest, 1);
  });
  return Math.max(...costs);
}

/** A policy that matches by all but its calls. What it keeps of the request line is remembered with it. */
function matchByCalls(line: RequestLine, { policy, takes, calls: test, exceptions, rules }: Compiled): Matched {
  const { methods } = line;
  const where = rules.map((rule) => rule.where(line));
  const sureButCalls = exceptions.filter((one) => one.where(line));

  function costOfCall(call: RpcCall | undefined): number | undefined {
    if (test?.(call) === "no") return undefined;
    const sure = sureButCalls.filter(({ calls }) => !calls || calls(call) === "yes");
    if (isLeftOut(methods, takes, sure)) return undefined;
    return costBy(methods, rules, (i) => (where[i] ? (rules[i]!.calls?.(call) ?? "yes") : "no"));
  }

  function byCalls(body: RpcCalls | undefined): number | undefined {
    // A body of responses only is like none: the policy still counts the request if it asks for no call.
    if (!body || body.calls.length === 0) return costOfCall(undefined);
    let sum: number | undefined;
    for (const { call, times } of body.calls) {
      const cost = costOfCall(call);
      if (cost !== undefined) sum = Math.min(MAX_UNITS, (sum ?? 0) + cost * times);
    }
    return sum;
  }

  const atLeast = Math.min(1, ...rules.flatMap(({ cost }, i) => (where[i] ? [cost] : [])));
  const isSure = !test && atLeast > 0 && sureButCalls.length === 0;
  return { policy, cost: byCalls(UNREAD) ?? 0, byCalls, ...(isSure && { atLeast }) };
}

/** Whether some policy of the request looks at its body. */
export function needsCalls(matched: readonly Matched[]): boolean {
  return matched.some(({ byCalls }) => byCalls);
}

/** The policies that match the calls of the body too, with their costs. @param calls absent: there is no body. */
export function matchCalls(matched: readonly Matched[], calls: RpcCalls | undefined): readonly Matched[] {
  return matched.flatMap((one) => {
    const cost = one.byCalls ? one.byCalls(calls) : one.cost;
    if (cost === undefined) return [];
    return one.isPreflight ? { policy: one.policy, cost, isPreflight: true } : { policy: one.policy, cost };
  });
}

/** Method overrides matter if a policy names methods, and for OPTIONS: they decide what a preflight is. */
function readsOverrides(method: string, namesMethods: boolean): boolean {
  return namesMethods || method === "OPTIONS";
}

/** What makes two requests with one id the same: the methods and the path, as matching reads them. */
export function sameRequest(request: RequestHead): readonly [methods: string, path: string] {
  const { methods, path } = requestLine(request, true);
  // As for patterns, a slash at the end makes no difference.
  return [methods.join(" "), path.text.slice(0, path.shorter)];
}

/** @param namesMethods some policy depends on the method. */
function requestLine(request: RequestHead, namesMethods: boolean) {
  const url = new URL(request.url);
  const readable = readsOverrides(request.method, namesMethods) ? METHOD_OVERRIDES : [];
  // A header that was sent twice arrives joined by commas. Some frameworks take the first value, some the last.
  const overrides = readable.flatMap((name) => {
    const values = request.headers.get(name)?.toUpperCase();
    return values ? [values.split(",", 1)[0]!.trim(), values.slice(values.lastIndexOf(",") + 1).trim()] : [];
  });
  if (isUpgrade(request)) overrides.push("GET");
  const methods = [...new Set([request.method.toUpperCase(), ...overrides.filter((method) => METHOD.test(method))])];
  const [path, host] = [normalizePath(url.pathname).toLowerCase(), normalizeHost(url.hostname)];
  return {
    /** The method, those that method-override headers name, and GET for an upgrade. Upper case, each once. */
    methods,
    /** In the form of `normalizePath`, with a slash at the end or without, which lets `/v1` match `/v1/*`. */
    path: path === "/" ? { text: path, shorter: 1 } : { text: `${path}/`, shorter: path.length },
    /** Lower case, without port and trailing dot. */
    host: { text: host, shorter: host.length },
    // Browsers put no override into a preflight. With an override, an origin could run the request, uncounted.
    preflight: methods.length === 1 && isPreflight(request),
  };
}

/** The browser sends a CORS preflight before the client's own request, without a body. */
export function isPreflight({ method, headers, body }: RequestHead): boolean {
  const isAsked = method === "OPTIONS" && headers.has("Origin") && headers.has("Access-Control-Request-Method");
  return isAsked && (body === undefined || body === null);
}

/** A WebSocket begins with a GET. Workers send the request on as one, whatever its method was. */
function isUpgrade({ headers }: RequestHead): boolean {
  return /websocket/i.test(headers.get("Upgrade") ?? "");
}

function compileMatch(match: Match): Condition {
  const { method, path, host } = match;
  const methods = method && new Set(method.includes("GET") ? [...method, "HEAD"] : method);
  const paths = path?.map((pattern) => compilePattern(pattern, "path"));
  const hosts = host?.map((pattern) => compilePattern(pattern, "host"));
  return {
    takes: (name) => !methods || methods.has(name),
    calls: compileCallTest(match),
    where: (line) =>
      (!hosts || hosts.some((matches) => matches(line.host))) &&
      (!paths || paths.some((matches) => matches(line.path))),
  };
}

function compileException(match: Match): Condition {
  const { where, ...others } = compileMatch(match);
  const isUnsure = ({ path }: RequestLine) => match.path !== undefined && TWO_READINGS.test(path.text);
  return { ...others, where: (line) => !isUnsure(line) && where(line) };
}
