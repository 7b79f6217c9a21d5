// The object that counts, and the store that asks it, inside workerd.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { LOCATION_HINTS, type LocationHint } from "../../src/kernel/config/counts.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import type { CalendarRecord } from "../../src/kernel/core/calendar.ts";
import { Flag, type KeyRequest, type TakeRequest } from "../../src/kernel/core/take.ts";
import type { HeadgateCounts } from "../../src/kernel/store/durable-object.ts";
import { durableObjectPlace, shardName } from "../../src/kernel/store/durable-object-place.ts";
import type { ReplyWithVersion } from "../../src/kernel/store/live.ts";
import { durableObjectStore } from "../../src/stores/durable-object-store.ts";
import { COUNTS, uniqueName } from "./support.ts";

/** An object of this test alone. */
const newObject = () => COUNTS.getByName(uniqueName("object"));

const second: LimitSpec = { kind: Kind.fixedWindow, limit: 5, windowMs: 1_000 };
const day: LimitSpec = { kind: Kind.calendar, limit: 5, window: "day", zone: "UTC", firstDay: 1 };
const log: LimitSpec = { kind: Kind.log, limit: 5, windowMs: 60_000 };

function requestOf(key: string, limits: readonly LimitSpec[] = [second], cost = 1): TakeRequest {
  return { keys: [{ key, group: 0, cost, limits }], flag: Flag.take };
}

interface Row extends Record<string, SqlStorageValue> {
  readonly key: string;
  readonly text: string;
  readonly expires_at: number;
}

function rowsOf(object: DurableObjectStub<HeadgateCounts>): Promise<Row[]> {
  return runInDurableObject(object, (_, { storage }) => {
    return storage.sql.exec<Row>("SELECT * FROM counts ORDER BY key").toArray();
  });
}
const alarmOf = (object: DurableObjectStub<HeadgateCounts>) =>
  runInDurableObject(object, (_, { storage }) => storage.getAlarm());

/** As if all rows had been written so long ago. */
async function age(object: DurableObjectStub<HeadgateCounts>, byMs: number): Promise<void> {
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec("UPDATE counts SET expires_at = expires_at - ?", byMs);
  });
  // What the object knows without its rows is gone.
  await evictDurableObject(object);
}

describe("rows", () => {
  it("are one for each key and limit key, and live a little longer than their counts", async () => {
    const object = newObject();
    const fromMs = Date.now();
    await object.take(requestOf("k", [second, log]));
    const rows = await rowsOf(object);
    expect(rows.map(({ key }) => key)).toEqual(["k", "k#5:60000"]);
    for (const { expires_at } of rows) {
      expect(expires_at).toBeGreaterThan(fromMs + 60_000);
      expect(expires_at).toBeLessThanOrEqual(Date.now() + 120_000);
    }
  });

  it("of a year of a calendar live to its end, an hour longer at most, and are billed once while it lasts", async () => {
    const object = newObject();
    const year: LimitSpec = { ...day, window: "year", zone: "America/New_York", firstDay: 15 };
    const reply = await object.take(requestOf("k", [year]));
    const { endsAtMs } = (reply as ReplyWithVersion).keys[0]![0]!.view as CalendarRecord;
    const [before] = await rowsOf(object);
    expect(before!.expires_at).toBeGreaterThan(endsAtMs);
    expect(before!.expires_at).toBeLessThanOrEqual(endsAtMs + 3_600_000);
    expect(await alarmOf(object)).toBe(before!.expires_at);
    await evictDurableObject(object);
    expect(await object.take(requestOf("k", [year]))).toMatchObject({ keys: [[{ view: { endsAtMs, count: 2 } }]] });
    expect((await rowsOf(object))[0]!.expires_at).toBe(before!.expires_at);
  });

  it("that have expired are not read", async () => {
    const object = newObject();
    await object.take(requestOf("k", [log], 5));
    expect(await object.take(requestOf("k", [log]))).toMatchObject({ allowed: false });
    await age(object, 130_000);
    expect(await object.take(requestOf("k", [log], 5))).toMatchObject({ allowed: true });
  });
});

