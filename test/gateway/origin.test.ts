// What the origin sees of a request, and what the client sees of the origin's answer, over each kind of origin.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const policy = (limit: number) => ({ name: uniqueName("origin"), key: ["ip"], limits: [{ limit, window: "1h" }] });

it("hands on method, path, query, header fields and body, and the origin's answer with our fields", async () => {
  const origin = await startOrigin(async (request, response) => {
    response.writeHead(201, { "Content-Type": "text/plain", "X-Origin": "yes", "Set-Cookie": ["a=1", "b=2"] });
    response.end(`got ${await text(request)}`);
  });
  const limited = policy(10);
  const gateway = await startGateway({ policies: [limited], vars: { ORIGIN_URL: `${origin.url}/base/` } });

  const answer = await gateway.fetch("/Some//path;v=1/%2Fx/%6cogin/?a=1&a=%202&b", {
    method: "PUT",
    headers: { "X-Client": "yes", "Content-Type": "text/plain" },
    body: "hello",
  });

  const [request] = origin.requests;
  expect(request?.method).toBe("PUT");
  expect(request?.url).toBe("/base/Some//path;v=1/%2Fx/%6cogin/?a=1&a=%202&b");
  expect(request?.headers).toMatchObject({ host: new URL(origin.url).host, "x-client": "yes" });
  expect(answer.status).toBe(201);
  expect(await answer.text()).toBe("got hello");
  expect(answer.headers.get("X-Origin")).toBe("yes");
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(fieldsOf(answer).states).toMatchObject({ [limited.name]: { r: 9 } });
});

it("tells the origin the host that was matched, whatever the client says of host and path", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const gateway = await startGateway({ policies: [policy(10)], redis: null, vars: { ORIGIN_URL: origin.url } });
  const told = {
    "X-Forwarded-Host": "other.example",
    Forwarded: "host=other.example",
    "X-Original-URL": "/other",
    "X-Rewrite-URL": "/other",
  };
  await gateway.fetch("/", { headers: told });
  const { headers } = origin.requests[0]!;
  expect(headers["x-forwarded-host"]).toBe(gateway.url.host);
  expect(JSON.stringify(headers)).not.toContain("other");
});

it("answers 502 for the status 600, which HTTP does not have, and says so in one line", async () => {
  const origin = await startOrigin((_request, response) => response.writeHead(600).end("body"));
  const limited = policy(10);
  const gateway = await startGateway({ policies: [limited], redis: null, vars: { ORIGIN_URL: origin.url } });
  const answer = await gateway.fetch("/");
  expect([answer.status, fieldsOf(answer).states]).toMatchObject([502, { [limited.name]: { r: 9 } }]);
  const lines = () => gateway.logs.filter((line) => line.includes("origin-error"));
  await expect.poll(lines).toEqual([expect.stringContaining("status 600")]);
});

it("passes a WebSocket on, with the fields on its handshake, and counts the handshake only", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const sockets = new WebSocketServer({ noServer: true });
  origin.server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (peer) => peer.on("message", (data) => peer.send(`echo ${data}`)));
  });
  const limited = policy(2);
  const gateway = await startGateway({ policies: [limited], vars: { ORIGIN_URL: `${origin.url}/ws` } });
  const url = gateway.url.href.replace("http", "ws");
  const client = { headers: { "CF-Connecting-IP": "192.0.2.1" } };

  const socket = new WebSocket(`${url}room?a=1`, client);
  onTestFinished(() => socket.terminate());
  const [[handshake]] = await Promise.all([once(socket, "upgrade"), once(socket, "open")]);
  for (const message of ["one", "two", "three"]) {
    socket.send(message);
    expect(String((await once(socket, "message"))[0])).toBe(`echo ${message}`);
  }

  expect(handshake.statusCode).toBe(101);
  const headers = { get: (name: string): string | null => handshake.headers[name.toLowerCase()] ?? null };
  expect(fieldsOf({ headers }).states).toMatchObject({ [limited.name]: { r: 1 } });
  expect((await gateway.fetch("/")).status).toBe(200);
  const refused = new WebSocket(url, client);
  const [, answer] = await once(refused, "unexpected-response");
  expect(answer.statusCode).toBe(429);
});

it("does not time an answer that has begun", async () => {
  const origin = await startOrigin((_request, response) => {
    response.write("slow");
    setTimeout(() => response.end("ly"), 3_000);
  });
  // Long enough that the answer begins in time even on a busy machine.
  const vars = { ORIGIN_URL: origin.url, ORIGIN_TIMEOUT_MS: 2_000 };
  const gateway = await startGateway({ policies: [policy(10)], vars });

  expect(await (await gateway.fetch("/")).text()).toBe("slowly");
});

/** Tells what the origin was asked, and redirects: a gateway that followed the redirect would be seen. */
function answer({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
  const body = `${method} http://${headers.host}${url} ${headers["x-client"]}`;
  response.writeHead(302, { Location: "/elsewhere" }).end(body);
}

it.each(["service", "route"])(
  "fetches the URL that the client asked for from a %s, and follows no redirect",
  async (kind) => {
    const limited = policy(1);
    const { url } = await startOrigin(answer);
    const where = kind === "service" ? { origin: url } : { vars: { ORIGIN_URL: "route" }, network: url };
    const gateway = await startGateway({ policies: [limited], redis: null, cf: { colo: "FRA" }, ...where });

    const first = await gateway.fetch("/%6cogin//?a=1", { headers: { "X-Client": "yes", "CF-Ray": "1-FRA" } });
    expect([first.status, first.headers.get("Location")]).toEqual([302, "/elsewhere"]);
    expect(await first.text()).toBe(`GET ${gateway.url.origin}/%6cogin//?a=1 yes`);
    expect(fieldsOf(first).states).toMatchObject({ [limited.name]: { r: 0 } });
    expect((await gateway.fetch("/login")).status).toBe(429);
    expect(await (await gateway.fetch("/.headgate/health")).json()).toMatchObject({ origin: kind });
  },
);

it.each([
  ["that is not Cloudflare", undefined, { "CF-Ray": "1-FRA" }],
  ["under wrangler dev", { colo: "FRA" }, {}],
] as const)("by route asks no host that a client chose, on a platform %s", async (_, cf, headers) => {
  const network = await startOrigin(answer);
  const gateway = await startGateway({
    ...{ policies: [policy(1)], redis: null, vars: { ORIGIN_URL: "route" }, network: network.url },
    ...(cf && { cf }),
  });
  expect((await gateway.fetch("/v1/a", { headers })).status).toBe(502);
  expect(network.requests).toEqual([]);
  await expect.poll(() => gateway.logs.join()).toContain("needs Cloudflare");
});
