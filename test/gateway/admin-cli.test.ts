// The command line against a real gateway and a real Redis: what an operator types is in force.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWith, headgate } from "../cli/run.ts";
import { ADMIN_TOKEN, startAdmin } from "../support/gateway/admin.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const CLIENT = "203.0.113.7";
/** A key that no field could hold as it is. */
const STRANGE = "50 % off, Müller";

it("looks, changes, blocks, frees and takes back", async () => {
  const { rest } = await startPrivateRedis();
  const policies = [
    { name: "api", limits: [{ limit: 10, window: "1h" }] },
    { name: "users", match: { path: "/users" }, key: ["query:user", "ip"], limits: [{ limit: 5, window: "1h" }] },
  ];
  const gateway = await startAdmin({ policies, redis: rest });
  const folder = folderWith({});
  const env = { HEADGATE_URL: gateway.url.href, HEADGATE_TOKEN: ADMIN_TOKEN };
  const admin = async (...args: string[]) => {
    const { status, stdout, stderr } = await headgate(folder, ["admin", ...args, "--json"], env);
    expect([status, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };
  const ask = async (path = "/") => {
    const answer = await gateway.fetch(path, { address: CLIENT });
    await answer.arrayBuffer();
    return [answer.status, answer.headers.get("X-RateLimit-Limit")];
  };

  expect(await ask()).toEqual([200, "10"]);
  expect(await admin("counts", "api", CLIENT)).toMatchObject({ override: null, limits: [{ limit: 10, remaining: 9 }] });
  await admin("override", "api", CLIENT, "--factor", "3");
  expect(await ask()).toEqual([200, "30"]);
  await admin("block", "api", CLIENT, "--until", "2h");
  expect((await ask())[0]).toBe(403);
  await admin("unblock", "api", CLIENT);
  // What stood beside the block holds again, and the counts were kept.
  expect(await ask()).toEqual([200, "30"]);
  expect(await admin("counts", "api", CLIENT)).toMatchObject({ limits: [{ limit: 30, remaining: 27 }] });
  await admin("reset", "api", CLIENT);
  expect(await admin("counts", "api", CLIENT)).toMatchObject({ limits: [{ remaining: 30 }] });

  await admin("limits", "api", "api=20");
  await admin("mode", "api", "shadow");
  expect(await ask()).toEqual([200, null]);
  await admin("mode", "api", "default");
  expect(await ask()).toEqual([200, "60"]);

  await admin("block", "users", STRANGE, "--kind", "query:user");
  expect((await ask(`/users?user=${encodeURIComponent(STRANGE)}`))[0]).toBe(403);

  const file = join(folder, "live.json");
  writeFileSync(file, JSON.stringify(await admin("live", "get")));
  const document = JSON.parse(readFileSync(file, "utf8"));
  expect(document.overrides).toHaveLength(2);
  writeFileSync(file, JSON.stringify({ ...document, policies: {}, overrides: [] }));
  await admin("live", "put", file);
  expect(await ask()).toEqual([200, "10"]);
  expect(await ask(`/users?user=${encodeURIComponent(STRANGE)}`)).toEqual([200, "5"]);

  const old = await headgate(folder, ["admin", "live", "put", file], env);
  expect([old.status, old.stdout]).toEqual([1, ""]);

  // What the command line does not check, the gateway refuses.
  for (const [words, says] of [
    ["override api 192.0.2.9", "one of limits"],
    ["override api 192.0.2.9 --factor 0", "factor"],
    ["override api 192.0.2.9 --factor two", "factor"],
    ["limits api api=0", "limits.api"],
  ] as const) {
    const refused = await headgate(folder, ["admin", ...words.split(" ")], env);
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([1, "", expect.stringContaining(says)]);
  }
});

it("explains a refusal by its token, as a text and as JSON", async () => {
  const policies = [{ name: "api", limits: [{ limit: 1, window: "1h" }] }];
  const gateway = await startAdmin({ policies, redis: null, counts: true, vars: { EXPLAIN: "on", REGION: "eu" } });
  await gateway.fetch("/v1/items");
  const refused = await gateway.fetch("/v1/items");
  const token = refused.headers.get("Headgate-Explain")!;
  const explain = async (...args: string[]) =>
    await headgate("/", ["admin", "explain", ...args], { HEADGATE_URL: gateway.url.href, HEADGATE_TOKEN: ADMIN_TOKEN });
  const { stdout, stderr } = await explain(token);
  expect(stderr).toBe("");
  for (const one of [/^at: \d{4}-\S+Z$/m, /^region: eu$/m, /^method: GET$/m, /^path: \/v1\/items$/m]) {
    expect(stdout).toMatch(one);
  }
  expect(stdout).toMatch(/^violated: \["api"\]$/m);
  expect(stdout).toMatch(/^policies\npolicy +kind +key .*\napi +ip +[\w-]{22} +1$/m);
  expect(stdout).toMatch(/^limits\nid +policy +limit +per +remaining .*\napi +api +1 +per 1h +0 /m);
  expect(JSON.parse((await explain(token, "--json")).stdout)).toMatchObject({ violated: ["api"], path: "/v1/items" });
  expect(await explain(`${token.slice(0, -8)}AAAAAAAA`)).toMatchObject({
    ...{ status: 1, stdout: "" },
    stderr: expect.stringContaining("This is not a token of this gateway"),
  });
});
