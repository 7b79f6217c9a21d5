/** Requests that are sent again with the same id, and reservations that are settled again. */

import { expect } from "vitest";
import type { LimitSpec } from "../../kernel/core/algorithms.ts";
import { Flag } from "../../kernel/core/layout.ts";
import { onceKeyOf } from "../../kernel/core/once.ts";
import type { KeyRequest, TakeReply } from "../../kernel/core/take.ts";
import { type Bench, everyKind, keyRequest, NOW_MS, type StoreCase, tenMinutes } from "../store-case.ts";

const FOR_MS = 60_000;
const id = { id: "an-id", forMs: FOR_MS, repeats: 2 };
const limit = tenMinutes(5);
const BACK = { flag: Flag.giveBack, atMs: NOW_MS, nowMs: NOW_MS };

/** Of 2 units: what was used, and how the difference is sent. */
const SETTLEMENTS = [
  [5, Flag.chargeAnyway, 3],
  [2, Flag.giveBack, 0],
  [0, Flag.giveBack, 2],
] as const;

/** What a reply says about the id of each key. */
const isBeyond = ({ keys }: TakeReply) => keys.map((limits) => limits.every(({ beyond }) => beyond));
const isRepeat = ({ keys }: TakeReply) => keys.map((limits) => limits.every(({ repeated }) => repeated));

/** A key of its own with 2 of 5 units charged by a request with the id. */
async function charged(bench: Bench): Promise<KeyRequest> {
  const key = { ...keyRequest(bench.newKey(), [limit], { cost: 2 }), once: id };
  expect(isRepeat(await bench.take([key], { nowMs: NOW_MS }))).toEqual([false]);
  expect(await bench.countOf(key.key, limit, NOW_MS)).toBe(2);
  return key;
}

