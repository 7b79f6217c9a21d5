/**
 * `tool` and `rpc`: policies that look at what the body of a request calls. A refusal is an error of JSON-RPC
 * (jsonrpc.org/specification, section 5.1).
 */

import type { Feature } from "../../kernel/http/feature.ts";
import { Kept } from "../../kernel/http/passage.ts";
import { refusalWith, secondsOf } from "../../kernel/http/refusal.ts";
import { callsOf, type RpcCalls, UNREAD } from "./calls.ts";
import { compileCalls, looksAtCalls, readsCalls } from "./condition.ts";
import { callInHeaders } from "./headers.ts";

/** What the body of a request calls. Absent: no policy of the request looks at that, or there is no body. */
export const calls = new Kept<RpcCalls>();

export const rpc: Feature = {
  name: "rpc",
  needs: ["body"],
  isUsed: (policies) => policies.some(readsCalls),
  decides: looksAtCalls,
  body: {
    looksAt: readsCalls,
    read(passage, body) {
      calls.set(passage, callsOf(body));
    },
  },
  around(inner, options, way) {
    const matchCalls = compileCalls(options.limiter.policies);
    return {
      async enter(passage) {
        if (!passage.matched.some(({ costBy }) => costBy)) return await inner.enter(passage);
        const read = calls.of(passage);
        const named = read === UNREAD ? callInHeaders(passage.request.headers) : undefined;
        passage.matched = matchCalls(passage.matched, read, named);
        if (passage.matched.length === 0) return await way.send(passage, passage.outgoing);
        return await inner.enter(passage);
      },
      /** It expects an error of JSON-RPC. */
      refuse(passage, reason) {
        const called = calls.of(passage);
        if (!called) return inner.refuse(passage, reason);
        const { problem, retryAfterMs, code = problem.status, formStatus: status } = reason;
        const violated = problem["violated-policies"];
        const data = {
          retryAfter: secondsOf(retryAfterMs) ?? null,
          ...(violated !== undefined && { "violated-policies": violated }),
        };
        const body = rpcErrorBody(called, { code, message: problem.detail, data });
        return refusalWith(passage.request, reason, options, { status, body });
      },
    };
  },
};

interface RpcError {
  readonly code: number;
  /** For people. The official clients of MCP show it. */
  readonly message: string;
  readonly data: {
    /** Seconds. Null: never. */
    readonly retryAfter: number | null;
    readonly [member: string]: unknown;
  };
}

/** A longer batch gets one error: the official servers take none, and an answer must not be many times as long. */
const MOST_ERRORS = 100;

/**
 * One error for each request of the body, with its id as it was written. Notifications get none. Without any request,
 * and for a body that cannot be read, there is one error with the id `null`.
 */
function rpcErrorBody({ ids, isBatch }: RpcCalls, error: RpcError): string {
  const text = JSON.stringify(error);
  const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"error":${text}}`;
  if (!isBatch || ids.length === 0 || ids.length > MOST_ERRORS) {
    return answer(ids.length === 1 ? ids[0]! : "null");
  }
  return `[${ids.map(answer).join(",")}]`;
}
