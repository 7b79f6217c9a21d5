// Metered policies through a real gateway and a real Redis: what the origin gets, what the client gets and when, and
// what is charged afterwards. test/features/meter has the cases one by one.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, inject, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, type GatewayOptions, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const LIMIT = 100_000;
const PATH = "/v1/chat/completions";
const MIB = 1024 * 1024;
/** The origin does not answer there. */
const HANGS = "/hangs";
let onHanging = (_response: ServerResponse) => {};

interface MeteredOptions extends Partial<GatewayOptions> {
  readonly meter?: object;
  readonly limit?: number;
  /** Policies beside the one of tokens. */
  readonly also?: readonly object[];
  /** Gets each upload before it is read. */
  readonly onUpload?: (request: IncomingMessage) => void;
}

type Answer = (body: Buffer, response: ServerResponse, request: IncomingMessage) => unknown;

/** A gateway with a policy of tokens, in front of an origin that answers as the test says. */
async function metered(answer: Answer, options: MeteredOptions = {}) {
  const { meter = {}, limit = LIMIT, also = [], onUpload, vars, ...others } = options;
  const name = uniqueName("tokens");
  const posts: { headers: IncomingMessage["headers"]; body: Buffer }[] = [];
  const origin = await startOrigin(async (request, response) => {
    if (request.url === HANGS) return onHanging(response);
    onUpload?.(request);
    const body = await buffer(request);
    if (request.method === "GET") return response.end();
    posts.push({ headers: request.headers, body });
    await answer(body, response, request);
  });
  const limits = [{ limit, window: "31d", algorithm: "fixed-window" }];
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], meter: { unit: "tokens", ...meter }, limits }, ...also],
    vars: { ORIGIN_URL: origin.url, ...vars },
    ...others,
  });
  /** What the policy counts at the moment: a look, which charges nothing. */
  const used = async () => {
    const look = await gateway.fetch(PATH);
    return limit - (fieldsOf(look).states![name]!.r as number);
  };
  return { gateway, origin, posts, used };
}

