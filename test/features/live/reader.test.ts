// An isolate reads the live document: when it does, which requests wait for it, and which document is in force
// afterwards. Time is virtual.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { createLiveReader, type LiveEvent } from "../../../src/features/live/reader.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { numbersOf } from "../../../src/kernel/limiter/numbers.ts";
import type { LiveText } from "../../../src/kernel/store/live.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { virtualTime } from "../../support/virtual-time.ts";
import { checkedPolicies } from "./policies.ts";

const POLICIES = checkedPolicies([{ name: "api", limits: [{ limit: 5, window: "1m" }] }]);
const [API] = POLICIES as [Policy];
const [REFRESH_MS, TIMEOUT_MS] = [30_000, 250];
const CLIENT = "AAAAAAAAAAAAAAAAAAAAAA";

// Every interval between two reads is as long as a refresh, unless a test draws it otherwise.
const draw = (random: number) => vi.spyOn(Math, "random").mockReturnValue(random);
beforeEach(() => void draw(0.5));
/** The last number that `Math.random` can draw. */
const LAST = 1 - Number.EPSILON / 2;

/** A document with another number for everybody. */
const textOf = (limit: number) => JSON.stringify({ policies: { api: { limits: { api: limit } } }, overrides: [] });

/** A read that the storage has begun: a number of ms after which it answers, an error, or nothing at all. */
type Answer = number | Error | "never";

interface Setup {
  refreshMs?: number;
  /** How each read ends, in order. The last one repeats. Default: after 10 ms. */
  answers?: Answer[];
  tells?: boolean;
  secret?: () => Promise<string>;
  owner?: string;
}

function isolate({
  refreshMs = REFRESH_MS,
  answers = [10],
  tells = false,
  secret = async () => "own",
  owner,
}: Setup = {}) {
  const time = virtualTime(1_000_000);
  let setBackMs = 0;
  const nowMs = () => time.nowMs() - setBackMs;
  let live: LiveText = { version: 0, text: undefined };
  let told: { version: number; atMs: number } | undefined;
  /** When each read began, and the version that its caller knew. */
  const reads: { readonly atMs: number; readonly known: number | undefined }[] = [];
  const events: LiveEvent[] = [];
  const storage = {
    async read(known?: number, budgetMs = TIMEOUT_MS) {
      reads.push({ atMs: time.nowMs(), known });
      const answer = answers[Math.min(reads.length, answers.length) - 1]!;
      // The store answers with what it holds when the question comes.
      const found = live;
      if (answer === "never") return await new Promise<never>(() => {});
      await time.sleep(typeof answer === "number" ? Math.min(answer, budgetMs) : 10);
      if (answer instanceof Error) throw answer;
      if (answer > budgetMs) throw new StoreError("TIMEOUT");
      return found.version === known ? undefined : found;
    },
    write: async () => undefined,
    ...(tells && { replied: () => told }),
  };
  const reader = createLiveReader({
    storage,
    policies: POLICIES,
    numbers: numbersOf(POLICIES),
    refreshMs,
    timeoutMs: TIMEOUT_MS,
    secret,
    owner,
    report: (event) => events.push(event),
    timing: { nowMs, sleep: time.sleep },
  });
  return {
    time,
    reader,
    reads,
    events,
    put: (version: number, text: string | undefined) => {
      live = { version, text };
    },
    /** A reply to a take comes. */
    tell: (version: number) => {
      told = { version, atMs: nowMs() };
    },
    setBack: (ms: number) => {
      setBackMs += ms;
    },
    /** The number that holds for everybody. */
    limit: () => reader.view()?.policy(API).limits[0]?.limit,
    /** A request. @returns how long it has waited, once it has gone on. */
    request() {
      const startMs = time.nowMs();
      const sent = { waitedMs: undefined as number | undefined, sees: undefined as number | undefined };
      void (async () => {
        const waiting = reader.ready(undefined);
        if (waiting) await waiting;
        sent.waitedMs = time.nowMs() - startMs;
        sent.sees = reader.view()?.policy(API).limits[0]?.limit;
        reader.freshen(undefined);
      })();
      return sent;
    },
    async after(ms: number) {
      // Requests that wait for nothing go on at this instant.
      await new Promise(setImmediate);
      await time.runUntil(time.nowMs() + ms);
    },
  };
}

type Isolate = ReturnType<typeof isolate>;

/** The times between the beginnings of two reads, in ms. */
const pausesOf = ({ reads }: Isolate) => reads.slice(1).map(({ atMs }, i) => atMs - reads[i]!.atMs);

