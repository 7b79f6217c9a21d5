/**
 * The calls in the body of a JSON-RPC request (jsonrpc.org/specification), such as those of MCP over HTTP: which
 * methods and tools a server would run. In doubt a call may be any call: no spelling of JSON hides one.
 */

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
  /** The ids of the requests as the client has written them, in JSON. Notifications have none. */
  readonly ids: readonly string[];
  readonly isBatch: boolean;
}

/** It matches every condition on a method or a tool. */
const ANY_CALL: RpcCall = { rpc: null, tool: null };

/** A body that cannot be read. */
export const UNREAD: RpcCalls = { calls: [{ call: ANY_CALL, times: 1 }], ids: [], isBatch: false };

/** So many calls of a batch are told apart, because each is compared with patterns. Any further one may be any call. */
const MOST_DISTINCT = 1_000;

/** @param text of a whole body. @returns `UNREAD` if it is not JSON. */
export function callsIn(text: string): RpcCalls {
  try {
    // What `JSON.parse` refuses is refused by the server, or the server reads another language than JSON.
    JSON.parse(text);
  } catch {
    return UNREAD;
  }
  const start = behindSpace(text, 0);
  const isBatch = text[start] === "[";
  const distinct = new Map<string, { readonly call: RpcCall; times: number }>();
  const ids: string[] = [];
  for (const at of isBatch ? itemsOf(text, start) : [start]) {
    const { call, id } = messageAt(text, at);
    if (!call) continue;
    if (id !== undefined) ids.push(id);
    const name = JSON.stringify(call);
    const isOneMore = distinct.size >= MOST_DISTINCT && !distinct.has(name);
    const known = isOneMore ? JSON.stringify(ANY_CALL) : name;
    const counted = distinct.get(known) ?? { call: isOneMore ? ANY_CALL : call, times: 0 };
    counted.times++;
    distinct.set(known, counted);
  }
  return { calls: [...distinct.values()], ids, isBatch };
}

/**
 * Members that some servers take for `method`, `params` and `name`: Go compares names without case, by Unicode's
 * folding of letters. Which one of several counts is up to the server.
 */
const [METHOD, PARAMS, NAME] = [/^method$/iu, /^params$/iu, /^name$/iu];

/** @returns no call for a response, and for what is no message. */
function messageAt(text: string, at: number): { readonly call?: RpcCall; readonly id?: string | undefined } {
  if (text[at] !== "{") return {};
  let id: string | undefined;
  const [method, params] = [oneOf(METHOD, "method"), oneOf(PARAMS, "params")];
  for (const { name, start, end } of membersOf(text, at)) {
    method.take(name, start, end);
    params.take(name, start, end);
    // As `JSON.parse` does: the last one counts.
    if (name === "id") id = /^(?:["\d-]|null$)/.test(text.slice(start, end)) ? text.slice(start, end) : "null";
  }
  if (!method.isThere()) return {};
  const rpc = params.isDoubtful() ? null : method.text(text);
  // Case makes no difference, as in patterns.
  if (rpc?.toLowerCase() !== TOOL_METHOD) return { call: rpc === null ? ANY_CALL : { rpc }, id };
  return { call: { rpc, tool: toolAt(text, params.at()) }, id };
}

/** @param at where the parameters are. Absent: there are none. */
function toolAt(text: string, at: number | undefined): string | null {
  if (at === undefined || text[at] !== "{") return null;
  const tool = oneOf(NAME, "name");
  for (const { name, start, end } of membersOf(text, at)) tool.take(name, start, end);
  return tool.text(text);
}

/** What some servers trim, or where they end a text. */
const TRIMMED = /^\s|\s$|[\p{Cc}\p{Cf}]/u;

/** Looks for one member among those of an object. @param alike members that some servers take for it. */
function oneOf(alike: RegExp, exact: string) {
  let range: readonly [start: number, end: number] | undefined;
  let isDoubtful = false;

  return {
    take(name: string, start: number, end: number): void {
      if (!alike.test(name)) return;
      isDoubtful ||= range !== undefined || name !== exact;
      range = [start, end];
    },
    isThere: () => range !== undefined,
    isDoubtful: () => isDoubtful,
    at: () => range?.[0],
    /** Null: it is no text, or servers may read it in two ways. */
    text(all: string): string | null {
      if (!range || isDoubtful || all[range[0]] !== '"') return null;
      const text = JSON.parse(all.slice(...range)) as string;
      return TRIMMED.test(text) ? null : text;
    },
  };
}

const [MOST_SHOWN, LONGEST_SHOWN] = [5, 60];

/** For operators: `tools/call search` or `ping ×2`, at most 5 of them. `?` stands for what cannot be read. */
export function describeCalls({ calls }: RpcCalls): string[] {
  return calls.slice(0, MOST_SHOWN).map(({ call: { rpc, tool }, times }) => {
    const name = [rpc ?? "?", ...(rpc === null || tool === undefined ? [] : [tool ?? "?"])].join(" ");
    return `${name.slice(0, LONGEST_SHOWN)}${times > 1 ? ` ×${times}` : ""}`;
  });
}

interface Member {
  readonly name: string;
  /** Where its value begins. */
  readonly start: number;
  readonly end: number;
}

/** The functions below read text that is known to be JSON. @param at where the object begins. */
function* membersOf(text: string, at: number): Generator<Member> {
  for (let next = behindSpace(text, at + 1); text[next] !== "}"; ) {
    const nameEnd = endOfString(text, next);
    const name = JSON.parse(text.slice(next, nameEnd)) as string;
    const start = behindSpace(text, behindSpace(text, nameEnd) + 1);
    const end = endOfValue(text, start);
    yield { name, start, end };
    next = behindComma(text, end);
  }
}

/** Where each item of a list begins. */
function* itemsOf(text: string, at: number): Generator<number> {
  for (let next = behindSpace(text, at + 1); text[next] !== "]"; ) {
    yield next;
    next = behindComma(text, endOfValue(text, next));
  }
}

function endOfValue(text: string, at: number): number {
  let depth = 0;
  for (let next = at; ; ) {
    const c = text[next];
    if (c === '"') next = endOfString(text, next);
    else next++;
    if (c === "{" || c === "[") depth++;
    if (c === "}" || c === "]") depth--;
    if (depth <= 0 && endsHere(text[next])) return next;
  }
}

/** Whether a value outside of lists and objects has ended. @param behind the character that follows. */
function endsHere(behind: string | undefined): boolean {
  return behind === undefined || behind <= " " || behind === "," || behind === "}" || behind === "]";
}

function endOfString(text: string, at: number): number {
  let end = at;
  let backslashes: number;
  do {
    end = text.indexOf('"', end + 1);
    backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes++;
  } while (backslashes % 2 === 1);
  return end + 1;
}

function behindComma(text: string, at: number): number {
  const next = behindSpace(text, at);
  return text[next] === "," ? behindSpace(text, next + 1) : next;
}

function behindSpace(text: string, at: number): number {
  let next = at;
  while (text.charCodeAt(next) <= 0x20) next++;
  return next;
}
