// Ways around a limit that somebody will try, from outside. test/kernel/http/match.test.ts has spellings and overrides.

import { expect, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { type RawRequest, sendRaw } from "../support/gateway/raw.ts";

async function send(gateway: Gateway, sent: RawRequest): Promise<number> {
  const { status, body } = await sendRaw(gateway, sent);
  await body;
  return status;
}

const TWO = [{ limit: 2, window: "30d" }];

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
  const ofTheHop = { "x-gone": "1", te: "trailers", "proxy-authorization": "Basic abc", "proxy-connection": "close" };
  const headers = { Connection: `close, X-Gone, ${Object.keys(said).join(", ")}`, ...ofTheHop, ...said };

  expect(await send(gateway, { headers })).toBe(200);
  const { headers: arrived } = origin.requests[0]!;
  expect(arrived).toMatchObject(said);
  // What belongs to one connection stays there.
  expect(Object.keys(ofTheHop).filter((name) => name in arrived)).toEqual([]);
  expect(arrived.connection ?? "").not.toMatch(/gone/i);
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