export const once: readonly StoreCase[] = [
  {
    title: "charge an id once until it ends, and admit as many repeats as it has, also where nothing is left",
    async run(bench) {
      // A slot is no count of requests: concurrency limits have no ids.
      const { concurrency: _, ...limits } = everyKind(5);
      for (const limit of Object.values(limits)) {
        const key = { ...keyRequest(bench.newKey(), [limit], { cost: 2 }), once: id };
        const ask = async (one: KeyRequest = key, nowMs = NOW_MS) => {
          const reply = await bench.take([one], { nowMs });
          return reply.allowed && (isRepeat(reply)[0] ? "repeat" : "charged");
        };
        const answers = [await ask(), await ask(keyRequest(key.key, [limit], { cost: 2 }))];
        expect(answers).toEqual(["charged", "charged"]);
        expect([await ask(), await ask(key, NOW_MS + FOR_MS - 1), await ask()]).toEqual(["repeat", "repeat", false]);
        expect(await ask({ ...key, once: { ...id, id: "another" }, cost: 1 })).toBe("charged");
        // Giving back leaves room, and an id that has ended begins anew.
        await bench.take([keyRequest(key.key, [limit], { cost: 2 })], BACK);
        expect([await ask(key, NOW_MS + FOR_MS), await ask(key, NOW_MS + FOR_MS)]).toEqual(["charged", "repeat"]);
      }
    },
  },
  {
    title: "leave no trace of a request that another key refuses, neither of a charge nor of a repeat",
    async run(bench) {
      const full = keyRequest(bench.newKey(), [tenMinutes(1)], { cost: 2 });
      const first = { ...keyRequest(bench.newKey(), [limit]), once: id };
      expect((await bench.take([first, full], { nowMs: NOW_MS })).allowed).toBe(false);
      expect(isRepeat(await bench.take([first], { nowMs: NOW_MS }))).toEqual([false]);
      for (let i = 0; i < 3; i++) await bench.take([first, full], { nowMs: NOW_MS });
      await bench.take([first], { flag: Flag.look, nowMs: NOW_MS });
      const answers = [];
      for (let i = 0; i < 3; i++) answers.push(isRepeat(await bench.take([first], { nowMs: NOW_MS }))[0]);
      expect(answers).toEqual([true, true, false]);
      expect(await bench.countOf(first.key, limit, NOW_MS)).toBe(2);
    },
  },
  {
    title: "are undone one by one: the last one gives the units back, and the id is forgotten",
    async run(bench) {
      const key = await charged(bench);
      expect(isRepeat(await bench.take([key], { nowMs: NOW_MS }))).toEqual([true]);
      const undo = async (one: KeyRequest) => {
        await bench.take([one], BACK);
        return await bench.countOf(key.key, limit, NOW_MS);
      };
      const repeat = { ...key, once: { ...id, isRepeat: true as const } };
      expect(await undo(key)).toBe(2);
      expect(await undo(repeat)).toBe(0);
      // Nothing is known of the id any more: a repeat has charged nothing.
      expect(isRepeat(await bench.take([key], { nowMs: NOW_MS }))).toEqual([false]);
      const after = NOW_MS + FOR_MS;
      await bench.take([repeat], { flag: Flag.giveBack, atMs: NOW_MS, nowMs: after });
      expect(await bench.countOf(key.key, limit, after)).toBe(2);
    },
  },
  {
    title: "say which request is beyond the repeats, whose charge is given back without the id",
    async run(bench) {
      const key = await charged(bench);
      const replies = [];
      for (let i = 0; i < 3; i++) replies.push(await bench.take([key], { nowMs: NOW_MS }));
      expect(replies.flatMap(isBeyond)).toEqual([false, false, true]);
      expect(replies.flatMap(isRepeat)).toEqual([true, true, false]);
      expect(await bench.countOf(key.key, limit, NOW_MS)).toBe(4);
      const { once: _, ...withoutId } = key;
      await bench.take([withoutId], BACK);
      expect(await bench.countOf(key.key, limit, NOW_MS)).toBe(2);
      expect(isBeyond(await bench.take([key], { nowMs: NOW_MS }))).toEqual([true]);
    },
  },
  {
    title: "settle a reservation once, with more, less or as many units as it has, and say how it was settled",
    async run(bench) {
      const { concurrency: _, ...limits } = everyKind(5);
      const left = async (key: string, limit: LimitSpec) => {
        const costs = [5, 4, 3, 2, 1];
        for (const cost of costs) {
          const look = await bench.take([keyRequest(key, [limit], { cost })], { flag: Flag.look, nowMs: NOW_MS });
          if (look.allowed) return cost;
        }
        return 0;
      };
      for (const limit of Object.values(limits)) {
        for (const [used, flag, cost] of SETTLEMENTS) {
          const key = keyRequest(bench.newKey(), [limit], { cost: 2 });
          await bench.take([key], { nowMs: NOW_MS });
          const settle = async (settles: number, nowMs = NOW_MS) => {
            const once = { id: "settled:a", forMs: FOR_MS, repeats: 0, settles };
            const reply = await bench.take([{ ...key, cost, once }], { flag, atMs: NOW_MS, nowMs });
            return [reply.keys[0]![0]!.settled, reply.charged.length, 5 - (await left(key.key, limit))];
          };
          expect(await settle(used)).toEqual([undefined, 0, used]);
          expect(await settle(4)).toEqual([used, 0, used]);
          expect(await settle(0, NOW_MS + FOR_MS - 1)).toEqual([used, 0, used]);
        }
      }
    },
  },
  {
    title: "are charged if what is stored of their id is damaged",
    needs: "damage",
    async run(bench) {
      for (const text of ["", "x", "7", "[]", "{}", '{"endsAtMs":1e300,"used":0}', '{"endsAtMs":1,"used":-1}']) {
        const key = await charged(bench);
        await bench.damage(onceKeyOf(key.key, id), () => text);
        expect([text, isRepeat(await bench.take([key], { nowMs: NOW_MS }))]).toEqual([text, [false]]);
        expect([text, isRepeat(await bench.take([key], { nowMs: NOW_MS }))]).toEqual([text, [true]]);
      }
    },
  },
];