describe("the alarm", () => {
  it("is set by the first charge, a minute ahead at least, and stays while other keys come", async () => {
    const object = newObject();
    const fromMs = Date.now();
    await object.take(requestOf("a"));
    const first = await alarmOf(object);
    expect(first).toBeGreaterThanOrEqual(fromMs + 60_000);
    for (const key of ["b", "c"]) await object.take(requestOf(key));
    expect(await alarmOf(object)).toBe(first);
  });

  it("comes sooner when a key comes that expires much sooner", async () => {
    const object = newObject();
    const day: LimitSpec = { kind: Kind.fixedWindow, limit: 5, windowMs: 30 * 86_400_000 };
    await object.take(requestOf("long", [day]), Date.now());
    expect(await alarmOf(object)).toBeGreaterThan(Date.now() + 3_600_000);
    await object.take(requestOf("short"));
    expect(await alarmOf(object)).toBeLessThanOrEqual(Date.now() + 61_000);
  });

  it("removes what has expired and nothing else, and is not set again when nothing is left", async () => {
    const object = newObject();
    await object.take(requestOf("gone", [log]));
    await age(object, 130_000);
    await object.take(requestOf("kept", [log]));
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect((await rowsOf(object)).map(({ key }) => key)).toEqual(["kept", "kept#5:60000"]);
    expect(await alarmOf(object)).toBeGreaterThan(Date.now() + 50_000);
    await age(object, 130_000);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await rowsOf(object)).toEqual([]);
    expect(await alarmOf(object)).toBeNull();
    await object.take(requestOf("new"));
    expect(await alarmOf(object)).not.toBeNull();
  });

  it("removes 5,000 rows, and comes back in a second for the rest", async () => {
    const object = newObject();
    // It must not expire while a busy machine writes the others.
    await object.take(requestOf("first", [{ ...second, windowMs: 3_600_000 }]));
    await runInDurableObject(object, (_, { storage }) => {
      for (let i = 0; i < 6_000; i++) storage.sql.exec("INSERT INTO counts VALUES (?, '[]', 1)", `old ${i}`);
    });
    // In one turn of the object: the next alarm comes by itself, in a second of the real clock.
    const [left, againAfterMs] = await runInDurableObject(object, async (counts, { storage }) => {
      await counts.alarm();
      const [{ n }] = storage.sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM counts").toArray() as [{ n: number }];
      return [n, (await storage.getAlarm())! - Date.now()];
    });
    expect(left).toBe(1_001);
    expect(againAfterMs).toBeLessThanOrEqual(1_000);
    await runDurableObjectAlarm(object);
    await expect.poll(async () => (await rowsOf(object)).map(({ key }) => key), { timeout: 20_000 }).toEqual(["first"]);
  });
});

