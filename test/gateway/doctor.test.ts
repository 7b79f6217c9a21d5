// `headgate doctor` over real gateways, and over a configuration whose Redis is real.

import { expect, it } from "vitest";
import { folderWith, headgate } from "../cli/run.ts";
import { ADMIN_TOKEN, startAdmin } from "../support/gateway/admin.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

// No proxy of Cloudflare stands in front of these gateways: nobody says an address.
const POLICIES = [{ name: "site", key: "global", limits: [{ limit: 1, window: "1h" }] }];
const KEY_SECRET = "a key secret of these tests";

it("finds a Redis that forgets counts, from outside and by its configuration, and counts nothing", async () => {
  const { redis, rest } = await startPrivateRedis();
  await redis.config("SET", "maxmemory", "100mb");
  await redis.config("SET", "maxmemory-policy", "allkeys-lru");
  const gateway = await startAdmin({ policies: POLICIES, redis: rest, vars: { KEY_SECRET } });
  const access = { HEADGATE_URL: gateway.url.href, HEADGATE_TOKEN: ADMIN_TOKEN };
  const found = await headgate("/", ["doctor"], access);
  expect(found).toMatchObject({ status: 1, stderr: "" });
  expect(found.stdout.split("\n").filter((line) => line.startsWith("problem"))).toEqual([
    "problem  eviction: redis forgets counts when it is full (allkeys-lru), and clients then get more than their limits.",
  ]);
  expect(found.stdout).toMatch(/^ok {7}store: redis answers the gateway in \d+ ms\.$/m);
  expect(found.stdout).toMatch(/^ok {7}clock: The clock of redis agrees with the gateway's\.$/m);
  expect(await redis.dbsize()).toBe(0);

  // Health alone says so too, without a token.
  const outside = await headgate("/", ["doctor", gateway.url.href], {});
  expect(outside.status).toBe(1);
  expect(outside.stdout).toContain("set maxmemory-policy to noeviction, found allkeys-lru");
  expect(outside.stdout).toContain("Set HEADGATE_TOKEN");

  const vars = { POLICIES, KEY_SECRET, UPSTASH_REDIS_REST_URL: rest.url, UPSTASH_REDIS_REST_TOKEN: rest.token };
  const folder = folderWith({ "wrangler.json": JSON.stringify({ name: "a", vars }) });
  const local = await headgate(folder, ["doctor", "--json"]);
  expect(local).toMatchObject({ status: 1, stderr: "" });
  expect(JSON.parse(local.stdout).facts.places).toMatchObject([{ name: "redis", eviction: "allkeys-lru" }]);

  await redis.config("SET", "maxmemory-policy", "noeviction");
  const well = await headgate("/", ["doctor", "--json"], access);
  expect(well).toMatchObject({ status: 0, stderr: "" });
  const { findings, facts } = JSON.parse(well.stdout);
  expect(findings.filter(({ level }: { level: string }) => level === "problem")).toEqual([]);
  expect(facts.policies).toEqual([{ name: "site", key: ["global"] }]);
});

it("says why the admin API refuses, that a Redis is down, and that counts are in memory", async () => {
  const { rest } = await startPrivateRedis();
  const away = await startAdmin({ policies: POLICIES, redis: { ...rest, token: "another" } });
  const url = away.url.href;
  const wrong = await headgate("/", ["doctor", url, "--token", "a wrong token".replaceAll(" ", "-")]);
  expect(wrong.status).toBe(1);
  expect(wrong.stdout).toMatch(/^problem {2}access: The admin API could not be asked: the gateway answered 401$/m);
  const { stdout } = await headgate("/", ["doctor", url], { HEADGATE_TOKEN: ADMIN_TOKEN });
  expect(stdout).toMatch(/^problem {2}store: redis has no answer \(UNAUTHORIZED\)/m);

  const byAddress = [{ name: "site", limits: [{ limit: 1, window: "1h" }] }];
  const alone = await startAdmin({ policies: byAddress, redis: null });
  const inMemory = await headgate("/", ["doctor", alone.url.href], { HEADGATE_TOKEN: ADMIN_TOKEN });
  expect(inMemory.stdout).toMatch(/^problem {2}store: Counts are in memory/m);
  expect(inMemory.stdout).toMatch(/^note {5}client: This request has no client address in CF-Connecting-IP/m);
  const counted = await startAdmin({ policies: POLICIES, redis: null, counts: true, vars: { KEY_SECRET } });
  const object = await headgate("/", ["doctor", counted.url.href], { HEADGATE_TOKEN: ADMIN_TOKEN });
  expect(object.stdout).toMatch(/^ok {7}store: durable-object answers the gateway in \d+ ms\.$/m);
  expect(object.status).toBe(0);
});
