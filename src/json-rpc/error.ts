/** A refusal as JSON-RPC answers it (jsonrpc.org/specification, section 5.1). */

import type { RpcCalls } from "./calls.ts";

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
export function rpcErrorBody({ ids, isBatch }: RpcCalls, error: RpcError): string {
  const text = JSON.stringify(error);
  const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"error":${text}}`;
  if (!isBatch || ids.length === 0 || ids.length > MOST_ERRORS) {
    return answer(ids.length === 1 ? ids[0]! : "null");
  }
  return `[${ids.map(answer).join(",")}]`;
}