describe("a wrong call is rejected as data, and changes nothing", () => {
  const one = requestOf("k").keys[0]!;
  const withKey = (change: object) => ({ keys: [{ ...one, ...change }], flag: Flag.take });
  const withLimit = (change: object) => withKey({ limits: [{ ...second, ...change }] });
  const ofOnce = (change: object = {}) => ({ once: { id: "x", forMs: 1_000, repeats: 1, ...change } });
  const beside = (key: string, change: object) => ({ keys: [...withKey(change).keys, { ...one, key }], flag: 0 });

  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /flag: expected an integer from 0 to 3/],
    ["no keys", { keys: [], flag: 0 }, /keys: expected a list of 1 to 1000/],
    ["a flag that is none", { keys: [one], flag: 4 }, /flag: expected/],
    ["a key that is a number", withKey({ key: 7 }), /keys\[0\]\.key: expected a string/],
    ["a key that is too long", withKey({ key: "x".repeat(1_025) }), /keys\[0\]\.key: expected a string/],
    ["the same key twice", { keys: [one, one], flag: 0 }, /no key twice/],
    ["a limit key as a key", beside("k#5:60000", { limits: [log] }), /twice/],
    ["a cost below 0", withKey({ cost: -1 }), /keys\[0\]\.cost/],
    ["a cost of a text", withKey({ cost: "1" }), /keys\[0\]\.cost/],
    ["a group of 0.5", withKey({ group: 0.5 }), /keys\[0\]\.group/],
    ["an id of a number", withKey(ofOnce({ id: 7 })), /keys\[0\]\.once\.id: expected a string/],
    ["an id for two hours", withKey(ofOnce({ forMs: 7_200_000 })), /keys\[0\]\.once\.forMs/],
    ["no repeat", withKey(ofOnce({ repeats: 0 })), /keys\[0\]\.once\.repeats/],
    ["null as an id", withKey({ once: null }), /keys\[0\]\.once\.id/],
    ["the key of an id as a key", beside("k!x", ofOnce()), /twice/],
    ["nine limits", withKey({ limits: Array.from({ length: 9 }, () => second) }), /keys\[0\]\.limits/],
    ["null as a limit", withKey({ limits: [null] }), /keys\[0\]\.limits\[0\]\.kind/],
    ["another algorithm", withLimit({ kind: 9 }), /limits\[0\]\.kind: expected an integer from 1 to 8/],
    ["a zone that nobody knows", withLimit({ ...day, zone: "Mars/Olympus" }), /limits\[0\]\.zone: expected an IANA/],
    ["no zone", withLimit({ ...day, zone: undefined }), /limits\[0\]\.zone: expected an IANA/],
    ["an offset as a zone", withLimit({ ...day, zone: "+01:00" }), /limits\[0\]\.zone: expected an IANA/],
    ["a list as a zone", withLimit({ ...day, zone: ["UTC"] }), /limits\[0\]\.zone: expected an IANA/],
    ["another window", withLimit({ ...day, window: "constructor" }), /\.window: expected day, week, month or year/],
    ["the 29th", withLimit({ ...day, window: "month", firstDay: 29 }), /\.firstDay: expected an integer from 1 to 28/],
    ["an eighth day of the week", withLimit({ ...day, window: "week", firstDay: 8 }), /\.firstDay: .* from 1 to 7/],
    ["half a day", withLimit({ ...day, window: "month", firstDay: 1.5 }), /\.firstDay: expected an integer/],
    ["a limit of 0", withLimit({ limit: 0 }), /limits\[0\]\.limit/],
    ["no window", withLimit({ windowMs: undefined }), /limits\[0\]: its time in ms/],
    ["a billion buckets", withLimit({ kind: 1, bucketMs: 1, buckets: 1e9 }), /limits\[0\]\.buckets/],
    ["a log of a million", withLimit({ ...log, limit: 1_000_000 }), /limits\[0\]\.limit/],
    ["too large a burst", withLimit({ kind: 4, windowMs: 1e9, burst: 1e9, maxDelayMs: 0 }), /burst of at most/],
  ])("take of %s", async (_what, request, message) => {
    const object = newObject();
    expect(await object.take(request as TakeRequest)).toEqual({ rejected: expect.stringMatching(message) });
    expect(await rowsOf(object)).toEqual([]);
  });

  it("take at an instant that is none", async () => {
    const object = newObject();
    expect(await object.take(requestOf("k"), Number.NaN)).toEqual({ rejected: expect.stringContaining("nowMs") });
    expect(await rowsOf(object)).toEqual([]);
  });

  it.each([[["k", 7]], ["k"]])("reset of %j", async (keys) => {
    const object = newObject();
    await object.take(requestOf("k"));
    expect(await object.reset(keys as string[])).toEqual({ rejected: expect.stringContaining("keys") });
    expect(await rowsOf(object)).toHaveLength(1);
  });
});

it("charges nothing of a request whose second key cannot be written", async () => {
  const object = newObject();
  await object.take(requestOf("a", [log]));
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec(
      "CREATE TRIGGER full BEFORE INSERT ON counts WHEN NEW.key = 'b' BEGIN SELECT RAISE(ABORT, 'full'); END",
    );
  });
  const before = await rowsOf(object);
  const keys: KeyRequest[] = ["a", "b"].map((key) => ({ ...requestOf(key, [log]).keys[0]! }));
  await expect(Promise.resolve(object.take({ keys, flag: Flag.take }))).rejects.toThrow("full");
  expect(await rowsOf(object)).toEqual(before);
  // What the object knows without its rows has not been charged either.
  const told = await object.take({ ...requestOf("a", [log]), flag: Flag.look });
  expect(told).toMatchObject({ keys: [[{ view: { used: 1 } }]] });
});

