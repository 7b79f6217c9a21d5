// consistency = "shared": a request never waits for the store, what was admitted is told once and in time, and what an
// isolate decides follows from what it was told.

import { describe, expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import type { LimitWarning } from "../../../src/limiter.ts";
import { createWorld, START_MS } from "./shared-isolates.ts";

const shared = { key: ["global"], consistency: "shared" } as const;
const fixed = (limit: number) => ({ algorithm: "fixed-window", limit, window: "1m" }) as const;
const ALGORITHMS: PolicyInput["limits"][] = [
  [{ limit: 100, window: "1m" }],
  [{ limit: 100, window: "1m", buckets: 6, oldest: "whole" }],
  [fixed(100)],
  [{ algorithm: "token-bucket", limit: 100, window: "1m" }],
  [{ algorithm: "calendar", limit: 100, window: "day" }],
];
const unitsOf = ({ request }: { request: { keys: readonly { cost: number }[] } }) =>
  request.keys.reduce((sum, { cost }) => sum + cost, 0);

describe("an isolate that is alone", () => {
  it.each(ALGORITHMS)("admits exactly the limit: %j", async (limit) => {
    const world = createWorld([{ ...shared, name: "api", limits: [limit!] }]);
    const isolate = world.isolate();
    const answers: boolean[] = [];
    for (let n = 0; n < 40; n++) {
      for (let i = 0; i < 5; i++) answers.push((await isolate.take("api")).allowed);
      await world.pass(100);
    }
    const refills = limit!.algorithm === "token-bucket" ? 6 : 0;
    expect(answers.filter(Boolean).length).toBeGreaterThanOrEqual(100);
    expect(answers.filter(Boolean).length).toBeLessThanOrEqual(100 + refills);
    expect(answers.slice(0, 100)).not.toContain(false);
  });

  it("tells each unit once, in one call per sync, and nothing while there is nothing to tell", async () => {
    const world = createWorld([{ ...shared, name: "api", limits: [fixed(100)] }]);
    const isolate = world.isolate();
    for (let n = 0; n < 50; n++) {
      expect(await isolate.take("api")).toMatchObject({ allowed: true, source: "shared" });
      await world.pass(100);
    }
    await world.pass(2_500);
    expect(world.calls.every(world.told)).toBe(true);
    expect(world.calls.map(unitsOf).reduce((a, b) => a + b)).toBe(50);
    expect(await world.leftAtStore("api")).toEqual([50]);
    const gaps = world.calls.slice(1).map(({ atMs }, c) => atMs - world.calls[c]!.atMs);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
    const { length } = world.calls;
    await world.pass(60_000);
    expect(world.calls).toHaveLength(length);
  });

  it("asks for newer counts every 5 s while it refuses at a used-up limit, and charges nothing", async () => {
    const world = createWorld([{ ...shared, name: "api", limits: [fixed(2)] }]);
    const isolate = world.isolate();
    for (let n = 0; n < 2; n++) await isolate.take("api");
    await world.pass(3_000);
    const { length } = world.calls;
    for (let n = 0; n < 100; n++) {
      const decision = await isolate.take("api");
      expect(decision).toMatchObject({ allowed: false, source: "shared", remaining: 0 });
      expect(decision.retryAfterMs).toBeGreaterThanOrEqual(1_000);
      await world.pass(100);
    }
    const asked = world.calls.slice(length);
    expect(asked.map(unitsOf)).toEqual([0, 0]);
    expect(asked[1]!.atMs - asked[0]!.atMs).toBeGreaterThanOrEqual(5_000);
  });

  it("says no wait below 1 s, though units come back sooner", async () => {
    const limits = [{ algorithm: "token-bucket", limit: 600, window: "1m", burst: 1 }] as const;
    const isolate = createWorld([{ ...shared, name: "api", limits }]).isolate();
    const first = await isolate.take("api");
    expect(first.limits[0]!.growsAfterMs).toBe(1_000);
    expect(await isolate.take("api")).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
  });
});

describe("what an isolate tells", () => {
  it("is at most 500 keys per call, and sooner than sync if there are as many", async () => {
    const world = createWorld([{ ...shared, name: "api", key: ["ip"], sync: "10s", limits: [fixed(10)] }]);
    const isolate = world.isolate();
    await isolate.take("api", { key: "client 0" });
    // The first is told in the next turn.
    await world.pass(1);
    for (let n = 1; n < 1_600; n++) await isolate.take("api", { key: `client ${n}` });
    await world.pass(1_000);
    expect(world.calls.map(({ request }) => request.keys.length)).toEqual([1, 500, 500, 500]);
    await world.pass(20_000);
    expect(world.calls.map(unitsOf).reduce((a, b) => a + b)).toBe(1_600);
  });

  it.each([
    ["1s", 2_500],
    ["60s", 26_000],
  ] as const)(
    "is told by the last request's background, if the isolate falls idle: sync %s",
    async (sync, withinMs) => {
      const limits = [{ algorithm: "fixed-window", limit: 10, window: "5m" }] as const;
      const world = createWorld([{ ...shared, name: "api", sync, limits }]);
      const isolate = world.isolate();
      await isolate.take("api");
      await world.pass(500);
      for (let n = 0; n < 3; n++) await isolate.take("api");
      await world.pass(withinMs);
      expect(await world.leftAtStore("api")).toEqual([6]);
    },
  );

  it("is told by a later request, if the runtime has ended the background of the one that was to tell", async () => {
    const world = createWorld([{ ...shared, name: "api", limits: [fixed(100)] }]);
    const isolate = world.isolate();
    const { sleep } = world.time;
    await isolate.take("api");
    await world.pass(500);
    let isEnded = true;
    world.time.sleep = (ms) => (isEnded && ms > 200 ? new Promise(() => {}) : sleep(ms));
    for (let n = 0; n < 5; n++) await isolate.take("api");
    await world.pass(10_000);
    isEnded = false;
    expect(await world.leftAtStore("api")).toEqual([99]);
    await isolate.take("api");
    await world.pass(2_500);
    expect(await world.leftAtStore("api")).toEqual([93]);
  });
});

describe("what an isolate is told", () => {
  it.each([
    [fixed(10), START_MS + 60_000],
    [{ algorithm: "calendar", limit: 10, window: "day" }, Math.ceil(START_MS / 86_400_000) * 86_400_000],
  ] as const)(
    "also counts what it has admitted since a window began that the reply precedes: %j",
    async (limit, endMs) => {
      const world = createWorld([{ ...shared, name: "api", sync: "100ms", limits: [limit] }]);
      const isolate = world.isolate();
      await world.time.runUntil(endMs - 2_000);
      await isolate.take("api");
      await world.pass(1_700);
      // The next reply comes 500 ms late, in the next window. Later replies do not come within this test.
      world.faults.next = ({ atMs }) => ({ lateMs: atMs < endMs ? 500 : 60_000 });
      await isolate.take("api");
      await world.pass(500);
      for (let n = 0; n < 10; n++) expect(await isolate.take("api")).toMatchObject({ allowed: true });
      await world.pass(400);
      expect(await isolate.take("api")).toMatchObject({ allowed: false });
    },
  );
});

describe("an isolate that comes to a used-up limit", () => {
  /** Two others have used the limit up, and are gone. */
  async function usedUp(limit: NonNullable<PolicyInput["limits"]>[number], units: number) {
    const world = createWorld([{ ...shared, name: "api", limits: [limit] }]);
    const gone = [world.isolate(), world.isolate()];
    for (let n = 0; n < 60; n++) {
      for (const isolate of gone) for (let i = 0; i < units / 40; i++) await isolate.take("api");
      await world.pass(100);
    }
    await world.pass(3_000);
    expect((await world.leftAtStore("api"))[0]).toBeLessThan(limit.algorithm === "token-bucket" ? 60 : 1);
    return world;
  }

  it.each([
    [{ limit: 1_000, window: "1m" }, 60_000 + 15_000],
    [fixed(1_000), 60_000],
    [{ algorithm: "token-bucket", limit: 1_000, window: "1m" }, 0],
    [{ limit: 1_000, window: "10s" }, 20_000],
    [{ algorithm: "calendar", limit: 1_000, window: "day" }, Math.ceil(START_MS / 86_400_000) * 86_400_000 - START_MS],
  ] as const)("admits again within a few syncs of the units' return: %j", async (limit, backAfterMs) => {
    const world = await usedUp(limit, 1_000);
    const isolates = Array.from({ length: 3 }, world.isolate);
    const untilMs = Math.max(world.time.nowMs(), START_MS + backAfterMs) + 10_000;
    // A calendar's day is long.
    const everyMs = backAfterMs > 100_000 ? 5_000 : 1_000;
    for (; world.time.nowMs() < untilMs; await world.pass(everyMs))
      for (const isolate of isolates) await isolate.take("api");
    let admitted = 0;
    for (let n = 0; n < 20; n++) {
      for (const isolate of isolates) admitted += Number((await isolate.take("api")).allowed);
      await world.pass(500);
    }
    // Less than a sixth of the limit is asked for.
    expect(admitted).toBeGreaterThanOrEqual(57);
  });
});

describe("a store that fails", () => {
  it("loses at most one call of unknown outcome: a look comes before the next", async () => {
    const world = createWorld([{ ...shared, name: "api", limits: [fixed(1_000)] }]);
    const isolate = world.isolate();
    let isDead = false;
    // It may have run: it has not.
    world.faults.next = () => (isDead ? new StoreError("NETWORK") : undefined);
    const send = async (seconds: number) => {
      for (let n = 0; n < seconds * 10; n++) {
        await isolate.take("api");
        await world.pass(100);
      }
    };
    await send(3);
    isDead = true;
    const before = world.calls.length;
    await send(10);
    const unheard = world.calls.slice(before);
    expect(unheard.filter(world.told)).toHaveLength(1);
    expect(unheard.slice(1).every(({ request }) => request.flag === Flag.look)).toBe(true);
    isDead = false;
    await send(3);
    await world.pass(2_500);
    const lost = unitsOf(unheard.find(world.told)!);
    expect(await world.leftAtStore("api")).toEqual([1_000 - 160 + lost]);
    // Its isolate counts them until their window ends.
    expect((await isolate.limiter.peek("api")).remaining).toBe(1_000 - 160);
  });

  it.each(["100ms", "1s", "30s"] as const)("is not asked for ever by an idle isolate: sync %s", async (sync) => {
    const limits = [{ algorithm: "fixed-window", limit: 100, window: "1h" }] as const;
    const world = createWorld([{ ...shared, name: "api", sync, limits }]);
    const isolate = world.isolate();
    await isolate.take("api");
    await world.pass(3_000);
    world.faults.next = () => new StoreError("OFFLINE");
    await isolate.take("api");
    const [before, startMs] = [world.calls.length, world.time.nowMs()];
    await world.pass(120_000);
    expect(world.calls.length).toBeGreaterThan(before);
    expect(world.calls.length - before).toBeLessThanOrEqual(12);
    expect(world.calls.at(-1)!.atMs - startMs).toBeLessThanOrEqual(25_000);
    world.faults.next = () => undefined;
    await isolate.take("api", { cost: 0 });
    await world.pass(26_000);
    expect(await world.leftAtStore("api")).toEqual([98]);
  });

  it("that is a cluster is told each key by itself", async () => {
    const world = createWorld([{ ...shared, name: "api", key: ["ip"], limits: [fixed(100)] }]);
    world.faults.next = ({ request }) => (request.keys.length > 1 ? new StoreError("CROSSSLOT") : undefined);
    const isolate = world.isolate();
    for (let n = 0; n < 30; n++) {
      for (const key of ["a", "b", "c"]) await isolate.take("api", { key });
      await world.pass(100);
    }
    await world.pass(2_500);
    for (const key of ["a", "b", "c"]) expect(await world.leftAtStore("api", key)).toEqual([70]);
    expect(world.calls.filter(({ request }) => request.keys.length > 1)).toHaveLength(1);
  });
});

describe("beside what else there is", () => {
  const policies: PolicyInput[] = [
    { ...shared, name: "shared", limits: [fixed(100)] },
    { ...shared, name: "strict", consistency: "strict", limits: [fixed(100)] },
    { ...shared, name: "leased", consistency: "leased", limits: [fixed(100)] },
    { ...shared, name: "slots", consistency: "strict", limits: [{ algorithm: "concurrency", limit: 10 }] },
  ];

  it.each([
    ["strict", "redis"],
    ["leased", "redis"],
    ["slots", "redis"],
  ])("the stronger consistency holds for all: %s", async (other, source) => {
    const world = createWorld(policies);
    const isolate = world.isolate();
    for (let n = 0; n < 3; n++) await isolate.take("shared");
    await world.pass(3_000);
    const asked = isolate.limiter.take([{ policy: "shared" }, { policy: other }], { background: world.background });
    expect(await world.answer(asked)).toMatchObject({ allowed: true, source });
    expect(await isolate.take("shared")).toMatchObject({ source: "shared", remaining: expect.any(Number) });
    await world.pass(3_000);
    const [left] = await world.leftAtStore("shared");
    expect(left).toBeLessThanOrEqual(95);
    expect((await isolate.limiter.peek("shared")).remaining).toBe(left);
  });

  it.each(ALGORITHMS)("a warning tells what is certainly used, and not an estimate: %j", async (limit) => {
    const warned: number[] = [];
    let admitted = 0;
    const onWarning = ({ used }: LimitWarning) => void warned.push(used, admitted + 1);
    const world = createWorld([{ ...shared, name: "api", limits: [limit!], warn: 0.5 }], { onWarning });
    const isolates = Array.from({ length: 4 }, world.isolate);
    for (let i = 0; i < 400; i++) {
      const { allowed } = await isolates[i % 4]!.take("api");
      if (allowed) admitted++;
      await world.pass(100);
    }
    const [used, truly] = warned;
    expect(used).toBeGreaterThanOrEqual(50);
    expect(used).toBeLessThanOrEqual(truly!);
  });

  it("a warning counts once what was told without an answer", async () => {
    const warned: number[] = [];
    const onWarning = ({ used }: LimitWarning) => void warned.push(used);
    const world = createWorld([{ ...shared, name: "api", limits: [fixed(100)], warn: 0.5 }], { onWarning });
    const isolate = world.isolate();
    const faults = [undefined, "lost", "lost", undefined] as const;
    for (const [f, fault] of faults.entries()) {
      world.faults.next = () => fault;
      for (let i = 0; i < (f === 3 ? 5 : 10); i++) await isolate.take("api");
      await world.pass(3_000);
    }
    world.faults.next = () => undefined;
    expect(await world.leftAtStore("api")).toEqual([65]);
    for (let i = 35; i < 49; i++) await isolate.take("api");
    expect(warned).toEqual([]);
    await isolate.take("api");
    expect(warned).toEqual([50]);
  });

  it("over several places, what one place refuses costs nothing in the other", async () => {
    const two: PolicyInput[] = [
      { ...shared, name: "p0", limits: [fixed(100)] },
      { ...shared, name: "p1", limits: [fixed(3)] },
    ];
    const world = createWorld(two, { places: 2 });
    const isolate = world.isolate();
    for (let n = 0; n < 10; n++) {
      const decision = await isolate.take([{ policy: "p0" }, { policy: "p1" }]);
      expect(decision).toMatchObject({ allowed: n < 3, source: "shared" });
      await world.pass(400);
    }
    await isolate.take([{ policy: "p0" }, { policy: "p1" }]);
    await world.pass(1);
    expect((await isolate.limiter.peek("p0")).remaining).toBe(97);
    await world.pass(3_000);
    expect((await world.leftAtStore("p0"))[0]).toBe(97);
    expect((await world.leftAtStore("p1"))[1]).toBe(0);
  });
});

describe("the end of a calendar period", () => {
  const day = (limit: number) => ({ algorithm: "calendar", limit, window: "day" }) as const;
  const MIDNIGHT_MS = Date.UTC(2023, 10, 15);
  const fresh = (limit: number) => {
    const world = createWorld([{ ...shared, name: "api", limits: [day(limit)] }]);
    return { world, passTo: (ms: number) => world.time.runUntil(MIDNIGHT_MS + ms) };
  };

  it("ends what is untold: the new period is charged only what was admitted in it", async () => {
    const { world, passTo } = fresh(100);
    const isolate = world.isolate();
    await passTo(-500);
    await isolate.take("api");
    await passTo(-200);
    for (let n = 0; n < 59; n++) await isolate.take("api");
    expect(await isolate.take("api", { cost: 0 })).toMatchObject({ remaining: 40 });
    await passTo(200);
    for (let n = 0; n < 3; n++) expect(await isolate.take("api")).toMatchObject({ allowed: true, remaining: 99 - n });
    await passTo(4_000);
    expect(world.calls.map(unitsOf).sort()).toEqual([1, 3, 59]);
    expect(world.calls.filter(({ atMs }) => atMs > MIDNIGHT_MS).map(unitsOf)).toContain(59);
    expect(await world.leftAtStore("api")).toEqual([97]);
    for (let n = 0; n < 97; n++) expect((await isolate.take("api")).allowed).toBe(true);
    expect(await isolate.take("api")).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe("a request with an id", () => {
  const policies: PolicyInput[] = [
    { ...shared, name: "api", limits: [fixed(100)], once: "header:idempotency-key" },
    { ...shared, name: "free", limits: [fixed(100)] },
  ];

  it("is decided by the store, and its repeats change nothing that the isolate knows", async () => {
    const world = createWorld(policies);
    const isolate = world.isolate();
    for (let n = 0; n < 5; n++) await isolate.take("api");
    await world.pass(3_000);
    for (const remaining of [94, 94, 94]) {
      const asked = isolate.limiter.take("api", { once: "a", background: world.background });
      expect(await world.answer(asked)).toMatchObject({ allowed: true, source: "redis", remaining });
    }
    expect(await isolate.take("api")).toMatchObject({ allowed: true, source: "shared", remaining: 93 });
    await world.pass(3_000);
    expect(await world.leftAtStore("api")).toEqual([93]);
  });
});