const chat = (gateway: Gateway, body: object, init: RequestInit = {}) =>
  gateway.fetch(PATH, { method: "POST", body: JSON.stringify({ model: "m", ...body }), ...init });

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const WITH_USAGE = `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`;
const DONE = "data: [DONE]\n\n";
const delta = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }], usage: null })}\n\n`;

function sendJson(response: ServerResponse, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": text.length }).end(text);
}

function begin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "Content-Type": "text/event-stream" });
}

const settled = { timeout: 10_000, interval: 20 };

describe("the cost of an answer", () => {
  it("is its usage, as JSON and as a stream, in two calls to the store that free the slot, too", async () => {
    const slots = uniqueName("slots");
    const calls: string[] = [];
    const bridge = await startOrigin(async (request, response) => {
      const [{ url, headers, method }, body] = [request, await buffer(request)];
      calls.push(url!);
      const reply = await fetch(new URL(url!, inject("restUrl")), {
        method: method!,
        headers: { Authorization: headers.authorization!, "Content-Type": "application/json" },
        body: new Uint8Array(body),
      });
      response.writeHead(reply.status).end(await reply.text());
    });
    const { gateway, posts, used } = await metered(
      (body, response) => {
        if (!JSON.parse(body.toString()).stream) return sendJson(response, { usage: USAGE });
        begin(response).write(delta("hello"));
        response.end(WITH_USAGE + DONE);
      },
      {
        also: [{ name: slots, match: { method: "POST" }, key: ["global"], limits: [atATime(1)] }],
        redis: { url: bridge.url, token: inject("restToken") },
      },
    );
    // The first call teaches Redis the script.
    expect(await used()).toBe(0);
    calls.length = 0;

    const json = await chat(gateway, { max_tokens: 500 });
    expect([await json.json(), json.headers.get("Content-Length")]).toEqual([{ usage: USAGE }, "70"]);
    await watchSlots(slots).free();
    expect(calls).toHaveLength(2);
    expect(await used()).toBe(18);

    calls.length = 0;
    const stream = await chat(gateway, { stream: true });
    expect(await stream.text()).toBe(delta("hello") + WITH_USAGE + DONE);
    await watchSlots(slots).free();
    expect(calls).toHaveLength(2);
    expect(await used()).toBe(36);

    expect(posts.map(({ body, headers }) => [String(body), headers["accept-encoding"]])).toEqual([
      ['{"model":"m","max_tokens":500}', "identity"],
      ['{"model":"m","stream":true}', "identity"],
    ]);
  });

  it.each([
    [401, 0],
    [500, 0],
    [200, 300],
  ])(
    "depends on the status if the client leaves before it: %i costs %i, and the origin is left",
    async (status, cost) => {
      const [asked, left] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()];
      const { gateway, used } = await metered((_, response) => {
        response.on("close", () => left.resolve());
        asked.resolve(response);
      });
      const client = socket(gateway, '{"max_tokens":300}');
      const response = await asked.promise;
      client.resetAndDestroy();
      await noticesResets(gateway);
      expect([await used(), response.closed]).toEqual([300, false]);
      response.writeHead(status, { "Content-Type": "application/json" }).write("{");
      await left.promise;
      await expect.poll(used, settled).toBe(cost);
      // By now more would have been given back.
      await noticesResets(gateway);
      expect(await used()).toBe(cost);
    },
  );

  it("is nothing when the client leaves while a long body passes to the origin", async () => {
    const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { gateway, used } = await metered(() => {}, {
      onUpload: (request) => {
        request.once("data", () => begun.resolve());
        request.on("close", () => left.resolve());
      },
    });
    const client = socket(gateway, `{"max_tokens":300,"input":"${"x".repeat(2 * MIB)}`, 3 * MIB);
    await begun.promise;
    expect(await used()).toBeGreaterThan(300);
    client.resetAndDestroy();
    await left.promise;
    await expect.poll(used, settled).toBe(0);
  });

  it("of a body without a byte is nothing, with or without a length", async () => {
    const { gateway, posts, used } = await metered((_, response) => response.writeHead(204).end());
    for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
      expect(await send(gateway, Buffer.alloc(0), headers)).toBe(204);
    }
    expect([posts.length, await used()]).toEqual([2, 0]);
  });

  it("is nothing when the client leaves while it sends its body, and the origin hears nothing", async () => {
    const { gateway, posts, used } = await metered((_, response) => sendJson(response, {}));
    const client = socket(gateway, '{"max_tokens":', 100);
    // In real time: nothing tells a client that workerd has begun to read its body.
    await new Promise((resolve) => setTimeout(resolve, 200));
    client.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([posts, await used()]).toEqual([[], 0]);
  });
});

