// What docs/storage-schema.md says of stored values, except the example that test/examples/architecture.test.ts checks:
// the script stores these very bytes.

import { expect, inject, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ID_BUCKETS, ID_KINDS } from "../../../src/kernel/core/layout.ts";
import { Flag, limitKeyOf } from "../../../src/kernel/core/take.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { blocksOf } from "../../docs/markdown.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { sharedRedis } from "../../support/redis/shared-redis.ts";

const PAGE = "docs/storage-schema.md";
const MINUTE_MS = 60_000;
/** When the three requests of both examples came. */
const AT_MS = [1795236487015, 1795236487032, 1795236487053];
const liveStore = () => redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });
const KEY = `storage-schema-${crypto.randomUUID()}`;

it("the id of a record", () => {
  expect(blocksOf(PAGE)[0]!.text).toBe(`id = (a * ${ID_BUCKETS} + buckets) * ${ID_KINDS} + kind\n`);
});

/** What the page shows of a record, in hexadecimal. The first one is that of docs/architecture.md. */
function dumpOfPage(): string {
  const dumps = blocksOf(PAGE).filter(({ text }) => /^[\da-f]{4} /.test(text));
  expect(dumps).toHaveLength(2);
  return dumps[1]!.text.replaceAll(/ {2}.*$/gm, "").replaceAll(/\s/g, "");
}

it.each<[what: string, limits: LimitSpec[], bytes: () => string]>([
  [
    "a fixed window and a token bucket",
    [
      { kind: Kind.fixedWindow, limit: 9_500, windowMs: 86_400_000 },
      { kind: Kind.bucket, limit: 7, windowMs: 1_000, burst: 20, maxDelayMs: 0 },
    ],
    dumpOfPage,
  ],
  [
    "a calendar limit",
    [{ kind: Kind.calendar, limit: 10_000, window: "month", zone: "America/Los_Angeles", firstDay: 15 }],
    // The id, midnight before the next 15th there, and the count.
    () => "cf000000b8c892b807cf000001a278b72c0003",
  ],
])("%s", async (what, limits, bytes) => {
  const key = `${KEY}-${what}`;
  for (const nowMs of AT_MS) await liveStore().take({ keys: [keyRequest(key, limits)], flag: Flag.take }, nowMs);
  expect((await sharedRedis().getBuffer(key))!.toString("hex")).toBe(bytes());
});

it("limit keys", async () => {
  // The id (60,000 ms, kind 5), 202 used, and the instant of the newest entry.
  const record = "ce07530005ccca" + "cf000001a1fc6edf8d";
  // The instant and the cost of each entry.
  const entries = ["cf000001a1fc6edf67" + "01", "cf000001a1fc6edf78" + "ccc8", "cf000001a1fc6edf8d" + "01"];
  // The last request is in flight, until 60 s after it came.
  const [slot, score] = ["3886809216094716", "1795236547053"];

  const log: LimitSpec = { kind: Kind.log, limit: 500, windowMs: MINUTE_MS };
  const slots: LimitSpec = { kind: Kind.concurrency, limit: 5, timeoutMs: MINUTE_MS };
  const key = `${KEY}-export`;
  const store = liveStore();
  const redis = sharedRedis();
  const release = (number: number) =>
    store.take({ keys: [keyRequest(key, [slots])], flag: Flag.giveBack, slot: number }, AT_MS[2]!);
  for (const [i, cost] of [1, 200, 1].entries()) {
    const number = i === 2 ? Number(slot) : i + 1;
    await store.take({ keys: [keyRequest(key, [log, slots], { cost })], flag: Flag.take, slot: number }, AT_MS[i]!);
    if (i < 2) await release(number);
  }

  expect((await redis.getBuffer(key))!.toString("hex")).toBe(record);
  const stored = await redis.lrangeBuffer(limitKeyOf(key, log), 0, -1);
  expect(stored.map((entry) => entry.toString("hex"))).toEqual(entries);
  expect(await redis.zrange(limitKeyOf(key, slots), "0", "-1", "WITHSCORES")).toEqual([slot, score]);
  expect([limitKeyOf(key, log), limitKeyOf(key, slots)]).toEqual([`${key}#5:60000`, `${key}#6:60000`]);

  await release(Number(slot));
  expect(await redis.exists(limitKeyOf(key, slots))).toBe(0);
});
