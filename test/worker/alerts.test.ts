// The object that delivers warnings, inside workerd. test/operate/alerts/post.test.ts has one try, over real sockets.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Crossing } from "../../src/features/alerts/warnings.ts";
import type { LimitWarning } from "../../src/kernel/limiter/on-warning.ts";
import { type Batch, seriesOf } from "../../src/operate/stats/batch.ts";
import type { HeadgateStats } from "../../src/operate/stats/object/stats.ts";
import { STATS, uniqueName } from "./support.ts";

type Stats = DurableObjectStub<HeadgateStats>;

/** Far ahead, as in stats-object.test.ts: no alarm comes by itself. */
const START_MS = Date.UTC(2126, 10, 22, 10);
const HOUR_MS = 3_600_000;
const ALERTS = { ALERT_URL: "https://hooks.example.com/T0/secret", ALERT_SECRET: "s".repeat(32) };

interface Post {
  readonly url: string;
  readonly delivery: string;
  readonly clients: readonly string[];
}
/** What the webhook has got. */
let posts: Post[];
/** What it answers. */
let answer: () => Response | Promise<Response>;
let lines: string[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  posts = [];
  lines = [];
  answer = () => new Response();
  vi.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const headers = new Headers(init!.headers);
    const { warnings } = JSON.parse(init!.body as string) as { readonly warnings: readonly LimitWarning[] };
    posts.push({
      url: String(url),
      delivery: headers.get("Headgate-Delivery")!,
      clients: warnings.map(({ key }) => key),
    });
    return await answer();
  });
});

const later = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** Each instance of an object has its own bindings. */
const bind = (object: Stats, bindings: object) =>
  runInDurableObject(object, (stats) => void Object.assign((stats as unknown as { env: object }).env, bindings));
async function newObject(bindings: object = ALERTS): Promise<Stats> {
  const object = STATS.getByName(uniqueName("alerts"));
  await bind(object, bindings);
  return object;
}

type Changed = Partial<LimitWarning> & { readonly endsAtMs?: number };

function crossing(key: string, { endsAtMs = Date.now() + HOUR_MS, ...more }: Changed = {}): Crossing {
  const at = new Date().toISOString();
  const used = { part: 0.8, used: 8, limit: 10, resetAfterMs: HOUR_MS, at };
  return { endsAtMs, warning: { policy: "api", id: "api", key, kind: "ip", ...used, ...more } };
}
const warn = (object: Stats, crossings: readonly Crossing[], leftOut = 0) =>
  object.warn({ warnings: crossings, leftOut });
const clients = (count: number, name = "c") => Array.from({ length: count }, (_, i) => crossing(`${name}${i}`));

/** Lets the alarm come when it is due, and tells how long that took in ms. Undefined: there is none. */
async function alarm(object: Stats): Promise<number | undefined> {
  const atMs = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  if (atMs === null) return undefined;
  const waitMs = Math.max(0, atMs - Date.now());
  later(waitMs);
  await runDurableObjectAlarm(object);
  return waitMs;
}
/** All alarms until nothing is left to deliver, and their waits. */
async function deliverAll(object: Stats): Promise<number[]> {
  const waits: number[] = [];
  while ((await waiting(object)) > 0) waits.push((await alarm(object))!);
  return waits;
}
const waiting = (object: Stats) =>
  runInDurableObject(
    object,
    (_, { storage }) => storage.sql.exec("SELECT COUNT(*) AS n FROM warnings").one().n as number,
  );
async function counted(object: Stats): Promise<Record<string, number>> {
  const { sums } = await object.totals();
  return Object.fromEntries(
    [...sums].flatMap(([series, sum]) => (series.startsWith("warnings\t") ? [[series.split("\t")[1]!, sum]] : [])),
  );
}

