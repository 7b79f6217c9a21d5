// What happens to a connection between client and origin: an upgrade, a slow answer.

import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const policy = (limit: number) => ({ name: uniqueName("origin"), key: ["ip"], limits: [{ limit, window: "1h" }] });

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
