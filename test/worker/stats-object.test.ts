// The object that adds up, inside workerd.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Batch, seriesOf } from "../../src/operate/stats/batch.ts";
import { type Recent, replyOf } from "../../src/operate/stats/object/reply.ts";
import type { HeadgateStats } from "../../src/operate/stats/object/stats.ts";
import { rowsOf, STATS, uniqueName } from "./support.ts";

type Stats = DurableObjectStub<HeadgateStats>;

/** The beginning of an hour far ahead: an alarm before now by the real clock would come at once, and by itself. */
const START_MS = Date.UTC(2126, 10, 22, 10);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START_MS }));

const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
const newObject = () => STATS.getByName(uniqueName("stats"));
const REFUSED = seriesOf("decisions", ["api", "eu", "refused", "store"]);

/** One count of one series, now or so many minutes ago. */
function batch(number: number, { isolate = "a", sum = 1, series = REFUSED, agoMinutes = 0, ...more } = {}): Batch {
  const minute = Math.floor(Date.now() / MINUTE_MS) - agoMinutes;
  return { isolate, number, minutes: [{ minute, sums: { [series]: sum }, top: {} }], open: [], ...more };
}

async function totalOf(object: Stats, series = REFUSED): Promise<number | undefined> {
  return (await object.totals()).sums.get(series);
}

/** RPC has lost the tuples of this type. */
const readOf = async (object: Stats, minutes: number) => (await object.read(minutes)) as unknown as Recent;

/** `at` and count of every point. */
async function pointsOf(object: Stats, minutes: number): Promise<[at: string, count: number][]> {
  const { points } = replyOf(await readOf(object, minutes), 30_000);
  return points.map(({ at, count }) => [at, count]);
}
const sumOf = async (object: Stats, minutes: number) =>
  (await pointsOf(object, minutes)).reduce((sum, [, count]) => sum + count, 0);

const many = (count: number, of: (i: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [of(i), 1]));

const place = (where: string, refused: number, excess = 0) => [where, refused, excess] as const;
const places = (count: number) => Array.from({ length: count }, (_, i) => place(`/${i}\tDE`, 1));

const query = (object: Stats, sql: string, ...values: SqlStorageValue[]) =>
  runInDurableObject(object, (_, { storage }) => storage.sql.exec(sql, ...values).toArray());
const countOf = async (object: Stats, table: string) =>
  (await query(object, `SELECT COUNT(*) AS n FROM ${table}`))[0]!.n;