it("delivers each subject once, whichever isolates have seen it, also after the object was started again", async () => {
  const object = await newObject();
  await warn(object, [crossing("ann"), crossing("bob")]);
  await warn(object, [crossing("bob", { used: 9 }), crossing("ann", { part: 0.95 })]);
  expect(await deliverAll(object)).toEqual([0]);
  expect(posts).toEqual([{ url: ALERTS.ALERT_URL, delivery: expect.any(String), clients: ["ann", "bob", "ann"] }]);
  await evictDurableObject(object);
  await bind(object, ALERTS);
  await warn(object, [crossing("ann"), crossing("ann", { endsAtMs: Date.now() + 2 * HOUR_MS })]);
  await deliverAll(object);
  expect(posts.slice(1).map((post) => post.clients)).toEqual([["ann"]]);
  expect(await counted(object)).toEqual({ delivered: 4 });
  expect(await alarm(object)).toBeUndefined();
});

it("sends at most 100 in a POST, and at most one POST a second", async () => {
  const object = await newObject();
  await warn(object, clients(250));
  expect(await deliverAll(object)).toEqual([0, 1_000, 1_000]);
  expect(posts.map((post) => post.clients.length)).toEqual([100, 100, 50]);
  expect(new Set(posts.map(({ delivery }) => delivery)).size).toBe(3);
  await warn(object, [crossing("ann")]);
  expect(await deliverAll(object)).toEqual([1_000]);
});

describe("a webhook that fails", () => {
  it("is asked 5 times with longer waits, under one id and with the same warnings; then the next are sent", async () => {
    const object = await newObject();
    answer = () => new Response(null, { status: 500 });
    await warn(object, [crossing("ann")]);
    const waits = [];
    for (let i = 0; i < 5; i++) {
      waits.push(await alarm(object));
      await warn(object, [crossing(`bob${i}`)]);
      if (i === 2) await evictDurableObject(object);
      if (i === 2) await bind(object, ALERTS);
    }
    expect(waits).toEqual([0, 2_000, 10_000, 60_000, 300_000]);
    expect(new Set(posts.map(({ delivery }) => delivery)).size).toBe(1);
    expect(posts.map((post) => post.clients)).toEqual(Array(5).fill(["ann"]));
    answer = () => new Response();
    expect(await deliverAll(object)).toEqual([1_000]);
    expect(posts[5]!.clients).toEqual(["bob0", "bob1", "bob2", "bob3", "bob4"]);
    expect(await counted(object)).toEqual({ given_up: 1, delivered: 5 });
    const said = lines.map((line) => JSON.parse(line));
    expect(said).toHaveLength(5);
    expect(said[4]).toMatchObject({
      event: "warnings-failed",
      reason: "status 500",
      tries: 5,
      isLast: true,
      warnings: 1,
    });
    expect(lines.join()).not.toMatch(/hooks\.example|T0|sss/);
  });

  it("is given up although the object has ended during the fifth try", async () => {
    const object = await newObject();
    answer = () => new Response(null, { status: 500 });
    await warn(object, [crossing("ann")]);
    for (let i = 0; i < 4; i++) await alarm(object);
    await runInDurableObject(object, (_, { storage }) => void storage.sql.exec("UPDATE delivery SET tries = 5"));
    await alarm(object);
    expect([await waiting(object), await counted(object)]).toEqual([0, { given_up: 1 }]);
  });

  it("loses the oldest of more than 1,000 that wait, but none of those that are under way", async () => {
    const object = await newObject();
    answer = () => new Response(null, { status: 503 });
    await warn(object, clients(100, "first"));
    await alarm(object);
    for (let i = 0; i < 12; i++) await warn(object, clients(100, `c${i}-`));
    expect([await waiting(object), await counted(object)]).toEqual([1_000, { dropped: 300 }]);
    answer = () => new Response();
    await deliverAll(object);
    expect(posts[1]!.clients[0]).toBe("first0");
    expect(posts[2]!.clients[0]).toBe("c3-0");
    expect(await counted(object)).toEqual({ dropped: 300, delivered: 1_000 });
  });
});

it("remembers 10,000 subjects; beyond that it counts and does not send, until windows have ended", async () => {
  const object = await newObject();
  const others = `INSERT INTO warned WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9998)
    SELECT 'other ' || i, ? FROM n`;
  await runInDurableObject(object, (_, { storage }) => void storage.sql.exec(others, START_MS + HOUR_MS));
  await warn(object, clients(5), 7);
  await warn(object, clients(2));
  await deliverAll(object);
  expect([posts[0]!.clients, await counted(object)]).toEqual([["c0", "c1"], { delivered: 2, left_out: 10 }]);
  later(HOUR_MS);
  await warn(object, clients(5));
  await deliverAll(object);
  expect(posts[1]!.clients).toHaveLength(5);
});

