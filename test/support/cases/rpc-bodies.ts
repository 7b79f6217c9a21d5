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

const CASES: readonly RpcCase[] = [
  { what: "a tool", body: call("search"), costs: SEARCH },
  { what: "a tool that deletes", body: call("delete_user"), costs: DELETE },
  { what: "a pattern with its star in front", body: call("table_drop"), costs: [25, undefined, 1] },
  { what: "a tool without a price", body: call("echo"), costs: PLAIN },
  { what: "a method", body: '{"jsonrpc":"2.0","id":1,"method":"resources/read"}', costs: [3, undefined, 1] },
  { what: "a method that is left out", body: '{"id":1,"method":"ping"}', costs: [1, undefined, undefined] },
  { what: "a notification", body: '{"method":"notifications/initialized"}', costs: [0, undefined, 1] },
  { what: "a response", body: '{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}', costs: PLAIN },
  {
    what: "a batch",
    body: `[${call("search")},${call("delete_a", 2)},{"id":3,"method":"ping"},{"id":9,"result":{}},${call("search", 4)}]`,
    costs: [46, 1, 3],
  },
  { what: "a batch of what is left out", body: '[{"id":3,"method":"ping"}]', costs: [1, undefined, undefined] },
  { what: "an empty batch", body: "[]", costs: PLAIN },

  { what: "an escaped name", body: call("delete_user").replace('"delete', String.raw`"\u0064elete`), costs: DELETE },
  { what: "an escaped slash", body: call("delete_user").replace("tools/call", String.raw`tools\/call`), costs: DELETE },
  { what: "case", body: call("DELETE_user"), costs: DELETE },
  { what: "params first", body: '{"params":{"name":"delete"},"method":"tools/call","id":1}', costs: DELETE },
  {
    what: "a name inside, before",
    body: '{"method":"tools/call","params":{"_":{"name":"search"},"name":"delete"}}',
    costs: DELETE,
  },
  {
    what: "a name in a text",
    body: String.raw`{"method":"tools/call","params":{"_":"\\\",\"name\":\"search\",\"","name":"delete"}}`,
    costs: DELETE,
  },
  { what: "a byte order mark", body: `\ufeff${call("delete_user")}`, costs: DELETE },
  {
    what: "the method twice",
    body: '{"method":"ping","method":"tools/call","params":{"name":"delete"}}',
    costs: UNREAD,
    parsed: DELETE,
  },
  {
    what: "the name twice",
    body: '{"method":"tools/call","params":{"name":"echo","name":"search"}}',
    costs: UNREAD,
    parsed: SEARCH,
  },
  {
    what: "the params twice",
    body: '{"method":"tools/call","params":{"name":"delete"},"params":{"name":"echo"}}',
    costs: UNREAD,
    parsed: PLAIN,
  },
  {
    what: "a second name in another case, as Go reads it",
    body: '{"method":"tools/call","params":{"name":"echo","Name":"delete"}}',
    costs: UNREAD,
  },
  { what: "a method that is a number", body: '{"method":1,"id":1}', costs: UNREAD },
  { what: "a name that is a list", body: '{"method":"tools/call","params":{"name":["delete"]}}', costs: UNREAD },
  { what: "params by position", body: '{"method":"tools/call","params":["delete"]}', costs: UNREAD },
  {
    what: "UTF-7, in which servers read delete",
    body: call("+AGQ-elete_user"),
    headers: { "Content-Type": "application/json; charset=utf-7" },
    costs: UNREAD,
    parsed: DELETE,
  },
  {
    what: "UTF-7 in front of UTF-8",
    body: call("+AGQ-elete_user"),
    headers: { "Content-Type": "application/json; charset=utf-7; charset=utf-8" },
    costs: UNREAD,
    parsed: DELETE,
  },
  {
    what: "UTF-8 that is named",
    body: call("search"),
    headers: { "Content-Type": 'application/json; charset="UTF-8"' },
    costs: SEARCH,
  },
  {
    what: "UTF-16",
    body: utf16(call("delete_user")),
    headers: { "Content-Type": "application/json; charset=utf-16le" },
    costs: UNREAD,
    parsed: DELETE,
  },
  {
    what: "bytes that are no UTF-8",
    body: new Uint8Array([...encode('{"method":"tools/call","params":{"name":"del'), 0xff, ...encode('ete"}}')]),
    costs: UNREAD,
    parsed: PLAIN,
  },
  {
    what: "nesting of 100,000 lists",
    body: `{"_":${"[".repeat(1e5)}${"]".repeat(1e5)},"method":"tools/call","params":{"name":"delete"}}`,
    costs: UNREAD,
    parsed: DELETE,
  },
  { what: "no JSON", body: "{'method':'ping'}", costs: UNREAD, headers: { "Content-Type": "text/plain" } },
  { what: "JSON under another type", body: call("search"), costs: SEARCH, headers: { "Content-Type": "text/plain" } },
  { what: "a comment", body: `/**/${call("echo")}`, costs: UNREAD, headers: { "Content-Type": "text/plain" } },
  {
    what: "two messages",
    body: `${call("echo")}\n${call("delete")}`,
    costs: UNREAD,
    headers: { "Content-Type": "text/plain" },
  },
  {
    what: "a form",
    body: "method=tools/call&params[name]=delete",
    costs: UNREAD,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  },
  {
    what: "longer than 1 MiB",
    body: '{"id":1,"method":"ping"}'.padEnd(1_048_577),
    costs: UNREAD,
    parsed: [1, undefined, undefined],
  },
  {
    what: "of 1 MiB",
    body: '{"id":1,"method":"ping"}'.padEnd(1_048_576),
    costs: [1, undefined, undefined],
  },
];

/** The bodies, also those that take time to make. */
export async function rpcCases(): Promise<readonly RpcCase[]> {
  const zipped: RpcCase = {
    what: "compressed",
    body: await gzip(call("echo")),
    headers: { "Content-Encoding": "gzip" },
    costs: UNREAD,
    parsed: PLAIN,
  };
  const pretended = { "Content-Encoding": "gzip", "Content-Type": "text/plain" };
  return [
    ...CASES,
    zipped,
    { what: "pretended to be compressed", body: call("echo"), headers: pretended, costs: UNREAD },
  ];
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
