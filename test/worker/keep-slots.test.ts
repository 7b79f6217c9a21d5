// A body is cut off when its slots can no longer be renewed, also when workerd pipes the body itself.

import { expect, it } from "vitest";
import { keepSlots } from "../../src/features/slots/keep-slots.ts";
import { relay, socketOf } from "../../src/features/slots/relay.ts";

/** Slots that are lost at their third renewal. */
function losing(more: { readonly sockets?: "open" } = {}) {
  const done: string[] = [];
  const hold = {
    ...{ ...more, renewEveryMs: 5 },
    async renew() {
      done.push("renew");
      return done.length < 3;
    },
    async release() {
      done.push("release");
    },
  };
  const works: Promise<unknown>[] = [];
  return { done, hold, works, background: { waitUntil: (work: Promise<unknown>) => void works.push(work) } };
}

it.each([
  ["whose length is announced", { "Content-Length": "1000000" }],
  ["without a length", {}],
])("a body %s ends with an error, and the slots are released", async (_, headers) => {
  const { done, hold, works, background } = losing();
  const pulled = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    controller.enqueue(new TextEncoder().encode("tick"));
  };
  const readable = new ReadableStream<Uint8Array>({ pull: pulled });
  const answer = await keepSlots(
    hold,
    new Request("https://gate.example/"),
    background,
    async () => new Response(readable, { headers }),
  );
  await expect(answer.text()).rejects.toThrow();
  await works[0];
  expect(done).toEqual(["renew", "renew", "renew", "release"]);
});

it("an open WebSocket is closed with 1013, on both sides, when its slot is lost", async () => {
  const { 0: far, 1: origin } = new WebSocketPair();
  origin.accept();
  const closed = (socket: WebSocket) =>
    new Promise((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
  const { done, hold, works, background } = losing({ sockets: "open" });
  const handshake = new Response(null, { status: 101, webSocket: far, headers: { "Sec-WebSocket-Protocol": "chat" } });
  const answer = await keepSlots(hold, new Request("https://gate.example/"), background, async () => handshake);
  expect([answer.status, answer.headers.get("Sec-WebSocket-Protocol")]).toEqual([101, "chat"]);
  const client = answer.webSocket!;
  client.accept();
  expect(await Promise.all([closed(client), closed(origin)])).toEqual([1013, 1013]);
  await works[0];
  expect(done).toEqual(["renew", "renew", "renew", "release"]);
});

// A POST that asks for a WebSocket, for example: workerd answers 400 in place of the handshake.
it.each([
  ["nobody has taken", false],
  ["a program in front reads", true],
])("a WebSocket whose end %s is closed: %s", async (_, isTaken) => {
  const { 0: far, 1: origin } = new WebSocketPair();
  origin.accept();
  const closed: unknown[] = [];
  origin.addEventListener("close", ({ code }) => closed.push(code));
  const handshake = new Response(null, { status: 101, webSocket: far });
  const ended = () => closed.push("ended");
  const answer = relay(handshake, socketOf(handshake)!, new AbortController().signal, ended, 10);
  if (isTaken) answer.webSocket!.accept();
  // Real time: only the runtime knows whether anybody has taken the socket.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(closed).toEqual(isTaken ? [] : ["ended", 1011]);
  if (isTaken) answer.webSocket!.close();
});

it("a WebSocket to which many messages without content are sent is closed with 1013: they take memory, too", async () => {
  const { 0: far, 1: origin } = new WebSocketPair();
  origin.accept();
  const handshake = new Response(null, { status: 101, webSocket: far });
  const answer = relay(handshake, socketOf(handshake)!, new AbortController().signal, () => {}, 20_000, 640);
  const client = answer.webSocket!;
  let received = 0;
  client.addEventListener("message", () => received++);
  const closed = new Promise((resolve) => client.addEventListener("close", ({ code }) => resolve(code)));
  client.accept();
  for (let i = 0; i < 12; i++) origin.send("");
  expect([await closed, received]).toEqual([1013, 10]);
});
