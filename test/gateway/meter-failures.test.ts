// What is charged when a client leaves a metered request, over real sockets and workerd's own signals, and when the
// gateway dies. test/features/meter has what each answer costs, and each way in which a provider fails.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";

const soon = { timeout: 20_000, interval: 10 };
const MIB = 1024 * 1024;
const CHAT = "/v1/chat/completions";
/** The origin does not answer there. */
const HANGS = "/hangs";
const LIMIT = 1e9;

/** Gateways over one Redis, whose origin answers a POST as the test says. */
async function startWithOrigin(
  onPost: (request: IncomingMessage, response: ServerResponse) => unknown,
  limit: object = { algorithm: "fixed-window", limit: LIMIT, window: "31d" },
) {
  const name = uniqueName("leaving");
  let onHanging = (_response: ServerResponse) => {};
  const origin = await startOrigin((request, response) => {
    if (request.url === HANGS) return onHanging(response);
    return request.method === "GET" ? response.end() : onPost(request, response);
  });
  const start = () =>
    startGateway({
      policies: [{ name, key: ["global"], meter: { unit: "tokens" }, limits: [limit] }],
      vars: { ORIGIN_URL: origin.url },
    });
  const [gateway, other] = await Promise.all([start(), start()]);
  return {
    gateway,
    send: (body: string, length = body.length) =>
      openRaw(gateway, `POST ${CHAT} HTTP/1.1\r\nContent-Length: ${length}`, body),
    /** What the policy counts at the moment, by another gateway: a look, which charges nothing. */
    used: async () => LIMIT - (fieldsOf(await other.fetch(CHAT)).states![name]!.r as number),
    /** Waits until workerd has noticed earlier resets: it has noticed a later one. */
    async noticesResets() {
      const arrived = Promise.withResolvers<ServerResponse>();
      onHanging = arrived.resolve;
      const client = openRaw(gateway, `GET ${HANGS} HTTP/1.1`);
      const left = once(await arrived.promise, "close");
      client.resetAndDestroy();
      await left;
    },
  };
}

describe("a client that leaves", () => {
  it.each([
    [401, 0],
    [200, 300],
  ])("before the status pays by it, and the origin is left: %i costs %i", async (status, cost) => {
    const [asked, left] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()];
    const { send, used, noticesResets } = await startWithOrigin((_, response) => {
      response.on("close", () => left.resolve());
      asked.resolve(response);
    });
    const client = send('{"max_tokens":300}');
    const response = await asked.promise;
    client.resetAndDestroy();
    await noticesResets();
    expect([await used(), response.closed]).toEqual([300, false]);
    response.writeHead(status, { "Content-Type": "application/json" }).write("{");
    await left.promise;
    await expect.poll(used, soon).toBe(cost);
    // By now more would have been given back.
    await noticesResets();
    expect(await used()).toBe(cost);
  });

  it("in the middle of a stream pays what it was sent, up to what was on its way", async () => {
    let sent = 0;
    const left = Promise.withResolvers<void>();
    const { send, used } = await startWithOrigin(async (_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).on("close", () => left.resolve());
      while (!response.closed) {
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: "8 bytes." } }] })}\n\n`);
        sent += 2;
        // Real time: a provider that writes faster than a real client reads fills buffers that nobody counts.
        await sleep(5);
      }
    });
    const client = send('{"max_tokens":300,"stream":true}');
    let read = "";
    while (read.length < 5_000) read += (await once(client, "data"))[0];
    client.resetAndDestroy();
    await left.promise;
    await expect.poll(used, soon).not.toBe(300);
    expect(await used()).toBeGreaterThanOrEqual(2 * (read.match(/bytes/g)!.length - 1));
    expect(await used()).toBeLessThanOrEqual(sent);
  });

  it("while a long body passes to the origin pays nothing", async () => {
    const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { send, used } = await startWithOrigin((request) => {
      request.once("data", () => begun.resolve()).on("close", () => left.resolve());
    });
    const client = send(`{"max_tokens":300,"input":"${"x".repeat(2 * MIB)}`, 3 * MIB);
    await begun.promise;
    expect(await used()).toBeGreaterThan(300);
    client.resetAndDestroy();
    await left.promise;
    await expect.poll(used, soon).toBe(0);
  });
});

it("a gateway that is killed leaves at most its reservations, and they lapse with their window", async () => {
  const asked = Promise.withResolvers<void>();
  const limit = { algorithm: "fixed-window", limit: LIMIT, window: "3s" };
  const { gateway, send, used } = await startWithOrigin(() => asked.resolve(), limit);
  const client = send('{"max_tokens":300}').on("error", () => {});
  await asked.promise;
  process.kill(gateway.pid, "SIGKILL");
  await once(client, "close");
  expect([0, 300]).toContain(await used());
  await expect.poll(used, soon).toBe(0);
});