// The suite of test/kernel/store/durable-object.test.ts damages the texts of undivided rows.
describe("a damaged row counts as absent", () => {
  const long: LimitSpec = { kind: Kind.log, limit: 900, windowMs: 3_600_000 };
  const startMs = 1_800_000_000_000;
  const look = (object: DurableObjectStub<HeadgateCounts>) =>
    object.take({ ...requestOf("k", [long]), flag: Flag.look }, startMs + 1_000);

  /** A log of 350 units, the oldest 200 in two chunks, is changed. Then the object knows nothing but its rows. */
  async function damaged(change: string, ...values: SqlStorageValue[]) {
    const object = newObject();
    await runInDurableObject(object, async (counts) => {
      for (let i = 0; i < 350; i++) await counts.take(requestOf("k", [long]), startMs + i);
    });
    expect((await rowsOf(object)).map(({ key }) => key).sort()).toEqual([
      "k",
      "k#5:3600000",
      ...["0", "1"].map((n) => `k#5:3600000/${n}`),
    ]);
    await runInDurableObject(object, (_, { storage }) => void storage.sql.exec(change, ...values));
    await evictDurableObject(object);
    return object;
  }

  const chunk = (n: number) => `UPDATE counts SET text = ? WHERE key = 'k#5:3600000/${n}'`;
  const layout = "UPDATE counts SET text = json_set(text, ?, ?) WHERE key = 'k#5:3600000'";
  const full = JSON.stringify(Array.from({ length: 200 }, () => 1));
  it.each<[what: string, used: number, change: string, ...values: SqlStorageValue[]]>([
    ["bytes", 0, "UPDATE counts SET text = ?", new Uint8Array([1, 2]).buffer],
    ["an expiry that is text", 0, "UPDATE counts SET expires_at = 'x'"],
    ["an expiry that is bytes", 0, "UPDATE counts SET expires_at = ?", new Uint8Array([1]).buffer],
    ["a billion chunks", 350, layout, "$.chunks", 1_000_000_000],
    ["chunks below 0", 0, layout, "$.chunks", -1],
    ["a first chunk that no number can name", 0, layout, "$.from", Number.MAX_SAFE_INTEGER],
    ["more gone than a chunk has", 0, layout, "$.gone", 100],
    ["an entry without a cost", 0, layout, "$.newest[1]", 0],
    ["times that add up to too much", 0, layout, "$.newest[2]", Number.MAX_SAFE_INTEGER],
    ["half an entry", 0, layout, "$.newest[300]", 1],
    ["a chunk that is no list", 350, chunk(1), "null"],
    ["a chunk that is too short", 350, chunk(1), "[1800000000000,1]"],
    ["a chunk without its numbers", 350, chunk(0), full.replaceAll("1", "-1")],
    ["a chunk that is gone", 350, "DELETE FROM counts WHERE key LIKE '%/0'"],
  ])("%s", async (_what, used, change, ...values) => {
    const object = await damaged(change, ...values);
    // Units whose entries are gone count on until the log is empty, as in Redis.
    expect(await look(object)).toMatchObject({ allowed: true, keys: [[{ view: { used } }]] });
    expect(await object.take(requestOf("k", [long]), startMs + 1_000)).toMatchObject({ allowed: true });
    await evictDurableObject(object);
    expect(await look(object)).toMatchObject({ keys: [[{ view: { used: used + 1 } }]] });
    expect(await runInDurableObject(object, (counts) => counts.alarm())).toBeUndefined();
  });

  it("of one key, when another key has the form of its limit key", async () => {
    const object = newObject();
    await object.take(requestOf("k", [log]));
    expect(await object.take(requestOf("k#5:60000", [second]))).toMatchObject({ allowed: true });
    expect(await object.take(requestOf("k", [log]))).toMatchObject({ allowed: true });
  });
});

