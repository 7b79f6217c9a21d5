// The Redis user of docs/stores.md may run what the script and the health check need, and nothing else.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { createBridge } from "../../scripts/bridge/bridge.ts";
import { createLimiter } from "../../src/limiter.ts";
import { redisStore } from "../../src/stores/redis-store.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const [, user, password] = /ACL SETUSER (\w+) on >(\S+)/.exec(read("docs/stores.md"))!;
const [command] = /^ACL SETUSER .*$/m.exec(read("docs/stores.md"))!;

const window = "1h";
const POLICIES = [
  {
    name: "windows",
    limits: [
      { limit: 2, window },
      { algorithm: "fixed-window", limit: 9, window },
    ],
  },
  { name: "bucket", limits: [{ algorithm: "token-bucket", limit: 2, window }] },
  { name: "log", limits: [{ algorithm: "sliding-log", limit: 2, window }] },
  { name: "slots", limits: [{ algorithm: "concurrency", limit: 2 }] },
] as const;

it("names every command of the scripts, and those of the client", () => {
  const scripts = readdirSync(new URL("../../lua", import.meta.url)).filter((name) => name.endsWith(".lua"));
  const called = scripts.flatMap((name) => [...read(`lua/${name}`).matchAll(/call\(\s*'([A-Z]+)'/g)]);
  const expected = new Set(["eval", "evalsha", "ping", ...called.map(([, name]) => name!.toLowerCase())]);
  const allowed = [...command.matchAll(/\+(\w+)/g)].map(([, name]) => name!);
  expect(allowed.sort()).toEqual([...expected].sort());
});

it("lets a limiter take, look and reset under every algorithm, and the live document be read and written", async () => {
  const { redis } = await startPrivateRedis();
  const [name, ...args] = command.split(" ") as [string, ...string[]];
  await redis.call(name, ...args);
  const { host, port } = redis.options;
  const bridge = await createBridge({ redisUrl: `redis://${user}:${password}@${host}:${port}`, token: "local" });
  onTestFinished(() => bridge.close());
  const store = redisStore({ url: bridge.url, token: "local", timeoutMs: 10_000 });
  await store.ping();
  const limiter = createLimiter({ policies: POLICIES, store });

  for (const { name: policy } of POLICIES) {
    const key = { policy, key: "ann" };
    const decisions = [await limiter.take([key]), await limiter.peek([key]), await limiter.take([key])];
    const refused = await limiter.take([key]);
    expect([...decisions, refused].map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    await limiter.reset(policy, { key: "ann" });
    const again = await limiter.take([key]);
    expect([again.allowed, again.source]).toEqual([true, "redis"]);
  }
  expect(await store.live!.write("text", 0)).toBe(1);
  expect(await store.live!.read()).toEqual({ version: 1, text: "text" });
  await expect(redis.call("ACL", "LOG")).resolves.toEqual([]);
});
