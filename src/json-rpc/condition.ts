/** Conditions on a call: `rpc` names its method, `tool` the tool of `tools/call`. `*` stands for any text. */

import type { Match } from "../core/policy.ts";
import { compileText, namePattern } from "../pattern/pattern.ts";
import type { RpcCall } from "./calls.ts";

/** `perhaps`: the call cannot be read. */
type CallVerdict = "yes" | "no" | "perhaps";

/** @param call absent: the request makes no call. */
export type CallTest = (call: RpcCall | undefined) => CallVerdict;

/** Whether a condition looks at calls. */
export function looksAtCalls({ rpc, tool }: Match): boolean {
  return rpc !== undefined || tool !== undefined;
}

export function compileCallTest(match: Match): CallTest {
  const [rpc, tool] = [anyOf(match.rpc), anyOf(match.tool)];
  return (call) => {
    if (!call) return "no";
    const [byRpc, byTool] = [rpc(call.rpc), tool(call.tool)];
    if (byRpc === "no" || byTool === "no") return "no";
    return byRpc === "perhaps" ? byRpc : byTool;
  };
}

/** @param patterns absent: everything. */
function anyOf(patterns: readonly string[] | undefined): (name: string | null | undefined) => CallVerdict {
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
