// An MCP server of revision 2026-07-28 behind the gateway: what the official clients send and see, that of TypeScript
// (`@modelcontextprotocol/client` 2) and that of Python (`mcp` 2: `pip install mcp`, MCP_PYTHON names its interpreter).
// test/features/rpc/headers.test.ts has how the headers are read.

import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { Client, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { type OriginServer, startOrigin } from "../support/gateway/origin-server.ts";

const VERSION = "2026-07-28";
const TOOLS = ["search", "delete_note", "größe"];
const MIB = 1_048_576;

/** @returns the origin, and the tools that were called. */
async function startServer(): Promise<OriginServer & { readonly called: string[] }> {
  const called: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "notes", version: "1.0.0" });
    for (const name of TOOLS) {
      server.registerTool(name, {}, () => {
        called.push(name);
        return { content: [{ type: "text", text: name }] };
      });
    }
    return server;
  });
  const origin = await startOrigin(getRequestListener((request) => handler.fetch(request)));
  return { ...origin, called };
}

/** Searches cost nothing, and 2 other calls are admitted. */
function policiesOf(more: object = {}) {
  const name = uniqueName("tools");
  const limits = [{ algorithm: "fixed-window", limit: 2, window: "31d" }];
  return [
    { name, key: "global", match: { path: "/mcp", rpc: "tools/call" }, except: { tool: "search" }, limits, ...more },
  ];
}

const leftOf = (answer: Response) => /;r=(\d+)/.exec(answer.headers.get("RateLimit") ?? "")?.[1];

interface Sent {
  readonly tool: string;
  /** What the header says. */
  readonly named?: string;
  /** Bytes of padding behind the message. */
  readonly padding?: number;
}

/** A call as by an official client, but for its header. */
async function call(gateway: Gateway, { tool, named = tool, padding = 0 }: Sent): Promise<Response> {
  const key = (name: string) => `io.modelcontextprotocol/${name}`;
  const _meta = { [key("protocolVersion")]: VERSION, [key("clientCapabilities")]: {} };
  const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: tool, arguments: {}, _meta } };
  const headers = {
    ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    ...{ "MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": named },
  };
  const body = JSON.stringify(message) + " ".repeat(padding);
  return await gateway.fetch("/mcp", { method: "POST", headers, body });
}

async function connect(gateway: Gateway): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode: { pin: VERSION } } });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", gateway.url)));
  onTestFinished(() => client.close());
  return client;
}

it("the client of TypeScript names its calls, and is refused with its id and the wait", async () => {
  const { url, called, requests } = await startServer();
  const gateway = await startGateway({ policies: policiesOf(), vars: { ORIGIN_URL: url } });
  const client = await connect(gateway);
  for (const name of ["search", "delete_note", "größe"]) {
    expect((await client.callTool({ name })).content).toEqual([{ type: "text", text: name }]);
  }
  const names = requests.flatMap(({ headers }) => headers["mcp-name"] ?? []);
  expect(names).toEqual(["search", "delete_note", `=?base64?${Buffer.from("größe").toString("base64")}?=`]);
  const refused: unknown = await client.callTool({ name: "delete_note" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SdkHttpError);
  const { status, data } = refused as SdkHttpError;
  const { id, error } = JSON.parse(String(data.text)) as { id: unknown; error: object };
  expect([status, id, error]).toEqual([429, expect.any(Number), expect.objectContaining({ code: 429 })]);
  await client.callTool({ name: "search" });
  expect(called).toEqual(["search", "delete_note", "größe", "search"]);
}, 60_000);

it("the body decides: a header that says something else passes, and the server refuses it", async () => {
  const { url, called } = await startServer();
  const gateway = await startGateway({
    policies: policiesOf({ originChecksMcpHeaders: true }),
    vars: { ORIGIN_URL: url },
  });
  const answer = await call(gateway, { tool: "delete_note", named: "search" });
  expect([answer.status, leftOf(answer), await answer.json()]).toMatchObject([400, "1", { error: { code: -32_020 } }]);
  expect(called).toEqual([]);
}, 60_000);

it.each([true, false])(
  "beyond 1 MiB the header decides only if the origin checks it: %s",
  async (isTrusted) => {
    const { url, called } = await startServer();
    const gateway = await startGateway({
      policies: policiesOf({ originChecksMcpHeaders: isTrusted }),
      vars: { ORIGIN_URL: url },
    });
    const long = { padding: MIB };
    const search = await call(gateway, { tool: "search", ...long });
    expect([search.status, leftOf(search)]).toEqual([200, isTrusted ? undefined : "1"]);
    // Whoever lies is found out by the server.
    const lie = await call(gateway, { tool: "delete_note", named: "search", ...long });
    expect([lie.status, leftOf(lie)]).toEqual([400, isTrusted ? undefined : "0"]);
    expect(called).toEqual(["search"]);
    for (let i = 0; isTrusted && i < 2; i++) await call(gateway, { tool: "delete_note", ...long });
    const refused = await call(gateway, { tool: "delete_note", ...long });
    expect([refused.status, await refused.json()]).toMatchObject([429, { id: null, error: { code: 429 } }]);
  },
  60_000,
);

/** It calls the tools of its arguments, and prints what each answers or raises. */
const PYTHON_CLIENT = `
import asyncio, json, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1], mode="${VERSION}") as client:
        for tool in sys.argv[2:]:
            try:
                answer = await client.call_tool(tool)
                print(json.dumps(["answer", answer.content[0].text]))
            except Exception as error:
                print(json.dumps([type(error).__name__, getattr(error, "code", None), str(error), getattr(error, "data", None)]))

asyncio.run(main())
`;

/** A Python with the package \`mcp\` 2: npm has none, so that it may be missing. */
const PYTHON = process.env.MCP_PYTHON ?? "python3";
const hasPython = spawnSync(PYTHON, ["-c", "import mcp_types; from mcp import Client"]).status === 0;

it.runIf(hasPython)(
  "the client of Python does the same (skipped without a Python that has mcp 2)",
  async () => {
    const { url, called, requests } = await startServer();
    const gateway = await startGateway({ policies: policiesOf(), vars: { ORIGIN_URL: url } });
    const args = ["-c", PYTHON_CLIENT, `${gateway.url}/mcp`, "search", "delete_note", "größe", "delete_note", "search"];
    const { stdout } = await promisify(execFile)(PYTHON, args);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown[]);
    console.log(lines);
    const names = requests.flatMap(({ headers }) => headers["mcp-name"] ?? []);
    expect(names).toEqual(["search", "delete_note", `=?base64?${Buffer.from("größe").toString("base64")}?=`, "search"]);
    expect(called).toEqual(["search", "delete_note", "größe", "search"]);
  },
  60_000,
);
