/** Requests in flight. */

import { expect } from "vitest";
import type { LimitSpec } from "../../core/algorithms.ts";
import { Kind } from "../../core/layout.ts";
import { Flag } from "../../core/take.ts";
import { keyRequest, NOW_MS, remainingOf, type StoreCase } from "../store-case.ts";

/** The largest numbers that a slot may have: they differ above their lowest 32 bits only. */
const slotOf = (n: number) => Number.MAX_SAFE_INTEGER - n * 2 ** 32;

export const slots: readonly StoreCase[] = [
  {
    title: "are freed by their own timeouts while others keep the key alive, and for good when released",
    async run({ newKey, take }) {
      const limit: LimitSpec = { kind: Kind.concurrency, limit: 3, timeoutMs: 1_000 };
      const keys = [keyRequest(newKey(), [limit])];
      const ask = async (flag: Flag, slot: number, atMs: number) => {
        const reply = await take(keys, { flag, slot: slotOf(slot), nowMs: NOW_MS + atMs });
        return [reply.allowed, ...remainingOf(reply, keys)];
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
    },
  },
  {
    title: "are given to no more requests than the limit, and are all free when all are released",
    async run({ newKey, take }) {
      const keys = [keyRequest(newKey(), [{ kind: Kind.concurrency, limit: 200, timeoutMs: 600_000 }])];
      const ask = (flag: Flag) =>
        Promise.all(Array.from({ length: 250 }, (_, i) => take(keys, { flag, slot: slotOf(i) })));
      expect((await ask(Flag.take)).filter(({ allowed }) => allowed)).toHaveLength(200);
      await ask(Flag.giveBack);
      expect(remainingOf(await take(keys, { flag: Flag.look, slot: 1 }), keys)).toEqual([200]);
    },
  },
];
