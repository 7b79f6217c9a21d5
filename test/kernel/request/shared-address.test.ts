// Which counted addresses draw a line: those that many clients have.

import { expect, it, vi } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { createAddressNotes } from "../../../src/kernel/http/shared-address.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";

const requestFrom = (address: string, url = "https://gate.example/") =>
  new Request(url, { headers: { "CF-Connecting-IP": address, "X-User": "ann" } });

function linesOf(requests: readonly Request[], kind = "ip"): string[] {
  const warned = vi.spyOn(console, "warn").mockReset();
  const [note, region] = [createAddressNotes(), () => "eu"];
  for (const request of requests) note(request, clientKey([kind], request, region));
  return warned.mock.calls.map(
    ([line]) => /an address of (.+?):/.exec((JSON.parse(line) as { note: string }).note)![1]!,
  );
}

it.each([
  ["127.0.0.1", "the loopback"],
  ["::1", "the loopback"],
  ["10.1.2.3", "a private network"],
  ["172.31.255.1", "a private network"],
  ["100.64.0.1", "a private network"],
  ["fe80::1", "a private network"],
  ["::ffff:10.1.2.3", "a private network"],
  ["2a06:98c0:3600::103", "Cloudflare's Workers, which all have this one"],
  ["172.71.1.1", "Cloudflare's network"],
])("%s is one of %s", (address, whose) => {
  expect(linesOf([requestFrom(address), requestFrom(address)])).toEqual([whose]);
  expect(linesOf([requestFrom(address)], "header:x-user+ip")).toEqual([whose]);
  expect(linesOf([requestFrom(address)], "header:x-user+ip/48")).toEqual([whose]);
  expect(linesOf([requestFrom(address)], "ip4/24")).toEqual([whose]);
  expect(linesOf([requestFrom(address)], "header:x-user")).toEqual([]);
});

it.each(["192.0.2.1", "8.8.8.8", "172.32.0.1", "2001:db8::1", "2a06:98c8::1", "not an address"])(
  "%s draws none",
  (address) => expect(linesOf([requestFrom(address)])).toEqual([]),
);

it("each kind draws one line, none where the server is on this machine, and none after 10,000 requests", () => {
  const both = ["10.0.0.1", "10.0.0.2", "127.0.0.1", "10.0.0.3"].map((address) => requestFrom(address));
  expect(linesOf(both)).toEqual(["a private network", "the loopback"]);
  expect(linesOf([requestFrom("127.0.0.1", "http://localhost:8787/")])).toEqual([]);
  const one = requestFrom("192.0.2.1");
  expect(linesOf([...Array<Request>(10_000).fill(one), requestFrom("10.0.0.1")])).toEqual([]);
});

it("a middleware writes what check warns of when it is made, once for each limiter, unless the program names clients", () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const limiterBy = (key: string) =>
    createLimiter({ policies: [{ name: "api", key, limits: [{ limit: 2, window: "1h" }] }], store: memoryStore() });
  const [chosen, address] = [limiterBy("header:x-user"), limiterBy("ip")];
  for (const limiter of [chosen, chosen, address]) withRateLimit(() => new Response(), limiter, { clientIp: "socket" });
  expect(warned.mock.calls.map(([line]) => JSON.parse(line) as unknown)).toEqual([
    { event: "note", note: expect.stringContaining("counts by header:x-user, which a client can change at will") },
  ]);
  withRateLimit(() => new Response(), limiterBy("header:x-user"), { key: () => "ann" });
  expect(warned).toHaveBeenCalledTimes(1);
});