/** A request every so often, for a while. */
async function traffic({ time, request, after }: Isolate, everyMs: number, forMs: number) {
  const untilMs = time.nowMs() + forMs;
  const sent: ReturnType<Isolate["request"]>[] = [];
  while (time.nowMs() < untilMs) {
    sent.push(request());
    await after(everyMs);
  }
  return sent;
}

describe("a cold isolate", () => {
  it("waits for the document, with one read, and decides its first requests with it", async () => {
    const cold = isolate({ answers: [80] });
    cold.put(3, textOf(7));
    const first = [cold.request(), cold.request()];
    await cold.after(60);
    first.push(cold.request());
    await cold.after(40);
    expect(first).toEqual([80, 80, 20].map((waitedMs) => ({ waitedMs, sees: 7 })));
    expect(cold.reads).toEqual([{ atMs: 1_000_000, known: undefined }]);
    expect(cold.events).toEqual([{ event: "live", version: 3 }]);
  });

  it("knows after its first read that there is no document, and goes on at once", async () => {
    const cold = isolate();
    cold.request();
    await cold.after(50);
    expect(cold.reader.ready(undefined)).toBeUndefined();
    expect([cold.limit(), cold.events, cold.reads.length]).toEqual([5, [], 1]);
    expect(cold.reader.view()).toMatchObject({ version: 0, ignored: [] });
  });

  it.each<[string, Answer]>([
    ["never answers", "never"],
    ["answers too late", 10_000],
  ])("waits no longer than its time budget for a store that %s", async (_what, answer) => {
    const cold = isolate({ answers: [answer] });
    const sent = [cold.request()];
    await cold.after(100);
    sent.push(cold.request());
    await cold.after(400);
    expect(sent.map(({ waitedMs, sees }) => [waitedMs! <= TIMEOUT_MS + 4, sees])).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
    // The first one asks again when it has had its time and has been decided.
    expect(pausesOf(cold)).toEqual([TIMEOUT_MS]);
  });

  it("reads again after a failure, at most 10 times a second; says once that it has no document", async () => {
    const error = new StoreError("NETWORK");
    const cold = isolate({ answers: [error, error, error, 10] });
    cold.put(3, textOf(7));
    const [, ...later] = await traffic(cold, 5, 8_000);
    expect(later.filter(({ waitedMs }) => waitedMs! > 10)).toEqual([]);
    expect(pausesOf(cold)).toEqual([100, 100, 100]);
    expect(cold.events).toEqual([
      { event: "live-unread", version: 0, failure: "NETWORK" },
      { event: "live", version: 3 },
    ]);
    expect(cold.limit()).toBe(7);
  });

  it("learns from an answer that comes after the time budget, in the background of the request that asked", async () => {
    const cold = isolate({ answers: [400, "never"] });
    cold.put(3, textOf(7));
    const kept: Promise<unknown>[] = [];
    void cold.reader.ready({ waitUntil: (work) => kept.push(work) });
    await cold.after(390);
    expect([kept.length, cold.limit()]).toEqual([1, undefined]);
    let isOver = false;
    void kept[0]!.then(() => {
      isOver = true;
    });
    await cold.after(0);
    expect(isOver).toBe(false);
    await cold.after(20);
    expect([cold.limit(), isOver]).toEqual([7, true]);
    const next = cold.request();
    await cold.after(0);
    expect([next, cold.reads.length]).toEqual([{ waitedMs: 0, sees: 7 }, 1]);
  });

  it("forgets a late answer that is older than what it has read since", async () => {
    const cold = isolate({ answers: [400, 10] });
    cold.put(3, textOf(7));
    cold.request();
    await cold.after(240);
    cold.put(4, textOf(9));
    await cold.after(500);
    expect([cold.reads.length, cold.limit(), cold.reader.stored().version]).toEqual([2, 9, 4]);
  });

  it("reads again while a request waits for a read that never ends", async () => {
    const cold = isolate({ answers: ["never", 10] });
    cold.put(3, textOf(7));
    // Its client goes away, and it never goes on.
    void cold.reader.ready(undefined);
    await cold.after(TIMEOUT_MS - 50);
    const second = cold.request();
    await cold.after(TIMEOUT_MS - 50);
    expect(second.sees).toBe(7);
  });

  it("tries again if the fingerprint of its secret could not be made", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    let made = 0;
    const secret = async () => (made++ === 0 ? Promise.reject(new Error("no")) : "own");
    const cold = isolate({ secret });
    cold.put(3, textOf(7));
    await traffic(cold, 100, 3_000);
    expect([cold.limit(), cold.reads.length]).toEqual([7, 2]);
  });
});

