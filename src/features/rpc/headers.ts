/**
 * The call that the headers of a request name. Clients of MCP send them since 2026-07-28
 * (modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http, "Request Metadata"). Anyone can
 * send others: they are true only in front of a server that refuses a request whose body calls something else.
 */

import { isToolMethod, nameIn, type RpcCall, type RpcCalls, UNREAD } from "./calls.ts";

/** Servers of older revisions do not look at the headers. Absent, the request may be for such a revision. */
const FIRST_REVISION = "2026-07-28";
const REVISION = /^\d{4}-\d\d-\d\d$/;

/** Longer headers are not read, in characters. The names of tools have 128 at most. */
const LONGEST = 1_024;
/** Visible ASCII and spaces. A comma may join two headers of one name, of which servers take one or the other. */
const PLAIN = /^(?!=\?)[ -+\--~]+$/;
/** What stands for a name with other characters, in UTF-8. */
const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** In doubt it may be any call. */
export function callInHeaders(headers: Pick<Headers, "get">): RpcCalls {
  const revision = headers.get("MCP-Protocol-Version") ?? "";
  const rpc = plainIn(headers.get("Mcp-Method"));
  if (!REVISION.test(revision) || revision < FIRST_REVISION || rpc === null) return UNREAD;
  const call: RpcCall = isToolMethod(rpc) ? { rpc, tool: toolIn(headers.get("Mcp-Name")) } : { rpc };
  return { ...UNREAD, calls: [{ call, times: 1 }] };
}

function plainIn(header: string | null): string | null {
  return header !== null && header.length <= LONGEST && PLAIN.test(header) ? nameIn(header) : null;
}

function toolIn(header: string | null): string | null {
  const base64 = ENCODED.exec(header ?? "")?.[1];
  if (header === null || base64 === undefined || header.length > LONGEST) return plainIn(header);
  try {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    return nameIn(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return null;
  }
}
