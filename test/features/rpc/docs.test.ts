// docs/mcp.md: its policies refuse with the body that it shows, and its function reads the wait out of the error.

import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { parse } from "smol-toml";
import { expect, it, vi } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { parseSettings } from "../../../src/features/configuration.ts";
import type { PolicyInput } from "../../../src/index.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { blocksOf } from "../../docs/markdown.ts";
import { createLimiter } from "../../support/limiter.ts";

const [toml, json, js, ...others] = blocksOf("docs/mcp.md").map(({ text }) => text);

it("the policies refuse with the body that the page shows, and the page's function reads the wait", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  expect(others).toEqual([]);
  const { vars } = parse(toml!) as unknown as { vars: { POLICIES: PolicyInput[] } };
  expect(parseSettings(vars).mistakes).toBeUndefined();
  const limiter = createLimiter({ policies: vars.POLICIES, store: memoryStore() });
  const clientIp = { header: "x-forwarded-for", hops: 1 };
  const { fetch } = withRateLimit(() => new Response("ok"), limiter, { clientIp });
  const ask = async (tool: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: tool } });
    const headers = { "X-Forwarded-For": "192.0.2.1" };
    const request = new Request("https://gate.example/mcp", { method: "POST", headers, body });
    return (await fetch(request, {}, { waitUntil() {} } as never)) as Response;
  };
  await ask("delete_note");
  vi.setSystemTime(1_800_000_002_000);
  await ask("delete_note");
  const refused = await (await ask("delete_note")).text();
  // A memory store counts in one isolate.
  expect(`${refused}\n`).toBe(json!.replace(" in all regions", ""));
  expect((await ask("search")).headers.get("RateLimit")).toContain('"calls";r=88');

  const source = js!.slice(js!.indexOf("\n\n"));
  const waitOf = new Function("StreamableHTTPError", `${source.replace("export ", "")} return waitOf;`) as (
    type: unknown,
  ) => (error: unknown) => unknown;
  const error = new StreamableHTTPError(429, `Error POSTing to endpoint: ${refused}`);
  expect(error.message).toBe(`Streamable HTTP error: Error POSTing to endpoint: ${refused}`);
  expect(waitOf(StreamableHTTPError)(error)).toBe(8);
  expect(waitOf(StreamableHTTPError)(new StreamableHTTPError(500, "{"))).toBeUndefined();
});
