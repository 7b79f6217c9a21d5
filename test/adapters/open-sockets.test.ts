// A WebSocket of a Node server holds its slot until its socket closes, as far as a middleware sees that.

import { once } from "node:events";
import { createServer, type IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { rateLimit } from "../../src/adapters/express.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Limiter } from "../../src/limiter.ts";
import { createLimiter } from "../support/limiter.ts";

const limiterOf = (sockets?: "handshake" | "open", store = memoryStore()) =>
  createLimiter({
    policies: [
      { name: "slots", key: "global", limits: [{ algorithm: "concurrency", limit: 1, timeout: "1s", sockets }] },
    ],
    store,
  });
const free = async (limiter: Limiter) =>
  (await limiter.peek("slots", { kind: "global", key: "global" })).remaining === 1;

type Upgrade = [request: IncomingMessage, socket: Socket, head: Buffer];

/** The upgrade writes its answer by a response of the socket, as a server does for other requests. */
function responseFor([request, socket]: Upgrade): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  return response.on("finish", () => socket.end());
}

const WAYS: [string, (...upgrade: Upgrade) => ServerResponse, (response: ServerResponse, socket: Socket) => void][] = [
  ["its socket back", (...upgrade) => responseFor(upgrade), (response, socket) => response.detachSocket(socket)],
  ["and keeps it", (...upgrade) => responseFor(upgrade), () => {}],
  ["as express-ws does, which has none", (request) => new ServerResponse(request), () => {}],
];

async function serveSockets(limiter: Limiter, [, responseOf, handOver]: (typeof WAYS)[number] = WAYS[0]!) {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const limit = rateLimit(limiter);
  server.on("upgrade", (...upgrade: Upgrade) => {
    const [, socket] = upgrade;
    const response = responseOf(...upgrade);
    limit(upgrade[0], response, () => {
      handOver(response, socket);
      sockets.handleUpgrade(...upgrade, (peer) => peer.on("message", (data) => peer.send(`echo ${data}`)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const peer of sockets.clients) peer.terminate();
    server.close();
  });
  const open = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    socket.on("error", () => {});
    const first = await Promise.race([once(socket, "open"), once(socket, "unexpected-response")]);
    return { socket, status: (first[1] as IncomingMessage | undefined)?.statusCode ?? 101 };
  };
  return { open };
}

it.each(WAYS)("by a response that gives %s", async (...way) => {
  const limiter = limiterOf();
  const { open } = await serveSockets(limiter, way);
  const { socket } = await open();
  socket.send("hello");
  expect(String((await once(socket, "message"))[0])).toBe("echo hello");
  expect(await free(limiter)).toBe(false);
  socket.close();
  // Not 20 s later, as the work of a handler whose client has left.
  await vi.waitFor(async () => expect(await free(limiter)).toBe(true));
});

it("a refused one gets its answer, and the next is admitted when the first was lost", async () => {
  const limiter = limiterOf("open");
  const { open } = await serveSockets(limiter);
  const { socket } = await open();
  expect((await open()).status).toBe(429);
  socket.terminate();
  await vi.waitFor(async () => expect((await open()).status).toBe(101));
});

it('with sockets = "handshake" it is free when the handlers have been called', async () => {
  const limiter = limiterOf("handshake");
  const { open } = await serveSockets(limiter);
  const { socket } = await open();
  await vi.waitFor(async () => expect(await free(limiter)).toBe(true));
  socket.send("hello");
  expect(String((await once(socket, "message"))[0])).toBe("echo hello");
  socket.close();
});

it("is renewed while it is open, and closed when its slot is lost", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const limiter = limiterOf();
  const { open } = await serveSockets(limiter);
  const { socket } = await open();
  await vi.advanceTimersByTimeAsync(499_999);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  const closed = once(socket, "close");
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  await vi.waitFor(async () => expect(await free(limiter)).toBe(true));
});
