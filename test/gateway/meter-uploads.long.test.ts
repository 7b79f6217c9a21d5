// Uploads that stop, over real sockets and in real time: a client has 10 s. test/features/bodies.test.ts has the rest,
// on a clock that the test sets.

import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";

const LIMIT = 100_000_000;
const MIB = 1024 * 1024;

it.each([
  ["before the origin is asked gives everything back", 100_000, 20_000, 0, false],
  ["beyond 1 MiB is ended at the origin, and pays what has passed", 90 * MIB, 1_200_000, 300_000, true],
])("one that stops %s", async (_, length, bytes, cost, isAsked) => {
  const name = uniqueName("tokens");
  let [asked, aborted] = [false, false];
  const origin = await startOrigin((request, response) => {
    if (request.method === "GET") return void response.end();
    asked = true;
    request.on("aborted", () => (aborted = true)).resume();
  });
  const limits = [{ algorithm: "fixed-window", limit: LIMIT, window: "31d" }];
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], meter: { unit: "tokens" }, limits }],
    vars: { ORIGIN_URL: origin.url },
  });
  const used = async () => LIMIT - (fieldsOf(await gateway.fetch("/v1/messages")).states![name]!.r as number);

  const head = `POST /v1/messages HTTP/1.1\r\nConnection: close\r\nContent-Length: ${length}`;
  const client = openRaw(gateway, head, Buffer.alloc(bytes, 32));
  await expect.poll(used, { timeout: 10_000 }).toBe(isAsked ? MIB / 4 + 4_096 : 0);
  const sinceMs = Date.now();
  expect((await buffer(client)).toString("latin1")).toMatch(/^HTTP\/1\.1 408 /);
  expect(Date.now() - sinceMs).toBeLessThan(12_000);
  await expect.poll(used, { timeout: 5_000 }).toBe(cost);
  await expect.poll(() => [asked, aborted]).toEqual([isAsked, isAsked]);
});
