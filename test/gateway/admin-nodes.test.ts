// Changes over several Redis: one of them holds the live document, and clients count in all of them.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LIVE_KEY } from "../../src/kernel/core/layout.ts";
import { folderWith, headgate } from "../cli/run.ts";
import { ADMIN_TOKEN, startAdmin } from "../support/gateway/admin.ts";
import { nameOn, nodeBindings } from "../support/gateway/nodes.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const CLIENT = "192.0.2.1";
const WITHIN = { timeout: 15_000, interval: 100 };

async function start(timeoutMs: number) {
  const [region, document, counts] = await Promise.all([startPrivateRedis(), startPrivateRedis(), startPrivateRedis()]);
  const far = await nameOn("counts", ["central", "counts"], { kind: "ip", values: [CLIENT] });
  const all = { limit: 500, window: "31d" };
  const policies = [{ name: far, match: { path: "/far" }, limits: [all, { ...all, scope: "region" }] }];
  const nodes = {
    eu: { ...region.rest, region: "eu" },
    counts: counts.rest,
    central: { ...document.rest, live: true as const },
  };
  const vars = { ...nodeBindings(nodes), REGION: "eu", REDIS_TIMEOUT_MS: timeoutMs };
  const gateway = () => startAdmin({ redis: null, policies, vars });
  const { REDIS_NODES } = vars;
  const moved = REDIS_NODES.map((node) => ({ ...node, live: node.name === "counts" }));
  const afterMove = () => startAdmin({ redis: null, policies, vars: { ...vars, REDIS_NODES: moved } });
  return { far, document, counts, gateway, afterMove };
}

it("while a node of counts is away they are not told in part, and changes hold; without the document none is made", async () => {
  const { far, document, counts, gateway } = await start(1_000);
  const one = await gateway();
  const status = async () => (await one.fetch("/far", { address: CLIENT })).status;
  const override = (body: object) => one.admin(`/overrides/${far}?key=${CLIENT}`, { method: "PUT", body });
  expect(await status()).toBe(200);
  for (const beside of [{}, { factor: 2 }]) {
    counts.slow(2_000);
    for (const method of ["GET", "DELETE"]) {
      expect((await one.admin(`/counts/${far}?key=${CLIENT}`, { method })).status).toBe(503);
    }
    const env = { HEADGATE_URL: one.url.href, HEADGATE_TOKEN: ADMIN_TOKEN };
    expect((await headgate("/", ["admin", "block", far, CLIENT], env)).status).toBe(0);
    expect((await one.admin("/overrides")).body.overrides).toMatchObject([{ block: true, ...beside }]);
    expect(await status()).toBe(403);
    counts.slow(0);
    document.slow(2_000);
    expect(await status()).toBe(403);
    expect((await override({ factor: 2 })).status).toBe(503);
    document.slow(0);
    await expect.poll(async () => (await override({ factor: 2 })).status, WITHIN).toBe(200);
    await expect.poll(status, WITHIN).toBe(200);
    await expect
      .poll(async () => (await one.admin(`/counts/${far}?key=${CLIENT}`)).body.limits?.length, WITHIN)
      .toBe(2);
  }
});

it("the two commands of docs/deploy.md move the document to another node, and a blocked client stays blocked", async () => {
  const [folder, { far, document, counts, gateway, afterMove }] = [folderWith(), await start(10_000)];
  const [, ...commands] = /```sh\n(.* live get .*)\nnpm run deploy\n(.* live put .*)\n```/.exec(
    readFileSync("docs/deploy.md", "utf8"),
  )!;
  const [get, put] = commands.map((line) => line.replaceAll("'", "").split(" ").slice(2));
  const [, file] = get!.splice(get!.indexOf(">"));
  const run = ({ url }: { readonly url: URL }, args: readonly string[]) => {
    return headgate(folder, args, { HEADGATE_URL: url.href, HEADGATE_TOKEN: ADMIN_TOKEN });
  };
  const before = await gateway();
  expect((await run(before, ["admin", "block", far, CLIENT])).status).toBe(0);
  const { status, stdout } = await run(before, get!);
  expect(status).toBe(0);
  writeFileSync(join(folder, file!), stdout);
  const after = await afterMove();
  // No other place is searched, and what lies there stays.
  expect((await after.admin("/live")).body).toMatchObject({ version: 0, overrides: [] });
  expect(await run(after, put!)).toMatchObject({ status: 0, stderr: "" });
  expect((await after.fetch("/far", { address: CLIENT })).status).toBe(403);
  expect(await Promise.all([document, counts].map(({ redis }) => redis.exists(LIVE_KEY)))).toEqual([1, 1]);
  expect(await run(after, put!)).toMatchObject({ status: 1, stdout: "" });
});
