// The prose of src/store/store.ts as tests. A store is done when it passes them.

import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../src/core/algorithms.ts";
import type { WindowLimit } from "../../src/core/sliding-window.ts";
import { Flag, type KeyRequest, keysOfRequest, type LimitReply } from "../../src/core/take.ts";
import type { Store } from "../../src/store/store.ts";
import { answerOf, expectedOf, requestOf, storiesOf, vectorFiles } from "../support/cases/vectors.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { toldBy } from "../support/parity/told.ts";
import { firstWindow } from "../support/parity/views.ts";

export interface StoreUnderTest {
  open(): Store;
  /** The store's clock, ms since the epoch. */
  clock(): Promise<number>;
  /** Another way to the same counts, with less overhead, for the thousands of calls of the stories. Default: `open`. */
  readonly openForStories?: () => Store;
  /** Why a second store, made alike, has counts of its own; absent if it shares them. */
  readonly isAlone?: string;
}

/** So long that no test sees it end: a burst charged now is counted in full for 9 minutes. */
const tenMinutes = (limit: number): WindowLimit => ({ limit, kind: Kind.weighted, bucketMs: 60_000, buckets: 10 });
const NOW_MS = 1_700_000_000_000;

export function describeStore({ open, openForStories = open, clock, isAlone }: StoreUnderTest): void {
  const store = open();
  const used: string[] = [];
  const newKey = () => {
    const key = `headgate-test:${randomUUID()}`;
    used.push(key);
    return key;
  };
  const take = (keys: KeyRequest[], flag: Flag = Flag.take, nowMs?: number, atMs?: number) =>
    store.take({ keys, flag, ...(atMs !== undefined && { atMs }) }, nowMs);
  const countOf = async (key: string, limit = tenMinutes(1), nowMs?: number) => {
    const reply = await take([keyRequest(key, [limit], { cost: 0 })], Flag.take, nowMs);
    return firstWindow(reply).counts.reduce((sum, count) => sum + count, 0);
  };
  afterAll(() => store.reset(used));

  it.each(vectorFiles)("tells every story of the vectors of %s as they do", async (file) => {
    const store = openForStories();
    const tellings = await Promise.all(
      storiesOf(file).map(async (story) => {
        const key = newKey();
        used.push(...keysOfRequest(requestOf(story.steps[0]!, story, key)));
        const steps = [];
        for (const step of story.steps) {
          const reply = await store.take(requestOf(step, story, key), step.atMs);
          steps.push({ answer: answerOf(step, story, reply), step });
        }
        return { title: story.title, steps };
      }),
    );
    const expected = storiesOf(file).map(({ title, steps }) => {
      return { title, steps: steps.map((step) => ({ answer: expectedOf(step), step })) };
    });
    expect(tellings).toEqual(expected);
  });

  describe("atomicity", () => {
    it("admits exactly 100 of 400 takes at once under a limit of 100", async () => {
      const key = newKey();
      const takes = Array.from({ length: 400 }, () => take([keyRequest(key, [tenMinutes(100)])]));
      const allowed = (await Promise.all(takes)).filter(({ allowed }) => allowed);
      expect(allowed).toHaveLength(100);
      expect(await countOf(key)).toBe(100);
    });

    it("charges two keys together or neither, whoever else charges one of them", async () => {
      const [own, shared] = [newKey(), newKey()];
      const both = () => take([keyRequest(own, [tenMinutes(1000)]), keyRequest(shared, [tenMinutes(60)])]);
      const one = () => take([keyRequest(shared, [tenMinutes(60)])]);
      const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 ? one() : both())));
      expect(replies.filter(({ allowed }) => allowed)).toHaveLength(60);
      const allowedBoth = replies.filter(({ allowed, keys }) => allowed && keys.length === 2);
      expect(await countOf(own)).toBe(allowedBoth.length);
      expect(await countOf(shared)).toBe(60);
    });

    it.skipIf(isAlone)(`shares counts with a store made alike${isAlone ? ` (skipped: ${isAlone})` : ""}`, async () => {
      const key = newKey();
      await take([keyRequest(key, [tenMinutes(5)], { cost: 3 })]);
      const elsewhere = open();
      const request = { keys: [keyRequest(key, [tenMinutes(5)], { cost: 3 })], flag: Flag.take };
      expect((await elsewhere.take(request)).allowed).toBe(false);
    });
  });

  describe("the clock", () => {
    it("is the store's own when no instant is given", async () => {
      const beforeMs = await clock();
      const reply = await take([keyRequest(newKey(), [tenMinutes(5)])]);
      const { nowMs } = reply;
      const afterMs = await clock();
      expect(nowMs).toBeGreaterThanOrEqual(beforeMs);
      expect(nowMs).toBeLessThanOrEqual(afterMs);
      expect(firstWindow(reply).newest).toBe(Math.floor(nowMs / 60_000));
    });

    it("is replaced by an instant that is given", async () => {
      const reply = await take([keyRequest(newKey(), [tenMinutes(5)])], Flag.take, 61_000);
      expect([reply.nowMs, firstWindow(reply).newest]).toEqual([61_000, 1]);
    });
  });

  it("answers for each key and limit in the order of the request", async () => {
    const second: WindowLimit = { limit: 1, kind: Kind.whole, bucketMs: 500, buckets: 2 };
    const keys = [keyRequest(newKey(), [tenMinutes(9), second], { cost: 2 }), keyRequest(newKey(), [second])];
    const reply = await take(keys, Flag.take, NOW_MS);
    const nothing = ({ kind, bucketMs, buckets }: WindowLimit) => {
      return { kind, bucketMs, buckets, newest: Math.floor(NOW_MS / bucketMs), counts: new Array(buckets + 1).fill(0) };
    };
    expect(reply).toEqual({
      nowMs: NOW_MS,
      allowed: false,
      keys: [
        [
          { refused: false, view: nothing(tenMinutes(9)) },
          { refused: true, view: nothing(second) },
        ],
        [{ refused: false, view: nothing(second) }],
      ],
    });
  });

  it("does not change an answer that it gave", async () => {
    const key = newKey();
    const first = await take([keyRequest(key, [tenMinutes(5)])]);
    const copy = structuredClone(first);
    await take([keyRequest(key, [tenMinutes(5)])]);
    expect(first).toEqual(copy);
  });

  it("charges nothing for a refusal, nor for a cost of 0", async () => {
    const key = newKey();
    await take([keyRequest(key, [tenMinutes(5)], { cost: 4 })]);
    await take([keyRequest(key, [tenMinutes(5)], { cost: 2 })]);
    await take([keyRequest(key, [tenMinutes(5)], { cost: 0 })]);
    expect(await countOf(key)).toBe(4);
  });

  it("charges what it refuses when told to, and gives back to the bucket that is named", async () => {
    const key = newKey();
    const limit = tenMinutes(5);
    const flags = [
      await take([keyRequest(key, [limit], { cost: 9 })], Flag.chargeAnyway, NOW_MS),
      await take([keyRequest(key, [limit], { cost: 3 })], Flag.chargeAnyway, NOW_MS + 60_000),
      await take([keyRequest(key, [limit], { cost: 4 })], Flag.giveBack, NOW_MS + 60_000, NOW_MS),
      await take([keyRequest(key, [limit], { cost: 4 })], Flag.giveBack, NOW_MS + 60_000, NOW_MS + 60_000),
    ];
    const seen = flags.map((reply) => [reply.allowed, ...firstWindow(reply).counts.slice(0, 2)]);
    expect(seen).toEqual([
      [false, 9, 0],
      [false, 3, 9],
      [true, 3, 5],
      [true, 0, 5],
    ]);
  });

  describe("the flags of one call", () => {
    const [above, hour]: readonly WindowLimit[] = [tenMinutes(5), { ...tenMinutes(50), buckets: 60 }];
    const log: LimitSpec = { kind: Kind.log, limit: 9, windowMs: 600_000 };
    const slots: LimitSpec = { kind: Kind.concurrency, limit: 2, timeoutMs: 600_000 };
    const SLOT = 7;

    /**
     * Three keys with 4, 6 and 6 units, of which the last hold a slot too: charged at NOW_MS, and the log again 60 s
     * later.
     */
    async function charged() {
      const keys = [
        keyRequest(newKey(), [above!], { cost: 4 }),
        keyRequest(newKey(), [hour!], { cost: 6 }),
        keyRequest(newKey(), [log, slots], { cost: 6 }),
      ];
      used.push(...keysOfRequest({ keys, flag: Flag.take }));
      expect((await store.take({ keys, flag: Flag.take, slot: SLOT }, NOW_MS)).allowed).toBe(true);
      return keys;
    }
    const countsOf = async (keys: readonly KeyRequest[]) => {
      const looks = keys.map((key) => ({ ...key, cost: 0 }));
      const reply = await store.take({ keys: looks, flag: Flag.look, slot: SLOT }, NOW_MS + 60_000);
      const [first, second, [third, fourth]] = reply.keys as [LimitReply[], LimitReply[], LimitReply[]];
      const told = (one: LimitReply, limit: LimitSpec) =>
        algorithmOf(limit).tell(one.view, limit, 0, false, reply.nowMs);
      return [
        told(first[0]!, above!).remaining,
        told(second[0]!, hour!).remaining,
        told(third!, log).remaining,
        told(fourth!, slots).remaining,
      ];
    };

    it("settle a request: charge above one limit, give back under others, and release its slot", async () => {
      const [first, second, third] = await charged();
      const settled: KeyRequest[] = [
        { ...first!, cost: 3 },
        { ...second!, cost: 2, flag: Flag.giveBack, atMs: NOW_MS },
        { ...third!, cost: 5, flag: Flag.giveBack, atMs: NOW_MS },
      ];
      const reply = await store.take({ keys: settled, flag: Flag.chargeAnyway, slot: SLOT }, NOW_MS + 60_000);
      expect(reply.keys.map((limits) => limits.map(({ refused }) => refused))).toEqual([
        [true],
        [false],
        [false, false],
      ]);
      expect(reply.allowed).toBe(false);
      expect(await countsOf([first!, second!, third!])).toEqual([0, 50 - 4, 9 - 1, 2]);
    });

    it("give back to the instant of each key", async () => {
      const [first, second, third] = await charged();
      const keys: KeyRequest[] = [
        // Nothing was charged then.
        { ...first!, cost: 4, atMs: NOW_MS - 60_000 },
        { ...second!, cost: 6 },
        { ...third!, cost: 6, atMs: NOW_MS + 1 },
      ];
      await store.take({ keys, flag: Flag.giveBack, atMs: NOW_MS, slot: SLOT }, NOW_MS + 60_000);
      expect(await countsOf([first!, second!, third!])).toEqual([1, 50, 3, 2]);
    });

    it("charge together what only takes, and whatever is decided what does not", async () => {
      const [first, second, third] = await charged();
      const ask = async (look: number) => {
        const keys: KeyRequest[] = [
          { ...first!, cost: look, flag: Flag.look },
          { ...second!, cost: 1 },
          { ...third!, cost: 1, flag: Flag.giveBack, atMs: NOW_MS },
        ];
        return (await store.take({ keys, flag: Flag.take, slot: SLOT }, NOW_MS + 60_000)).allowed;
      };
      expect(await ask(2)).toBe(false);
      expect(await countsOf([first!, second!, third!])).toEqual([1, 50 - 6, 9 - 5, 2]);
      expect(await ask(1)).toBe(true);
      expect(await countsOf([first!, second!, third!])).toEqual([1, 50 - 7, 9 - 4, 2]);
    });
  });

  it("lets a policy in shadow refuse without blocking, and be refused without a charge", async () => {
    const [enforced, shadow] = [newKey(), newKey()];
    const ask = (limit: number, shadowLimit: number) =>
      take([keyRequest(enforced, [tenMinutes(limit)]), keyRequest(shadow, [tenMinutes(shadowLimit)], { group: 1 })]);
    const answers = [await ask(2, 1), await ask(2, 1), await ask(2, 9)];
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(answers[1]!.keys[1]![0]!.refused).toBe(true);
    expect([await countOf(enforced), await countOf(shadow)]).toEqual([2, 1]);
  });

  it("keeps the counts of limits that stay when others come, go, move or change their number", async () => {
    const key = newKey();
    const hour: WindowLimit = { limit: 50, kind: Kind.whole, bucketMs: 3_600_000, buckets: 1 };
    await take([keyRequest(key, [tenMinutes(5), hour], { cost: 2 })], Flag.take, NOW_MS);
    await take([keyRequest(key, [hour, { ...hour, buckets: 3 }, tenMinutes(7)])], Flag.take, NOW_MS);
    expect(await countOf(key, tenMinutes(5), NOW_MS)).toBe(3);
    expect(await countOf(key, hour, NOW_MS)).toBe(3);
    expect(await countOf(key, { ...hour, buckets: 3 }, NOW_MS)).toBe(1);
  });

  it("looks when told to: answers as a take of the same cost would, and charges nothing", async () => {
    const [window, log] = [newKey(), newKey()];
    const limits: LimitSpec[] = [tenMinutes(5), { kind: Kind.log, limit: 5, windowMs: 600_000 }];
    const keys = limits.map((limit, i) => keyRequest([window, log][i]!, [limit], { cost: 3 }));
    used.push(...keysOfRequest({ keys, flag: Flag.take }));
    const ask = async (flag: Flag) => (await take(keys, flag, NOW_MS)).allowed;
    expect([await ask(Flag.look), await ask(Flag.look), await ask(Flag.take)]).toEqual([true, true, true]);
    expect([await ask(Flag.look), await ask(Flag.take)]).toEqual([false, false]);
    expect(await countOf(window, tenMinutes(5), NOW_MS)).toBe(3);
  });

  it("frees a lost slot by its own timeout while others keep the key alive, and for good when it is released", async () => {
    const limit: LimitSpec = { kind: Kind.concurrency, limit: 3, timeoutMs: 1_000 };
    const keys = [keyRequest(newKey(), [limit])];
    used.push(...keysOfRequest({ keys, flag: Flag.take }));
    const ask = async (flag: Flag, slot: number, atMs: number) => {
      const reply = await store.take({ keys, flag, slot }, NOW_MS + atMs);
      return [reply.allowed, toldBy(reply, limit, 1).remaining];
    };
    for (const slot of [1, 2, 3]) expect(await ask(Flag.take, slot, 0)).toEqual([true, 3 - slot]);
    for (const atMs of [500, 900]) {
      for (const slot of [2, 3]) await ask(Flag.chargeAnyway, slot, atMs);
    }
    expect(await ask(Flag.take, 4, 999)).toEqual([false, 0]);
    expect(await ask(Flag.take, 5, 1_000)).toEqual([true, 0]);
    expect(await ask(Flag.take, 6, 1_899)).toEqual([false, 0]);
    expect(await ask(Flag.giveBack, 2, 1_899)).toEqual([true, 1]);
    // A request that was lost has no slot to give back.
    expect(await ask(Flag.giveBack, 1, 1_899)).toEqual([true, 1]);
    expect(await ask(Flag.look, 7, 1_900)).toEqual([true, 2]);
    expect(await ask(Flag.look, 7, 2_000)).toEqual([true, 3]);
  });

  it("admits no more than the limit of all requests that ask at once for a slot", async () => {
    const keys = [keyRequest(newKey(), [{ kind: Kind.concurrency, limit: 5, timeoutMs: 600_000 }])];
    used.push(...keysOfRequest({ keys, flag: Flag.take }));
    const ask = (flag: Flag) =>
      Promise.all(Array.from({ length: 50 }, (_, i) => store.take({ keys, flag, slot: i + 1 })));
    const allowed = (await ask(Flag.take)).filter(({ allowed }) => allowed);
    expect(allowed).toHaveLength(5);
    await ask(Flag.giveBack);
    expect((await ask(Flag.look)).every(({ allowed }) => allowed)).toBe(true);
  });

  it("forgets the keys of a reset and no others, and takes a reset of nothing", async () => {
    const [first, second, kept, never] = [newKey(), newKey(), newKey(), newKey()];
    for (const key of [first, second, kept]) await take([keyRequest(key, [tenMinutes(5)])]);
    await store.reset([first, second, never]);
    await store.reset([]);
    expect([await countOf(first), await countOf(second), await countOf(kept)]).toEqual([0, 0, 1]);
  });

  it("answers a ping with nothing", async () => {
    expect(await store.ping()).toBeUndefined();
  });
}
