// What happens to leased units. A client that goes away loses none, an idle isolate gives its units back, and answers
// say what remains.

import { connect } from "node:net";
import { decodeMulti } from "@msgpack/msgpack";
import type { Redis } from "ioredis";
import { expect, it } from "vitest";
import type { WindowRecord } from "../../src/core/window.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";
import { recordsIn } from "../support/redis/records-codec.ts";

/** The window is so long that no unit leaves it. A lease lives a twentieth of the window: 3 s. */
const LIMIT = { limit: 1_000, window: "1m", buckets: 60 };
/** One bucket that ends in no test: stocks become small before a bucket's end, and go back at it. */
const LONG = { window: "31d" };
const PATIENCE = { timeout: 30_000, interval: 50 };

/** The units charged under a policy's first limit, as Redis has them. */
async function charged(redis: Redis, policy: string): Promise<number> {
  const [key] = await redis.keys(`hg:2:{${policy}:*`);
  const stored = key && (await redis.getBuffer(key));
  if (!stored) return 0;
  const [record] = recordsIn([...decodeMulti(stored)]);
  return (record as WindowRecord).counts.reduce((sum, count) => sum + count, 0);
}

async function burst({ fetch }: Gateway, requests: number, path = "/"): Promise<Response[]> {
  return await Promise.all(Array.from({ length: requests }, () => fetch(path)));
}

/** Sends a request, and resets its connection when `gone` resolves. */
async function leave({ url }: Gateway, gone: Promise<unknown>): Promise<void> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => {});
  socket.write(`GET / HTTP/1.1\r\nHost: ${url.host}\r\nCF-Connecting-IP: 192.0.2.1\r\n\r\n`);
  await gone;
  socket.resetAndDestroy();
}

it.each(["strict", "leased"])("a client that resets in the middle of an ask is charged once under %s", async (mode) => {
  const { redis, rest, calls, slow } = await startPrivateRedis();
  const name = uniqueName("reset");
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits: [LIMIT], consistency: mode }] });
  await gateway.fetch("/");
  slow(150);

  const before = calls.length;
  await leave(gateway, expect.poll(() => calls.length, PATIENCE).toBeGreaterThan(before));

  const start = performance.now();
  const next = await burst(gateway, 5);
  expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  // A stuck isolate would answer only after it gives up the abandoned call, or after the store's budget of 10 s.
  expect(performance.now() - start).toBeLessThan(9_000);
  await expect.poll(() => charged(redis, name), PATIENCE).toBe(1 + 1 + 5);
});

it("loses no unit of a crowd that resets in the middle of an ask for all of them", async () => {
  const { redis, rest, calls, slow } = await startPrivateRedis();
  const name = uniqueName("crowd");
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits: [LIMIT], consistency: "leased" }] });
  expect(new Set((await burst(gateway, 30)).map(({ status }) => status))).toEqual(new Set([200]));
  await expect.poll(() => charged(redis, name), PATIENCE).toBe(30);
  slow(150);

  const before = calls.length;
  const gone = expect.poll(() => calls.length, PATIENCE).toBeGreaterThan(before);
  await Promise.all(Array.from({ length: 20 }, () => leave(gateway, gone)));
  expect((await burst(gateway, 10)).map(({ status }) => status)).toEqual(new Array(10).fill(200));

  // The 20 abandoned requests were decided and charged once each. Units that were leased beside them are back.
  await expect.poll(() => charged(redis, name), PATIENCE).toBe(30 + 20 + 10);
});