/** An isolate that has read version 3. */
async function warm(setup: Setup = {}): Promise<Isolate> {
  const one = isolate(setup);
  one.put(3, textOf(7));
  one.request();
  await one.after(50);
  expect(one.limit()).toBe(7);
  return one;
}

describe("a warm isolate", () => {
  it.each([
    [1_000, 800, 1_200],
    [10_000, 8_000, 12_000],
    [30_000, 27_000, 33_000],
    [3_600_000, 3_597_000, 3_603_000],
  ])("with a refresh of %i ms looks after %i ms at the earliest, %i ms at the latest", async (refreshMs, ...bounds) => {
    for (const [random, dueMs] of [
      [0, bounds[0]],
      [LAST, bounds[1]],
    ] as const) {
      draw(random);
      const one = await warm({ refreshMs });
      // 50 ms have passed.
      await one.after(dueMs - 51);
      for (const reads of [1, 2]) {
        one.request();
        expect(one.reads).toHaveLength(reads);
        await one.after(1);
      }
    }
  });

  it.each<[string, Answer]>([
    ["fails", new StoreError("TIMEOUT")],
    ["never ends", "never"],
  ])(
    "sees a change within a refresh and 5 s although a read %s, and asks once in 2 s while reads fail",
    async (_, answer) => {
      const away = await warm({ answers: [10, answer], refreshMs: 1_000 });
      await traffic(away, 10, 60_000);
      expect(new Set(pausesOf(away).slice(1))).toEqual(new Set([2_000]));
      for (const random of [0, 0.5, LAST]) {
        draw(random);
        const one = await warm({ answers: [10, answer, 10] });
        one.put(4, textOf(9));
        await traffic(one, 10, REFRESH_MS + 5_000);
        expect(one.limit()).toBe(9);
        expect(pausesOf(one)[1]).toBe(2_000);
      }
    },
  );

  it("has the newer document with the request after the read, and keeps the old one until then", async () => {
    const one = await warm();
    one.put(4, textOf(9));
    await one.after(34_000);
    const [first, second] = [one.request(), one.request()];
    await one.after(20);
    const third = one.request();
    await one.after(0);
    expect([first, second, third]).toEqual([
      { waitedMs: 0, sees: 7 },
      { waitedMs: 0, sees: 7 },
      { waitedMs: 0, sees: 9 },
    ]);
    expect(one.reads).toHaveLength(2);
  });

  it.each<[string, Answer[]]>([
    ["", [10]],
    [", also if the last read has failed: the store may be back", [10, new StoreError("NETWORK"), 10]],
  ])("waits for the document after a long pause, as a cold isolate does%s", async (_, answers) => {
    const one = await warm({ answers });
    if (answers.length > 1) {
      await one.after(REFRESH_MS);
      one.request();
      await one.after(20);
    }
    one.put(4, textOf(9));
    await one.after(REFRESH_MS + 5_000);
    const both = [one.request(), one.request()];
    await one.after(20);
    expect([both[0]!.waitedMs, both.map(({ sees }) => sees)]).toEqual([10, [9, 9]]);
    expect(one.reads).toHaveLength(answers.length === 1 ? 2 : 3);
  });

  it("waits after a pause for no longer than the time budget, and not again while reads fail", async () => {
    const one = await warm({ answers: [10, "never", new StoreError("NETWORK")] });
    await one.after(REFRESH_MS + 5_000);
    const first = one.request();
    await one.after(TIMEOUT_MS);
    expect(first).toEqual({ waitedMs: TIMEOUT_MS, sees: 7 });
    const next = one.request();
    await one.after(10);
    expect(next.waitedMs).toBe(0);
    await one.after(10_000);
    one.request();
    await one.after(1_000);
    const later = await traffic(one, 500, 20_000);
    expect(later.map(({ waitedMs }) => waitedMs)).toEqual(later.map(() => 0));
  });

  it("keeps the last document while the store is away, says so once, and again the next time", async () => {
    const error = new StoreError("NETWORK");
    const one = await warm({ answers: [10, error, error, 10, error] });
    await traffic(one, 1_000, 200_000);
    expect(one.limit()).toBe(7);
    const away = { event: "live-unread", version: 3, failure: "NETWORK" };
    expect(one.events).toEqual([{ event: "live", version: 3 }, away, away]);
  });

  it("reads at once when its clock was set back", async () => {
    const one = await warm();
    one.setBack(86_400_000);
    await traffic(one, 100, 3_000);
    expect(one.reads).toHaveLength(2);
  });

  it("counts a read as under way although an older one has ended", async () => {
    const one = await warm({ tells: true, answers: [10, 700, 600] });
    await one.after(40_000);
    one.request();
    await one.after(501);
    void one.reader.refresh();
    await one.after(250);
    // The older read has ended; the newer one has not.
    one.tell(4);
    one.request();
    await one.after(0);
    expect(one.reads).toHaveLength(3);
  });

  it.each([
    ["no JSON", 4, "{", "live-damaged"],
    ["JSON of something else", 4, "[1]", "live-damaged"],
    ["a document without overrides", 4, '{"policies":{}}', "live-damaged"],
    ["an empty text", 4, "", "live-damaged"],
    ["no text", 4, undefined, "live-damaged"],
    ["nothing any more", 0, undefined, "live-gone"],
  ])("keeps the last good document when it reads %s, and says so once", async (_what, version, text, event) => {
    const one = await warm();
    one.put(version, text);
    await traffic(one, 1_000, 300_000);
    expect(one.limit()).toBe(7);
    expect(one.events).toEqual([
      { event: "live", version: 3 },
      { event, version },
    ]);
    one.put(5, textOf(9));
    await traffic(one, 1_000, 40_000);
    expect([one.limit(), one.events.at(-1)]).toEqual([9, { event: "live", version: 5 }]);
  });
});

