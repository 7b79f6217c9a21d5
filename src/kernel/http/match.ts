/** Which policies apply to a request, and at what cost. docs/configuration.md has the rules. */

import { BoundedMap } from "../bounded-map.ts";
import type { Match, Policy } from "../core/policy.ts";
import { addressTest } from "../request/address-range.ts";
import { compilePattern } from "../request/pattern.ts";
import type { RequestHead } from "../request/request-head.ts";
import { addressText } from "../request/sources.ts";
import { normalizeHost, normalizePath } from "../request/text.ts";

/** The parts of a request that matching looks at, computed once. */
type MatchedLine = ReturnType<typeof requestLine>;

/** Whether a condition matches a request. `perhaps`: nobody can tell. */
export type Verdict = "yes" | "no" | "perhaps";

/**
 * The units of a request once every condition that is decided later has its verdict. Undefined: the policy does not
 * match. @param verdictOf called with such conditions only.
 */
export type CostBy = (verdictOf: (condition: Match) => Verdict) => number | undefined;

export interface Matched {
  readonly policy: Policy;
  /** Units. With `costBy`: the most for what nobody can read. */
  readonly cost: number;
  /** Some conditions of the policy are decided later. Absent: none is. */
  readonly costBy?: CostBy;
  /** With `costBy`: the units that the request costs in any case, 0 or 1. */
  readonly atLeast?: number;
  /** The request is a preflight, and counts apart from others. Absent: it is none, or the policy names OPTIONS. */
  readonly isPreflight?: true;
}

interface Condition {
  readonly takes: (method: string) => boolean;
  /** Looks at path and host. */
  readonly where: (line: MatchedLine) => boolean;
  /** The condition, if more than the head decides it. */
  readonly later: Match | undefined;
}

/** A condition with its cost, in units. */
type CompiledRule = Condition & { readonly cost: number };
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
 * @param isLater whether a condition is decided later, by more than the head. Default: none is.
 */
export function compileMatcher(all: readonly Policy[], isLater: (condition: Match) => boolean = () => false): Matcher {
  // An overflow is asked after the policy that matched, for the same request.
  const policies = all.filter(({ isOverflow }) => !isOverflow);
  const compiled = policies.map((policy) => compilePolicy(policy, isLater));
  const namesMethods = policies.some((policy) => conditionsOf(policy).some(({ method }) => method));
  const textOf = namesMethods ? withMethods : withoutQuery;
  const remembered = new BoundedMap<string, readonly Matched[]>({ maxSize: REMEMBERED_LINES });

  function matchAll(request: RequestHead, text: string): readonly Matched[] {
    const line = requestLine(request, namesMethods);
    const matched = compiled.flatMap((policy) => matchOne(line, policy) ?? []);
    if (text.length <= LONGEST_REMEMBERED) remembered.set(text, matched);
    return matched;
  }

  const matchedBy: Matcher = (request) => {
    const text = textOf(request);
    return remembered.get(text) ?? matchAll(request, text);
  };
  return policies.some(({ exempt }) => exempt) ? withoutExempt(matchedBy, policies) : matchedBy;
}

/** All conditions of a policy: of `match`, `except` and `cost`. */
export function conditionsOf({ match, except = [], cost }: Policy): readonly Match[] {
  return [match, ...except, ...cost];
}

