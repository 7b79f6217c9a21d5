/** The samples have every field that the formats' documentation has. Addresses are those of documentation. */

import { describe, expect, it } from "vitest";
import { WHOLE_SECONDS } from "../../../../src/cli/replay/log/format.ts";
import { type ReadLog, readFiles, readText, seen } from "./read-log.ts";

const NO_REQUESTS = "Some lines hold no HTTP request that a policy could match.";

const NEEDED: readonly string[] = (
  "method path host duration tokens status colo ip bearer jwt:sub header:x-api-key header:User-Agent cookie:session " +
  "query:page country asn continent"
).split(" ");

/** What no log of Cloudflare has. */
const NO_CONTINENT = {
  continent: "a field for the continent",
  "jwt:sub": "the claims of verified tokens",
};

/** By need the field that the log lacks. */
function lacking({ log }: ReadLog): Record<string, string> {
  const fields = NEEDED.map((needed) => [needed, log.lacks(needed)] as const);
  return Object.fromEntries(fields.filter((field): field is [string, string] => field[1] !== undefined));
}

describe("Cloudflare Logpush", () => {
  const FIRST = {
    at: "2026-11-22T20:00:00.123Z",
    durationMs: 43,
    request: "POST https://api.example.com/v1/items?page=2&sort=name",
    "CF-Connecting-IP": "192.0.2.17",
    host: "api.example.com",
    "user-agent": 'Mozilla/5.0 (X11; Linux x86_64) "quoted"',
    referer: "https://www.example.com/start",
    cookie: "session=s-1; theme=dark",
    authorization: "Bearer token-1",
    "x-api-key": "key-1",
    cf: { country: "PT", asn: 64496, colo: "LIS" },
  };
  const LAST = {
    at: "2026-11-22T20:00:01.005Z",
    durationMs: 4,
    request: "GET http://api.example.com/v1/items/caf%C3%A9",
    "CF-Connecting-IP": "2001:db8:1:2:3:4:5:6",
    host: "api.example.com",
    cf: { country: "T1", asn: 64496, colo: "FRA" },
  };
  it("reads nanoseconds", async () => {
    const read = await readFiles(["logpush-unixnano.ndjson"]);
    expect(read.entries.map(seen)).toEqual([FIRST, LAST]);
    expect(lacking(read)).toEqual({ tokens: "a field for tokens", ...NO_CONTINENT });
    expect(read.log.facts).toMatchObject({ damaged: 0, notes: new Set() });
  });

  it.each(["logpush-unix.ndjson", "logpush-rfc3339.ndjson"])(
    "reads %s, whose seconds tell no durations",
    async (file) => {
      const read = await readFiles([file]);
      expect(read.entries.map(({ atMs }) => new Date(atMs).toISOString())).toEqual([
        "2026-11-22T20:00:00.000Z",
        "2026-11-22T20:00:01.000Z",
      ]);
      expect(lacking(read)).toEqual({
        ...NO_CONTINENT,
        tokens: "a field for tokens",
        duration: "EdgeStartTimestamp and EdgeEndTimestamp in nanoseconds (timestamp_format unixnano)",
      });
      expect([...read.log.facts.notes]).toEqual([WHOLE_SECONDS]);
    },
  );

  const minimal = (other: object) => `${JSON.stringify({ EdgeStartTimestamp: 1_795_377_600_123_000_000, ...other })}\n`;

  it("names the fields that a job has left out", async () => {
    const read = await readText(minimal({ ClientRequestHost: "a.example" }));
    expect(lacking(read)).toEqual({
      method: "ClientRequestMethod",
      path: "ClientRequestURI",
      duration: "EdgeEndTimestamp",
      tokens: "a field for tokens",
      status: "EdgeResponseStatus",
      colo: "EdgeColoCode",
      ip: "ClientIP",
      bearer: "RequestHeaders",
      "header:x-api-key": "RequestHeaders",
      "header:User-Agent": "RequestHeaders",
      "cookie:session": "Cookies",
      "query:page": "ClientRequestURI",
      country: "ClientCountry",
      asn: "ClientASN",
      ...NO_CONTINENT,
    });
  });

  it("reads the status that the client got", async () => {
    const statuses = [{ EdgeResponseStatus: 403, OriginResponseStatus: 200 }, { EdgeResponseStatus: 0 }];
    const lines = statuses.map((one) => minimal({ ClientRequestURI: "/", ...one }));
    const { entries } = await readText(lines.join(""));
    expect(entries.map(({ status }) => status)).toEqual([403, undefined]);
  });

  it("says that a Worker's own requests cannot be told from those of clients", async () => {
    const note = /^The log has no WorkerSubrequest: /;
    const { log } = await readText(minimal({ ClientRequestURI: "/" }));
    expect([...log.facts.notes]).toContainEqual(expect.stringMatching(note));
    const other = await readText(minimal({ ClientRequestURI: "/", WorkerSubrequest: false }));
    expect([...other.log.facts.notes]).not.toContainEqual(expect.stringMatching(note));
  });

  it.each([
    ["seconds", 1_795_377_600, 1_795_377_600_000],
    ["seconds with a fraction", 1_795_377_600.25, 1_795_377_600_250],
    ["nanoseconds", 1_795_377_600_123_000_000, 1_795_377_600_123],
    ["RFC 3339 with nanoseconds", "2026-11-22T20:00:00.123456789Z", 1_795_377_600_123],
    ["RFC 3339 with an offset", "2026-11-22T21:00:00+01:00", 1_795_377_600_000],
  ])("reads an instant in %s", async (_, EdgeStartTimestamp, atMs) => {
    const { entries } = await readText(minimal({ EdgeStartTimestamp, ClientRequestURI: "/" }));
    expect(entries.map((entry) => entry.atMs)).toEqual([atMs]);
  });

  it("reads every millisecond in nanoseconds, which are beyond 2^53", async () => {
    const lines = Array.from({ length: 1000 }, (_, ms) => `{"EdgeStartTimestamp":${1_795_377_600_000 + ms}000000}\n`);
    const { entries } = await readText(lines.join(""), "logpush");
    expect(entries.map(({ atMs }) => atMs - 1_795_377_600_000)).toEqual(lines.map((_, ms) => ms));
  });

  it("reads records whose fields change from line to line, and texts with escapes", async () => {
    const records = [
      { ClientIP: "192.0.2.1", ClientRequestURI: "/a" },
      { ClientRequestURI: "/b", ClientIP: "192.0.2.2" },
      { ClientIP: "192.0.2.3", ClientRequestURI: '/c"}\\', ClientRequestUserAgent: 'x","ClientIP":"192.0.2.99' },
      ...["/d", "/e"].map((uri) => ({
        RequestHeaders: { "x-api-key": 'a"},{\\', nested: { deep: [1, { x: "}" }] } },
        ClientRequestUserAgent: 'x","ClientIP":"192.0.2.99',
        ClientIP: "192.0.2.4",
        ClientRequestURI: uri,
      })),
    ];
    const { entries } = await readText(records.map(minimal).join(""));
    expect(entries.map(({ head }) => [head.headers.get("CF-Connecting-IP"), new URL(head.url).pathname])).toEqual([
      ["192.0.2.1", "/a"],
      ["192.0.2.2", "/b"],
      ["192.0.2.3", "/c%22%7D/"],
      ["192.0.2.4", "/d"],
      ["192.0.2.4", "/e"],
    ]);
    const keys = entries.map(({ head }) => head.headers.get("X-Api-Key"));
    expect(keys).toEqual([null, null, null, ...Array(2).fill('a"},{\\')]);
    expect(entries.at(-1)?.head.headers.get("user-agent")).toBe('x","ClientIP":"192.0.2.99');
  });

  const ODD = ["-5", "foo 12", "2026-11-22", "2026-11-22T20:00:00", "1989-12-31T23:59:59Z", "2100-01-01T00:00:00Z"];
  it.each([...ODD, 1e29, `1${"0".repeat(29)}`, -5])("takes %j for no instant", async (EdgeStartTimestamp) => {
    const good = minimal({ ClientRequestURI: "/" });
    const { entries, log } = await readText(good + minimal({ EdgeStartTimestamp, ClientRequestURI: "/" }));
    expect([entries.length, log.facts.damaged]).toEqual([1, 1]);
  });

  it.each([
    ['"ClientRequestURI":"/a\\x41"'],
    ['"ClientRequestURI":"/a\t"'],
    ['"ClientIP":"\\u00g0"'],
    ['"RequestHeaders":{broken}'],
    ['"RequestHeaders":{"a":"b",}'],
    ['"RequestHeaders":{"a":01}'],
    ['"Cookies":["a" "b"]'],
  ])("counts a line with %s as damaged, also after lines of the same form", async (broken) => {
    const [key = ""] = broken.split(":");
    const whole = { ClientIP: "192.0.2.1", ClientRequestURI: "/", RequestHeaders: { a: "b" }, Cookies: {} };
    const good = minimal(whole);
    const bad = good.replace(new RegExp(`${key}:(?:"[^"]*"|\\{[^}]*\\})`), () => broken);
    expect(bad).not.toBe(good);
    const { entries, log } = await readText(good.repeat(5) + bad + good);
    for (const { head } of entries) expect([head.headers.get("a"), head.headers.get("cookie")]).toEqual(["b", null]);
    expect(entries).toHaveLength(6);
    expect(log.facts.damaged).toBe(1);
    expect([...log.facts.notes].join()).toContain("First: line 6: it is not a JSON object");
  });
});

