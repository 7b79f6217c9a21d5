import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "notes-client", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL ?? "http://127.0.0.1:8787/mcp")));

/**
 * How long a refused call must wait, in seconds. Null: it can never succeed. Undefined: it was not refused.
 *
 * @param {unknown} error what `callTool` has rejected with.
 * @returns {number | null | undefined}
 */
function waitOf(error) {
  if (!(error instanceof StreamableHTTPError) || error.code !== 429) return undefined;
  // The SDK puts the body of the answer into the message.
  return JSON.parse(error.message.slice(error.message.indexOf("{"))).error.data.retryAfter;
}

for (const id of [1, 2, 3]) {
  const call = { name: "delete_note", arguments: { id } };
  try {
    await client.callTool(call);
  } catch (error) {
    const seconds = waitOf(error);
    if (seconds === undefined || seconds === null) throw error;
    console.log(`note ${id}: ${error instanceof Error && error.message}`);
    await client.callTool({ name: "search", arguments: { query: "notes" } });
    console.log(`the tool search still answers; waiting ${seconds} s`);
    await sleep(seconds * 1000);
    await client.callTool(call);
  }
  console.log(`note ${id} is deleted`);
}
await client.close();
