// Ways around a limit that somebody will try, from outside. test/kernel/http/match.test.ts has spellings and overrides.

import { expect, it } from "vitest";
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
