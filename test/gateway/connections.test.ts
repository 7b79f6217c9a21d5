// What happens to a connection between client and origin: upgrades, aborts, slow answers, encodings.

import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw, sendRaw } from "../support/gateway/raw.ts";

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

it.each(["before an answer", "in the middle of one"])("tells the origin when the client goes away %s", async (when) => {
  const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const origin = await startOrigin((_request, response) => {
    response.on("close", () => closed.resolve());
    if (when !== "before an answer") response.write("first");
    arrived.resolve();
  });
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });

  const client = openRaw(gateway, "GET / HTTP/1.1");
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

  const sent = {
    Connection: "close, X-Secret-Of-This-Hop",
    "X-Secret-Of-This-Hop": "1",
    TE: "trailers",
    "Proxy-Authorization": "Basic abc",
    "Proxy-Connection": "keep-alive",
    "Keep-Alive": "timeout=5",
    "X-End-To-End": "kept",
  };
  await (await sendRaw(gateway, { headers: sent })).body;

  const { headers } = origin.requests[0]!;
  expect(headers["x-end-to-end"]).toBe("kept");
  const ofTheHop = /^(x-secret-of-this-hop|te|proxy-authorization|proxy-connection|keep-alive)$/;
  expect(Object.keys(headers).filter((name) => ofTheHop.test(name))).toEqual([]);
  expect(headers.connection ?? "").not.toMatch(/secret/i);
});
