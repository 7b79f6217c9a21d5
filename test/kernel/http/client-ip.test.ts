// Whose address is counted elsewhere than on Workers.

import { Hono } from "hono";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rateLimit as onExpress } from "../../../src/adapters/express.ts";
import { rateLimit } from "../../../src/adapters/hono.ts";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { createGateway } from "../../../src/gateway.ts";
import type { ClientIp } from "../../../src/kernel/config/client-ip.ts";
import { ConfigurationError } from "../../../src/kernel/config/mistake.ts";
import { addressBy } from "../../../src/kernel/http/client-ip.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter, type LimiterOptions } from "../../../src/limiter.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const FORWARDED = "X-Forwarded-For";
const ofPolicies = (policies: LimiterOptions["policies"]) => createLimiter({ policies, store: memoryStore() });

function read(clientIp: ClientIp, headers: Record<string, string> = {}, platform?: unknown) {
  return addressBy("rateLimit", clientIp)?.(new Request("https://app.example/", { headers }), platform);
}

describe("an entry of a field", () => {
  const warn = () => vi.spyOn(console, "warn").mockImplementation(() => {});

  it.each<[hops: number | undefined, list: string, found: string]>([
    [undefined, "10.6.6.6, 192.0.2.1", "192.0.2.1"],
    [2, "10.6.6.6, 192.0.2.1, 10.0.0.1", "192.0.2.1"],
    [1, "unknown, 2001:db8::1", "2001:db8::1"],
    [1, "192.0.2.1:50123", "192.0.2.1"],
    [1, "[2001:db8::1]:50123", "2001:db8::1"],
    [1, "[2001:db8::1]", "2001:db8::1"],
    [1, "[fe80::1%eth0]:50123", "fe80::1"],
  ])("with hops %s, %j is %s", (hops, list, found) => {
    expect(read({ header: "x-forwarded-for", ...(hops && { hops }) }, { [FORWARDED]: list })).toBe(found);
  });

  it.each<[hops: number, list: string | undefined, why: string]>([
    [1, undefined, "nothing"],
    [2, ",192.0.2.1", "nothing"],
    [1, "192.0.2.1, unknown", "another text"],
    [1, "192.0.2.1, [::1", "another text"],
  ])("with hops %i, %j has none, and a line says so", (hops, list, why) => {
    // Another second in each case: one line is written in each.
    vi.useFakeTimers({ now: Date.now() + caseNumber++ * 5_000 });
    const lines = warn();
    expect(read({ header: FORWARDED, hops }, list === undefined ? {} : { [FORWARDED]: list })).toBeUndefined();
    expect(JSON.parse(String(lines.mock.calls[0]![0]))).toMatchObject({ event: "no-client-address", found: why });
  });
  let caseNumber = 1;

  it("of Cloudflare may be a pseudo IPv4 address", () => {
    const headers = { "CF-Connecting-IP": "240.1.2.3", "CF-Connecting-IPv6": "2001:db8::1" };
    expect(read({ header: "cf-connecting-ip" }, headers)).toBe("2001:db8::1");
    expect(read({ header: "x-real-ip" }, { "X-Real-IP": "240.1.2.3", ...headers })).toBe("240.1.2.3");
  });

  it("is found in a field of any length at once", () => {
    const list = `${"1,".repeat(500_000)}192.0.2.1`;
    const headers = { get: () => list, has: () => true };
    const address = addressBy("rateLimit", { header: FORWARDED });
    const begunMs = performance.now();
    for (let i = 0; i < 1_000; i++) address?.({ method: "GET", url: "", headers });
    // Splitting the list takes 10 ms each time.
    expect(performance.now() - begunMs).toBeLessThan(1_000);
  });
});

