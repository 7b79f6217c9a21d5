// Bodies of JSON-RPC requests, honest and hostile, and what they cost. Runs in Node and in workerd.

import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";

const limits = [{ limit: 100_000, window: "1h" }] as const;

/** Three policies on one path: a price for each call, a count of the tools that delete, and one of all but pings. */
export const RPC_POLICIES: readonly PolicyInput[] = [
  {
    name: "calls",
    key: "global",
    match: { path: "/mcp" },
    cost: [
      { tool: "search", cost: 10 },
      { tool: ["delete*", "*_drop"], cost: 25 },
      { rpc: "resources/*", cost: 3 },
      { rpc: "notifications/*", cost: 0 },
    ],
    limits,
  },
  { name: "deletes", key: "global", match: { path: "/mcp", tool: "delete*" }, limits },
  { name: "others", key: "global", match: { path: "/mcp" }, except: { rpc: "ping" }, limits },
];

export interface RpcCase {
  readonly what: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Units under `calls`, `deletes` and `others`. Undefined: the policy does not match. */
  readonly costs: readonly [calls: number, deletes: number | undefined, others: number | undefined];
  /** A parser in front has made something else of it: the costs then. */
  readonly parsed?: RpcCase["costs"];
}

const SEARCH: RpcCase["costs"] = [10, undefined, 1];
const DELETE: RpcCase["costs"] = [25, 1, 1];
const PLAIN: RpcCase["costs"] = [1, undefined, 1];
const PING: RpcCase["costs"] = [1, undefined, undefined];
/** Any call: the highest cost, and no exception. */
const UNREAD: RpcCase["costs"] = [25, 1, 1];

const call = (tool: string, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool, arguments: { name: "search" } } });
const encode = (text: string) => new TextEncoder().encode(text);

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const utf16 = (text: string) => new Uint8Array(Uint16Array.from(text, (c) => c.charCodeAt(0)).buffer);

const utf7 = call("+AGQ-elete_user");
const ping = '{"id":1,"method":"ping"}';
const notUtf8 = new Uint8Array([...encode('{"method":"tools/call","params":{"name":"del'), 0xff, ...encode('ete"}}')]);
const deep = `{"_":${"[".repeat(1e5)}${"]".repeat(1e5)},"method":"tools/call","params":{"name":"delete"}}`;
/** A call with these params as text. */
const withParams = (params: string) => `{"method":"tools/call","params":${params}}`;
const batch = [
  call("search"),
  call("delete_a", 2),
  '{"id":3,"method":"ping"}',
  '{"id":9,"result":{}}',
  call("search", 4),
];

const typed = (type: string) => ({ headers: { "Content-Type": type } });
const json = (charset: string) => typed(`application/json; charset=${charset}`);
const TEXT = typed("text/plain");

type Row = readonly [
  what: string,
  body: RpcCase["body"],
  costs: RpcCase["costs"],
  more?: Pick<RpcCase, "headers" | "parsed">,
];
const ROWS: readonly Row[] = [
  ["a tool", call("search"), SEARCH],
  ["a tool that deletes", call("delete_user"), DELETE],
  ["a pattern with its star in front", call("table_drop"), [25, undefined, 1]],
  ["a tool without a price", call("echo"), PLAIN],
  ["a method", '{"jsonrpc":"2.0","id":1,"method":"resources/read"}', [3, undefined, 1]],
  ["a method that is left out", ping, PING],
  ["a notification", '{"method":"notifications/initialized"}', [0, undefined, 1]],
  ["a response", '{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}', PLAIN],
  ["a batch", `[${batch}]`, [46, 1, 3]],
  ["a batch of what is left out", '[{"id":3,"method":"ping"}]', PING],
  ["an empty batch", "[]", PLAIN],

  ["an escaped name", call("delete_user").replace('"delete', String.raw`"\u0064elete`), DELETE],
  ["an escaped slash", call("delete_user").replace("tools/call", String.raw`tools\/call`), DELETE],
  ["case", call("DELETE_user"), DELETE],
  ["params first", '{"params":{"name":"delete"},"method":"tools/call","id":1}', DELETE],
  ["a name inside, before", withParams('{"_":{"name":"search"},"name":"delete"}'), DELETE],
  ["a name in a text", withParams(String.raw`{"_":"\\\",\"name\":\"search\",\"","name":"delete"}`), DELETE],
  ["a byte order mark", `\ufeff${call("delete_user")}`, DELETE],
  ["the method twice", withParams('{"name":"delete"}').replace("{", '{"method":"ping",'), UNREAD, { parsed: DELETE }],
  ["the name twice", withParams('{"name":"echo","name":"search"}'), UNREAD, { parsed: SEARCH }],
  ["the params twice", withParams('{"name":"delete"},"params":{"name":"echo"}'), UNREAD, { parsed: PLAIN }],
  ["a second name in another case, as Go reads it", withParams('{"name":"echo","Name":"delete"}'), UNREAD],
  ["a method that is a number", '{"method":1,"id":1}', UNREAD],
  ["a name that is a list", withParams('{"name":["delete"]}'), UNREAD],
  ["params by position", withParams('["delete"]'), UNREAD],
  ["UTF-7, in which servers read delete", utf7, UNREAD, { ...json("utf-7"), parsed: DELETE }],
  ["UTF-7 in front of UTF-8", utf7, UNREAD, { ...json("utf-7; charset=utf-8"), parsed: DELETE }],
  ["UTF-8 that is named", call("search"), SEARCH, json('"UTF-8"')],
  ["UTF-16", utf16(call("delete_user")), UNREAD, { ...json("utf-16le"), parsed: DELETE }],
  ["bytes that are no UTF-8", notUtf8, UNREAD, { parsed: PLAIN }],
  ["nesting of 100,000 lists", deep, UNREAD, { parsed: DELETE }],
  ["no JSON", "{'method':'ping'}", UNREAD, TEXT],
  ["JSON under another type", call("search"), SEARCH, TEXT],
  ["a comment", `/**/${call("echo")}`, UNREAD, TEXT],
  ["two messages", `${call("echo")}\n${call("delete")}`, UNREAD, TEXT],
  ["a form", "method=tools/call&params[name]=delete", UNREAD, typed("application/x-www-form-urlencoded")],
  ["longer than 1 MiB", ping.padEnd(1_048_577), UNREAD, { parsed: PING }],
  ["of 1 MiB", ping.padEnd(1_048_576), PING],
];

/** The bodies, also those that take time to make. */
export async function rpcCases(): Promise<readonly RpcCase[]> {
  const zip = { "Content-Encoding": "gzip" };
  const zipped: readonly Row[] = [
    ["compressed", await gzip(call("echo")), UNREAD, { headers: zip, parsed: PLAIN }],
    ["pretended to be compressed", call("echo"), UNREAD, { headers: { ...zip, ...TEXT.headers } }],
  ];
  return [...ROWS, ...zipped].map(([what, body, costs, more]) => ({ what, body, costs, ...more }));
}

/** The costs by what is left before and after. */
export function costsOf(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): readonly (number | undefined)[] {
  return ["calls", "deletes", "others"].map((name) => {
    const now = after[name];
    return now === undefined ? undefined : (before[name] ?? 100_000) - now;
  });
}