describe("a document of another deployment", () => {
  const ofOwner = (owner: string | undefined, limit: number) => JSON.stringify({ owner, ...JSON.parse(textOf(limit)) });

  it("is not obeyed: the configuration holds, or the last document of one's own", async () => {
    const one = isolate({ owner: "production" });
    one.put(1, ofOwner("staging", 9));
    await traffic(one, 1_000, 40_000);
    expect(one.limit()).toBeUndefined();
    expect(one.reader.stored()).toEqual({ version: 1, state: "foreign", owner: "staging" });
    one.put(2, ofOwner("production", 7));
    await traffic(one, 1_000, 40_000);
    one.put(3, ofOwner("staging", 9));
    await traffic(one, 1_000, 40_000);
    expect([one.limit(), one.reader.stored().state]).toEqual([7, "foreign"]);
    expect(one.events).toEqual([
      { event: "live-foreign", version: 1, owner: "staging" },
      { event: "live", version: 2 },
      { event: "live-foreign", version: 3, owner: "staging" },
    ]);
  });

  it.each([
    ["of nobody", "production", undefined],
    ["of anybody, where this deployment has no name", undefined, "staging"],
  ])("is obeyed if it is %s", async (_, owner, writtenBy) => {
    const one = isolate(owner === undefined ? {} : { owner });
    one.put(1, ofOwner(writtenBy, 9));
    await traffic(one, 1_000, 1_000);
    expect([one.limit(), one.reader.stored().state]).toEqual([9, "good"]);
  });
});

it("reports what is ignored, and clients under another secret", async () => {
  const cold = isolate();
  const overrides = [{ policy: "api", kind: "ip", key: CLIENT, block: true }];
  cold.put(3, JSON.stringify({ secret: "old", policies: { gone: { mode: "shadow" } }, overrides }));
  cold.request();
  await traffic(cold, 1_000, 100_000);
  const ignored = [{ path: "policies.gone", reason: "no policy has this name" }];
  expect(cold.events).toEqual([
    { event: "live", version: 3, ignored },
    { event: "live-other-secret", version: 3 },
  ]);
});

describe("a store that tells versions", () => {
  it("needs no call while it tells the version that is known", async () => {
    const one = await warm({ tells: true });
    for (let i = 0; i < 300; i++) {
      one.tell(3);
      one.request();
      await one.after(1_000);
    }
    expect(one.reads).toHaveLength(1);
  });

  it("is read at once when it tells a newer version, once for many requests", async () => {
    const one = await warm({ tells: true });
    one.put(4, textOf(9));
    one.tell(4);
    for (let i = 0; i < 20; i++) one.request();
    await one.after(20);
    expect([one.reads.length, one.limit()]).toEqual([2, 9]);
  });

  it("is not asked at each request because of a reply from before the last read", async () => {
    const one = await warm({ tells: true });
    one.tell(3);
    await one.after(10);
    // An admin has written in this isolate, and has read it back. Nothing is taken since.
    one.put(4, textOf(9));
    void one.reader.refresh();
    await one.after(20);
    await traffic(one, 100, 10_000);
    expect([one.reads.length, one.limit()]).toEqual([2, 9]);
  });
});