describe("behind proxies that are known by their addresses", () => {
  const trust = ["10.0.0.0/8", "private", "loopback"];
  const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });
  beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));

  it.each<[peer: string, list: string | undefined, found: string | undefined]>([
    // The peer is the client: whatever it writes is not read.
    ["192.0.2.1", "10.0.0.9", "192.0.2.1"],
    ["10.0.0.1", undefined, "10.0.0.1"],
    ["::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"],
    ["127.0.0.1", "203.0.113.9, 192.0.2.1, 172.16.0.3,[fd00::1]:443", "192.0.2.1"],
    ["10.0.0.1", "10.6.6.6, 192.0.2.1:50123, 10.0.0.2", "192.0.2.1"],
    // All are trusted: the first one.
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    // What is no address is never skipped.
    ["10.0.0.1", "192.0.2.1, unknown, 10.0.0.2", undefined],
    ["10.0.0.1", "192.0.2.1,", undefined],
    ["10.0.0.1", "", undefined],
    ["10.0.0.1", `192.0.2.1${", 10.0.0.2".repeat(31)}`, "192.0.2.1"],
    ["10.0.0.1", `192.0.2.1${", 10.0.0.2".repeat(32)}`, undefined],
  ])("from %s, %j: %s", (peer, list, found) => {
    const headers = list === undefined ? undefined : { [FORWARDED]: list };
    expect(read({ header: "x-forwarded-for", trust }, headers, from(peer))).toBe(found);
  });

  it.each<[what: string, list: string, found: string | undefined]>([
    ["that a client has begun: its address is behind that", `${"1, ".repeat(30_000)}192.0.2.1, 10.0.0.2`, "192.0.2.1"],
    ["of proxies only", `${"10.0.0.3,".repeat(7_000)}10.0.0.2`, undefined],
    ["cut in an address, which would be another one", `203.0.113.9${" ".repeat(8_174)},10.0.0.2`, undefined],
  ])("a long list %s", (_, list, found) => {
    expect(read({ header: "x-forwarded-for", trust }, { [FORWARDED]: list }, from("10.0.0.1"))).toBe(found);
  });

  it.each<[list: string, found: string | undefined]>([
    ["for=192.0.2.1", "192.0.2.1"],
    ['by=10.0.0.9;FOR="[2001:db8::1]:4711";proto=https, for=10.0.0.2', "2001:db8::1"],
    ['for="192.0.2.1:80";host="a, b"', "192.0.2.1"],
    ["for=192.0.2.1, , for=10.0.0.2", "192.0.2.1"],
    // Empty pairs are allowed, and some proxies write spaces.
    ["for=192.0.2.1;", "192.0.2.1"],
    [";proto=https;;for=192.0.2.1;, for=10.0.0.2;;by=10.0.0.3", "192.0.2.1"],
    ["for=192.0.2.1 ; proto=https;\tby=10.0.0.9, for=10.0.0.2", "192.0.2.1"],
    ["for=203.0.113.9, ;", undefined],
    ["for=203.0.113.9, for = 192.0.2.1", undefined],
    ["for=203.0.113.9, proto=https", undefined],
    ["for=203.0.113.9;for=192.0.2.1", undefined],
    // A client opens a quote, and a proxy adds its entry behind that.
    ['for="203.0.113.9, for=192.0.2.1', undefined],
    ['for=203.0.113.9, for=", for="192.0.2.1"', undefined],
  ])("Forwarded: %j: %s", (list, found) => {
    expect(read({ header: "forwarded", trust }, { Forwarded: list }, from("10.0.0.1"))).toBe(found);
  });

  it.each([
    ["spaces", `${" ".repeat(8_000)}x`],
    ["spaces between semicolons", `a=b${"; ".repeat(4_000)}x`],
    ["pairs", `${"a=b;".repeat(10_000)}"`],
    ["elements", `${"for=10.0.0.1,".repeat(600)}"`],
    ["quotes", `for="${'\\"'.repeat(4_000)}`],
  ])("a malformed Forwarded of many %s is found to be so at once", (_, list) => {
    const begunMs = performance.now();
    expect(read({ header: "forwarded", trust }, { Forwarded: list }, from("10.0.0.1"))).toBeUndefined();
    // Quadratic time would be seconds.
    expect(performance.now() - begunMs).toBeLessThan(1_000);
  });

  it("Forwarded is read by hops too", () => {
    const Forwarded = 'for=192.0.2.1, for="[2001:db8::1]:443"';
    expect([1, 2].map((hops) => read({ header: "forwarded", hops }, { Forwarded }))).toEqual([
      "2001:db8::1",
      "192.0.2.1",
    ]);
  });
});