describe("a batch", () => {
  it("is one written row, whatever it holds", async () => {
    const object = newObject();
    let isolates = 0;
    const minutes = () => [0, 1, 59, 61].flatMap((agoMinutes) => batch(1, { agoMinutes }).minutes);
    const written = async () => {
      const one = { isolate: `i${++isolates}`, number: 1, minutes: minutes(), open: [] };
      const { written } = await rowsOf(object, async (stats) => {
        await stats.add(one);
        await stats.add(one);
      });
      return written;
    };
    expect([await written(), await written()]).toEqual([1, 1]);
    later(MINUTE_MS);
    expect(await written()).toBe(1);
    expect(await countOf(object, "minutes")).toBe(2);
  });

  it("counts in its own minute; in the nearest one allowed if the isolate's clock is wrong", async () => {
    const object = newObject();
    later(30 * MINUTE_MS + 10_000);
    await object.add(batch(1, { agoMinutes: 2, sum: 2 }));
    await object.add(batch(2, { agoMinutes: -9_000, sum: 3 }));
    await object.add(batch(3, { agoMinutes: 9_000, sum: 4 }));
    expect(await pointsOf(object, 10)).toEqual([
      ["2126-11-22T10:28:00.000Z", 2],
      ["2126-11-22T10:30:00.000Z", 3],
    ]);
    expect((await pointsOf(object, 3_000))[0]).toEqual(["2126-11-21T10:00:00.000Z", 4]);
    expect(await pointsOf(object, 3)).toHaveLength(2);
    expect(await pointsOf(object, 2)).toHaveLength(1);
  });

  it("that cannot be written is not told, and counts when it is sent again", async () => {
    const object = newObject();
    await object.add(batch(1));
    const full = "CREATE TRIGGER full BEFORE UPDATE ON minutes BEGIN SELECT RAISE(ABORT, 'full'); END";
    await query(object, full);
    await expect(Promise.resolve(object.add(batch(2, { sum: 10 })))).rejects.toThrow("full");
    expect(await totalOf(object)).toBe(1);
    await query(object, "DROP TRIGGER full");
    await object.add(batch(2, { sum: 10 }));
    expect(await totalOf(object)).toBe(11);
    expect(await sumOf(object, 60)).toBe(11);
  });

  const withMinute = (more: object) => ({ ...batch(1), minutes: [{ minute: 1, sums: {}, top: {}, ...more }] });
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /isolate/],
    ["no isolate", batch(1, { isolate: "" }), /isolate/],
    ["a number of 0", batch(0), /number/],
    ["a number of 0.5", batch(0.5), /number/],
    ["no minutes", { ...batch(1), minutes: null }, /minutes: expected a list/],
    ["a minute that is none", { ...batch(1), minutes: [null] }, /minutes\[0\]\.minute/],
    ["a minute of the year 10000", withMinute({ minute: 5e9 }), /minutes\[0\]\.minute/],
    ["a negative sum", batch(1, { sum: -1 }), /sums/],
    ["a sum of a fraction", batch(1, { sum: 0.5 }), /sums/],
    ["a series without labels", batch(1, { series: "__proto__" }), /sums/],
    ["a series that is too long", batch(1, { series: `decisions\t${"x".repeat(200)}` }), /sums/],
    ["clients that are no list", withMinute({ top: { api: 1 } }), /top/],
    ["places that no list of clients has", withMinute({ where: { api: [] } }), /where/],
    ["six places of a client", withMinute({ where: { "api\tk": places(6) } }), /where/],
    ["more excess than refusals", withMinute({ top: { api: [["k", 1, 2]] } }), /top/],
    ["places that are no list", { ...batch(1), open: "eu" }, /open/],
    ["breakers for ever", { ...batch(1), openMs: Number.POSITIVE_INFINITY }, /openMs/],
  ])("of %s is rejected as data, and changes nothing", async (_what, wrong, message) => {
    const object = newObject();
    expect(await object.add(wrong as Batch)).toEqual({ rejected: expect.stringMatching(message) });
    expect(await countOf(object, "minutes")).toBe(0);
    await object.add(batch(1));
    expect(await totalOf(object)).toBe(1);
  });
});

it.each(["hello", "", "null", "7", "[]", "{}", '{"x":7}', "[7,null]", '{"1":{"a":-1}}'])(
  "columns that say %j count as empty: counting, telling and folding go on",
  async (text) => {
    const object = newObject();
    await object.add({ ...batch(1, { sum: 5 }), open: ["eu"] });
    later(HOUR_MS);
    await object.add(batch(2, { sum: 5 }));
    await runInDurableObject(object, (stats) => stats.alarm());
    await object.add({ ...batch(3, { sum: 5 }), open: ["eu"] });
    await query(object, "UPDATE minutes SET sums = ?, top = ?, isolates = ?, heard_at = ?", text, text, text, text);
    await query(object, "UPDATE hours SET sums = ?, top = ?, isolates = ?, totals = ?", text, text, text, text);
    await query(object, "UPDATE breakers SET places = ?", text);
    await evictDurableObject(object);
    expect(await object.add(batch(4, { sum: 3 }))).toBeUndefined();
    for (let i = 0; i < 2; i++) {
      expect([await totalOf(object), await sumOf(object, 120), await sumOf(object, 3_000)]).toEqual([3, 3, 3]);
      later(HOUR_MS);
      await runInDurableObject(object, (stats) => stats.alarm());
      later(-HOUR_MS);
      await evictDurableObject(object);
    }
  },
);