it("gives units that nobody asks for back after a life or two of a lease, so that others get all of them", async () => {
  const { redis, rest, calls } = await startPrivateRedis();
  const name = uniqueName("silence");
  const policies = [{ name, limits: [{ limit: 1_000, ...LONG }], consistency: "leased" }];
  const [one, other] = await Promise.all([
    startGateway({ redis: rest, policies }),
    startGateway({ redis: rest, policies }),
  ]);
  const sent = 5 * 40;
  for (let round = 0; round < 5; round++) {
    const statuses = (await burst(one, 40)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  }
  // Units were leased ahead of demand: most answers needed no call, and Redis has charged more units than were spent.
  expect(calls.length).toBeLessThan(sent / 4);
  expect(await charged(redis, name)).toBeGreaterThan(sent);

  await expect.poll(() => charged(redis, name), PATIENCE).toBe(sent);
  // The last units are scarce: an isolate that got fewer units than it asked for waits a moment before it asks again.
  let admitted = 0;
  const takeMore = async () => {
    admitted += (await burst(other, 20)).filter(({ status }) => status === 200).length;
    return admitted;
  };
  await expect.poll(takeMore, PATIENCE).toBeGreaterThanOrEqual(1_000 - sent);
  expect(admitted).toBe(1_000 - sent);
});

it("tells clients what is left although Redis was not asked, and the log who refused", async () => {
  const { rest, calls } = await startPrivateRedis();
  const name = uniqueName("fields");
  const limits = [{ limit: 40, ...LONG }];
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits, consistency: "leased" }] });

  const local: { r: number; status: number }[] = [];
  let status = 200;
  for (let i = 0; status === 200; i++) {
    const before = calls.length;
    const answer = await gateway.fetch("/");
    status = answer.status;
    const { policies, states, legacy, retryAfter } = fieldsOf(answer);
    expect(policies).toEqual({ [name]: { q: 40, w: 31 * 86_400 } });
    expect(legacy?.remaining).toBe(states?.[name]?.r);
    expect(states?.[name]?.t).toBeGreaterThan(0);
    expect(retryAfter).toBe(status === 429 ? states?.[name]?.t : undefined);
    const r = states?.[name]?.r as number;
    // `remaining` is an upper bound. It leaves out the units that this isolate has spent.
    expect(r).toBeLessThanOrEqual(Math.max(0, 40 - i - 1));
    if (calls.length === before) local.push({ r, status });
  }
  const left = local.filter((answer) => answer.status === 200).map(({ r }) => r);
  expect(left.length).toBeGreaterThan(5);
  expect(left).toEqual([...left].sort((a, b) => b - a));
  expect(new Set(left).size).toBe(left.length);

  // After a short grant the isolate waits 250 ms before it asks again. On a busy machine some later requests get the
  // last units. There are at most 10 refusals, because the log takes at most 10 lines a second.
  let told = 1;
  while (told < 6) told += (await burst(gateway, 5)).filter(({ status }) => status === 429).length;
  const refused = () =>
    gateway.logs.filter((line) => line.includes('"refused"')).map((line) => JSON.parse(line).source);
  await expect.poll(() => refused().length, PATIENCE).toBe(told);
  expect(refused().filter((source) => !["lease", "cache", "redis"].includes(source))).toEqual([]);
  expect(refused().slice(refused().indexOf("redis") + 1)).not.toContain("redis");
});

it("asks Redis for every request that a strict policy matches too, and for every look", async () => {
  const { rest, calls } = await startPrivateRedis();
  const limits = [{ limit: 10_000, ...LONG }];
  const leased = {
    name: uniqueName("leased"),
    limits,
    consistency: "leased",
    cost: [{ path: "/look", cost: 0 }],
  };
  const strict = { name: uniqueName("strict"), match: { path: "/both" }, limits };
  const gateway = await startGateway({ redis: rest, policies: [leased, strict] });
  const callsOf = async (path: string) => {
    const before = calls.length;
    for (let i = 0; i < 20; i++) expect((await gateway.fetch(path)).status).toBe(200);
    return calls.length - before;
  };

  expect(await callsOf("/")).toBeLessThan(20);
  expect(await callsOf("/both")).toBeGreaterThanOrEqual(20);
  expect(await callsOf("/look")).toBeGreaterThanOrEqual(20);
});
