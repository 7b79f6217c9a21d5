// An MCP server of the official SDK behind the gateway: what its official client sees. test/features/rpc has what each
// body costs.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

interface Served {
  readonly url: string;
  /** The tools that were called. */
  readonly called: string[];
}

/** A server with sessions, whose tools answer with what they are called. Searches are told on the client's stream. */
async function startServer(): Promise<Served> {
  const called: string[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const { url } = await startOrigin(async (request, response) => {
    let transport = sessions.get(String(request.headers["mcp-session-id"]));
    if (!transport) {
      const server = new McpServer({ name: "notes", version: "1.0.0" }, { capabilities: { logging: {} } });
      for (const name of ["search", "echo", "delete_note"]) {
        server.registerTool(name, {}, async () => {
          called.push(name);
          if (name === "search") await server.sendLoggingMessage({ level: "info", data: name });
          return { content: [{ type: "text", text: name }] };
        });
      }
      const added = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, added),
      });
      await server.connect(added as never);
      transport = added;
    }
    await transport.handleRequest(request, response);
  });
  return { url, called };
}

interface Seen {
  readonly client: Client;
  /** The answers to requests of the method GET. */
  readonly streams: Response[];
  readonly said: unknown[];
  readonly errors: Error[];
}

/** @param status of the answer to the GET that opens the stream. */
async function connect(gateway: Gateway, status = 200): Promise<Seen> {
  const seen: Seen = {
    client: new Client({ name: "test", version: "1.0.0" }),
    streams: [],
    said: [],
    errors: [],
  };
  const { client, streams, said, errors } = seen;
  client.onerror = (error) => errors.push(error);
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void said.push(params.data));
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", gateway.url), {
    requestInit: { headers: { "CF-Connecting-IP": "192.0.2.1" } },
    async fetch(url, init) {
      const answer = await fetch(url, init);
      if (init?.method === "GET") streams.push(answer);
      return answer;
    },
  });
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  await vi.waitFor(() => expect(streams.map(({ status }) => status)).toEqual([status]), { timeout: 20_000 });
  return seen;
}

// It waits in real time, 5 s at most: the client is told the wait, and the clock is the Redis server's.
it("refuses one tool: the client rejects with 429 and the wait, succeeds after it, and its stream is not cut", async () => {
  const { url, called } = await startServer();
  const limits = [{ algorithm: "sliding-log", limit: 1, window: "5s" }];
  const policies = [{ name: uniqueName("tool"), key: "ip", match: { path: "/mcp", tool: "delete*" }, limits }];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: url } });
  const { client, streams, said, errors } = await connect(gateway);
  const deleteNote = () => client.callTool({ name: "delete_note" });
  // On a slow machine the second call may come when the first is over.
  let refused: unknown;
  while (!refused)
    refused = await deleteNote().then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(refused).toBeInstanceOf(StreamableHTTPError);
  const { code, message } = refused as StreamableHTTPError;
  const body = JSON.parse(message.slice(message.indexOf("{"))) as { error: { data: { retryAfter: number } } };
  const { retryAfter } = body.error.data;
  expect([code, message]).toEqual([429, expect.stringContaining(`Try again in ${retryAfter} second`)]);
  // The session goes on, and so does every other tool.
  expect((await client.callTool({ name: "search" })).content).toEqual([{ type: "text", text: "search" }]);
  // In real time: the wait that was told is by the clock of the Redis server, which is no argument here.
  await sleep(retryAfter * 1_000);
  const before = called.length;
  await deleteNote();
  expect(called.slice(before)).toEqual(["delete_note"]);
  await client.callTool({ name: "search" });
  await vi.waitFor(() => expect(said).toEqual(["search", "search"]), { timeout: 20_000 });
  expect([streams.length, errors]).toEqual([1, [refused]]);
}, 120_000);

it("a client without a stream goes on, and a refused notification rejects", async () => {
  const { url } = await startServer();
  const limits = [{ algorithm: "fixed-window", limit: 1, window: "31d" }];
  const policies = [
    { name: uniqueName("g"), key: "global", match: { path: "/mcp", method: "GET" }, limits },
    { name: uniqueName("n"), key: "global", match: { path: "/mcp", rpc: "notifications/cancelled" }, limits },
  ];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: url } });
  await (await gateway.fetch("/mcp")).arrayBuffer();
  const { client, errors } = await connect(gateway, 429);
  const failed = { code: 429, message: expect.stringContaining("Failed to open SSE stream: Too Many Requests") };
  await vi.waitFor(() => expect(errors[0]).toMatchObject(failed));
  expect((await client.callTool({ name: "echo" })).content).toEqual([{ type: "text", text: "echo" }]);
  const cancel = () => client.notification({ method: "notifications/cancelled", params: { requestId: 999 } });
  await cancel();
  await expect(cancel()).rejects.toMatchObject({ code: 429, message: expect.stringContaining('"id":null') });
}, 60_000);