it("shares its alarm with the metrics: hours become rows, and a delivery does not read all of them", async () => {
  const object = await newObject();
  const batch = (number: number): Batch => {
    const sums = { [seriesOf("fallback", ["api"])]: 1 };
    return { isolate: "a", number, minutes: [{ minute: Math.floor(Date.now() / 60_000), sums, top: {} }], open: [] };
  };
  await object.add(batch(1));
  await warn(object, [crossing("ann")]);
  expect(await deliverAll(object)).toEqual([0]);
  answer = () => new Response(null, { status: 500 });
  await warn(object, [crossing("bob", { endsAtMs: START_MS })]);
  for (let i = 0; i < 3; i++) await alarm(object);
  await object.add(batch(2));
  answer = () => new Response();
  await deliverAll(object);
  const count = (table: string) =>
    runInDurableObject(object, (_, { storage }) => storage.sql.exec(`SELECT COUNT(*) AS n FROM ${table}`).one().n);
  expect([await count("hours"), await count("warned")]).toEqual([0, 2]);
  await alarm(object);
  // What has ended is forgotten with the hour.
  expect([Date.now() - START_MS, await count("hours"), await count("warned")]).toEqual([HOUR_MS + 60_000, 1, 1]);
});

it("a clock that is set back delays nothing for long", async () => {
  const object = await newObject();
  answer = () => new Response(null, { status: 500 });
  await warn(object, [crossing("ann")]);
  await alarm(object);
  later(-24 * HOUR_MS);
  answer = () => new Response();
  await warn(object, [crossing("bob")]);
  expect(await deliverAll(object)).toEqual([0, 1_000]);
});

it("takes nothing without ALERT_URL, and drops what waits if it goes", async () => {
  const none = await newObject({ ALERT_URL: "", ALERT_SECRET: "" });
  expect(await warn(none, [crossing("ann")])).toEqual({ rejected: expect.stringContaining("expected ALERT_URL") });
  const object = await newObject();
  await warn(object, [crossing("ann")]);
  await bind(object, { ALERT_URL: "" });
  await alarm(object);
  expect([posts, await waiting(object), await counted(object)]).toEqual([[], 0, { dropped: 1 }]);
});

it.each<[string, unknown, RegExp]>([
  ["nothing", undefined, /leftOut/],
  ["no list", { warnings: {}, leftOut: 0 }, /warnings: expected a list/],
  ["too many", { warnings: clients(1_001), leftOut: 0 }, /at most 1000/],
  ["an end that is none", { warnings: [{ ...crossing("ann"), endsAtMs: 0.5 }], leftOut: 0 }, /\[0\]\.endsAtMs/],
  ["no warning", { warnings: [{ endsAtMs: 1 }], leftOut: 0 }, /\[0\]\.warning: expected a table/],
  ["a part of 2", { warnings: [crossing("ann"), crossing("ann", { part: 2 })], leftOut: 0 }, /\[1\]\.warning\.part/],
  ["a long key", { warnings: [crossing("k".repeat(65))], leftOut: 0 }, /warning\.key/],
  ["a use that is no number", { warnings: [crossing("ann", { used: "8" as never })], leftOut: 0 }, /warning\.used/],
])("warnings of %s are rejected as data, and change nothing", async (_what, wrong, message) => {
  const object = await newObject();
  expect(await object.warn(wrong as never)).toEqual({ rejected: expect.stringMatching(message) });
  expect(await waiting(object)).toBe(0);
});

it("leaves out what a newer isolate adds", async () => {
  const object = await newObject();
  expect(await warn(object, [crossing("ann", { added: "later" } as object)])).toBeUndefined();
  const [row] = await runInDurableObject(object, (_, { storage }) =>
    storage.sql.exec<{ warning: string }>("SELECT warning FROM warnings").toArray(),
  );
  expect(JSON.parse(row!.warning)).toEqual(crossing("ann").warning);
});