describe("the connection", () => {
  it.each<[where: string, platform: unknown, found: string | undefined]>([
    ["@hono/node-server and Express", { incoming: { socket: { remoteAddress: "192.0.2.1" } } }, "192.0.2.1"],
    ["Deno", { remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 1 } }, "192.0.2.1"],
    ["Bun", { requestIP: () => ({ address: "192.0.2.1", family: "IPv4", port: 1 }) }, "192.0.2.1"],
    ["Bun, as Hono passes it on", { server: { requestIP: () => ({ address: "192.0.2.1" }) } }, "192.0.2.1"],
    ["a closed connection of Node", { incoming: { socket: {} } }, undefined],
    ["a Unix socket of Deno", { remoteAddr: { transport: "unix", path: "/run/app" } }, undefined],
  ])("%s", (_, platform, found) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(read("socket", {}, platform)).toBe(found);
  });

  it("is unknown to platforms that tell nothing, which is an error and no guess", () => {
    for (const platform of [undefined, {}, { NAME: "value" }]) {
      expect(() => read("socket", {}, platform)).toThrow(
        /clientIp: expected .* does not report the connection.*ERR_CLIENT_IP/,
      );
    }
  });
});

describe("without clientIp", () => {
  const limited = (more: object) => ofPolicies([{ name: "two", limits: [{ limit: 2, window: "1h" }], ...more }]);
  const made = (more: object, options: object = {}) => {
    const limiter = limited(more);
    return [
      () => rateLimit(limiter, options),
      () => withRateLimit(() => new Response("ok"), limiter, options),
      () => onExpress(limiter, options),
    ];
  };
  beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));

  it.each<[what: string, more: object, options?: object]>([
    ["by default", {}],
    ["by its address", { key: "ip/56" }],
    ["by its address if its request has no token", { key: "bearer" }],
    ["by its address beside a path", { key: ["header:x-key", "host+ip", "global"] }],
    ["by what the program says, and exempts addresses", { exempt: ["10.0.0.0/8"] }, { key: () => "ann" }],
  ])("a policy that counts a client %s is refused when the middleware is made", (_, more, options) => {
    for (const make of made(more, options)) {
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(
        /: clientIp: expected "socket" or .*: policy two .*a Worker .*; found nothing \(ERR_CLIENT_IP, \S+\)$/,
      );
    }
  });

  it.each<[what: string, more: object, options?: object]>([
    ["all together", { key: "global" }],
    ["by what each request has", { key: ["header:x-key", "host+region"] }],
    ["by what the program says", { key: "ip" }, { key: () => "ann" }],
  ])("a policy that counts clients %s is not", (_, more, options) => {
    for (const make of made(more, options)) expect(make).not.toThrow();
  });

  it("nothing is refused on Workers", () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    for (const make of made({})) expect(make).not.toThrow();
  });

  it('a Worker that says "socket", so that it can be loaded elsewhere, counts as one that says nothing', async () => {
    const worker = () => withRateLimit(() => new Response("ok"), limited({}), { clientIp: "socket" });
    expect(worker).not.toThrow();
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const onWorkers = worker();
    const ask = async (ip: string) => {
      const request = new Request("https://app.example/", { headers: { "CF-Connecting-IP": ip } });
      return (await onWorkers.fetch(request, {}, { waitUntil() {} })).status;
    };
    const asked = ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"].map(ask);
    expect(await Promise.all(asked)).toEqual([200, 200, 429, 200]);
  });

  it("a limiter that a function of env makes is refused when that is called", async () => {
    const wrapped = withRateLimit(
      () => new Response("ok"),
      () => limited({}),
    );
    const asked = async () => await wrapped.fetch(new Request("https://app.example/"), {}, { waitUntil() {} });
    await expect(asked()).rejects.toThrow(/withRateLimit: clientIp: .*ERR_CLIENT_IP/);
  });
});