describe("over time", () => {
  /** What an alarm does at its time, as often as it is due. */
  async function sleep(object: Stats, ms: number): Promise<void> {
    const untilMs = Date.now() + ms;
    for (;;) {
      const atMs = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
      if (atMs === null || atMs > untilMs) break;
      vi.setSystemTime(atMs);
      await runDurableObjectAlarm(object);
    }
    vi.setSystemTime(untilMs);
  }

  it("minutes stay for a day, hours for 30 days, and totals for ever; in the end one row is left, and no alarm", async () => {
    const object = newObject();
    await object.add(batch(1, { sum: 100 }));
    await sleep(object, 3 * HOUR_MS);
    await object.add(batch(2, { sum: 10 }));
    await object.add(batch(1, { isolate: "b", sum: 1, agoMinutes: 70 }));
    expect(await sumOf(object, 181)).toBe(111);
    expect(await sumOf(object, 180)).toBe(11);
    await sleep(object, 20 * HOUR_MS);
    expect(await pointsOf(object, 1_440)).toEqual([
      ["2126-11-22T10:00:00.000Z", 100],
      ["2126-11-22T11:50:00.000Z", 1],
      ["2126-11-22T13:00:00.000Z", 10],
    ]);
    await sleep(object, 2 * DAY_MS);
    expect(await pointsOf(object, 1_440)).toEqual([]);
    expect(await countOf(object, "minutes")).toBe(0);
    const hours = [
      ["2126-11-22T10:00:00.000Z", 100],
      ["2126-11-22T11:00:00.000Z", 1],
      ["2126-11-22T13:00:00.000Z", 10],
    ];
    expect(await pointsOf(object, 43_200)).toEqual(hours);
    await sleep(object, 27 * DAY_MS);
    await evictDurableObject(object);
    expect(await pointsOf(object, 43_200)).toEqual(hours.slice(0));
    await sleep(object, 5 * DAY_MS);
    expect(await pointsOf(object, 43_200)).toEqual([]);
    expect(await query(object, "SELECT top FROM hours")).toEqual([{ top: "{}" }]);
    expect(await runInDurableObject(object, (_, { storage }) => storage.getAlarm())).toBeNull();
    await evictDurableObject(object);
    expect(await totalOf(object)).toBe(111);
    expect((await object.read(60)).heardAtMs).toBe(START_MS + 3 * HOUR_MS);
    await object.add(batch(2, { sum: 10 }));
    await object.add(batch(3, { sum: 1_000 }));
    expect(await totalOf(object)).toBe(1_111);
  });

  it("a clock that is set back neither counts twice nor loses: nothing arrives in an hour that has its row", async () => {
    const object = newObject();
    later(59 * MINUTE_MS);
    await object.add(batch(1, { sum: 1 }));
    later(2 * MINUTE_MS);
    await runDurableObjectAlarm(object);
    later(-10 * MINUTE_MS);
    await object.add(batch(2, { sum: 10 }));
    later(2 * HOUR_MS);
    await runDurableObjectAlarm(object);
    await object.add(batch(3, { sum: 100 }));
    expect([await totalOf(object), await sumOf(object, 1_440), await sumOf(object, 1_500)]).toEqual([111, 111, 111]);
  });

  it("random batches, repeated and late, alarms and new starts: rows and totals are those of a plain sum", async () => {
    const object = newObject();
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const sums = new Map<string, number>();
    const byHour = new Map<number, number>();
    const sent = new Map<string, Batch>();
    for (let i = 0; i < 600; i++) {
      await sleep(object, random(10 * MINUTE_MS));
      const isolate = `i${random(5)}`;
      const before = sent.get(isolate);
      // Sometimes the reply was lost.
      if (before && random(4) === 0) await object.add(before);
      const series = seriesOf("decisions", ["api", "eu", ["refused", "admitted"][random(2)]!, "store"]);
      const agoMinutes = random(20) === 0 ? random(300) : random(2);
      const sum = 1 + random(50);
      const next = batch((before?.number ?? 0) + 1, { isolate, series, sum, agoMinutes });
      await object.add(next);
      sent.set(isolate, next);
      sums.set(series, (sums.get(series) ?? 0) + sum);
      const hour = Math.floor(next.minutes[0]!.minute / 60);
      byHour.set(hour, (byHour.get(hour) ?? 0) + sum);
      if (random(100) === 0) await evictDurableObject(object);
    }
    expect(await countOf(object, "hours")).toBeGreaterThan(40);
    expect(new Map([...(await object.totals()).sums].sort())).toEqual(new Map([...sums].sort()));
    const found = new Map<number, number>();
    for (const [at, count] of await pointsOf(object, 43_200)) {
      const hour = Date.parse(at) / HOUR_MS;
      found.set(hour, (found.get(hour) ?? 0) + count);
    }
    expect(new Map([...found].sort())).toEqual(new Map([...byHour].sort()));
  });
});