function compilePolicy(policy: Policy, isLater: (condition: Match) => boolean) {
  const compile = (condition: Match) => compileCondition(condition, isLater);
  return {
    policy,
    ...compile(policy.match),
    exceptions: (policy.except ?? []).map((one) => inDoubtNot(one, compile(one))),
    rules: policy.cost.map((rule): CompiledRule => ({ ...compile(rule), cost: rule.cost })),
    isOpen: conditionsOf(policy).some(isLater),
  };
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
function withMethods(request: RequestHead): string {
  const overrides = METHOD_OVERRIDES.map((name) => request.headers.get(name) ?? "");
  return [request.method, withoutQuery(request), isUpgrade(request), ...overrides].join("\n");
}

function withoutQuery({ url }: RequestHead): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** What a policy keeps of the request line is remembered with it. */
function matchOne(line: MatchedLine, { policy, takes, where, later, exceptions, rules, isOpen }: Compiled) {
  const { methods } = line;
  if (!methods.some(takes) || !where(line)) return undefined;
  const isHere = rules.map((rule) => rule.where(line));
  const excepting = exceptions.filter((one) => one.where(line));

  const costBy: CostBy = (verdictOf) => {
    const verdict = (one: Pick<Condition, "later">) => (one.later ? verdictOf(one.later) : "yes");
    if (verdict({ later }) === "no") return undefined;
    const sure = excepting.filter((one) => verdict(one) === "yes");
    if (isLeftOut(methods, takes, sure)) return undefined;
    return highestCost(methods, rules, (i) => (isHere[i] ? verdict(rules[i]!) : "no"));
  };
  const cost = costBy(() => "perhaps");
  if (cost === undefined) return undefined;
  if (!isOpen) return { policy, cost };
  const isSure = !later && excepting.length === 0;
  return {
    policy,
    cost,
    costBy,
    atLeast: isSure ? Math.min(1, ...rules.map((one, i) => (isHere[i] ? one.cost : 1))) : 0,
  };
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

/**
 * The highest cost over all methods: only the origin knows which one it uses. For one method: the highest cost of the
 * first rule that surely matches and of the rules before it that perhaps match.
 *
 * @param verdictOf whether the rule at this position matches, by all but the method.
 */
function highestCost(
  methods: readonly string[],
  rules: readonly CompiledRule[],
  verdictOf: (i: number) => Verdict,
): number {
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

/** What makes two requests with one id the same: the methods and the path, as matching reads them. */
export function sameRequest(request: RequestHead): readonly [methods: string, path: string] {
  const { methods, path } = requestLine(request, true);
  // As for patterns, a slash at the end makes no difference.
  return [methods.join(" "), path.text.slice(0, path.shorter)];
}

/** @param namesMethods some policy depends on the method. */
function requestLine(request: RequestHead, namesMethods: boolean) {
  const url = new URL(request.url);
  const [path, host] = [normalizePath(url.pathname).toLowerCase(), normalizeHost(url.hostname)];
  return {
    methods: namesMethods ? methodsOf(request) : [request.method],
    /** In the form of `normalizePath`, with a slash at the end or without, which lets `/v1` match `/v1/*`. */
    path: path === "/" ? { text: path, shorter: 1 } : { text: `${path}/`, shorter: path.length },
    /** Lower case, without port and trailing dot. */
    host: { text: host, shorter: host.length },
  };
}

/** The method, those that method-override headers name, and GET for an upgrade. Upper case, each once. */
export function methodsOf(request: RequestHead): readonly string[] {
  // A header that was sent twice arrives joined by commas. Some frameworks take the first value, some the last.
  const overrides = METHOD_OVERRIDES.flatMap((name) => {
    const values = request.headers.get(name)?.toUpperCase();
    return values ? [values.split(",", 1)[0]!.trim(), values.slice(values.lastIndexOf(",") + 1).trim()] : [];
  });
  if (isUpgrade(request)) overrides.push("GET");
  return [...new Set([request.method.toUpperCase(), ...overrides.filter((method) => METHOD.test(method))])];
}

/** A WebSocket begins with a GET. Workers send the request on as one, whatever its method was. */
function isUpgrade({ headers }: RequestHead): boolean {
  return /websocket/i.test(headers.get("Upgrade") ?? "");
}

function compileCondition(condition: Match, isLater: (condition: Match) => boolean): Condition {
  const { method, path, host } = condition;
  const methods = method && new Set(method.includes("GET") ? [...method, "HEAD"] : method);
  const paths = path?.map((pattern) => compilePattern(pattern, "path"));
  const hosts = host?.map((pattern) => compilePattern(pattern, "host"));
  return {
    takes: (name) => !methods || methods.has(name),
    where: (line) =>
      (!hosts || hosts.some((matches) => matches(line.host))) &&
      (!paths || paths.some((matches) => matches(line.path))),
    later: isLater(condition) ? condition : undefined,
  };
}

/** An exception matches no path that has two readings. */
function inDoubtNot({ path }: Match, compiled: Condition): Condition {
  if (!path) return compiled;
  return { ...compiled, where: (line) => !TWO_READINGS.test(line.path.text) && compiled.where(line) };
}
