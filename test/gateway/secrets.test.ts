// Tokens, keys and clients' identities appear in no answer and in no log line, whatever goes wrong.

import { describe, expect, inject, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { firstOf } from "../support/cases/draws.ts";
import { type GatewayOptions, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const TOKEN = "T0ken-0f-the-rest-service";
const KEY_SECRET = "k3y-secret-of-the-operator";
const OF_THE_CLIENT = ["b3arer-of-alice", "c00kie-of-alice", "us3r-alice", "qu3ry-of-alice", "203.0.113.77"];
const [bearer, cookie, user, query, address] = OF_THE_CLIENT as [string, string, string, string, string];

const limits = [{ limit: 2, window: "30d" }];
const policies = () =>
  (["bearer", "cookie:sid", "header:x-user", "query:u", "ip"] as const).map((key, i) => ({
    name: uniqueName(`by-${i}`),
    key: [key],
    limits,
    ...(i === 4 && { match: { path: "/denied" }, onStoreFailure: "deny" }),
  }));

/**
 * All that a client and an operator can see of a gateway: answers, health, and the log. The log must contain `event`.
 */
async function seen(event: string, options: Partial<GatewayOptions>) {
  const gateway = await startGateway({ policies: policies(), ...options, vars: { KEY_SECRET, ...options.vars } });
  const headers = { Authorization: `Bearer ${bearer}`, Cookie: `sid=${cookie}`, "X-User": user };
  const paths = ["/a", "/a", "/a", "/denied", "/.headgate/health", "/.headgate/limits", "/.headgate"];
  const statuses: number[] = [];
  let text = "";
  for (const path of paths) {
    const answer = await gateway.fetch(`${path}?u=${query}`, { address, headers });
    statuses.push(answer.status);
    text += `${answer.statusText}\n${[...answer.headers].join("\n")}\n${await answer.text()}\n`;
  }
  const log = () => gateway.logs.join("\n");
  await expect.poll(log, { timeout: 30_000 }).toContain(event);
  return { statuses, text, log: log() };
}

function expectNone(text: string, secrets: readonly string[]) {
  for (const secret of [...secrets, ...OF_THE_CLIENT, KEY_SECRET]) {
    for (const form of [secret, encodeURIComponent(secret), btoa(secret).replace(/=+$/, "").slice(0, -1)]) {
      expect(text).not.toContain(form);
    }
  }
}

/** A REST service that repeats everything it was sent, as Redis's own error texts do. */
async function indiscreet(status: number) {
  const rest = await startOrigin(async (request, response) => {
    const body = await new Response(request as unknown as BodyInit).text();
    const error = `ERR ${request.headers.authorization} ${TOKEN} command was: ${body}`;
    response.writeHead(status).end(JSON.stringify({ error }));
  });
  return { url: rest.url, token: TOKEN };
}

describe("no secret is seen", () => {
  it("while all is well, and limits refuse", async () => {
    const origin = await startOrigin((_request, response) => response.end("origin"));
    const { statuses, text, log } = await seen('"refused"', { vars: { ORIGIN_URL: origin.url } });
    expect(statuses).toEqual([200, 200, 429, 429, 200, 200, 200]);
    expectNone(text + log, [inject("restToken")]);
  });

  it("when nobody is there: no Redis and no origin", async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const { statuses, text, log } = await seen('"origin-error"', {
      vars: { ORIGIN_URL: dead },
      redis: { url: dead, token: TOKEN },
    });
    expect(statuses).toEqual([502, 502, 429, 503, 503, 200, 200]);
    expectNone(text + log, [TOKEN]);
    // Answers do not show either where Redis and the origin are. The port's digits may be a part of another number.
    expect(text).not.toMatch(new RegExp(`(?<![0-9a-f])${new URL(dead).port}(?![0-9a-f])`));
  });

  it.each(
    firstOf<[string, () => Promise<{ url: string; token: string }>]>([
      ["repeats what it was sent with 400", () => indiscreet(400)],
      ["refuses the token", async () => ({ url: inject("restUrl"), token: TOKEN })],
      ["repeats what it was sent with 500", () => indiscreet(500)],
      ["repeats what it was sent with 401", () => indiscreet(401)],
      ["repeats what it was sent with 200", () => indiscreet(200)],
    ]),
  )("when Redis %s", async (_, redis) => {
    const origin = await startOrigin((_request, response) => response.end("origin"));
    const { statuses, text, log } = await seen('"failure"', { redis: await redis(), vars: { ORIGIN_URL: origin.url } });
    expect(statuses).toEqual([200, 200, 429, 503, 503, 200, 200]);
    expectNone(text + log, [TOKEN]);
  });
});
