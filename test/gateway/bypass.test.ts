// Ways around a limit that somebody will try. Each is tried from outside, and each is counted all the same.

import { once } from "node:events";
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, inject, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

interface Sent {
  readonly method?: string;
  readonly path?: string;
  /** A list of values becomes one header line for each value. */
  readonly headers?: OutgoingHttpHeaders;
}

/** Sends the bytes as they are. fetch would tidy paths and headers up. */
async function send({ url }: Gateway, { method = "GET", path = "/", headers }: Sent): Promise<number> {
  const outgoing = httpRequest(url, { method, path, headers: headers ?? {} });
  outgoing.end();
  const [response] = await once(outgoing, "response");
  await text(response);
  return response.statusCode;
}

const OVERRIDES = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"];
const PREFLIGHT = { Origin: "https://page.example", "Access-Control-Request-Method": "POST" };
const withHeader = (name: string, value: string | string[]) => ({ headers: { [name]: value } });

interface Attempt {
  /** The policy to get around. Its limit is 2 for each address. */
  readonly policy: object;
  /** The request that is sent twice. */
  readonly asked: Sent;
  /** Requests that are sent next, one at a time. A request is refused unless it is a way around the limit. */
  readonly ways: readonly Sent[];
}

const ATTEMPTS: Record<string, Attempt> = {
  "an override of the method, once or in two lines, also in what looks like a preflight": {
    policy: { match: { method: "POST", path: "/login" } },
    asked: { method: "POST", path: "/login" },
    ways: OVERRIDES.flatMap((name) => [
      { path: "/login", ...withHeader(name, "post") },
      { path: "/login", ...withHeader(name, ["POST", "PUT"]) },
      { path: "/login", ...withHeader(name, ["PUT", "POST"]) },
      { path: "/login", method: "OPTIONS", headers: { ...PREFLIGHT, [name]: "POST" } },
    ]),
  },
  "another spelling of the path": {
    policy: { match: { path: "/login" } },
    asked: { path: "/login" },
    ways: [
      ...["/LOGIN", "//login", "/login/", "/x/../login", "/x/%2e%2E/login", "/%6cogin", "/%4Cogin//", "/x\\..\\login"],
      ...["/login?x", "/./login", "/login/.", "/%2E/login"],
    ].map((path) => ({ path })),
  },
  "another spelling of the host": {
    policy: { match: { host: "api.example.com" } },
    asked: withHeader("Host", "api.example.com"),
    ways: [
      "API.Example.COM",
      "api.example.com.",
      "api.example.com..",
      "api.example.com:8787",
      "api.example.com.:1",
    ].map((host) => withHeader("Host", host)),
  },
  "another token, where addresses are counted too": {
    policy: {},
    asked: withHeader("Authorization", "Bearer first"),
    ways: [withHeader("Authorization", "Bearer second"), {}],
  },
};

const TWO = [{ limit: 2, window: "30d" }];
describe("a way around the limit does not work", () => {
  it.each(Object.entries(ATTEMPTS))("%s", async (_, { policy, asked, ways }) => {
    const policies = [{ name: "two", key: ["ip"], limits: TWO, ...policy }];
    const gateway = await startGateway({ policies, redis: null });
    for (const [i, way] of ways.entries()) {
      const from = (sent: Sent) => ({ ...sent, headers: { ...sent.headers, "CF-Connecting-IP": `192.0.2.${i}` } });
      const statuses = [];
      for (const sent of [asked, asked, way]) statuses.push(await send(gateway, from(sent)));
      expect(statuses, JSON.stringify(way)).toEqual([200, 200, 429]);
    }
  });
});

it("what is not counted as a path is not that path for the origin either: it gets what was matched", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const policies = [{ name: "login", match: { path: "/login" }, limits: [{ limit: 1, window: "30d" }] }];
  const gateway = await startGateway({ policies, redis: null, vars: { ORIGIN_URL: origin.url } });
  const others = ["/%256cogin", "/x%2Flogin", "/%2Flogin", "/login;x", "/login%00", "/login%20", "/login%3Fx"];

  for (const path of others) expect(await send(gateway, { path })).toBe(200);
  expect(origin.requests.map(({ url }) => url)).toEqual(others);
});

it("naming it in Connection does not hide the client's address from the origin", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const policies = [{ name: "any", limits: TWO }];
  const gateway = await startGateway({ policies, redis: null, vars: { ORIGIN_URL: origin.url } });
  const said = {
    "cf-connecting-ip": "192.0.2.1",
    "x-forwarded-for": "192.0.2.1",
    "cf-ipcountry": "DE",
  };
  const headers = { Connection: `close, X-Gone, ${Object.keys(said).join(", ")}`, "X-Gone": "1", ...said };

  expect(await send(gateway, { headers })).toBe(200);
  const { headers: arrived } = origin.requests[0]!;
  expect(arrived).toMatchObject(said);
  expect(arrived).not.toHaveProperty("x-gone");
});

