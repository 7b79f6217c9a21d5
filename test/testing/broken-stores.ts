// Stores with one mistake each, as somebody might make it who writes a store over a database.

import { type Records, recordIdOf } from "../../src/kernel/core/records.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  keysOfRequest,
  type Receipt,
  type TakeReply,
  type TakeRequest,
} from "../../src/kernel/core/take.ts";
import type { Store } from "../../src/kernel/store/store.ts";
import { takeFrom, toText } from "../../src/kernel/store/value-text.ts";

/** The own clock of all these stores, ms since the epoch. */
export const CLOCK_MS = 1_700_000_000_500;

/** Text under keys, as a database has it. */
interface Row {
  readonly text: string;
  readonly writtenAtMs: number;
  readonly expiryMs: number;
}

/** The steps of a store over rows, each of which may be wrong. */
interface Steps {
  /** How a row is found under a key. Default: by the key itself. */
  readonly name?: (key: string) => string;
  readonly read?: (row: Row, nowMs: number) => string | undefined;
  /** False: a key that is to be deleted stays. */
  readonly deletes?: boolean;
  /** Keys that a call reads and writes at most. */
  readonly mostKeys?: number;
  readonly resets?: (rows: Map<string, Row>, keys: readonly string[]) => void;
}

/** What damages these rows, for `describeStore`. */
export function damageIn(rows: Map<string, Row>): (key: string, change: (text: string) => string) => void {
  return (key, change) => {
    const row = rows.get(key);
    if (row) rows.set(key, { ...row, text: change(row.text) });
  };
}

export function storeOverRows(rows = new Map<string, Row>(), steps: Steps = {}): Store {
  const { name = (key) => key, read = ({ text }) => text, deletes = true, mostKeys = Number.POSITIVE_INFINITY } = steps;
  const { resets = (all, keys) => keys.forEach((key) => void all.delete(name(key))) } = steps;
  return {
    kind: "rows",
    keySecret: "rows",
    async take(request, nowMs = CLOCK_MS) {
      const readOne = (key: string) => {
        const row = rows.get(name(key));
        return row && read(row, nowMs);
      };
      const { reply, writes } = takeFrom(readOne, request, nowMs);
      for (const { key, text, expiryMs } of writes.slice(0, mostKeys)) {
        if (text !== undefined) rows.set(name(key), { text, writtenAtMs: nowMs, expiryMs });
        else if (deletes) rows.delete(name(key));
      }
      return reply;
    },
    async reset(keys) {
      resets(rows, keys);
    },
    async ping() {},
  };
}

type Take = Store["take"];

/** A store whose takes pass through `change`. */
function changed(change: (take: Take) => Take, store = storeOverRows()): Store {
  return { ...store, take: change((...args) => store.take(...args)) };
}

/** A store that asks itself something other than what it was asked. */
function asking(other: (request: TakeRequest) => TakeRequest): Store {
  return changed((take) => (request, nowMs) => take(other(request), nowMs));
}

function eachKey(other: (key: KeyRequest, request: TakeRequest) => KeyRequest): Store {
  return asking((request) => ({ ...request, keys: request.keys.map((key) => other(key, request)) }));
}

/** Reads, waits, decides and writes. Calls that `hasLock` names wait for each other, in one store and not in two. */
function waitingStore(rows: Map<string, Row>, hasLock: (request: TakeRequest) => boolean): Store {
  let last: Promise<unknown> = Promise.resolve();
  async function decide(request: TakeRequest, nowMs = CLOCK_MS): Promise<TakeReply> {
    const before = new Map(rows);
    await Promise.resolve();
    const { reply, writes } = takeFrom((key) => before.get(key)?.text, request, nowMs);
    for (const { key, text, expiryMs } of writes) {
      if (text === undefined) rows.delete(key);
      else rows.set(key, { text, writtenAtMs: nowMs, expiryMs });
    }
    return reply;
  }
  return changed(
    () => (request, nowMs) => {
      if (!hasLock(request)) return decide(request, nowMs);
      const turn = last.then(() => decide(request, nowMs));
      last = turn;
      return turn;
    },
    storeOverRows(rows),
  );
}

