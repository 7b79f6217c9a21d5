/** `tool` and `rpc`: policies that look at what the body of a request calls. */

import type { RpcCalls } from "../../json-rpc/calls.ts";
import { rpcErrorBody } from "../../json-rpc/error.ts";
import type { Feature } from "../feature.ts";
import { matchCalls, needsCalls, readsCalls } from "../match.ts";
import { refusalWith, secondsOf } from "../refusal.ts";

declare module "../passage.ts" {
  interface Passage {
    /** What its body calls. Absent: no policy of the request looks at that, or there is no body. */
    calls?: RpcCalls | undefined;
  }
}

declare module "../feature.ts" {
  interface WayOptions {
    /** What a body calls that a parser in front has read. Absent: nobody has read it. */
    // biome-ignore lint/suspicious/noExplicitAny: who makes the passages knows their argument
    readonly callsOf?: (c: any) => Promise<RpcCalls | undefined>;
  }
}

export const rpc: Feature = {
  isUsed: (policies) => policies.some(readsCalls),
  around: (inner, options, way) => ({
    async enter(passage) {
      const { matched, body, c } = passage;
      if (!needsCalls(matched)) return await inner.enter(passage);
      const calls = options.callsOf ? await options.callsOf(c) : body?.calls;
      passage.calls = calls;
      passage.matched = matchCalls(matched, calls);
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
  }),
};
