// The gateway as the console sees it: the real one in this process, over memory, behind a Node server. Metrics and
// explanations are made up here. Sessions, policies, counts of clients, overrides and the live document are the
// gateway's own.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { LiveAnswer, StatsAnswer } from "../../console/src/api.ts";
import { createGateway } from "../../src/gateway.ts";
import { EXPLAINED } from "./explained.ts";
import { POLICIES } from "./policies.ts";
import { noStats, statsOf } from "./traffic.ts";

export const TOKEN = "a-token-of-32-characters-at-least";

const ADMIN = "/.headgate/admin";
const DIST = new URL("../../console/dist/", import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

export interface FakeOptions {
  /** `idle`: nothing for an hour. `none`: nothing was counted yet. `off`: no `STATS` is bound. */
  readonly stats?: "busy" | "idle" | "none" | "off";
  /** False: `LIVE_REFRESH` is 0. */
  readonly live?: boolean;
  /** Default: those that the console has to show. */
  readonly policies?: readonly object[];
}

export interface FakeGateway {
  readonly url: string;
  /** Method and path of every call of the admin API. */
  readonly calls: string[];
  /** Answers the next call of the admin API in the gateway's place. */
  next: Response | undefined;
  /** What another admin does between a look and the next change. */
  meanwhile: (() => Promise<unknown>) | undefined;
  /** Changes what the next questions for counts get. */
  change: ((stats: StatsAnswer) => StatsAnswer) | undefined;
  /** Changes the answer of GET /live, as somebody does who writes into the store by hand. */
  changeLive: ((document: LiveAnswer) => object) | undefined;
  /** A request of a client, through the limits. @returns its status. */
  send(path: string, address: string, init?: RequestInit): Promise<number>;
  stop(): Promise<void>;
}

export async function startFakeGateway(options: FakeOptions = {}): Promise<FakeGateway> {
  const { stats = "busy", live = true, policies = POLICIES } = options;
  const startedAtMs = Date.now();
  const gateway = createGateway({
    POLICIES: policies,
    ADMIN_TOKEN: TOKEN,
    KEY_SECRET: "a-secret-of-the-fake-gateway",
    REGION: "eu",
    LIVE_REFRESH: live ? "1s" : "0s",
    ASSETS: { fetch: async (request: Request) => asset(new URL(request.url).pathname) },
  });
  const context = { waitUntil: (work: Promise<unknown>) => void work.catch(() => {}), passThroughOnException() {} };

  const ask = (path: string, init?: RequestInit) =>
    Promise.resolve(gateway.fetch(new Request(`${url}${path}`, init), {}, context as never));

  async function hashOf(policy: string, address: string): Promise<string> {
    const headers = { Authorization: `Bearer ${TOKEN}`, "Headgate-Key": address };
    const answer = await ask(`${ADMIN}/counts/${policy}?kind=ip`, { headers });
    return ((await answer.json()) as { key: string }).key;
  }

  async function answer(request: IncomingMessage): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url!, url);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    if (pathname.includes(ADMIN)) {
      fake.calls.push(`${request.method} ${request.url!.replace(ADMIN, "")}`);
      const { next, meanwhile } = fake;
      fake.next = undefined;
      if (next) return next;
      if (meanwhile && request.method !== "GET") {
        fake.meanwhile = undefined;
        await meanwhile();
      }
    }
    const passed = await ask(request.url!, {
      method: request.method!,
      headers,
      ...(request.method !== "GET" && request.method !== "HEAD" && { body: await buffer(request) }),
    });
    const own = pathname.slice(ADMIN.length);
    if (own === "/live" && request.method === "GET" && fake.changeLive) {
      const changed = fake.changeLive((await passed.json()) as LiveAnswer);
      return Response.json(changed, { headers: { ETag: passed.headers.get("ETag")! } });
    }
    // The gate has let it in: the gateway has neither metrics nor tokens of refusals.
    if (!["/stats", "/explain"].includes(own) || passed.status !== 404) return passed;
    if (own === "/explain") {
      const explained = EXPLAINED[searchParams.get("token") ?? ""];
      return explained
        ? Response.json(explained)
        : problem(400, "The token is altered, of another gateway, or older than 10 minutes.");
    }
    if (stats === "off") return problem(404, "This gateway keeps no counts: STATS is not bound.");
    const found = stats !== "busy" ? noStats() : statsOf(Number(searchParams.get("minutes")), { startedAtMs, limited });
    const heard = stats === "idle" ? { heard: new Date(startedAtMs - 3_600_000).toISOString() } : {};
    return Response.json(fake.change?.(found) ?? { ...found, ...heard });
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (found) => write(response, found),
      (error: unknown) => write(response, problem(500, String(error))),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const limited: Record<string, string[]> = {};
  for (const policy of options.policies ? [] : ["login", "api"]) {
    const addresses = ["203.0.113.7", "198.51.100.23", "198.51.100.9", "192.0.2.44", "203.0.113.99"];
    limited[policy] = await Promise.all(addresses.slice(policy === "api" ? 2 : 0).map((one) => hashOf(policy, one)));
  }

  const fake: FakeGateway = {
    url,
    calls: [],
    next: undefined,
    meanwhile: undefined,
    change: undefined,
    changeLive: undefined,
    async send(path, address, init = {}) {
      const headers = { ...(init.headers as object), "CF-Connecting-IP": address };
      return (await ask(path, { ...init, headers })).status;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

/** A file of the console, as the binding to static files serves it. */
function asset(pathname: string): Response {
  const [, name = "", ending = ""] = /^\/([a-z]+\.([a-z]+))$/.exec(pathname) ?? [];
  if (TYPES[ending] === undefined) return new Response(null, { status: 404 });
  return new Response(readFileSync(new URL(name, DIST)), { headers: { "Content-Type": TYPES[ending] } });
}

function problem(status: number, detail: string): Response {
  const headers = { "Content-Type": "application/problem+json" };
  return Response.json({ type: "about:blank", title: "Refused", status, detail }, { status, headers });
}

async function write(response: ServerResponse, found: Response): Promise<void> {
  response.writeHead(found.status, [...found.headers].flat());
  response.end(Buffer.from(await found.arrayBuffer()));
}
