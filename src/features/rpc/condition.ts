/** Conditions on a call: `rpc` names its method, `tool` the tool of `tools/call`. `*` stands for any text. */

import { MAX_UNITS } from "../../kernel/core/layout.ts";
import type { Match, Policy } from "../../kernel/core/policy.ts";
import { type CostBy, conditionsOf, type Matched, type Verdict } from "../../kernel/http/match.ts";
import { compileText, namePattern } from "../../kernel/request/pattern.ts";
import { type RpcCall, type RpcCalls, UNREAD } from "./calls.ts";

/** `perhaps`: the call cannot be read. @param call absent: the request makes no call. */
type CallTest = (call: RpcCall | undefined) => Verdict;

/** Whether a condition looks at calls. */
export function looksAtCalls({ rpc, tool }: Match): boolean {
  return rpc !== undefined || tool !== undefined;
}

/** Whether a policy looks at what the body of a request calls. */
export function readsCalls(policy: Policy): boolean {
  return conditionsOf(policy).some(looksAtCalls);
}

/**
 * The policies that match the calls of the body too, with their costs.
 *
 * @param calls of the body. Absent: there is no body. @param named what the headers name: policies whose origin checks
 * them believe it if nobody can read the body.
 */
type MatchCalls = (matched: readonly Matched[], calls: RpcCalls | undefined, named?: RpcCalls) => readonly Matched[];

export function compileCalls(policies: readonly Policy[]): MatchCalls {
  const tests = new Map<Match, CallTest>();
  for (const condition of policies.flatMap(conditionsOf)) {
    if (looksAtCalls(condition)) tests.set(condition, compileCallTest(condition));
  }

  /** The sum over all calls that match. Undefined: none does. */
  function costOf(costBy: CostBy, body: RpcCalls | undefined): number | undefined {
    const costOfCall = (call: RpcCall | undefined) => costBy((condition) => tests.get(condition)!(call));
    // A body of responses only is like none: the policy still counts the request if it asks for no call.
    if (!body || body.calls.length === 0) return costOfCall(undefined);
    let sum: number | undefined;
    for (const { call, times } of body.calls) {
      const cost = costOfCall(call);
      if (cost !== undefined) sum = Math.min(MAX_UNITS, (sum ?? 0) + cost * times);
    }
    return sum;
  }

  return (matched, calls, named = UNREAD) =>
    matched.flatMap((one) => {
      const known = calls === UNREAD && one.policy.originChecksMcpHeaders ? named : calls;
      const cost = one.costBy ? costOf(one.costBy, known) : one.cost;
      return cost === undefined ? [] : { policy: one.policy, cost };
    });
}

function compileCallTest(match: Match): CallTest {
  const [rpc, tool] = [anyOf(match.rpc), anyOf(match.tool)];
  return (call) => {
    if (!call) return "no";
    const [byRpc, byTool] = [rpc(call.rpc), tool(call.tool)];
    if (byRpc === "no" || byTool === "no") return "no";
    return byRpc === "perhaps" ? byRpc : byTool;
  };
}

/** @param patterns absent: everything. */
function anyOf(patterns: readonly string[] | undefined): (name: string | null | undefined) => Verdict {
  if (!patterns) return () => "yes";
  const tests = patterns.map((pattern) => compileText(namePattern(pattern)));
  return (name) => {
    if (name === undefined) return "no";
    if (name === null) return "perhaps";
    // As for paths, case makes no difference: some servers do not look at it.
    const lower = name.toLowerCase();
    return tests.some((test) => test(lower)) ? "yes" : "no";
  };
}
