/** One promise of the contract (src/kernel/store/store.ts) as a test, and what it is tried on. */

import type { LimitStatus } from "../kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec, NAMED } from "../kernel/core/algorithms.ts";
import { Kind } from "../kernel/core/layout.ts";
import type { Field } from "../kernel/core/named.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  keysOfRequest,
  type LimitReply,
  type TakeReply,
  type TakeRequest,
} from "../kernel/core/take.ts";
import type { WindowLimit, WindowRecord } from "../kernel/core/window.ts";
import type { Store } from "../kernel/store/store.ts";

/** A store, for `describeStore`. */
export interface StoreUnderTest {
  /** Heading of the tests. Default: `the store contract`. */
  readonly name?: string;
  /**
   * Makes the store, ready for use; called twice, for two stores that share their counts. Give it without
   * `remoteStore`, and with time for 400 calls at once.
   */
  open(): Store | Promise<Store>;
  /**
   * The store's own clock, ms since the epoch: replies without a given instant must lie between two readings. Absent:
   * that test is skipped.
   */
  clock?(): number | Promise<number>;
  /**
   * Replaces what is stored under a key by what `change` makes of it, and makes the store read it again: as if another
   * program had written it. `change` gets the stored text, or an empty one if no text is stored. A key under which
   * nothing is stored stays so. Or why the store cannot be damaged. Absent: those tests are skipped.
   */
  readonly damage?: ((key: string, change: (text: string) => string) => void | Promise<void>) | string;
  /** Why a second store, made alike, has counts of its own; absent if both share them. */
  readonly isAlone?: string;
}

export interface StoreCase {
  readonly title: string;
  /** A clock to compare with, a way to damage what is stored, or counts that are shared. */
  readonly needs?: "clock" | "damage" | "sharing";
  /** @throws an error of vitest's `expect` if the store breaks the promise. */
  run(bench: Bench): Promise<void>;
}

/** What a case asks beside the keys. The flag is `take` if absent; the instants are as in the contract. */
export interface AskOptions extends Pick<TakeRequest, "atMs" | "slot"> {
  readonly flag?: Flag;
  readonly nowMs?: number;
}

/** A store on which cases are run. */
export type Bench = Awaited<ReturnType<typeof createBench>>;

export function keyRequest(
  key: string,
  limits: readonly LimitSpec[],
  { group = ENFORCED, cost = 1 }: { readonly group?: number; readonly cost?: number } = {},
): KeyRequest {
  return { key, group, cost, limits };
}

/** What a client is told about the first limit of the first key. */
export function firstStatus({ nowMs, keys }: TakeReply, limit: LimitSpec, cost: number): LimitStatus {
  const { refused, view } = keys[0]![0]!;
  return algorithmOf(limit).tell(view, limit, cost, refused, nowMs);
}

/** What is left of every limit, in the order of the request. */
export function remainingOf({ nowMs, keys }: TakeReply, asked: readonly KeyRequest[]): number[] {
  return asked.flatMap(({ limits }, k) =>
    limits.map((limit, l) => algorithmOf(limit).tell(keys[k]![l]!.view, limit, 0, false, nowMs).remaining),
  );
}

/** The counts in a reply about a sliding window. */
export function windowOf({ view }: LimitReply): WindowRecord {
  return view as WindowRecord;
}

/** The counts of the first limit of the first key, which must be a sliding window. */
export function firstWindow({ keys }: TakeReply): WindowRecord {
  return windowOf(keys[0]![0]!);
}

/** A window so long that no test sees its end: a burst charged now is counted in full for 9 minutes. */
export const tenMinutes = (limit: number): WindowLimit => {
  return { limit, kind: Kind.weighted, bucketMs: 60_000, buckets: 10 };
};
export const NOW_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

/**
 * A limit of every algorithm with this number, by the algorithm's first name. All times are a day: with a number of at
 * most 100, none of the limits changes within ten minutes of `NOW_MS` by itself.
 */
export function everyKind(limit: number): Readonly<Record<string, LimitSpec>> {
  const all = Object.values(NAMED);
  const firstNames = Object.entries(NAMED).filter(
    ([, named]) => all.find((one) => algorithmOf(one) === algorithmOf(named)) === named,
  );
  return Object.fromEntries(
    firstNames.map(([name, { fields, limitOf }]) => {
      const values = Object.entries<Field>(fields).map(([field, one]) => {
        if (one.is === "word") return [field, one.default ?? one.words[0]];
        return [field, one.is === "units" ? limit : one.is === "duration" ? DAY_MS : one.default];
      });
      return [name, limitOf(Object.fromEntries(values))];
    }),
  );
}

/** How many keys are removed with one call. */
const REMOVED_AT_ONCE = 100;

export async function createBench({ open, clock, damage, isAlone }: StoreUnderTest) {
  const store = await open();
  const elsewhere = isAlone === undefined ? await open() : store;
  const used = new Set<string>();

  async function take(keys: readonly KeyRequest[], { nowMs, flag = Flag.take, ...options }: AskOptions = {}) {
    const request: TakeRequest = { ...options, keys, flag };
    for (const key of keysOfRequest(request)) used.add(key);
    return await store.take(request, nowMs);
  }

  return {
    store,
    /** What is left of every limit, in the order of the keys. Charges nothing. */
    async left(keys: readonly KeyRequest[], asked: Omit<AskOptions, "flag"> = {}): Promise<number[]> {
      const looks = keys.map((key) => ({ ...key, cost: 0 }));
      return remainingOf(await take(looks, { ...asked, flag: Flag.look }), looks);
    },
    /** A second store, made alike; the same one if it is alone. */
    elsewhere,
    // A case that needs what was not given is skipped.
    clock: clock!,
    damage: damage as Exclude<typeof damage, string | undefined>,
    /** A key that nobody has used. */
    newKey(): string {
      const key = `headgate-test:${crypto.randomUUID()}`;
      used.add(key);
      return key;
    },
    take,
    /** Units counted under one window. */
    async countOf(key: string, limit = tenMinutes(1), nowMs?: number): Promise<number> {
      const looks = [keyRequest(key, [limit], { cost: 0 })];
      const reply = await take(looks, { flag: Flag.look, ...(nowMs !== undefined && { nowMs }) });
      return firstWindow(reply).counts.reduce((sum, count) => sum + count, 0);
    },
    async close(): Promise<void> {
      const keys = [...used];
      for (let i = 0; i < keys.length; i += REMOVED_AT_ONCE) await store.reset(keys.slice(i, i + REMOVED_AT_ONCE));
    },
  };
}