describe("bounds", () => {
  it("names 400 regions, and from 2,000 series on no new one; every policy, limit and place keeps its name", async () => {
    const object = newObject();
    const minute = START_MS / MINUTE_MS;
    const add = (number: number, sums: Record<string, number>) =>
      object.add({ isolate: "a", number, minutes: [{ minute, sums, top: {} }], open: [] });
    await add(
      1,
      many(500, (i) => seriesOf("decisions", ["api", `r${i}`, "refused", "store"])),
    );
    await add(
      2,
      many(2_500, (i) => seriesOf("decisions", [`p${i}`, "r0", "refused", "store"])),
    );
    await add(3, { [seriesOf("store_seconds", ["new", "ok", "0.1"])]: 3, "x_new\tplace": 2 });
    // It has forgotten which regions it names, and finds them in its rows.
    await evictDurableObject(object);
    await add(4, { [seriesOf("decisions", ["api", "r9999", "refused", "store"])]: 7 });
    const { sums } = await object.totals();
    expect(sums.size).toBe(401 + 2_500 + 2);
    expect(sums.get(seriesOf("decisions", ["api", "other", "refused", "store"]))).toBe(107);
    expect(sums.get(seriesOf("decisions", ["p0", "r0", "refused", "store"]))).toBe(1);
    expect(sums.get(seriesOf("decisions", ["p2499", "other", "refused", "store"]))).toBe(1);
    expect(sums.get(seriesOf("store_seconds", ["new", "ok", "0.1"]))).toBe(3);
    expect(sums.get("x_new\tother")).toBe(2);
  });

  it("beyond 400,000 characters new series have words of the program alone, so that a row can be written", async () => {
    const object = newObject();
    const minute = START_MS / MINUTE_MS;
    const sums = many(3_000, (i) => seriesOf("decisions", [`${"x".repeat(150)}${i}`, "eu", "refused", "store"]));
    await object.add({ isolate: "a", number: 1, minutes: [{ minute, sums, top: {} }], open: [] });
    const told = [...(await object.totals()).sums];
    const text = told.reduce((length, [series]) => length + series.length + 24, 0);
    expect(text).toBeGreaterThan(390_000);
    expect(text).toBeLessThanOrEqual(400_100);
    expect(told.reduce((all, [, sum]) => all + sum, 0)).toBe(3_000);
    expect(told.at(-1)![0]).toBe(seriesOf("decisions", ["other", "other", "refused", "store"]));
  });

  it("renamed policies make room for the new ones after 30 days", async () => {
    const object = newObject();
    const nameOf = (i: number) => seriesOf("decisions", [`p${i}`, "eu", "refused", "store"]);
    const sums = many(2_000, nameOf);
    const add = (number: number, sums: Record<string, number>) =>
      object.add({ isolate: "a", number, minutes: [{ minute: Date.now() / MINUTE_MS, sums, top: {} }], open: [] });
    const fold = async () => {
      later(HOUR_MS + MINUTE_MS);
      await runDurableObjectAlarm(object);
      later(-MINUTE_MS);
    };
    await add(1, sums);
    await fold();
    later(29 * DAY_MS);
    await add(2, { [nameOf(7)]: 1, [nameOf(3_000)]: 1 });
    await fold();
    expect([await totalOf(object, nameOf(0)), await totalOf(object, nameOf(3_000))]).toEqual([1, undefined]);
    later(2 * DAY_MS);
    await add(3, { [nameOf(7)]: 1 });
    await fold();
    await add(4, { [nameOf(7)]: 1, [nameOf(3_000)]: 1 });
    expect([...(await object.totals()).sums]).toEqual([
      [nameOf(7), 4],
      [seriesOf("decisions", ["p3000", "other", "refused", "store"]), 1],
      [nameOf(3_000), 1],
    ]);
  });

  it("a row stays below 2 MB when everything comes at once, and nothing is lost", async () => {
    const object = newObject();
    const minute = START_MS / MINUTE_MS;
    const sums = many(2_000, (i) => `decisions\t${"x".repeat(180)}${i}`);
    const entries = Array.from({ length: 64 }, (_, i) => [`${"k".repeat(60)}${i}`, 1e9 + i, 1] as const);
    const top = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`${"p".repeat(60)}${i}`, entries]));
    const long = Array.from({ length: 5 }, (_, i) => place(`${"r".repeat(60)}${i}\tDE`, 1e9));
    const named = Object.keys(top).flatMap((policy) => entries.slice(0, 10).map(([key]) => `${policy}\t${key}`));
    const where = Object.fromEntries(named.map((name) => [name, long]));
    for (let i = 0; i < 30; i++) {
      const minutes = [{ minute: minute - i * 40, sums, top, where }];
      await object.add({ isolate: `${"i".repeat(60)}${i}`, number: 1, minutes, open: [] });
    }
    const isolates = Array.from({ length: 5_000 }, (_, i) => [`${"j".repeat(60)}${i}`, 1e15]);
    await query(object, "UPDATE minutes SET isolates = ?", JSON.stringify(isolates));
    await evictDurableObject(object);
    await object.add({ isolate: "the 5,001st", number: 1, minutes: [], open: [] });
    const bytes = (table: string) =>
      query(object, `SELECT LENGTH(sums) + LENGTH(top) + LENGTH(isolates) AS bytes FROM ${table}`);
    const [row] = await bytes("minutes");
    expect(row!.bytes).toBeGreaterThan(1_000_000);
    expect(row!.bytes).toBeLessThan(2_000_000);
    later(HOUR_MS + MINUTE_MS);
    await runDurableObjectAlarm(object);
    const [hour] = await query(
      object,
      "SELECT LENGTH(sums) + LENGTH(top) + LENGTH(isolates) + LENGTH(totals) AS bytes FROM hours",
    );
    expect(hour!.bytes).toBeLessThan(2_000_000);
    const { sums: totals } = await object.totals();
    expect([...totals.values()].reduce((a, b) => a + b)).toBe(60_000);
  });

  it("a breaker counts for 60 s or for as long as its isolate says, until its isolate says that it is closed", async () => {
    const object = newObject();
    await object.add(batch(1, { open: ["eu", "shard 0"] } as object));
    await object.add(batch(1, { isolate: "b", open: ["eu"] } as object));
    expect((await object.totals()).open).toEqual(
      new Map([
        ["eu", 2],
        ["shard 0", 1],
      ]),
    );
    later(30_000);
    await object.add(batch(2));
    expect((await object.read(1)).open).toEqual(new Map([["eu", 1]]));
    later(30_000);
    expect((await object.totals()).open).toEqual(new Map());
    await object.add(batch(3, { open: ["eu"], openMs: 3_630_000 } as object));
    later(HOUR_MS + 29_000);
    await evictDurableObject(object);
    expect((await object.totals()).open).toEqual(new Map([["eu", 1]]));
    later(1_000);
    expect((await object.totals()).open).toEqual(new Map());
    await runDurableObjectAlarm(object);
    expect(await countOf(object, "breakers")).toBe(0);
  });

  it("the clients with most refusals, merged over isolates, minutes and hours", async () => {
    const object = newObject();
    const add = (number: number, isolate: string, entries: [string, number, number][]) => {
      const { minute } = batch(1).minutes[0]!;
      return object.add({ isolate, number, minutes: [{ minute, sums: {}, top: { api: entries } }], open: [] });
    };
    const top = async (minutes: number) => replyOf(await readOf(object, minutes), 30_000).top;
    await add(1, "a", [
      ["x", 10, 0],
      ["y", 8, 7],
      ["z", 5, 5],
    ]);
    await add(1, "b", [["y", 3, 0]]);
    later(MINUTE_MS);
    await add(2, "a", [["y", 7, 0]]);
    // What is certain: 8 - 7 + 3 + 7 of y; nothing of z.
    expect(await top(60)).toMatchObject({
      api: [
        { key: "y", refused: 11 },
        { key: "x", refused: 10 },
      ],
    });
    expect(await top(1)).toMatchObject({ api: [{ key: "y", refused: 7 }] });
    later(2 * HOUR_MS);
    await runDurableObjectAlarm(object);
    await add(
      3,
      "a",
      Array.from({ length: 64 }, (_, i) => [`n${i}`, 1, 0]),
    );
    expect((await top(1_440)).api!.slice(0, 2)).toMatchObject([
      { key: "y", refused: 11 },
      { key: "x", refused: 10 },
    ]);
    expect((await top(43_200)).api).toHaveLength(64);
  });

  it("where the first of them were refused, merged in the same way; isolates of older versions do not say it", async () => {
    const object = newObject();
    const top = { api: [["x", 9, 0] as const, ["y", 8, 0] as const] };
    let number = 0;
    const add = (where?: object) =>
      object.add({ ...batch(++number), minutes: [{ minute: START_MS / MINUTE_MS, sums: {}, top, ...where }] } as Batch);
    await add({ where: { "api\tx": [place("/v1/*\tDE", 6, 2), place("*\tUS", 5)], "api\tgone": places(1) } });
    await add();
    later(MINUTE_MS);
    await add({ where: { "api\tx": places(5) } });
    await add({ where: { "api\tx": [place("/v1/*\tDE", 4)], "api\ty": [place("*\t?", 1)] } });
    const read = async () => replyOf(await readOf(object, 120), 30_000).top.api!.map(({ where }) => where);
    const merged = await read();
    expect(merged.map((where) => where.map(({ route, country, refused }) => `${route} ${country} ${refused}`))).toEqual(
      [["/v1/* DE 8", "* US 5", "/0 DE 1", "/1 DE 1", "/2 DE 1"], ["* ? 1"]],
    );
    await evictDurableObject(object);
    later(HOUR_MS);
    await runDurableObjectAlarm(object);
    expect(await read()).toEqual(merged);
    // Versions before this one read the rest of the column as it always was.
    const [row] = await query(object, "SELECT top FROM hours");
    expect(JSON.parse(String(row!.top))).toMatchObject({ api: [["x", 36, 0], expect.anything()] });
  });
});

it("reads only whole minutes, 1 to 43,200", async () => {
  const object = newObject();
  for (const minutes of [0, 43_201, 1.5, Number.NaN, "60"]) {
    await expect(Promise.resolve(object.read(minutes as number))).rejects.toThrow(/minutes: expected an integer/);
  }
  expect((await object.read(43_200)).heardAtMs).toBeUndefined();
});
