// What the origin sees of a request, and what the client sees of the origin's answer.

import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it, vi } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const policy = (limit: number) => ({ name: uniqueName("origin"), key: ["ip"], limits: [{ limit, window: "1h" }] });

it("hands on method, path, query, header fields and body, and the origin's answer with our fields", async () => {
  const origin = await startOrigin(async (request, response) => {
    response.writeHead(201, { "Content-Type": "text/plain", "X-Origin": "yes", "Set-Cookie": ["a=1", "b=2"] });
    response.end(`got ${await text(request)}`);
  });
  const limited = policy(10);
  const gateway = await startGateway({ policies: [limited], vars: { ORIGIN_URL: `${origin.url}/base/` } });

  const answer = await gateway.fetch("/Some//path;v=1/%2Fx/%6cogin/?a=1&a=%202&b", {
    method: "PUT",
    headers: { "X-Client": "yes", "Content-Type": "text/plain" },
    body: "hello",
  });

  const [request] = origin.requests;
  expect(request?.method).toBe("PUT");
  expect(request?.url).toBe("/base/Some//path;v=1/%2Fx/%6cogin/?a=1&a=%202&b");
  expect(request?.headers).toMatchObject({ host: new URL(origin.url).host, "x-client": "yes" });
  expect(answer.status).toBe(201);
  expect(await answer.text()).toBe("got hello");
  expect(answer.headers.get("X-Origin")).toBe("yes");
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(fieldsOf(answer).states).toMatchObject({ [limited.name]: { r: 9 } });
});

it("gives the client the first part of an answer before the origin has finished it", async () => {
  const origin = await startOrigin((_request, response) => {
    response.write("first");
    rest.promise.then((last) => response.end(last));
  });
  const rest = Promise.withResolvers<string>();
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });

  const answer = await gateway.fetch("/", { headers: { "Accept-Encoding": "identity" } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect(await reader.read()).toEqual({ done: false, value: "first" });
  rest.resolve("last");
  expect(await reader.read()).toEqual({ done: false, value: "last" });
  expect((await reader.read()).done).toBe(true);
});

it("gives the origin the first part of an upload before the client has finished it", async () => {
  const origin = await startOrigin(async (request, response) => {
    const [first] = await once(request, "data");
    received.resolve(String(first));
    response.end(await text(request));
  });
  const received = Promise.withResolvers<string>();
  const gateway = await startGateway({ policies: [policy(10)], vars: { ORIGIN_URL: origin.url } });
  const upload = new TransformStream<Uint8Array, Uint8Array>();
  const writer = upload.writable.getWriter();
  const encoder = new TextEncoder();

  const answer = gateway.fetch("/", { method: "POST", body: upload.readable, duplex: "half" } as RequestInit);
  writer.write(encoder.encode("first"));
  expect(await received.promise).toBe("first");
  writer.write(encoder.encode("last"));
  writer.close();
  expect(await (await answer).text()).toBe("last");
});

it("tells the origin the host that was matched, whatever the client says of host and path", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const gateway = await startGateway({ policies: [policy(10)], redis: null, vars: { ORIGIN_URL: origin.url } });
  const told = {
    "X-Forwarded-Host": "other.example",
    Forwarded: "host=other.example",
    "X-Original-URL": "/other",
    "X-Rewrite-URL": "/other",
  };
  await gateway.fetch("/", { headers: told });
  const { headers } = origin.requests[0]!;
  expect(headers["x-forwarded-host"]).toBe(gateway.url.host);
  expect(JSON.stringify(headers)).not.toContain("other");
});

it.each([600, 999])(
  "answers 502 for the status %d, which HTTP does not have, and says so in one line",
  async (status) => {
    const origin = await startOrigin((_request, response) => response.writeHead(status).end("body"));
    const limited = policy(10);
    const gateway = await startGateway({ policies: [limited], redis: null, vars: { ORIGIN_URL: origin.url } });
    const answer = await gateway.fetch("/");
    expect([answer.status, fieldsOf(answer).states]).toMatchObject([502, { [limited.name]: { r: 9 } }]);
    const lines = await vi.waitFor(() => {
      const found = gateway.logs.filter((line) => line.includes("origin-error"));
      expect(found).toHaveLength(1);
      return found;
    });
    expect(lines[0]).toContain(`status ${status}`);
  },
);