describe("bodies", () => {
  it("reach the origin byte for byte, with their length or chunked", async () => {
    const { gateway, posts } = await metered((_, response) => sendJson(response, { usage: USAGE }), {
      limit: 1_000_000_000,
    });
    const json = Buffer.from(JSON.stringify({ messages: [{ content: "é".repeat(600_000) }] }));
    const bodies = [Buffer.alloc(0), Buffer.from("{}"), json, ...[MIB, MIB + 1, 5 * MIB].map((n) => randomBytes(n))];
    for (const body of bodies) {
      for (const isChunked of [false, true]) {
        const status = await send(gateway, body, isChunked ? { "Transfer-Encoding": "chunked" } : {});
        expect(status).toBe(200);
        const { headers, body: got } = posts.at(-1)!;
        expect([got.length, hash(got)]).toEqual([body.length, hash(body)]);
        // A body that was read whole has a length: that is the same message.
        if (!isChunked) expect(headers["content-length"]).toBe(String(body.length));
      }
    }
  });

  it("that one client sends slowly take nothing from others, who pay what theirs cost", async () => {
    const { gateway, used } = await metered((_, response) => response.writeHead(204).end());
    const body = { messages: ["x".repeat(20_000)], max_tokens: 10 };
    const slow = Array.from({ length: 40 }, () => socket(gateway, '{"messages":', 100_000));
    await Promise.all(slow.map((client) => once(client, "ready")));
    // In real time: nothing tells a client that workerd has begun to read its body.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const other = await chat(gateway, body, { headers: { "CF-Connecting-IP": "198.51.100.7" } });
    expect([other.status, await used()]).toEqual([204, 5_010]);

    // Its own next body is read when these have left.
    for (const client of slow) client.resetAndDestroy();
    expect((await chat(gateway, body)).status).toBe(204);
    expect(await used()).toBe(2 * 5_010);
  });

  it("reach the origin with our Accept-Encoding, whatever the client says of its connection", async () => {
    const { gateway, posts } = await metered((_, response) => sendJson(response, { usage: USAGE }));
    const headers = { Connection: "accept-encoding, x-gone, close", "Accept-Encoding": "gzip", "X-Gone": "1" };
    expect(await send(gateway, Buffer.from("{}"), headers)).toBe(200);
    expect(posts[0]!.headers).toMatchObject({ "accept-encoding": "identity" });
    expect(posts[0]!.headers).not.toHaveProperty("x-gone");
  });
});

/** Sends a request from a socket that the test can reset: workerd does not notice a client that closes its side. */
function socket({ url }: Gateway, body: string, length = body.length) {
  const client = connect(Number(url.port), url.hostname);
  client.write(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`);
  return client;
}

/** Waits until workerd has noticed earlier resets: it has noticed a later one. */
async function noticesResets({ url }: Gateway): Promise<void> {
  const client = connect(Number(url.port), url.hostname);
  const arrived = new Promise<ServerResponse>((resolve) => {
    onHanging = resolve;
  });
  client.write(`GET ${HANGS} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const left = once(await arrived, "close");
  client.resetAndDestroy();
  await left;
}

const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** @returns the status of the answer. */
async function send({ url }: Gateway, body: Buffer, headers: OutgoingHttpHeaders): Promise<number> {
  const length = headers["Transfer-Encoding"] ? {} : { "Content-Length": body.length };
  const outgoing = httpRequest(new URL(PATH, url), { method: "POST", headers: { ...length, ...headers } });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  await buffer(response);
  return response.statusCode!;
}

describe("streams", () => {
  it("are not held back: each event arrives while the origin holds back the next one", async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { gateway } = await metered(async (_, response) => {
      begin(response).flushHeaders();
      await first.promise;
      response.write(delta("one"));
      await second.promise;
      response.end(delta("two"));
    });
    // The answer's head arrives before its first event.
    const answer = await chat(gateway, { stream: true });
    const reader = answer.body!.getReader();
    first.resolve();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(delta("one"));
    second.resolve();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(delta("two"));
    expect((await reader.read()).done).toBe(true);
  });

  it("are cut with the format's error when the limit refuses more, at most 255 tokens too late", async () => {
    const left = Promise.withResolvers<void>();
    let isGone = false;
    const { gateway, used } = await metered(
      async (_, response) => {
        response.on("close", () => {
          isGone = true;
          left.resolve();
        });
        begin(response);
        while (!isGone) {
          response.write(delta("four"));
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      { limit: 2_000, meter: { onExceeded: "cut" } },
    );
    const answer = await chat(gateway, { stream: true, max_tokens: 100 });
    const text = await answer.text();
    expect(text).toMatch(
      /"error":\{"message":"[^"]+","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"\}\}\n\n$/,
    );
    await left.promise;
    const tokens = text.split("four").length - 1;
    expect(tokens).toBeGreaterThan(2_000 - 256);
    expect(tokens).toBeLessThanOrEqual(2_000 + 255);
    await expect.poll(used, settled).toBe(Math.min(2_000, tokens));
  });
});
