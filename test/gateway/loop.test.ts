// An origin that leads back to the gateway, on real ports: `ORIGIN_URL = "route"` without a route; the gateway's own
// address; and other servers that send the request back.

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it, vi } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { sendRaw } from "../support/gateway/raw.ts";

const policy = (limit: number) => ({ name: uniqueName("loop"), key: ["global"], limits: [{ limit, window: "1h" }] });

it.each(["route", "its own address", "a service binding to itself"])("an origin that is %s", async (kind) => {
  const limited = policy(5);
  const port = await freePort();
  const vars = kind === "route" ? { ORIGIN_URL: "route" } : { ORIGIN_URL: `http://127.0.0.1:${port}/base` };
  const itself = kind.startsWith("a service") ? { origin: "itself" } : { vars };
  // As on Cloudflare, where alone "route" is used.
  const gateway = await startGateway({ policies: [limited], redis: null, port, cf: { colo: "FRA" }, ...itself });
  const headers = { "CF-Ray": "0123456789abcdef-FRA" };

  const first = await gateway.fetch("/v1/a?token=s3cret", { method: "POST", body: "hello", headers });
  const second = await gateway.fetch("/v1/a", { headers });

  expect(first.status).toBe(508);
  expect(await first.json()).toMatchObject({ type: "about:blank", title: "Loop Detected", status: 508 });
  // The client's own request is counted once. The request that came back is not counted.
  expect(fieldsOf(first).states).toMatchObject({ [limited.name]: { r: 4 } });
  expect(fieldsOf(second).states).toMatchObject({ [limited.name]: { r: 3 } });
  // Log lines arrive over a separate pipe, perhaps after the answer.
  const lines = await vi.waitFor(() => {
    const found = gateway.logs.filter((line) => line.includes("origin-loop"));
    expect(found).toHaveLength(2);
    return found;
  });
  expect(JSON.parse(lines[0]!)).toMatchObject({ event: "origin-loop", hint: expect.stringContaining("ORIGIN_URL") });
  expect(lines.join()).not.toContain("s3cret");
});

it("a loop by way of somebody else's server, and of a second gateway", async () => {
  const detour = await startOrigin((request, response) => {
    const { connection: _, ...headers } = request.headers;
    const onward = httpRequest(new URL(request.url!, first.url), { headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    onward.end();
  });
  const [one, other] = [policy(5), policy(5)];
  const second = await startGateway({ policies: [other], redis: null, vars: { ORIGIN_URL: detour.url } });
  const first = await startGateway({ policies: [one], redis: null, vars: { ORIGIN_URL: second.url.href } });

  // The mark stays, whatever the client says in its Connection field.
  const headers = { Connection: "close, Headgate-Via", "Headgate-Via": "x" };
  const answer = await sendRaw(first, { headers });
  expect(answer.status).toBe(508);
  // The second gateway also counted the first gateway's request.
  expect(fieldsOf(await first.fetch("/")).states).toMatchObject({ [one.name]: { r: 3 } });
  expect(fieldsOf(await second.fetch("/")).states).toMatchObject({ [other.name]: { r: 2 } });
});

it("a mark of a client's own choice changes nothing; who knows the gateway's refuses itself, and nobody else", async () => {
  const seen: IncomingHttpHeaders[] = [];
  const origin = await startOrigin(async (request, response) => {
    seen.push(request.headers);
    response.end(await text(request));
  });
  const limited = { ...policy(2), key: ["ip"] };
  const gateway = await startGateway({ policies: [limited], redis: null, vars: { ORIGIN_URL: origin.url } });
  const send = (mark: string, address?: string) =>
    gateway.fetch("/", {
      ...(address && { address }),
      headers: { "Headgate-Via": mark },
      method: "POST",
      body: "hello",
    });
  const statuses = [];
  for (const mark of ["headgate", crypto.randomUUID(), ", ,"]) statuses.push((await send(mark)).status);
  expect(statuses).toEqual([200, 200, 429]);
  // The gateway's mark comes after the client's mark.
  const mark = String(seen[0]!["headgate-via"]);
  expect(mark).toMatch(/^headgate, [0-9a-f-]{36}$/);

  expect((await send(mark, "192.0.2.7")).status).toBe(508);
  const other = await send("headgate", "192.0.2.8");
  expect([other.status, await other.text(), fieldsOf(other).states]).toMatchObject([
    ...[200, "hello"],
    { [limited.name]: { r: 1 } },
  ]);
  expect(seen).toHaveLength(3);
});
