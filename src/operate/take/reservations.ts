/**
 * Reservations that their client carries: a sealed token says what was charged, so whichever process gets the token can
 * settle it. The store settles it once: beside the counts it keeps the token's id, with the units that were used.
 */

import { Flag, type KeyRequest } from "../../kernel/core/take.ts";
import { groupBy } from "../../kernel/group-by.ts";
import type { Stored } from "../../kernel/limiter/reservation.ts";
import { sixAtATime } from "../../kernel/limiter/takers.ts";
import { askStore } from "../../kernel/store/failure.ts";
import type { Store } from "../../kernel/store/store.ts";
import { createSeal, GONE_AFTER_MS, type SealSecret } from "../seal.ts";

const VERSION = 1;

/** Units of every policy of a reservation, or by the names of policies: one that is not named keeps all. */
export type Used = number | Readonly<Record<string, number>>;

/** How a policy of a reservation was settled: what was reserved, and what stays counted. */
interface Settled {
  readonly policy: string;
  readonly reserved: number;
  readonly used: number;
}

/** What a token says. */
interface Sealed {
  readonly id: string;
  readonly charges: readonly Stored[];
}

/** What a policy has used. A policy may be named like a member that every object has. */
function usedOf({ policy, receipt }: Stored, used: Used): number {
  if (typeof used === "number") return used;
  return Object.hasOwn(used, policy) ? used[policy]! : receipt.cost;
}

export type Reservations = ReturnType<typeof createReservations>;

/** @param namespace of the deployment: another one must not settle what it has counted. */
export function createReservations(store: Store, secret: SealSecret, namespace = "") {
  const { seal, open } = createSeal({ ...secret, purpose: `headgate reservation ${namespace}`, version: VERSION });

  /** @returns what was used, by this settlement or by an earlier one. @throws {StoreError} */
  async function settleOne(id: string, { receipt }: Stored, used: number): Promise<number> {
    const back = receipt.cost - used;
    const { key, group, limits, atMs } = receipt;
    const once = { id: `settled:${id}`, forMs: GONE_AFTER_MS, repeats: 0, settles: used };
    const request: KeyRequest = { key, group, cost: Math.abs(back), limits, atMs, once };
    const flag = back < 0 ? Flag.chargeAnyway : Flag.giveBack;
    const { keys } = await askStore(store, { keys: [request], flag });
    return keys[0]![0]!.settled ?? used;
  }

  return {
    seal: async (charges: readonly Stored[], nowMs: number) =>
      await seal(JSON.stringify({ id: crypto.randomUUID(), charges } satisfies Sealed), nowMs),

    /** What a token says. `old` and `foreign` are as for `createSeal`. */
    async open(token: string, nowMs: number): Promise<Sealed | { readonly wrong: "old" | "foreign" }> {
      const opened = await open(token, nowMs);
      return "text" in opened ? JSON.parse(opened.text) : opened;
    },

    /** Each key is a call of its own: keys may lie in several places. @throws {StoreError} */
    async settle({ id, charges }: Sealed, used: Used): Promise<Settled[]> {
      const settled = new Map<Stored, number>();
      await sixAtATime(charges, async (one) => {
        settled.set(one, await settleOne(id, one, usedOf(one, used)));
      });
      return groupBy(charges, ({ policy }) => policy).map(([policy, [first]]) => {
        return { policy, reserved: first!.receipt.cost, used: settled.get(first!)! };
      });
    },
  };
}
