/** Warnings about conditions on calls (`rpc`, `tool`) that no request can satisfy. */

import type { Match, Policy } from "../../core/policy.ts";
import { namePattern, overlap as patternsOverlap } from "../../pattern/pattern.ts";

/** Requests with these methods have no body that a server reads. */
const WITHOUT_BODY = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"];
const TOOL_METHOD = "tools/call";

export function callWarnings(policies: readonly Policy[]): string[] {
  return policies.flatMap(({ name, match, except = [], cost }) => {
    const never = neverInItself(match);
    const warnings = never ? [`match never holds: ${never}`] : [];
    const parts = Object.entries({ except, cost }).flatMap(([part, list]) =>
      list.map((one: Match, i) => [`${part}[${i}]`, neverInItself(one) ?? neverTogether(match, one)] as const),
    );
    for (const [part, why] of parts) if (why) warnings.push(`${part} never holds: ${why}`);
    warnings.push(...suspicious(match).map((why) => `match: ${why}`));
    return warnings.map((warning) => `policy ${name}: ${warning}`);
  });
}

function neverInItself({ method, rpc, tool }: Match): string | undefined {
  if ((rpc || tool) && method?.every((one) => WITHOUT_BODY.includes(one))) {
    return `a request with the method ${method.join(", ")} has no body that calls something`;
  }
  if (tool && rpc && !rpc.some((one) => overlap(one, TOOL_METHOD))) {
    return `a tool is called by ${TOOL_METHOD}, which rpc leaves out`;
  }
  return undefined;
}

/** A rule is asked only about calls that the policy matches. */
function neverTogether(match: Match, one: Match): string | undefined {
  const isApart = (a: Texts, b: Texts) => a && b && !a.some((x) => b.some((y) => overlap(x, y)));
  const isOther = (a: Match, b: Match) => a.tool && !a.rpc && b.rpc && !b.rpc.some((x) => overlap(x, TOOL_METHOD));
  if (isApart(match.tool, one.tool)) return "match has other tools";
  if (isApart(match.rpc, one.rpc)) return "match has other methods of JSON-RPC";
  return isOther(match, one) || isOther(one, match) ? `a tool is called by ${TOOL_METHOD} only` : undefined;
}

type Texts = readonly string[] | undefined;

/** What is a method of MCP is hardly the name of a tool. */
function suspicious({ tool = [] }: Match): string[] {
  return tool
    .filter((one) => /^(?:tools|resources|prompts|notifications|completion|logging|sampling)\//i.test(one))
    .map((one) => `${one} looks like a method, which rpc names: tool names what ${TOOL_METHOD} calls`);
}

function overlap(one: string, other: string): boolean {
  return patternsOverlap(namePattern(one), namePattern(other));
}
