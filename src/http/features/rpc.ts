/** `tool` and `rpc`: policies that look at what the body of a request calls. */

import { MAX_UNITS } from "../../core/layout.ts";
import type { Match, Policy } from "../../core/policy.ts";
import { callsOf, type RpcCall, type RpcCalls } from "../../json-rpc/calls.ts";
import { type CallTest, compileCallTest, looksAtCalls } from "../../json-rpc/condition.ts";
import { rpcErrorBody } from "../../json-rpc/error.ts";
import type { Feature } from "../feature.ts";
import { type CostBy, conditionsOf, type Matched } from "../match.ts";
import { refusalWith, secondsOf } from "../refusal.ts";

declare module "../passage.ts" {
  interface Passage {
    /** What its body calls. Absent: no policy of the request looks at that, or there is no body. */
    calls?: RpcCalls | undefined;
  }
}

export const rpc: Feature = {
  name: "rpc",
  needs: ["body"],
  isUsed: (policies) => policies.some(readsCalls),
  decides: looksAtCalls,
  body: {
    looksAt: readsCalls,
    read(passage, body) {
      passage.calls = callsOf(body);
    },
  },
  around(inner, options, way) {
    const matchCalls = compileCalls(options.limiter.policies);
    return {
      async enter(passage) {
        if (!passage.matched.some(({ costBy }) => costBy)) return await inner.enter(passage);
        passage.matched = matchCalls(passage.matched, passage.calls);
        if (passage.matched.length === 0) return await way.send(passage, passage.outgoing);
        return await inner.enter(passage);
      },
      /** It expects an error of JSON-RPC. */
      refuse(passage, reason) {
        const { request, calls } = passage;
        if (!calls) return inner.refuse(passage, reason);
        const { problem, retryAfterMs, code = problem.status } = reason;
        const violated = problem["violated-policies"];
        const data = {
          retryAfter: secondsOf(retryAfterMs) ?? null,
          ...(violated !== undefined && { "violated-policies": violated }),
        };
        const body = rpcErrorBody(calls, { code, message: problem.detail, data });
        return refusalWith(request, reason, options, { body });
      },
    };
  },
};

/** Whether a policy looks at what the body of a request calls. */
function readsCalls(policy: Policy): boolean {
  return conditionsOf(policy).some(looksAtCalls);
}

/** @returns the policies that match the calls of the body too, with their costs. Without calls, there is no body. */
export function compileCalls(
  policies: readonly Policy[],
): (matched: readonly Matched[], calls: RpcCalls | undefined) => readonly Matched[] {
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

  return (matched, calls) =>
    matched.flatMap((one) => {
      const cost = one.costBy ? costOf(one.costBy, calls) : one.cost;
      return cost === undefined ? [] : { policy: one.policy, cost };
    });
}
