// Leases step by step, in virtual time. The store is 50 ms away, each way.

import { beforeEach, describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { type Asking, asking, type Told } from "../../kernel/place/asking.ts";
import { virtualTime } from "../../support/virtual-time.ts";

const START_MS = 1_700_000_000_000;
const ONE_WAY_MS = 50;
/** A window of 10 s: leases live 500 ms, and a pause of 250 ms follows a short grant. */
const limitOf = (limit: number): LimitSpec => ({ kind: Kind.weighted, limit, bucketMs: 10_000, buckets: 1 });
const keyOf = (limit: number, cost = 1, key = "k"): KeyRequest => {
  return { key, group: ENFORCED, cost, limits: [limitOf(limit)] };
};

let time: ReturnType<typeof virtualTime>;
let central: Store;
let calls: TakeRequest[];
let answers: Asking;

beforeEach(() => {
  time = virtualTime(START_MS);
  central = memoryStore();
  calls = [];
  const store = farAway(async (_, reply) => {
    await time.sleep(ONE_WAY_MS);
    return reply;
  });
  answers = asking(store, { nowMs: time.nowMs, sleep: time.sleep });
});

/** @param wayBack of a reply, until the caller has it. */
function farAway(wayBack: (request: TakeRequest, reply: TakeReply) => Promise<TakeReply>): Store {
  return {
    ...central,
    kind: "redis",
    async take(request) {
      calls.push(request);
      await time.sleep(ONE_WAY_MS);
      return await wayBack(request, await central.take(request, time.nowMs()));
    },
  };
}

const background = { waitUntil() {} };
const take = (...keys: KeyRequest[]) => answers.take({ keys, flag: Flag.take }, background);

/** Makes `count` takes, evenly over `ms` ms. Returns the answers in the order of the takes. */
async function takes(count: number, ms: number, ...keys: KeyRequest[]): Promise<Told[]> {
  const startMs = time.nowMs();
  const taken: Promise<Told>[] = [];
  for (let i = 0; i < count; i++) time.at(startMs + (i * ms) / count, () => taken.push(take(...keys)));
  await time.runUntil(startMs + ms);
  return await settled(taken);
}

const once = async (...keys: KeyRequest[]) => (await settled([take(...keys)]))[0]!;

/** Lets time pass until all promises have settled. */
async function settled<T>(all: readonly Promise<T>[]): Promise<T[]> {
  let done = false;
  const both = Promise.all(all).finally(() => {
    done = true;
  });
  while (!done) await time.runUntil(time.nowMs() + 1);
  return await both;
}

/** Units in this bucket and the one before that the store has charged and that were not given back. */
async function charged(key = keyOf(1)): Promise<number> {
  const { keys } = await central.take({ keys: [{ ...key, cost: 0 }], flag: Flag.look }, time.nowMs());
  const { counts } = keys[0]![0]!.view as unknown as { counts: number[] };
  return counts[0]! + counts[1]!;
}

const toldBy = ({ reply }: Told, { limits: [limit], cost }: KeyRequest) => {
  const { view, refused } = reply.keys[0]![0]!;
  return algorithmOf(limit!).tell(view, limit!, cost, refused, reply.nowMs);
};
/** Whether the store would admit the key's request at an instant. */
async function admittedAt(key: KeyRequest, atMs: number): Promise<boolean> {
  return (await central.take({ keys: [key], flag: Flag.look }, atMs)).allowed;
}

const admitted = (all: readonly Told[]) => all.filter(({ reply }) => reply.allowed).length;
const sourcesOf = (all: readonly Told[]) => all.map(({ source }) => source);

describe("demand", () => {
  it("at a high rate most requests are answered from the stock, and nothing is lost or made up", async () => {
    const all = await takes(400, 2_000, keyOf(10_000));
    expect(admitted(all)).toBe(400);
    expect(sourcesOf(all).filter((source) => source === "lease").length).toBeGreaterThan(360);
    expect(calls.length).toBeLessThan(40);
    await time.runUntil(time.nowMs() + 3_000);
    expect(await charged()).toBe(400);
  });

  it("of many requests at once, one makes a call, then one makes a call for all that wait", async () => {
    const all = await takes(100, 0, keyOf(10_000));
    expect(admitted(all)).toBe(100);
    const asks = calls.filter(({ flag }) => flag === Flag.take);
    expect(asks[0]!.keys[0]!.cost).toBe(1);
    expect(asks[1]!.keys[0]!.cost).toBeGreaterThanOrEqual(99);
  });

  // A decision over several places asks them all in one step.
  it("of a request that the stock answers is asked for behind the calls that other places need for it", async () => {
    const atOnce: number[] = [];
    for (let ms = 0; ms < 2_000; ms += 5) {
      time.at(START_MS + ms, async () => {
        const before = calls.length;
        const taken = take(keyOf(10_000));
        const made = calls.length - before;
        if ((await taken).source === "lease") atOnce.push(made);
      });
    }
    await time.runUntil(START_MS + 2_000);
    expect([calls.length > 5, atOnce.length > 360, Math.max(...atOnce)]).toEqual([true, true, 0]);
  });
});

describe("the stock", () => {
  it.each([22, 31, 38, 41, 57])(
    "goes back after a burst of %i s, also if the first background has ended",
    async (s) => {
      const key: KeyRequest = {
        ...keyOf(1_000),
        limits: [{ kind: Kind.fixedWindow, limit: 1_000, windowMs: 86_400_000 }],
      };
      const all = await takes(s * 10, s * 1_000, key);
      await time.runUntil(time.nowMs() + 60_000);
      const { keys } = await central.take({ keys: [{ ...key, cost: 0 }], flag: Flag.look }, time.nowMs());
      expect(keys[0]![0]!.view).toMatchObject({ count: admitted(all) });
    },
  );

  it("ends with its bucket: nothing charged in one is spent in the next", async () => {
    await time.runUntil(START_MS + 8_900);
    await takes(200, 1_000, keyOf(10_000));
    await time.runUntil(START_MS + 10_050);
    const { source } = await once(keyOf(10_000));
    expect(source).toBe("redis");
  });

  it("is emptied when a give-back is told less than was charged here: another isolate has reset the key", async () => {
    await takes(200, 1_000, keyOf(10_000));
    await time.runUntil(time.nowMs() + 2 * ONE_WAY_MS);
    // Five units are left, so more are asked for: the units in stock were charged in two calls.
    const cost = (await charged()) - 200 - 5;
    await once(keyOf(10_000, cost));
    await time.runUntil(time.nowMs() + 2 * ONE_WAY_MS);
    const held = (await charged()) - 200 - cost;
    await central.reset(["k"]);
    await central.take({ keys: [keyOf(10_000, 100)], flag: Flag.take }, time.nowMs());
    calls.length = 0;
    await time.runUntil(time.nowMs() + 3_000);
    expect(calls.map(({ flag }) => flag)).toEqual([Flag.giveBack]);
    expect(calls[0]!.keys[0]!.cost).toBeLessThan(held);
    expect(await charged()).toBe(100 - calls[0]!.keys[0]!.cost);
  });
});

describe("at the limit", () => {
  it("pauses after a short grant, makes no call, and says until when", async () => {
    await takes(400, 1_000, keyOf(2_000));
    // Another isolate leaves fewer units than this isolate wants in stock.
    const left = 2_000 - (await charged());
    await central.take({ keys: [keyOf(2_000, left - 60)], flag: Flag.take }, time.nowMs());
    const all = await takes(400, 1_000, keyOf(2_000));
    const held = all.filter(({ reply }) => reply.keys[0]![0]!.pausedMs !== undefined);
    expect(held.length).toBeGreaterThan(10);
    for (const { reply, source } of held) {
      expect([source, reply.allowed]).toEqual(["lease", false]);
      expect(reply.keys[0]![0]!.pausedMs).toBeGreaterThan(0);
      expect(reply.keys[0]![0]!.pausedMs).toBeLessThanOrEqual(250);
    }
  });

  it("asks for that alone if the store has refused both together", async () => {
    await takes(200, 1_000, keyOf(1_000));
    const held = (await charged()) - 200;
    expect(held).toBeGreaterThan(20);
    await central.take({ keys: [keyOf(1_000, 760 - held)], flag: Flag.take }, time.nowMs());
    expect((await once(keyOf(1_000, held + 40))).reply.allowed).toBe(true);
    expect(await charged()).toBe(1_000);
  });

  it("tells the wait of the whole cost, though a part is in stock: the stock goes back before", async () => {
    await takes(200, 1_000, keyOf(1_000));
    const held = (await charged()) - 200;
    expect(held).toBeGreaterThan(20);
    await central.take({ keys: [keyOf(1_000, 800 - held)], flag: Flag.take }, time.nowMs());
    const key = keyOf(1_000, held + 50);
    expect((await once(key)).reply.allowed).toBe(false);
    const refusal = await once(key);
    expect(refusal.source).toBe("cache");
    const admittedAtMs = refusal.reply.nowMs + toldBy(refusal, key).retryAfterMs!;
    await time.runUntil(time.nowMs() + 3_000);
    expect([await admittedAt(key, admittedAtMs - 1), await admittedAt(key, admittedAtMs)]).toEqual([false, true]);
  });
});

describe("a store that does not answer", () => {
  /** How the requests ended, and when, in ms since the start. */
  async function outcomesOf(cameAtMs: readonly number[]): Promise<[outcome: string, afterMs: number][]> {
    const startMs = time.nowMs();
    const all = cameAtMs.map(async (atMs): Promise<[string, number]> => {
      await time.sleep(atMs);
      const outcome = await take(keyOf(10_000)).then(
        ({ source }) => source,
        (error: StoreError) => error.code,
      );
      return [outcome, time.nowMs() - startMs];
    });
    return await settled(all);
  }

  it("has one call at a time in front of it, and each request waits for its own budget and no longer", async () => {
    const hanging: Store = {
      ...farAway(async (_, reply) => reply),
      timeoutMs: 250,
      async take(request, _nowMs, budgetMs) {
        calls.push(request);
        await time.sleep(budgetMs!);
        throw new StoreError("TIMEOUT");
      },
    };
    answers = asking(hanging, { nowMs: time.nowMs, sleep: time.sleep });
    const outcomes = await outcomesOf([0, 0, 0, 100, 100, 100]);
    expect(outcomes.map(([outcome]) => outcome).sort()).toEqual([
      ...Array(2).fill("TIMEOUT"),
      ...Array(4).fill("WAITED"),
    ]);
    for (const [i, [, endedAtMs]] of outcomes.entries()) expect(endedAtMs).toBeLessThanOrEqual(i < 3 ? 250 : 350);
    // The second call begins when the first one is overdue.
    expect(calls).toHaveLength(2);
  });

  it("is asked for all that wait when the answer would come too late for each of them, and later requests get it", async () => {
    const slow = farAway(async (_, reply) => {
      await time.sleep(200 - ONE_WAY_MS);
      return reply;
    });
    answers = asking({ ...slow, timeoutMs: 250 }, { nowMs: time.nowMs, sleep: time.sleep });
    const outcomes = await outcomesOf([0, 20, 30, 40, 420, 421]);
    expect(outcomes.map(([outcome]) => outcome)).toEqual(["redis", "WAITED", "WAITED", "WAITED", "lease", "lease"]);
    expect(calls[0]!.keys[0]!.cost).toBe(1);
    expect(calls[1]!.keys[0]!.cost).toBeGreaterThanOrEqual(3);
  });
});
