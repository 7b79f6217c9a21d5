// A body is cut off when its slots can no longer be renewed, also when workerd pipes the body itself.

import { describe, expect, it } from "vitest";
import { keepSlots } from "../../src/features/slots/keep-slots.ts";
import { relay, socketOf } from "../../src/features/slots/relay.ts";

const closed = (socket: WebSocket) =>
  new Promise((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));

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
    // Real time: workerd asks for the next piece at once, and the loss of the slots has to come between two.
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
  const seen: unknown[] = [];
  origin.addEventListener("close", ({ code }) => seen.push(code));
  const handshake = new Response(null, { status: 101, webSocket: far });
  const ended = () => seen.push("ended");
  const answer = relay(handshake, socketOf(handshake)!, new AbortController().signal, ended, 10);
  if (isTaken) answer.webSocket!.accept();
  // Real time: only the runtime knows whether anybody has taken the socket.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(seen).toEqual(isTaken ? [] : ["ended", 1011]);
  if (isTaken) answer.webSocket!.close();
});

describe("a WebSocket that is sent more than it may be while it sends nothing", () => {
  /** With a relay between them, which allows 640 bytes. */
  function relayed() {
    const { 0: far, 1: origin } = new WebSocketPair();
    origin.accept();
    const handshake = new Response(null, { status: 101, webSocket: far });
    const answer = relay(handshake, socketOf(handshake)!, new AbortController().signal, () => {}, 20_000, 640);
    const client = answer.webSocket!;
    const ended = Promise.all([closed(client), closed(origin)]);
    client.accept();
    return { client, origin, ended };
  }

  it.each([
    ["many messages without content, which take memory, too", "", 10],
    ["few that are large", "x".repeat(160), 4],
  ])("is closed with 1013 on both sides: %s", async (_, message, most) => {
    const { client, origin, ended } = relayed();
    let received = 0;
    client.addEventListener("message", () => received++);
    for (let i = 0; i < most + 2; i++) origin.send(message);
    expect([await ended, received]).toEqual([[1013, 1013], most]);
  });

  it("stays open if it answers, and is told all of it", async () => {
    const { client, origin } = relayed();
    origin.addEventListener("message", () => origin.send("x".repeat(600)));
    for (let i = 0; i < 6; i++) {
      const told = new Promise<string>((resolve) => {
        client.addEventListener("message", ({ data }) => resolve(data as string), { once: true });
      });
      client.send("more");
      expect(await told).toHaveLength(600);
    }
  });
});
