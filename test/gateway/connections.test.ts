// What happens to a connection between client and origin: upgrades, aborts, slow answers, encodings.

import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const policy = (limit: number) => ({ name: uniqueName("origin"), key: ["ip"], limits: [{ limit, window: "1h" }] });

/** Sends and reads the bytes as they are. fetch adds, forbids and decodes some fields. */
async function rawRequest({ url }: Gateway, headers: Record<string, string>, method = "GET") {
  const outgoing = httpRequest(url, { method, headers });
  outgoing.end();
  const [response] = await once(outgoing, "response");
  return {
    headers: response.headers as Record<string, string>,
    status: response.statusCode,
    body: await buffer(response),
  };
}

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

// workerd notices a reset (RST). It does not notice a client that only closes its side (FIN) until it writes to that
// client.
it.each(["before an answer", "in the middle of one"])("tells the origin when the client goes away %s", async (when) => {
  const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const origin = await startOrigin((_request, response) => {
    response.on("close", () => closed.resolve());
    if (when !== "before an answer") response.write("first");
    arrived.resolve();
  });
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });

  const client = connect(Number(gateway.url.port), gateway.url.hostname);
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await (when === "before an answer" ? arrived.promise : once(client, "data"));
  client.resetAndDestroy();

  await closed.promise;
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

it("keeps what belongs to one connection from the origin", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });

  await rawRequest(gateway, {
    Connection: "close, X-Secret-Of-This-Hop",
    "X-Secret-Of-This-Hop": "1",
    TE: "trailers",
    "Proxy-Authorization": "Basic abc",
    "Proxy-Connection": "keep-alive",
    "Keep-Alive": "timeout=5",
    "X-End-To-End": "kept",
  });

  const { headers } = origin.requests[0]!;
  expect(headers["x-end-to-end"]).toBe("kept");
  const ofTheHop = /^(x-secret-of-this-hop|te|proxy-authorization|proxy-connection|keep-alive)$/;
  expect(Object.keys(headers).filter((name) => ofTheHop.test(name))).toEqual([]);
  expect(headers.connection ?? "").not.toMatch(/secret/i);
});

it("hands an upload with trailers on without them", async () => {
  const origin = await startOrigin(async (request, response) => {
    response.end(`${await text(request)} ${JSON.stringify(request.trailers)}`);
  });
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });

  const outgoing = httpRequest(gateway.url, {
    method: "POST",
    headers: { Trailer: "X-Sum", "Transfer-Encoding": "chunked" },
  });
  outgoing.addTrailers({ "X-Sum": "1" });
  outgoing.end("body");
  const [response] = await once(outgoing, "response");

  expect(await text(response)).toBe("body {}");
  expect(origin.requests[0]!.headers.trailer).toBeUndefined();
});