describe("the store", () => {
  it("takes namespaces as the runtime and its types have them, and Cloudflare's location hints", async () => {
    const untyped = COUNTS as unknown as DurableObjectNamespace;
    expect(durableObjectStore(untyped).kind).toBe("durable-object");
    const hints: readonly DurableObjectLocationHint[] = LOCATION_HINTS;
    for (const location of hints as readonly LocationHint[]) {
      const store = durableObjectStore(COUNTS, { location, timeoutMs: 10_000 });
      await expect(store.ping()).resolves.toBeUndefined();
    }
    // Fails to compile if Cloudflare knows a hint that is not in the list.
    const all: Record<DurableObjectLocationHint, LocationHint> = Object.fromEntries(
      LOCATION_HINTS.map((hint) => [hint, hint]),
    ) as Record<LocationHint, LocationHint>;
    expect(Object.keys(all)).toHaveLength(hints.length);
  });

  it("hashes keys with the id of an object that is never called, the same for everybody with the namespace", () => {
    // docs/storage-schema.md names the objects.
    expect([0, 1, 2].map(shardName)).toEqual(["headgate:counts", "headgate:counts:1", "headgate:counts:2"]);
    const { keySecret } = durableObjectStore(COUNTS);
    expect(keySecret).toBe(COUNTS.idFromName("headgate:key").toString());
    expect(keySecret).toMatch(/^[0-9a-f]{64}$/);
  });

  it("refuses what is no namespace, a place that Cloudflare does not know, a wrong budget and an unknown option", () => {
    const make = (options: object) => () => durableObjectStore(COUNTS, options);
    for (const namespace of [undefined, "COUNTS", { fetch() {}, idFromName() {} }]) {
      expect(() => durableObjectStore(namespace as never)).toThrow(/^durableObjectStore: expected a Durable Object/);
    }
    expect(make({ location: "mars" })).toThrow(/location must be one of wnam, enam/);
    expect(make({ timeoutMs: 0 })).toThrow(TypeError);
    expect(make({ shard: 4 })).toThrow(/unknown option shard/);
    for (const shards of [0, 1.5, 257, "4"]) expect(make({ shards })).toThrow(/durableObjectStore: shards/);
  });

  it.each([
    ["an object with too many calls in its queue", { overloaded: true }, "OVERLOADED", true],
    ["an object that ran out of memory", { overloaded: true, remote: true }, "NETWORK", false],
    ["an object that threw", { remote: true }, "NETWORK", false],
    ["a connection that broke", { retryable: true }, "NETWORK", false],
    ["no calls left", { message: "Too many subrequests by single Worker invocation." }, "SUBREQUESTS", true],
  ])("tells of %s whether the take ran, and nothing of the error's text", async (_what, thrown, code, notRun) => {
    const { message = "a key of the request", ...properties } = thrown as { message?: string };
    const take = () => Promise.reject(Object.assign(new Error(message), properties));
    const place = durableObjectPlace({ idFromName: () => "id", get: () => ({ take }) });
    const error = await place.take(requestOf("k")).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(error).toMatchObject({ name: "StoreError", code, notRun, message: `store: ${code}` });
  });

  it("calls the object on for others, whatever it rejects: it has charged nothing, and the log says why", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    // One line a second.
    vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
    const wrong = requestOf("k", [{ ...second, kind: 9 as never }]);
    const changes: unknown[] = [];
    const store = durableObjectStore(COUNTS, {
      timeoutMs: 10_000,
      onBreakerChange: (change) => changes.push(change),
    });
    for (let i = 0; i < 20; i++) {
      const error = await store.take(wrong).catch((error: unknown) => error);
      expect(error).toMatchObject({ name: "StoreError", code: "REJECTED", notRun: true, isReply: true });
    }
    expect(await store.take(requestOf(uniqueName("k")))).toMatchObject({ allowed: true });
    expect([store.breaker!(), changes]).toEqual(["closed", []]);
    expect(logged.mock.calls).toEqual([[expect.any(String), expect.stringContaining("limits[0].kind: expected")]]);
  });

  it("asks with a new stub each time, since one that has thrown stays broken", async () => {
    const stubs: object[] = [];
    const get = () => {
      const stub = { ping: async () => {} };
      stubs.push(stub);
      return stub;
    };
    const place = durableObjectPlace({ idFromName: () => "id", get });
    await place.ping();
    await place.ping();
    expect(new Set(stubs).size).toBe(2);
  });
});
