// A WebSocket holds its slot as long as it is open (`sockets = "open"`), and its messages pass unchanged.

import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

type Handle = (peer: WebSocket, socket: Socket) => void;

const echo: Handle = (peer) => peer.on("message", (data, isBinary) => peer.send(data, { binary: isBinary }));

/** An origin whose sockets do what `handle` says. */
async function startSocketOrigin(handle: Handle) {
  const origin = await startOrigin((_request, response) => response.end("no socket"));
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: true,
    handleProtocols: (asked) => [...asked].at(-1) ?? false,
  });
  origin.server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (peer) => handle(peer, socket as Socket));
  });
  onTestFinished(() => {
    for (const peer of sockets.clients) peer.terminate();
  });
  return origin;
}

/** One socket at a time. */
async function start(handle: Handle) {
  const origin = await startSocketOrigin(handle);
  const name = uniqueName("sockets");
  const policies = [{ name, key: ["global"], limits: [{ ...atATime(1), sockets: "open" }] }];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });
  const open = async (protocols: string[] = []) => {
    const socket = new WebSocket(gateway.url.href.replace("http", "ws"), protocols);
    onTestFinished(() => socket.terminate());
    socket.on("error", () => {});
    const [[handshake]] = await Promise.all([once(socket, "upgrade"), once(socket, "open")]);
    return { socket, handshake, closed: once(socket, "close") };
  };
  return { name, gateway, slots: watchSlots(name), open };
}

const socketUnder = (client: WebSocket) => (client as unknown as { _socket: Socket })._socket;

/** The frame by which a client closes, with so many bytes of a reason that is not UTF-8. */
const closing = (code: number, reason = 0) =>
  Buffer.from([0x88, 0x82 + reason, 0, 0, 0, 0, code >> 8, code & 255, ...new Array<number>(reason).fill(255)]);

const told = async (socket: WebSocket) => (await once(socket, "message")) as [data: RawData, isBinary: boolean];

describe("an open WebSocket", () => {
  it("holds its slot until it closes, with its subprotocol, its messages and the fields on its handshake", async () => {
    const { name, gateway, slots, open } = await start(echo);
    const { socket, handshake, closed } = await open(["chat.v1", "chat.v2"]);
    expect(socket.protocol).toBe("chat.v2");
    expect(handshake.headers["ratelimit-policy"]).toContain(name);

    for (const message of ["one", "žluť 🌊", ""]) {
      socket.send(message);
      const [data, isBinary] = await told(socket);
      expect([String(data), isBinary]).toEqual([message, false]);
    }
    const bytes = Buffer.from([0, 255, 128, 10]);
    socket.send(bytes);
    expect(await told(socket)).toEqual([bytes, true]);

    expect(await slots.held()).toBe(1);
    expect((await gateway.fetch("/")).status).toBe(429);
    socket.close(4321, "enough");
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual([4321, "enough"]);
    await slots.free();
    expect((await gateway.fetch("/")).status).toBe(200);
  });

  it.each<[string, (client: WebSocket) => void, number]>([
    ["closes with a code", (client) => client.close(4001, "bye"), 4001],
    ["closes with none", (client) => client.close(), 1005],
    ["is lost", (client) => socketUnder(client).resetAndDestroy(), 1011],
    ["closes with a code that nobody may send", (client) => socketUnder(client).write(closing(5_000)), 1011],
    ["closes with one that nobody sends", (client) => socketUnder(client).write(closing(1_015)), 1011],
    ["closes for a reason that is no text", (client) => socketUnder(client).write(closing(1_000, 123)), 1011],
  ])("tells its origin when its client %s, and its slot is free", async (_, leave, expected) => {
    const told = Promise.withResolvers<number>();
    const { slots, open, gateway } = await start((peer) => peer.on("close", (code) => told.resolve(code)));
    const { socket } = await open();
    expect(await slots.held()).toBe(1);
    leave(socket);
    expect(await told.promise).toBe(expected);
    await slots.free();
    expect(gateway.logs).toEqual([]);
  });

  it.each<[string, (peer: WebSocket, socket: Socket) => void, number]>([
    ["closes with a code", (peer) => peer.close(4002, "bye"), 4002],
    ["closes with none", (peer) => peer.close(), 1005],
    ["breaks off", (_peer, socket) => socket.resetAndDestroy(), 1011],
  ])("tells its client when its origin %s, and its slot is free", async (_, leave, expected) => {
    const { slots, open } = await start((peer, socket) => peer.on("message", () => leave(peer, socket)));
    const { socket, closed } = await open();
    expect(await slots.held()).toBe(1);
    socket.send("leave");
    expect((await closed)[0]).toBe(expected);
    await slots.free();
  });
});