it("a field that the client's Connection names is no key: the origin does not get it either", async () => {
  const policies = [{ name: "any", key: ["bearer", "ip"], limits: TWO }];
  const gateway = await startGateway({ policies, redis: null });
  const statuses = [];
  for (const token of ["a", "b", "c"]) {
    const headers = { Connection: "close, Authorization", Authorization: `Bearer ${token}` };
    statuses.push(await send(gateway, { headers }));
  }
  expect(statuses).toEqual([200, 200, 429]);
});

it("the origin gets what was counted of what a client sends twice, in one line", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const keys = ["bearer", "header:x-api-key", "cookie:sid", "query:user"];
  const policies = keys.map((key, i) => ({ name: `p${i}`, key: [key], limits: TWO }));
  const gateway = await startGateway({ policies, redis: null, vars: { ORIGIN_URL: origin.url } });
  const headers = {
    Authorization: ["Bearer a", "Bearer b"],
    "X-Api-Key": ["a", "b"],
    Cookie: ["sid=a", "sid=b; x=1"],
    "X-Other": ["a", "b"],
  };
  expect(await send(gateway, { path: "/?user=a&user=b", headers })).toBe(200);
  const { url, rawHeaders } = origin.requests[0]!;
  const sent = (name: string) => rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name);
  expect(url).toBe("/?user=a");
  expect([sent("authorization"), sent("x-api-key")]).toEqual([[], []]);
  expect(sent("cookie")).toHaveLength(1);
  expect(sent("cookie")[0]!.match(/(?:^|;) *sid=/g)).toHaveLength(1);
  expect(sent("x-other").join(", ")).toBe("a, b");
});

it("a client that resets its connection before the decision is charged, and its request goes nowhere", async () => {
  const CLIENTS = 10;
  const noticed = Promise.withResolvers<void>();
  const [waiting, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const origin = await startOrigin((_request, response) => {
    response.on("close", () => noticed.resolve());
    arrived.resolve();
  });
  // Redis does not know the script at first, so a second call must charge. By then the clients are gone.
  let unknown = 0;
  const rest = await startOrigin(async (request, response) => {
    const body = await text(request);
    if (/^\["evalsha"/i.test(body) && unknown < CLIENTS) {
      if (++unknown === CLIENTS) waiting.resolve();
      await noticed.promise;
      response.writeHead(400).end(JSON.stringify({ error: "NOSCRIPT No matching script." }));
      return;
    }
    const headers = { Authorization: request.headers.authorization ?? "" };
    const answer = await fetch(inject("restUrl"), { method: "POST", headers, body });
    response.writeHead(answer.status).end(await answer.text());
  });
  const name = uniqueName("aborted");
  const policies = [
    {
      name,
      match: { path: ["/a", "/look"] },
      key: ["global"],
      cost: [{ path: "/look", cost: 0 }],
      limits: [{ limit: 100, window: "30d" }],
    },
  ];
  const gateway = await startGateway({
    policies,
    vars: { ORIGIN_URL: origin.url },
    redis: { url: rest.url, token: inject("restToken") },
  });
  const sendRaw = (path: string) => {
    const client = connect(Number(gateway.url.port), gateway.url.hostname);
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return client;
  };

  const clients = Array.from({ length: CLIENTS }, () => sendRaw("/a"));
  await waiting.promise;
  for (const client of clients) client.resetAndDestroy();
  // Nothing shows when workerd has noticed these resets. A later reset of a request without limits shows it: the origin
  // sees that connection close.
  const later = sendRaw("/free");
  await arrived.promise;
  later.resetAndDestroy();
  await noticed.promise;

  origin.server.removeAllListeners("request").on("request", (_request, response) => response.end());
  const look = async () => fieldsOf(await gateway.fetch("/look")).states?.[name]?.r;
  await expect.poll(look, { timeout: 30_000 }).toBe(100 - CLIENTS);
  expect(origin.requests.map(({ url }) => url)).toEqual(["/free"]);
});

it("no answer of the gateway's own may be stored, so that a refusal is not served to somebody else", async () => {
  const limits = [{ limit: 1, window: "30d" }];
  const policies = [
    { name: "one", match: { path: "/one" }, limits },
    { name: "denied", match: { path: "/denied" }, limits, onStoreFailure: "deny" },
  ];
  const dead = `http://127.0.0.1:${await freePort()}`;
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: dead }, redis: { url: dead, token: "dead" } });
  const wrong = await startGateway({ policies: [] });

  const answers = [];
  for (const path of ["/one", "/one", "/denied", "/.headgate/x", "/.headgate/health"])
    answers.push(await gateway.fetch(path));
  for (const path of ["/", "/.headgate/health"]) answers.push(await wrong.fetch(path));
  answers.push(await gateway.fetch("/one", { headers: { Accept: "text/html" } }));

  expect(answers.map(({ status }) => status)).toEqual([502, 429, 503, 404, 503, 500, 503, 429]);
  expect(new Set(answers.map(({ headers }) => headers.get("Cache-Control")))).toEqual(new Set(["no-store"]));
});
