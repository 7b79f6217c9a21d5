// Any request under any configuration gets an HTTP answer whose structured fields parse strictly. Nothing throws.

import { createExecutionContext } from "cloudflare:test";
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import { draws } from "../support/cases/draws.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { bindings, hostileHeaders, hostilePath } from "../support/gateway/hostile.ts";

const line = fc.record({
  method: fc.constantFrom("GET", "HEAD", "POST", "OPTIONS", "DELETE", "PROPFIND"),
  path: hostilePath,
  headers: hostileHeaders,
});

/** These policies use every part of a request that a client chooses as a key. */
const POLICIES = [
  { name: "all", key: ["bearer", "cookie:sid", "header:x-user+ip", "query:u"], limits: [{ limit: 40, window: "1h" }] },
  { name: "address", key: ["ip"], limits: [{ limit: 400, window: "1h" }] },
  {
    name: "host",
    key: ["host"],
    match: { path: ["/login", "/:any", "/:any/*"] },
    limits: [{ limit: 600, window: "1d", buckets: 24 }],
  },
  {
    name: "methods",
    match: { method: "POST" },
    cost: [{ path: "/login", cost: 30 }],
    limits: [{ limit: 30, window: "90s" }],
  },
];

let logged: ReturnType<typeof vi.spyOn>[];
beforeEach(() => {
  logged = (["log", "warn", "error"] as const).map((level) => vi.spyOn(console, level).mockImplementation(() => {}));
});

type Line = { readonly method: string; readonly path: string; readonly headers: Record<string, string> };

function requestOf({ method, path, headers }: Line): Request {
  const body = method === "POST" ? "body" : undefined;
  return new Request(`https://gate.example${path}`, { method, headers, ...(body && { body }) });
}

async function ask(gateway: ReturnType<typeof createGateway>, drawn: Line): Promise<number> {
  const answer = await gateway.fetch(requestOf(drawn), {}, createExecutionContext());
  expect(answer.status).toBeGreaterThanOrEqual(200);
  fieldsOf(answer);
  const broken = [...answer.headers].filter(([name, value]) => !/^[a-z-]+$/.test(name) || /[\0\r\n]/.test(value));
  expect(broken).toEqual([]);
  const text = await answer.text();
  if (drawn.method === "HEAD") expect(text).toBe("");
  if (answer.status >= 400) {
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answer.headers.get("Content-Type")).toMatch(/^(application\/(problem\+)?json|text\/html; charset=utf-8)$/);
    if (text !== "" && !text.startsWith("<!doctype html>")) expect(JSON.parse(text)).toBeTypeOf("object");
  }
  return answer.status;
}

it("of any method, path and headers", async () => {
  const gateway = createGateway({ POLICIES });
  const statuses = new Set<number>();
  const property = fc.asyncProperty(line, async (drawn) => {
    statuses.add(await ask(gateway, drawn));
  });
  await fc.assert(property, draws(1_500));
  expect([...statuses]).toEqual(expect.arrayContaining([200, 429]));
  expect(Math.max(...statuses)).toBeLessThan(500);
  // The log has refusals and anonymous requests, but no error.
  expect(logged.map(({ mock }) => mock.calls.length > 0)).toEqual([true, true, false]);
});

it("under any configuration, right or wrong", async () => {
  const statuses = new Set<number>();
  const property = fc.asyncProperty(bindings, fc.array(line, { minLength: 1, maxLength: 3 }), async (drawn, lines) => {
    const gateway = createGateway(drawn as Bindings);
    for (const one of lines) statuses.add(await ask(gateway, one));
    expect([200, 503]).toContain(await ask(gateway, { method: "GET", path: "/.headgate/health", headers: {} }));
  });
  await fc.assert(property, draws(500));
  expect([...statuses]).toEqual(expect.arrayContaining([200, 500]));
});