/** Locks one key after the other, in the order of the request, and gives up if it waits for too long. */
function deadlockingStore(): Store {
  const locked = new Set<string>();
  const store = storeOverRows();
  return changed(
    (take) => async (request, nowMs) => {
      for (const { key } of request.keys) {
        for (let turns = 0; locked.has(key); turns++) {
          if (turns > 1_000) throw new Error("deadlock detected");
          await Promise.resolve();
        }
        locked.add(key);
        await Promise.resolve();
      }
      const reply = await take(request, nowMs);
      for (const { key } of request.keys) locked.delete(key);
      return reply;
    },
    store,
  );
}

/** Counts below zero: what is given back twice may be charged once more. */
function storeBelowZero(): Store {
  const owed = new Map<string, number>();
  return changed((take) => async (request, nowMs) => {
    const [one] = request.keys;
    if (request.flag === Flag.giveBack) owed.set(one!.key, one!.cost);
    else if (owed.get(one!.key)! > 0 && request.flag === Flag.take) {
      owed.set(one!.key, owed.get(one!.key)! - 1);
      return await take({ ...request, flag: Flag.look }, nowMs);
    }
    return await take(request, nowMs);
  });
}

/** A reply with other receipts. */
function storeOfReceipts(receipts: (reply: TakeReply, request: TakeRequest) => readonly Receipt[]): Store {
  return changed((take) => async (request, nowMs) => {
    const reply = await take(request, nowMs);
    return { ...reply, charged: receipts(reply, request) };
  });
}

function receiptsOfAll({ nowMs }: TakeReply, { keys }: TakeRequest): Receipt[] {
  return keys.map(({ key, group, cost, limits }) => ({ key, group, cost, limits, atMs: nowMs }));
}

/** One key after the other: what the first ones have charged stays charged. */
function storeOfSingleKeys(): Store {
  return changed((take) => async (request, nowMs) => {
    const replies = [];
    for (const key of request.keys) replies.push(await take({ ...request, keys: [key] }, nowMs));
    const allowed = replies.every((reply) => reply.allowed);
    const [keys, charged] = [replies.flatMap(({ keys }) => keys), replies.flatMap(({ charged }) => charged)];
    return { nowMs: replies[0]!.nowMs, allowed, keys, charged };
  });
}

/** Slots as `takeFrom` writes them, all with the instant of the last one. */
function withOneTimeout(text: string): string {
  const { slots } = JSON.parse(text) as { slots?: [slot: number, atMs: number][] };
  const lastAtMs = Math.max(...(slots ?? []).map(([, atMs]) => atMs));
  return slots ? JSON.stringify({ slots: slots.map(([slot]) => [slot, lastAtMs]) }) : text;
}

/** What is wrong, how to open such a store, and a case that notices. */
export interface BrokenStore {
  readonly open: () => Store;
  readonly noticedBy: string;
  readonly damage?: ReturnType<typeof damageIn>;
}

const alike = (make: (rows: Map<string, Row>) => Store) => {
  const rows = new Map<string, Row>();
  return () => make(rows);
};
const rowsWith = (steps: Steps) => alike((rows) => storeOverRows(rows, steps));
/** A store over rows that can be damaged. */
const damagedRowsWith = (change: (store: Store, rows: Map<string, Row>) => Store) => {
  const rows = new Map<string, Row>();
  return { open: () => change(storeOverRows(rows), rows), damage: damageIn(rows) };
};
const one = (store: Store) => () => store;

