/** The contract of every store as a suite of vitest. */

import { afterAll, beforeAll, describe, it } from "vitest";
import { atomicity } from "./cases/atomicity.ts";
import { charges } from "./cases/charges.ts";
import { clocks } from "./cases/clocks.ts";
import { damage } from "./cases/damage.ts";
import { flags, shadow, slots } from "./cases/flags.ts";
import { once } from "./cases/once.ts";
import { receipts } from "./cases/receipts.ts";
import { keys, replies } from "./cases/replies.ts";
import { type Bench, createBench, type StoreCase, type StoreUnderTest } from "./store-case.ts";
import { stories } from "./vectors.ts";

/** All cases, by what they are about. */
export const STORE_CASES: Readonly<Record<string, readonly StoreCase[]>> = {
  "the vectors": stories,
  atomicity,
  "the clock": clocks,
  replies,
  receipts,
  charges,
  "the flags of one call": flags,
  "policies in shadow": shadow,
  slots,
  "requests with an id": once,
  keys,
  damage,
};

/** For stores over a network on a busy machine. */
const TIMEOUT_MS = 60_000;

/** Registers all cases for a store. */
export function describeStore(tried: StoreUnderTest): void {
  describe(tried.name ?? "the store contract", () => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await createBench(tried);
    });
    afterAll(() => bench?.close(), TIMEOUT_MS);

    describe.each(Object.entries(STORE_CASES))("%s", (_about, cases) => {
      for (const one of cases) {
        const reason = whyNot(one, tried);
        if (reason === undefined) it(one.title, { timeout: TIMEOUT_MS }, () => one.run(bench));
        else it.skip(`${one.title} (skipped: ${reason})`);
      }
    });
  });
}

function whyNot({ needs }: StoreCase, { clock, damage, isAlone }: StoreUnderTest): string | undefined {
  if (needs === "clock" && !clock) return "describeStore was given no clock to compare with";
  if (needs === "damage" && typeof damage !== "function") {
    return damage ?? "describeStore was given nothing that damages what is stored";
  }
  return needs === "sharing" ? isAlone : undefined;
}
