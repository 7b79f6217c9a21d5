// A change by the admin API is in force in every gateway over the same store, and nothing of it is lost.

import { expect, it } from "vitest";
import { headgate } from "../cli/run.ts";
import { ADMIN_TOKEN, type AdminGateway, startAdmin } from "../support/gateway/admin.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const [RAISED, BLOCKED, EXEMPT, OTHER] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] as const;
const PLANNED = "192.0.2.5";
// More than the requests of a test that waits on a busy machine.
const HOUR = { limit: 500, window: "1h" };
const POLICIES = [
  { name: "api", match: { path: "/api" }, plans: { pro: { api: 800 } }, limits: [HOUR] },
  { name: "trial", match: { path: "/trial" }, limits: [HOUR] },
];
/** The promise: `LIVE_REFRESH`, here 1 s, and 5 s. */
const WITHIN = { timeout: 6_000, interval: 100 };

/** What a client is answered: the status, and the units of the limit that it is told. */
async function seen(gateway: AdminGateway, address: string, path = "/api") {
  const { status, headers } = await gateway.fetch(path, { address });
  return [status, headers.get("X-RateLimit-Limit")];
}

const everywhere = (gateways: readonly AdminGateway[], address: string, path?: string) => () =>
  Promise.all(gateways.map((gateway) => seen(gateway, address, path)));
const four = (answer: unknown) => [answer, answer, answer, answer];

/** Each kind of change, and what undoes it: the call of the API, and the words of the command line. */
const CHANGES = [
  [`PUT /overrides/api?key=${RAISED}`, { limits: { api: 900 } }, `override api ${RAISED} --limit api=900`],
  [`PUT /overrides/api?key=${BLOCKED}`, { block: true }, `block api ${BLOCKED}`],
  [`PUT /overrides/api?key=${EXEMPT}`, { exempt: true }, `override api ${EXEMPT} --exempt`],
  [`PUT /overrides/api?key=${PLANNED}`, { plan: "pro" }, `override api ${PLANNED} --plan pro`],
  ["PATCH /policies/trial", { mode: "shadow" }, "mode trial shadow"],
] as const;
const UNDONE = [
  [`DELETE /overrides/api?key=${RAISED}`, undefined, `override api ${RAISED} --remove`],
  [`DELETE /overrides/api?key=${BLOCKED}`, undefined, `unblock api ${BLOCKED}`],
  [`DELETE /overrides/api?key=${EXEMPT}`, undefined, `override api ${EXEMPT} --remove`],
  [`DELETE /overrides/api?key=${PLANNED}`, undefined, `override api ${PLANNED} --remove`],
  ["PATCH /policies/trial", { mode: null }, "mode trial default"],
] as const;

type Made = (typeof CHANGES | typeof UNDONE)[number];

async function byCall({ admin }: AdminGateway, [call, body]: Made): Promise<boolean> {
  const [method, path] = call.split(" ") as [string, string];
  return (await admin(path, { method, body })).status === 200;
}

async function byCommand({ url }: AdminGateway, [, , words]: Made): Promise<boolean> {
  const env = { HEADGATE_URL: url.href, HEADGATE_TOKEN: ADMIN_TOKEN };
  return (await headgate("/", ["admin", ...words.split(" ")], env)).status === 0;
}

it.each([
  ["API", byCall],
  ["command line", byCommand],
])("by the %s every kind of change is in force in 4 gateways, in a cold one at once, and goes", async (_, make) => {
  const { rest } = await startPrivateRedis();
  const start = () => startAdmin({ policies: POLICIES, redis: rest });
  const gateways = await Promise.all([start(), start(), start(), start()]);
  const [a] = gateways as [AdminGateway, ...AdminGateway[]];
  expect(await everywhere(gateways, RAISED)()).toEqual(four([200, "500"]));
  /** At once, each in another gateway: everybody but the fastest tries again. */
  const makeAll = async (changes: readonly Made[]) => {
    const made = await Promise.all(changes.map((change, i) => make(gateways[i % gateways.length]!, change)));
    expect(made).toEqual(changes.map(() => true));
  };

  await makeAll(CHANGES);
  await expect.poll(everywhere(gateways, BLOCKED), WITHIN).toEqual(four([403, null]));
  await expect.poll(everywhere(gateways, EXEMPT), WITHIN).toEqual(four([200, null]));
  await expect.poll(everywhere(gateways, PLANNED), WITHIN).toEqual(four([200, "800"]));
  await expect.poll(everywhere(gateways, OTHER, "/trial"), WITHIN).toEqual(four([200, null]));
  await expect.poll(everywhere(gateways, RAISED), WITHIN).toEqual(four([200, "900"]));

  // The 4 units from before the change count.
  const { body: before } = await a.admin(`/counts/api?key=${RAISED}`);
  expect(before).toMatchObject({ override: { limits: { api: 900 } }, limits: [{ id: "api", limit: 900 }] });
  const used = 900 - before.limits[0].remaining;
  expect(used).toBeGreaterThanOrEqual(8);

  const cold = await start();
  expect(await seen(cold, BLOCKED)).toEqual([403, null]);
  expect(await seen(cold, EXEMPT)).toEqual([200, null]);
  expect(await seen(cold, PLANNED)).toEqual([200, "800"]);
  expect(await seen(cold, RAISED)).toEqual([200, "900"]);
  // Numbers of all, and who is blocked, are also told by the limits page and /limits/me.
  expect((await a.admin("/policies/api", { method: "PATCH", body: { limits: { api: 700 } } })).body).toEqual({
    ...{ version: 6, policy: { limits: { api: 700 } } },
  });
  await expect.poll(() => seen(cold, OTHER), WITHIN).toEqual([200, "700"]);
  expect(await (await cold.fetch("/.headgate/limits")).json()).toMatchObject({
    regions: [{ policies: [{ name: "api", limits: [{ quota: 700 }] }] }],
  });
  const me = async (address: string) => (await cold.fetch("/.headgate/limits/me?path=/api", { address })).json();
  expect(await me(RAISED)).toMatchObject({ limits: [{ id: "api", quota: 900, cost: 1 }] });
  expect(await me(BLOCKED)).toMatchObject({ type: "urn:headgate:problem:blocked", status: 403 });
  expect((await a.admin("/policies/api", { method: "PATCH", body: { limits: null } })).status).toBe(200);

  await makeAll(UNDONE);
  for (const address of [BLOCKED, EXEMPT, PLANNED, RAISED]) {
    await expect.poll(everywhere(gateways, address), WITHIN).toEqual(four([200, "500"]));
  }
  await expect.poll(everywhere(gateways, OTHER, "/trial"), WITHIN).toEqual(four([200, "500"]));
  // Counted, and counted on, under each of its numbers.
  const { limits } = (await a.admin(`/counts/api?key=${RAISED}`)).body;
  expect(500 - limits[0].remaining).toBeGreaterThan(used);
  expect((await a.admin("/live")).body).toMatchObject({ version: 12, policies: {}, overrides: [], ignored: [] });
});
