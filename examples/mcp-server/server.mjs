import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { createLimiter, rpc, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/express";
import { z } from "zod";

const limiter = createLimiter({
  store: storeFromEnv(process.env),
  features: [rpc()],
  policies: [
    {
      name: "calls",
      match: { path: "/mcp", rpc: "tools/call" },
      cost: [{ tool: "search", cost: 10 }],
      limits: [{ limit: 100, window: "1m" }],
    },
    {
      name: "deletes",
      match: { path: "/mcp", tool: "delete*" },
      limits: [{ algorithm: "sliding-log", limit: 2, window: "10s" }],
    },
  ],
});

/** One for each session. */
function createServer() {
  const server = new McpServer({ name: "notes", version: "1.0.0" }, { capabilities: { logging: {} } });
  const text = (/** @type {string} */ said) => ({ content: [{ type: /** @type {const} */ ("text"), text: said }] });
  server.registerTool("search", { inputSchema: { query: z.string() } }, async ({ query }) => {
    // It reaches the client by the stream that the client has opened with GET.
    await server.sendLoggingMessage({ level: "info", data: `somebody looks for ${query}` });
    return text(`nothing about ${query}`);
  });
  server.registerTool("delete_note", { inputSchema: { id: z.number() } }, ({ id }) => text(`note ${id} is gone`));
  return server;
}

/** @type {Map<string, StreamableHTTPServerTransport>} */
const sessions = new Map();

const app = express();
// The parser in front: the limiter looks at what it has made of the body.
app.use(express.json({ limit: "1mb", inflate: false }));
app.use(rateLimit(limiter, { clientIp: "socket", body: (request) => request.body }));
app.all("/mcp", async (request, response) => {
  const id = request.headers["mcp-session-id"];
  let transport = sessions.get(String(id));
  if (id !== undefined && !transport) {
    response.status(404).end();
    return;
  }
  if (!transport) {
    const added = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, added),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await createServer().connect(added);
    transport = added;
  }
  await transport.handleRequest(request, response, request.body);
});
app.listen(Number(process.env.PORT ?? 8787), () => console.log("listening"));
