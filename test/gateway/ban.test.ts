// A login that bans who goes on after five refusals, by two gateways over a real Redis.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startAdmin } from "../support/gateway/admin.ts";
import { type Gateway, uniqueName } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const LOGIN = { limits: [{ limit: 3, window: "1h" }], ban: { after: 5, within: "10m", for: ["2h", "1d"] } };
const ADDRESS = "192.0.2.7";
/** For longer than a reply may refuse other requests. */
const TRUSTED_MS = 5_000;
const TIMEOUT_MS = 60_000;

const send = (gateway: Gateway, address = ADDRESS) => gateway.fetch("/login", { method: "POST", address });

/** Refused until the ban, which begins about a second after the refusal that leads to it. */
async function refusedUntilBanned(gateway: Gateway, id: string): Promise<Response> {
  for (let i = 0; i < 3; i++) expect((await send(gateway)).status).toBe(200);
  for (;;) {
    const answer = await send(gateway);
    expect(answer.status).toBe(429);
    if ((await answer.clone().json())["violated-policies"].includes(id)) return answer;
    await answer.arrayBuffer();
    // Real time: a real gateway reports the refusals.
    await sleep(100);
  }
}

it(
  "bans everywhere, says for how long, and lifts the ban by a reset",
  async () => {
    const { rest } = await startPrivateRedis();
    const name = uniqueName("login");
    const [here, there] = await Promise.all(
      [0, 1].map(() => startAdmin({ redis: rest, policies: [{ name, ...LOGIN }] })),
    );
    const banned = await refusedUntilBanned(here!, `${name}-ban`);

    const wait = Number(banned.headers.get("Retry-After"));
    expect(wait).toBeGreaterThan(7_195);
    expect(wait).toBeLessThanOrEqual(7_200);
    expect(await banned.json()).toMatchObject({
      status: 429,
      title: "Quota Exceeded",
      detail: expect.stringContaining(`Over the limit ${name}-ban (5 refusals within 10m in all regions)`),
    });
    expect((await send(there!)).status).toBe(429);
    expect((await send(there!, "192.0.2.8")).status).toBe(200);

    const client = `/counts/${name}?kind=ip&key=${ADDRESS}`;
    const shown = await there!.admin(client);
    expect(shown.body.limits).toMatchObject([
      { id: `${name}-ban`, limit: 5, remaining: 0 },
      { id: name, limit: 3 },
    ]);
    expect(shown.body.limits[0].resetAfterMs).toBeGreaterThan(7_190_000);

    expect((await there!.admin(client, { method: "DELETE" })).status).toBe(200);
    expect((await send(there!)).status).toBe(200);
    await sleep(TRUSTED_MS);
    expect((await send(here!)).status).toBe(200);
  },
  TIMEOUT_MS,
);
