/**
 * The calls in the body of a JSON-RPC request (jsonrpc.org/specification), such as those of MCP over HTTP: which
 * methods and tools a server would run. In doubt a call may be any call: no spelling of JSON hides one.
 */

import type { JsonObject, RequestBody } from "../../kernel/request/request-body.ts";

/** The method of MCP that calls a tool. */
export const TOOL_METHOD = "tools/call";

export interface RpcCall {
  /** The method. Null: it cannot be read. */
  readonly rpc: string | null;
  /** The tool that `tools/call` names. Null: it cannot be read. Absent: the call is of another method. */
  readonly tool?: string | null;
}

/** What a body asks for. */
export interface RpcCalls {
  /** Each call once, and how often it is in the body. Responses are no calls. */
  readonly calls: readonly { readonly call: RpcCall; readonly times: number }[];
  /** The ids of the requests in JSON. Notifications have none. */
  readonly ids: readonly string[];
  readonly isBatch: boolean;
}

/** It matches every condition on a method or a tool. */
const ANY_CALL: RpcCall = { rpc: null, tool: null };

/** A body that cannot be read. */
export const UNREAD: RpcCalls = { calls: [{ call: ANY_CALL, times: 1 }], ids: [], isBatch: false };

/** So many calls of a batch are told apart, because each is compared with patterns. Any further one may be any call. */
const MOST_DISTINCT = 1_000;

/** The calls of a body that was read. `undefined`: it is empty. */
export function callsOf({ length, json, isClear }: RequestBody): RpcCalls | undefined {
  if (length === 0) return undefined;
  return isClear ? callsIn(json) : UNREAD;
}

/** @param body as `JSON.parse` has it. */
export function callsIn(body: unknown): RpcCalls {
  const isBatch = Array.isArray(body);
  const messages: readonly unknown[] = isBatch ? body : [body];
  const distinct = new Map<string, { readonly call: RpcCall; times: number }>();
  const ids: string[] = [];
  for (const message of messages) {
    const call = isObject(message) && callOf(message);
    if (!call) continue;
    if (Object.hasOwn(message, "id")) ids.push(idOf(message.id));
    const name = JSON.stringify(call);
    const isOneMore = distinct.size >= MOST_DISTINCT && !distinct.has(name);
    const known = isOneMore ? JSON.stringify(ANY_CALL) : name;
    const counted = distinct.get(known) ?? { call: isOneMore ? ANY_CALL : call, times: 0 };
    counted.times++;
    distinct.set(known, counted);
  }
  return { calls: [...distinct.values()], ids, isBatch };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function idOf(id: unknown): string {
  return typeof id === "string" || typeof id === "number" ? JSON.stringify(id) : "null";
}

/**
 * Members that some servers take for `method`, `params` and `name`: Go compares names without case, by Unicode's
 * folding of letters. Which one of several counts is up to the server.
 */
const [METHOD, PARAMS, NAME] = [/^method$/iu, /^params$/iu, /^name$/iu];

/** @returns undefined for a response, and for what is no message. */
function callOf(message: JsonObject): RpcCall | undefined {
  const method = namesLike(METHOD, message);
  if (method.length === 0) return undefined;
  const params = namesLike(PARAMS, message);
  const rpc = isOnly("method", method) ? nameIn(message.method) : null;
  if (rpc === null || (params.length > 0 && !isOnly("params", params))) return ANY_CALL;
  if (!isToolMethod(rpc)) return { rpc };
  const holder = params.length > 0 && isObject(message.params) ? message.params : {};
  return { rpc, tool: isOnly("name", namesLike(NAME, holder)) ? nameIn(holder.name) : null };
}

/** Case makes no difference, as in patterns. */
export function isToolMethod(rpc: string): boolean {
  return rpc.toLowerCase() === TOOL_METHOD;
}

function namesLike(alike: RegExp, members: JsonObject): string[] {
  return Object.keys(members).filter((name) => alike.test(name));
}

function isOnly(name: string, names: readonly string[]): boolean {
  return names.length === 1 && names[0] === name;
}

/** What some servers trim, or where they end a text. */
const TRIMMED = /^\s|\s$|[\p{Cc}\p{Cf}]/u;

/** Null: it is no text, or servers may read it in two ways. */
export function nameIn(value: unknown): string | null {
  return typeof value === "string" && !TRIMMED.test(value) ? value : null;
}

const [MOST_SHOWN, LONGEST_SHOWN] = [5, 60];

/** For operators: `tools/call search` or `ping ×2`, at most 5 of them. `?` stands for what cannot be read. */
export function describeCalls({ calls }: RpcCalls): string[] {
  return calls.slice(0, MOST_SHOWN).map(({ call: { rpc, tool }, times }) => {
    const name = [rpc ?? "?", ...(rpc === null || tool === undefined ? [] : [tool ?? "?"])].join(" ");
    return `${name.slice(0, LONGEST_SHOWN)}${times > 1 ? ` ×${times}` : ""}`;
  });
}