it("a limiter that counts connections says once that requests come through a proxy", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const limiter = ofPolicies([{ name: "a", key: "ip", limits: [{ limit: 9, window: "1h" }] }]);
  const apps = [1, 2].map(() => new Hono().use(rateLimit(limiter, { clientIp: "socket" })));
  const env = { incoming: { httpVersion: "1.1", socket: { remoteAddress: "10.0.0.1" } } };
  for (const app of apps) await app.request("/", {}, env);
  expect(warned).not.toHaveBeenCalled();
  for (const app of [...apps, ...apps]) await app.request("/", { headers: { [FORWARDED]: "192.0.2.1" } }, env);
  expect(warned.mock.calls.map(([line]) => JSON.parse(line) as unknown)).toEqual([
    {
      event: "note",
      note: expect.stringMatching(/^a request has come with X-Forwarded-For, and clientIp is "socket"/),
    },
  ]);
});

it.each<[unknown, string]>([
  ["ip", 'found "ip"'],
  [null, "found null"],
  [{ header: "" }, "found {"],
  [{ header: "x forwarded" }, "found {"],
  [{ header: "x-real-ip", hop: 2 }, "found {"],
  [{ header: "x-real-ip", hops: 0 }, "hops to be an integer from 1 to 32; found 0"],
  [{ header: "x-real-ip", hops: "1" }, 'found "1"'],
  [{ header: FORWARDED, trust: [] }, "trust to be a list of ranges"],
  [{ header: FORWARDED, trust: "private" }, "trust to be a list of ranges"],
  [{ header: FORWARDED, trust: ["10.0.0.1/8"] }, 'trust to have the first address of the range, "10.0.0.0/8"'],
  [{ header: FORWARDED, trust: ["private"], hops: 1 }, "either hops or trust"],
])("%j is refused when the middleware is made", (clientIp, message) => {
  const limiter = ofPolicies([{ name: "a", limits: [{ limit: 1, window: "1h" }] }]);
  const options = { clientIp: clientIp as ClientIp };
  const wrap = (...args: readonly never[]) => withRateLimit(() => new Response(), ...(args as [never, never]));
  for (const make of [rateLimit, wrap, onExpress] as ((...args: unknown[]) => unknown)[]) {
    expect(() => make(limiter, options)).toThrow(ConfigurationError);
    expect(() => make(limiter, options)).toThrow(message);
  }
});

it("CLIENT_IP: the gateway counts and exempts the client behind another CDN, and tells it what it has left", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const gateway = createGateway({
    ADMIN_TOKEN: "0123456789abcdef0123456789abcdef",
    CLIENT_IP: JSON.stringify({ header: "x-forwarded-for", trust: ["203.0.113.0/24"] }),
    POLICIES: [{ name: "api", exempt: ["192.0.2.9"], limits: [{ limit: 2, window: "1h" }] }],
  });
  const ask = async (client: string, path = "/", more: Record<string, string> = {}) => {
    const headers = { "CF-Connecting-IP": "203.0.113.7", [FORWARDED]: client, ...more };
    return await gateway.fetch(new Request(`https://gate.example${path}`, { headers }));
  };
  const statuses = async (...clients: string[]) => {
    const answers: number[] = [];
    for (const client of clients) answers.push((await ask(client)).status);
    return answers;
  };
  expect(await statuses("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.9")).toEqual([
    ...[200, 200, 429, 200, 200],
  ]);
  const left = async (client: string) => (await ask(client, "/.headgate/limits/me?path=/")).json();
  expect(await left("192.0.2.1")).toMatchObject({ limits: [{ remaining: 0 }] });
  expect(await left("192.0.2.2")).toMatchObject({ limits: [{ remaining: 1 }] });
  // Who guesses the admin token is told apart as well.
  const admin = async (client: string) =>
    (await ask(client, "/.headgate/admin/live", { Authorization: "Bearer x" })).status;
  const guesses = [];
  for (let i = 0; i < 6; i++) guesses.push(await admin("192.0.2.66"));
  expect([guesses.at(-1), await admin("192.0.2.1")]).toEqual([429, 401]);
  // Not by way of the CDN: what the client writes is not read.
  expect((await ask("192.0.2.1", "/", { "CF-Connecting-IP": "198.51.100.1" })).status).toBe(200);
});
