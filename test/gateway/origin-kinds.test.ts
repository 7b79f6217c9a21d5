// Origins that are not a base URL: a service binding, and the zone behind a route.

import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const policy = (limit: number) => ({ name: uniqueName("kind"), key: ["ip"], limits: [{ limit, window: "1h" }] });

/** Tells what the origin was asked, and redirects: a gateway that followed the redirect would be seen. */
function answer({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
  const body = `${method} http://${headers.host}${url} ${headers["x-client"]}`;
  response.writeHead(302, { Location: "/elsewhere" }).end(body);
}

it("sends allowed requests to the service binding, with the URL that the client asked for", async () => {
  const limited = policy(1);
  const gateway = await startGateway({ policies: [limited], redis: null, origin: (await startOrigin(answer)).url });

  const first = await gateway.fetch("/%6cogin//?a=1", { headers: { "X-Client": "yes" } });
  const second = await gateway.fetch("/login");

  expect([first.status, first.headers.get("Location")]).toEqual([302, "/elsewhere"]);
  expect(await first.text()).toBe(`GET ${gateway.url.origin}/%6cogin//?a=1 yes`);
  expect(fieldsOf(first).states).toMatchObject({ [limited.name]: { r: 0 } });
  expect(second.status).toBe(429);
  const health = await (await gateway.fetch("/.headgate/health")).json();
  expect(health).toMatchObject({ origin: "service" });
});

it('fetches the request as it is for ORIGIN_URL = "route"', async () => {
  const limited = policy(1);
  const vars = { ORIGIN_URL: "route" };
  const { url: network } = await startOrigin(answer);
  const gateway = await startGateway({ policies: [limited], redis: null, vars, network, cf: { colo: "FRA" } });

  const first = await gateway.fetch("/v1/a?b=c", { headers: { "X-Client": "yes", "CF-Ray": "1-FRA" } });

  expect([first.status, first.headers.get("Location")]).toEqual([302, "/elsewhere"]);
  expect(await first.text()).toBe(`GET ${gateway.url.origin}/v1/a?b=c yes`);
  expect(fieldsOf(first).states).toMatchObject({ [limited.name]: { r: 0 } });
  expect((await gateway.fetch("/v1/a")).status).toBe(429);
});

it.each([
  ["that is not Cloudflare", undefined, { "CF-Ray": "1-FRA" }],
  ["under wrangler dev", { colo: "FRA" }, {}],
] as const)("by route asks no host that a client chose, on a platform %s", async (_, cf, headers) => {
  const network = await startOrigin(answer);
  const gateway = await startGateway({
    ...{ policies: [policy(1)], redis: null, vars: { ORIGIN_URL: "route" }, network: network.url },
    ...(cf && { cf }),
  });
  expect((await gateway.fetch("/v1/a", { headers })).status).toBe(502);
  expect(network.requests).toEqual([]);
  await expect.poll(() => gateway.logs.join()).toContain("needs Cloudflare");
});
