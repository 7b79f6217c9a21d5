// Metered policies through a real gateway and a real Redis: what the origin gets, and what is charged afterwards.

import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const LIMIT = 100_000;
const PATH = "/v1/chat/completions";

/** A gateway with a policy of tokens, in front of an origin that answers as the test says. */
async function metered(answer: (body: Buffer, response: ServerResponse, request: IncomingMessage) => unknown) {
  const name = uniqueName("tokens");
  const bodies: Buffer[] = [];
  const origin = await startOrigin(async (request, response) => {
    const body = await buffer(request);
    if (request.method === "GET") return response.end();
    bodies.push(body);
    await answer(body, response, request);
  });
  const limits = [{ limit: LIMIT, window: "1d", algorithm: "fixed-window" }];
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], meter: { unit: "tokens" }, limits }],
    vars: { ORIGIN_URL: origin.url },
  });
  return { gateway, origin, bodies, used: () => usedOf(gateway, name) };
}

/** What the policy counts at the moment: a look, which charges nothing. */
async function usedOf(gateway: Gateway, name: string): Promise<number> {
  const look = await gateway.fetch(PATH);
  return LIMIT - (fieldsOf(look).states![name]!.r as number);
}

const chat = (gateway: Gateway, body: object, init: RequestInit = {}) =>
  gateway.fetch(PATH, { method: "POST", body: JSON.stringify({ model: "m", ...body }), ...init });

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function sendJson(response: ServerResponse, body: object): void {
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(body));
}

describe("the cost of an answer", () => {
  it("is its usage, as JSON and as a stream, and the origin is asked for a plain answer to the same body", async () => {
    const { gateway, origin, bodies, used } = await metered((body, response) => {
      if (!JSON.parse(body.toString()).stream) return sendJson(response, { usage: USAGE });
      response.setHeader("Content-Type", "text/event-stream");
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: "hello" } }], usage: null })}\n\n`);
      response.end(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
    });

    const json = await chat(gateway, { max_tokens: 500 });
    expect(fieldsOf(json).states).toMatchObject({});
    expect(await json.json()).toEqual({ usage: USAGE });
    await expect.poll(used).toBe(18);

    const stream = await chat(gateway, { stream: true });
    expect(await stream.text()).toContain("hello");
    await expect.poll(used).toBe(36);

    expect(bodies.map(String)).toEqual(['{"model":"m","max_tokens":500}', '{"model":"m","stream":true}']);
    const asked = origin.requests.filter(({ method }) => method === "POST");
    expect(asked.map(({ headers }) => [headers["accept-encoding"], headers["content-length"]])).toEqual([
      ["identity", "30"],
      ["identity", "27"],
    ]);
  });
});