describe("nginx and Apache", () => {
  it("read the status, and say if no line has one", async () => {
    const read = await readFiles(["nginx-combined.txt"]);
    expect(read.entries.map(({ status }) => status)).toEqual([201, 200, 404]);
    const line = '192.0.2.1 - - [22/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1"';
    expect(lacking(await readText(`${line} - 1\n${line} 4040 1\n`))).toHaveProperty("status", "$status");
  });

  it("reads combined of nginx", async () => {
    const read = await readFiles(["nginx-combined.txt"]);
    expect(read.entries.map(seen)).toEqual([
      {
        at: "2026-11-22T20:00:00.000Z",
        request: "POST https://host.invalid/v1/items?page=2&sort=name",
        "CF-Connecting-IP": "192.0.2.17",
        "user-agent": 'Mozilla/5.0 (X11; Linux x86_64) "quoted" café',
        referer: "https://www.example.com/start",
      },
      {
        at: "2026-11-22T20:00:01.000Z",
        request: "GET https://host.invalid/",
        "CF-Connecting-IP": "2001:db8:1:2:3:4:5:6",
      },
      {
        at: "2026-11-22T20:00:03.000Z",
        request: "GET http://other.example.com/x",
        "CF-Connecting-IP": "203.0.113.9",
        host: "other.example.com",
        "user-agent": "curl/8.5.0",
      },
    ]);
    expect(lacking(read)).toEqual({
      host: "$host",
      duration: "$request_time",
      tokens: "a field for tokens",
      colo: "a data centre",
      bearer: "$http_authorization",
      "jwt:sub": "the claims of verified tokens",
      "header:x-api-key": "$http_x_api_key",
      "cookie:session": "$cookie_session",
      country: "$geoip_country_code",
      asn: "the number of the client's network",
      continent: "a field for the continent",
    });
    expect(read.log.facts).toMatchObject({ lines: 6, damaged: 0, notes: new Set([WHOLE_SECONDS, NO_REQUESTS]) });
  });

  it("reads vhost_combined of Apache", async () => {
    const read = await readFiles(["apache-vhost-combined.txt"]);
    expect(read.entries.map(seen)).toEqual([
      {
        at: "2026-11-22T20:00:00.000Z",
        request: 'GET https://api.example.com/apache_pb.gif?a="b"',
        "CF-Connecting-IP": "192.0.2.17",
        host: "api.example.com",
        "user-agent": 'Agent "quoted" \\ tab\t',
        referer: "http://www.example.com/start.html",
      },
      expect.objectContaining({ request: "GET http://www.example.com/", "CF-Connecting-IP": "203.0.113.9" }),
      expect.objectContaining({ request: "HEAD http://www.example.com:8080/x", host: "www.example.com:8080" }),
    ]);
    expect(lacking(read)).not.toHaveProperty("host");
    expect([...read.log.facts.notes]).toEqual([WHOLE_SECONDS, NO_REQUESTS]);
  });

  it("reads a virtual host with its port before names of clients, line by line", async () => {
    const lines = [
      "www.a.example:80 client.example.org - -",
      "www.a.example:80 192.0.2.1 - -",
      "2001:db8::80 - -",
      "192.0.2.3 - -",
      "host-9 - -",
    ].map((start) => `${start} [22/Nov/2026:20:00:00 +0000] "GET / HTTP/1.1" 200 1\n`);
    const { entries } = await readText(lines.join(""));
    expect(entries.map(({ head }) => [head.headers.get("CF-Connecting-IP"), head.headers.get("host")])).toEqual([
      ["client.example.org", "www.a.example"],
      ["192.0.2.1", "www.a.example"],
      ["2001:db8::80", null],
      ["192.0.2.3", null],
      ["host-9", null],
    ]);
  });

  it("reads common, which has no headers", async () => {
    const read = await readFiles(["common.txt"]);
    expect(read.entries.map((one) => Object.values(seen(one)))).toEqual([
      ["2026-11-22T20:00:00.000Z", "GET https://host.invalid/apache_pb.gif", "192.0.2.17"],
      ["2026-11-22T20:00:01.000Z", "GET https://host.invalid/b", "client.example.net"],
    ]);
    expect(lacking(read)["header:User-Agent"]).toBe("$http_user_agent");
  });

  it.each([
    ["31/Dec/2026:23:59:59 -1130", "2027-01-01T11:29:59.000Z"],
    ["29/Feb/2028:00:00:00 +0545", "2028-02-28T18:15:00.000Z"],
  ])("reads the time %s", async (time, at) => {
    const { entries } = await readText(`192.0.2.1 - - [${time}] "GET / HTTP/1.1" 200 1\n`);
    expect(entries.map((entry) => new Date(entry.atMs).toISOString())).toEqual([at]);
  });
});