const AT_ONCE = "admits exactly 100 of 400 takes at once under a limit of 100, through two stores made alike";
const REFUSAL = "are nothing for a refusal, nor for a cost of 0";
const SETTLE = "settle a request: charge above one limit, give back under others, and release its slot";
const NEVER_BELOW = "are given back down to nothing, and never below";
const ANY_KEY = "may have any characters and 512 bytes, and no two are mixed up";
const MOST_KEYS = "of 1,000 keys, the most that a take has, are made together or not at all";
const INSTANT = "is replaced by an instant that is given";
const SLOTS = "are given to no more requests than the limit, and are all free when all are released";
const NOT_CHANGED = "are not changed later, and neither is a request";
const SAYS =
  "come from a store that says its kind, a secret for hashing keys, a time budget or none, and nothing to a ping";
const RESET = "of a reset are forgotten and no others, and a reset of nothing changes nothing";
const LOOK = "are not made by a peek, which answers as a take of the same cost would";
const SHADOWS = "are charged each by itself, with all its keys or none";

/** Whether a row is no JSON. */
const isTorn = ({ text }: Row): boolean => {
  try {
    return JSON.parse(text) === undefined;
  } catch {
    return true;
  }
};

export const BROKEN_STORES: Readonly<Record<string, BrokenStore>> = {
  "waits between reading and writing": { open: alike((rows) => waitingStore(rows, () => false)), noticedBy: AT_ONCE },
  "locks within one store only": { open: alike((rows) => waitingStore(rows, () => true)), noticedBy: AT_ONCE },
  "locks calls with one key": {
    open: one(waitingStore(new Map(), ({ keys }) => keys.length === 1)),
    noticedBy: "charges two keys together or neither, whoever else charges one of them",
  },
  "locks calls without limit keys": {
    open: one(waitingStore(new Map(), (request) => keysOfRequest(request).length === request.keys.length)),
    noticedBy: "admits exactly the limit of every algorithm, whoever asks at once",
  },
  "shares nothing": { open: () => storeOverRows(), noticedBy: "shares counts with a store made alike" },
  "locks keys in the order of the request": {
    open: one(deadlockingStore()),
    noticedBy: "answers takes at once that name the same keys in opposite orders",
  },
  "decides key by key": { open: one(storeOfSingleKeys()), noticedBy: MOST_KEYS },
  "says that it has charged what it has not": {
    open: one(storeOfReceipts(receiptsOfAll)),
    noticedBy: "have no receipt after a refusal, after a peek, and after giving back",
  },
  "says that it has charged a policy in shadow that refused": {
    open: one(storeOfReceipts((reply, request) => (reply.charged.length > 0 ? receiptsOfAll(reply, request) : []))),
    noticedBy: "have a receipt for each key that was charged, and none for a policy in shadow that refused",
  },
  "says a wrong instant of a charge": {
    open: one(
      storeOfReceipts(({ charged }) => charged.map((receipt) => ({ ...receipt, atMs: receipt.atMs - 3_600_000 }))),
    ),
    noticedBy: "have receipts that give back what was charged, all of it or a part, under every kind of limit",
  },
  "says nothing of what it has charged above a limit": {
    open: one(storeOfReceipts(({ charged }, { flag }) => (flag === Flag.chargeAnyway ? [] : charged))),
    noticedBy: "have a receipt for what is charged above a limit, without the calendar periods that have ended",
  },
  "says the id of no repeat": {
    open: one(storeOfReceipts(({ charged }) => charged.map(({ once: _, ...receipt }) => receipt))),
    noticedBy: "have a receipt for a repeat, which undoes the repeat, and none of the id beyond the repeats",
  },
  "writes 25 keys at most": { open: rowsWith({ mostKeys: 25 }), noticedBy: MOST_KEYS },
  "writes 500 keys at most": { open: rowsWith({ mostKeys: 500 }), noticedBy: MOST_KEYS },
  "keeps what is damaged, and counts nothing there": {
    ...damagedRowsWith((store, rows) =>
      changed(
        (take) => async (request, nowMs) => {
          const before = new Map(rows);
          const reply = await take(request, nowMs);
          for (const [key, row] of before) if (isTorn(row)) rows.set(key, row);
          return reply;
        },
        store,
      ),
    ),
    noticedBy: "counts as nothing stored, and the next charge replaces it",
  },
  "forgets all keys of a take if one is damaged": {
    ...damagedRowsWith((store, rows) =>
      changed(
        (take) => async (request, nowMs) => {
          const names = keysOfRequest(request);
          if (names.some((name) => rows.has(name) && isTorn(rows.get(name)!)))
            for (const name of names) rows.delete(name);
          return await take(request, nowMs);
        },
        store,
      ),
    ),
    noticedBy: "of one key says nothing about the other keys of a take",
  },
  "throws at what it cannot read": {
    ...damagedRowsWith((store, rows) =>
      changed(
        (take) => async (request, nowMs) => {
          if (keysOfRequest(request).some((name) => rows.has(name) && isTorn(rows.get(name)!)))
            throw new SyntaxError("row");
          return await take(request, nowMs);
        },
        store,
      ),
    ),
    noticedBy: "of any kind gets an answer, under every flag, and is gone after a reset",
  },
  "charges on refusal": {
    open: one(
      changed((take) => async (request, nowMs) => {
        const reply = await take(request, nowMs);
        if (!reply.allowed && request.flag === Flag.take) await take({ ...request, flag: Flag.chargeAnyway }, nowMs);
        return reply;
      }),
    ),
    noticedBy: REFUSAL,
  },
  "decides 7 limits of a key": {
    open: one(eachKey((key) => ({ ...key, limits: key.limits.slice(0, 7) }))),
    noticedBy: "of 8 limits under one key, of every algorithm, are made together or not at all",
  },
  "has a row for each number of a limit": {
    open: one(eachKey((key) => ({ ...key, key: `${key.key} ${key.limits.map(({ limit }) => limit)}` }))),
    noticedBy: "are one count under every algorithm, whatever the number that a request brings",
  },
  "has a row for each list of limits": {
    open: one(eachKey((key) => ({ ...key, key: key.key + JSON.stringify(key.limits) }))),
    noticedBy: "stay with limits that stay when others come, go, move or change their number",
  },
  "drops what another configuration counts": {
    open: alike((rows) =>
      changed(
        (take) => async (request, nowMs) => {
          const reply = await take(request, nowMs);
          for (const { key, limits } of request.keys) {
            const row = rows.get(key);
            const own = new Set(limits.map(recordIdOf));
            const records = JSON.parse(row?.text ?? "[]") as Records;
            if (row) rows.set(key, { ...row, text: toText(records.filter((record) => own.has(recordIdOf(record)))) });
          }
          return reply;
        },
        storeOverRows(rows),
      ),
    ),
    noticedBy: "of two configurations over one key are kept beside each other, each until it ends",
  },
  "takes a cost of 0 for the default": {
    open: one(eachKey((key) => ({ ...key, cost: key.cost || 1 }))),
    noticedBy: REFUSAL,
  },
  "has costs of 16 bits": {
    open: one(eachKey((key) => ({ ...key, cost: key.cost & 0xffff }))),
    noticedBy: "may be as large as the largest limit, and add up to the largest count",
  },
  "has counts of 32 bits": {
    open: rowsWith({ read: ({ text }) => text.replaceAll("2147483648", "2147483647") }),
    noticedBy: "may be as large as the largest limit, and add up to the largest count",
  },
  "knows no flags": { open: one(asking((request) => ({ ...request, flag: Flag.take }))), noticedBy: NEVER_BELOW },
  "knows one flag for all keys": {
    open: one(eachKey(({ flag: _flag, ...key }) => key)),
    noticedBy: SETTLE,
  },
  "knows one instant for all limits of a key": {
    open: one(eachKey((key) => ({ ...key, limits: key.limits.map(({ atMs: _atMs, ...limit }) => limit) }))),
    noticedBy: "may step back: what is charged then can be given back, whatever its limits were charged before",
  },
  "knows one instant for all keys": {
    open: one(eachKey(({ atMs: _atMs, ...key }) => key)),
    noticedBy: "give back to the instant of each key",
  },
  "gives back at the present instant": {
    open: one(asking(({ atMs: _atMs, ...request }) => request)),
    noticedBy: "are made above the limit when told to, and given back to the bucket that is named",
  },
  "charges on a look": {
    open: one(asking((request) => (request.flag === Flag.look ? { ...request, flag: Flag.take } : request))),
    noticedBy: LOOK,
  },
  "lets no look refuse": {
    open: one(eachKey((key) => (key.flag === Flag.look ? { ...key, cost: 0 } : key))),
    noticedBy: "charge together what only takes, and whatever is decided what does not",
  },
  "knows no ids": {
    open: one(eachKey(({ once: _, ...key }) => key)),
    noticedBy: "charge an id once until it ends, and admit as many repeats as it has, also where nothing is left",
  },
  "begins an id with a request that it refuses": {
    open: one(storeOfSingleKeys()),
    noticedBy: "leave no trace of a request that another key refuses, neither of a charge nor of a repeat",
  },
  "undoes a repeat as if it had been charged": {
    open: one(
      eachKey(({ once, ...key }) => {
        const { isRepeat: _, ...charged } = once ?? {};
        return once ? { ...key, once: charged as typeof once } : key;
      }),
    ),
    noticedBy: "are undone one by one: the last one gives the units back, and the id is forgotten",
  },
  "does not say which request is beyond the repeats": {
    open: one(
      changed((take) => async (request, nowMs) => {
        const reply = await take(request, nowMs);
        return { ...reply, keys: reply.keys.map((limits) => limits.map(({ beyond: _, ...limit }) => limit)) };
      }),
    ),
    noticedBy: "say which request is beyond the repeats, whose charge is given back without the id",
  },
  "keeps the damaged end of an id": {
    ...damagedRowsWith((store, rows) =>
      changed(
        (take) => async (request, nowMs) => {
          const before = new Map(rows);
          const reply = await take(request, nowMs);
          for (const [key, row] of before) if (isTorn(row)) rows.set(key, row);
          return reply;
        },
        store,
      ),
    ),
    noticedBy: "are charged if what is stored of their id is damaged",
  },
  "gives back below zero": { open: one(storeBelowZero()), noticedBy: NEVER_BELOW },
  "enforces policies in shadow": {
    open: one(eachKey((key) => ({ ...key, group: ENFORCED }))),
    noticedBy: "refuse without blocking, and are refused without a charge",
  },
  "has one shadow for all policies": {
    open: one(eachKey((key) => ({ ...key, group: Math.min(key.group, 1) }))),
    noticedBy: SHADOWS,
  },
  "has a shadow for each key": {
    open: one(
      asking((request) => ({
        ...request,
        keys: request.keys.map((key, k) => ({ ...key, group: key.group && k + 1 })),
      })),
    ),
    noticedBy: SHADOWS,
  },
  "ignores the instant": { open: one(changed((take) => (request) => take(request))), noticedBy: INSTANT },
  "has a clock of seconds": {
    open: one(
      changed(
        (take) =>
          (request, nowMs = Math.floor(CLOCK_MS / 1_000) * 1_000) =>
            take(request, nowMs),
      ),
    ),
    noticedBy: "is the store's own when no instant is given",
  },
  "has a clock with fractions": {
    open: one(
      changed(
        (take) =>
          (request, nowMs = CLOCK_MS + 0.25) =>
            take(request, nowMs),
      ),
    ),
    noticedBy: "reports whole milliseconds, and counts at the instant that it reports",
  },
  "forgets what was written later than now": {
    open: rowsWith({ read: ({ text, writtenAtMs }, nowMs) => (writtenAtMs <= nowMs ? text : undefined) }),
    noticedBy: "may step back: what was charged at a later instant still counts",
  },
  "expires keys too early": {
    open: rowsWith({
      read: ({ text, writtenAtMs, expiryMs }, nowMs) => (nowMs < writtenAtMs + expiryMs / 1_000 ? text : undefined),
    }),
    noticedBy: "makes limits full again with time, and no sooner",
  },
  "has one timeout for all slots of a key": {
    open: rowsWith({ read: ({ text }) => withOneTimeout(text) }),
    noticedBy: "are freed by their own timeouts while others keep the key alive, and for good when released",
  },
  "keeps keys that are to be deleted": { open: rowsWith({ deletes: false }), noticedBy: SLOTS },
  "has slots of 32 bits": {
    open: one(asking((request) => ({ ...request, ...(request.slot !== undefined && { slot: request.slot >>> 0 }) }))),
    noticedBy: SLOTS,
  },
  "keeps 4,096 characters": {
    open: rowsWith({ read: ({ text }) => text.slice(0, 4_096) }),
    noticedBy: SLOTS,
  },
  "answers in the order of the keys": {
    open: one(asking((request) => ({ ...request, keys: request.keys.toSorted((a, b) => (a.key < b.key ? -1 : 1)) }))),
    noticedBy: "have each key and limit in the order of the request",
  },
  "sorts the keys of its caller": {
    open: one(
      asking((request) => {
        (request.keys as KeyRequest[]).sort((a, b) => (a.key < b.key ? -1 : 1));
        return request;
      }),
    ),
    noticedBy: NOT_CHANGED,
  },
  "answers with one object, again and again": {
    open: one(
      changed((take) => {
        const reply = {} as TakeReply;
        return async (request, nowMs) => Object.assign(reply, await take(request, nowMs));
      }),
    ),
    noticedBy: NOT_CHANGED,
  },
  "ignores case": { open: rowsWith({ name: (key) => key.toLowerCase() }), noticedBy: ANY_KEY },
  "ignores spaces at the end": { open: rowsWith({ name: (key) => key.trimEnd() }), noticedBy: ANY_KEY },
  "has one form of each accent": { open: rowsWith({ name: (key) => key.normalize("NFC") }), noticedBy: ANY_KEY },
  "has keys of 255 characters": { open: rowsWith({ name: (key) => key.slice(0, 255) }), noticedBy: ANY_KEY },
  "reads a backslash as an escape": { open: rowsWith({ name: (key) => key.replaceAll("\\", "") }), noticedBy: ANY_KEY },
  "resets the first key only": {
    open: rowsWith({ resets: (rows, [first]) => void rows.delete(first!) }),
    noticedBy: RESET,
  },
  "resets everything": { open: rowsWith({ resets: (rows) => rows.clear() }), noticedBy: RESET },
  "cannot reset what is not there": {
    open: rowsWith({
      resets(rows, keys) {
        for (const key of keys) if (!rows.delete(key)) throw new Error("not found");
      },
    }),
    noticedBy: RESET,
  },
  "keeps limit keys on a reset": {
    open: rowsWith({
      resets(rows, keys) {
        for (const key of keys) if (!key.includes("#")) rows.delete(key);
      },
    }),
    noticedBy: "of limits that have their own are forgotten by a reset too",
  },
  "says it is a cache": { open: one({ ...storeOverRows(), kind: "cache" }), noticedBy: SAYS },
  "has no secret": { open: one({ ...storeOverRows(), keySecret: "" }), noticedBy: SAYS },
  "has half a millisecond": { open: one({ ...storeOverRows(), timeoutMs: 0.5 }), noticedBy: SAYS },
  "tells a pong": {
    open: one({ ...storeOverRows(), ping: async () => "PONG" as unknown as undefined }),
    noticedBy: SAYS,
  },
};
