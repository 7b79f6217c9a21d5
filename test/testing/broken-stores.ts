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
  const take: Take = (request, nowMs) => {
    if (!hasLock(request)) return decide(request, nowMs);
    const turn = last.then(() => decide(request, nowMs));
    last = turn;
    return turn;
  };
  return { ...storeOverRows(rows), take };
}

/** Locks one key after the other, in the order of the request, and gives up if it waits for too long. */
function deadlockingStore(): Store {
  const locked = new Set<string>();
  return changed((take) => async (request, nowMs) => {
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
  });
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

/** How to open a store with a mistake, and the case that notices. */
export interface BrokenStore {
  readonly noticedBy: string;
  readonly open: () => Store;
  readonly damage?: ReturnType<typeof damageIn>;
}

const one = (noticedBy: string, store: Store): BrokenStore => ({ noticedBy, open: () => store });

/** Stores that share rows. */
function alike(noticedBy: string, make: (rows: Map<string, Row>) => Store): BrokenStore {
  const rows = new Map<string, Row>();
  return { noticedBy, open: () => make(rows), damage: damageIn(rows) };
}

const steps = (noticedBy: string, wrong: Steps) => alike(noticedBy, (rows) => storeOverRows(rows, wrong));

/** A take that is wrong. */
const takes = (noticedBy: string, change: (take: Take) => Take) => one(noticedBy, changed(change));

/** A store that asks itself something other than what it was asked. */
const asks = (noticedBy: string, other: (request: TakeRequest) => TakeRequest) =>
  takes(noticedBy, (take) => (request, nowMs) => take(other(request), nowMs));

const keys = (noticedBy: string, other: (key: KeyRequest, k: number) => KeyRequest) =>
  asks(noticedBy, (request) => ({ ...request, keys: request.keys.map(other) }));

const replies = (noticedBy: string, other: (reply: TakeReply, request: TakeRequest) => TakeReply) =>
  takes(noticedBy, (take) => async (request, nowMs) => other(await take(request, nowMs), request));

/** A reply with other receipts. */
const receipts = (noticedBy: string, of: (reply: TakeReply, request: TakeRequest) => readonly Receipt[]) =>
  replies(noticedBy, (reply, request) => ({ ...reply, charged: of(reply, request) }));

const clocks = (noticedBy: string, clockMs: number) =>
  takes(
    noticedBy,
    (take) =>
      (request, nowMs = clockMs) =>
        take(request, nowMs),
  );

/** A take that is wrong if its rows are damaged. */
const damaged = (noticedBy: string, take: (rows: Map<string, Row>, take: Take) => Take) =>
  alike(noticedBy, (rows) => changed((own) => take(rows, own), storeOverRows(rows)));

/** Whether a row is no JSON. */
const isTorn = (row: Row | undefined): boolean => {
  try {
    return row !== undefined && JSON.parse(row.text) === undefined;
  } catch {
    return true;
  }
};

const keepsTorn = (rows: Map<string, Row>, take: Take): Take => {
  return async (request, nowMs) => {
    const before = new Map(rows);
    const reply = await take(request, nowMs);
    for (const [key, row] of before) if (isTorn(row)) rows.set(key, row);
    return reply;
  };
};

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
const LARGEST = "may be as large as the largest limit, and add up to the largest count";

/** By what is wrong. */
export const BROKEN_STORES: Readonly<Record<string, BrokenStore>> = {
  "waits between reading and writing": alike(AT_ONCE, (rows) => waitingStore(rows, () => false)),
  "locks within one store only": alike(AT_ONCE, (rows) => waitingStore(rows, () => true)),
  "locks calls with one key": one(
    "charges two keys together or neither, whoever else charges one of them",
    waitingStore(new Map(), ({ keys }) => keys.length === 1),
  ),
  "locks calls without limit keys": one(
    "admits exactly the limit of every algorithm, whoever asks at once",
    waitingStore(new Map(), (request) => keysOfRequest(request).length === request.keys.length),
  ),
  "shares nothing": { noticedBy: "shares counts with a store made alike", open: () => storeOverRows() },
  "locks keys in the order of the request": one(
    "answers takes at once that name the same keys in opposite orders",
    deadlockingStore(),
  ),
  "decides key by key": one(MOST_KEYS, storeOfSingleKeys()),
  "says that it has charged what it has not": receipts(
    "have no receipt after a refusal, after a peek, and after giving back",
    receiptsOfAll,
  ),
  "says that it has charged a policy in shadow that refused": receipts(
    "have a receipt for each key that was charged, and none for a policy in shadow that refused",
    (reply, request) => (reply.charged.length > 0 ? receiptsOfAll(reply, request) : []),
  ),
  "says a wrong instant of a charge": receipts(
    "have receipts that give back what was charged, all of it or a part, under every kind of limit",
    ({ charged }) => charged.map((receipt) => ({ ...receipt, atMs: receipt.atMs - 3_600_000 })),
  ),
  "says nothing of what it has charged above a limit": receipts(
    "have a receipt for what is charged above a limit, without the calendar periods that have ended",
    ({ charged }, { flag }) => (flag === Flag.chargeAnyway ? [] : charged),
  ),
  "says the id of no repeat": receipts(
    "have a receipt for a repeat, which undoes the repeat, and none of the id beyond the repeats",
    ({ charged }) => charged.map(({ once: _, ...receipt }) => receipt),
  ),
  "writes 25 keys at most": steps(MOST_KEYS, { mostKeys: 25 }),
  "writes 500 keys at most": steps(MOST_KEYS, { mostKeys: 500 }),
  "keeps what is damaged, and counts nothing there": damaged(
    "counts as nothing stored, and the next charge replaces it",
    keepsTorn,
  ),
  "forgets all keys of a take if one is damaged": damaged(
    "of one key says nothing about the other keys of a take",
    (rows, take) => (request, nowMs) => {
      const names = keysOfRequest(request);
      if (names.some((name) => isTorn(rows.get(name)))) for (const name of names) rows.delete(name);
      return take(request, nowMs);
    },
  ),
  "throws at what it cannot read": damaged(
    "of any kind gets an answer, under every flag, and is gone after a reset",
    (rows, take) => async (request, nowMs) => {
      if (keysOfRequest(request).some((name) => isTorn(rows.get(name)))) throw new SyntaxError("row");
      return await take(request, nowMs);
    },
  ),
  "charges on refusal": takes(REFUSAL, (take) => async (request, nowMs) => {
    const reply = await take(request, nowMs);
    if (!reply.allowed && request.flag === Flag.take) await take({ ...request, flag: Flag.chargeAnyway }, nowMs);
    return reply;
  }),
  "decides 7 limits of a key": keys(
    "of 8 limits under one key, of every algorithm, are made together or not at all",
    (key) => ({ ...key, limits: key.limits.slice(0, 7) }),
  ),
  "has a row for each number of a limit": keys(
    "are one count under every algorithm, whatever the number that a request brings",
    (key) => ({ ...key, key: `${key.key} ${key.limits.map(({ limit }) => limit)}` }),
  ),
  "has a row for each list of limits": keys(
    "stay with limits that stay when others come, go, move or change their number",
    (key) => ({ ...key, key: key.key + JSON.stringify(key.limits) }),
  ),
  "drops what another configuration counts": damaged(
    "of two configurations over one key are kept beside each other, each until it ends",
    (rows, take) => async (request, nowMs) => {
      const reply = await take(request, nowMs);
      for (const { key, limits } of request.keys) {
        const row = rows.get(key);
        const own = new Set(limits.map(recordIdOf));
        const records = JSON.parse(row?.text ?? "[]") as Records;
        if (row) rows.set(key, { ...row, text: toText(records.filter((record) => own.has(recordIdOf(record)))) });
      }
      return reply;
    },
  ),
  "takes a cost of 0 for the default": keys(REFUSAL, (key) => ({ ...key, cost: key.cost || 1 })),
  "has costs of 16 bits": keys(LARGEST, (key) => ({ ...key, cost: key.cost & 0xffff })),
  "has counts of 32 bits": steps(LARGEST, { read: ({ text }) => text.replaceAll("2147483648", "2147483647") }),
  "knows no flags": asks(NEVER_BELOW, (request) => ({ ...request, flag: Flag.take })),
  "knows one flag for all keys": keys(SETTLE, ({ flag: _flag, ...key }) => key),
  "knows one instant for all limits of a key": keys(
    "may step back: what is charged then can be given back, whatever its limits were charged before",
    (key) => ({ ...key, limits: key.limits.map(({ atMs: _atMs, ...limit }) => limit) }),
  ),
  "knows one instant for all keys": keys("give back to the instant of each key", ({ atMs: _atMs, ...key }) => key),
  "gives back at the present instant": asks(
    "are made above the limit when told to, and given back to the bucket that is named",
    ({ atMs: _atMs, ...request }) => request,
  ),
  "charges on a look": asks(LOOK, (request) =>
    request.flag === Flag.look ? { ...request, flag: Flag.take } : request,
  ),
  "lets no look refuse": keys("charge together what only takes, and whatever is decided what does not", (key) =>
    key.flag === Flag.look ? { ...key, cost: 0 } : key,
  ),
  "knows no ids": keys(
    "charge an id once until it ends, and admit as many repeats as it has, also where nothing is left",
    ({ once: _, ...key }) => key,
  ),
  "begins an id with a request that it refuses": one(
    "leave no trace of a request that another key refuses, neither of a charge nor of a repeat",
    storeOfSingleKeys(),
  ),
  "undoes a repeat as if it had been charged": keys(
    "are undone one by one: the last one gives the units back, and the id is forgotten",
    ({ once, ...key }) => {
      const { isRepeat: _, ...charged } = once ?? {};
      return once ? { ...key, once: charged as typeof once } : key;
    },
  ),
  "does not say which request is beyond the repeats": replies(
    "say which request is beyond the repeats, whose charge is given back without the id",
    (reply) => ({ ...reply, keys: reply.keys.map((limits) => limits.map(({ beyond: _, ...limit }) => limit)) }),
  ),
  "settles a reservation as often as it is asked": keys(
    "settle a reservation once, with more, less or as many units as it has, and say how it was settled",
    ({ once, ...key }) => (once?.settles === undefined ? { ...key, ...(once && { once }) } : key),
  ),
  "keeps the damaged end of an id": damaged("are charged if what is stored of their id is damaged", keepsTorn),
  "gives back below zero": one(NEVER_BELOW, storeBelowZero()),
  "enforces policies in shadow": keys("refuse without blocking, and are refused without a charge", (key) => ({
    ...key,
    group: ENFORCED,
  })),
  "has one shadow for all policies": keys(SHADOWS, (key) => ({ ...key, group: Math.min(key.group, 1) })),
  "has a shadow for each key": keys(SHADOWS, (key, k) => ({ ...key, group: key.group && k + 1 })),
  "ignores the instant": takes(INSTANT, (take) => (request) => take(request)),
  "has a clock of seconds": clocks("is the store's own when no instant is given", Math.floor(CLOCK_MS / 1_000) * 1_000),
  "has a clock with fractions": clocks(
    "reports whole milliseconds, and counts at the instant that it reports",
    CLOCK_MS + 0.25,
  ),
  "forgets what was written later than now": steps("may step back: what was charged at a later instant still counts", {
    read: ({ text, writtenAtMs }, nowMs) => (writtenAtMs <= nowMs ? text : undefined),
  }),
  "expires keys too early": steps("makes limits full again with time, and no sooner", {
    read: ({ text, writtenAtMs, expiryMs }, nowMs) => (nowMs < writtenAtMs + expiryMs / 1_000 ? text : undefined),
  }),
  "has one timeout for all slots of a key": steps(
    "are freed by their own timeouts while others keep the key alive, and for good when released",
    { read: ({ text }) => withOneTimeout(text) },
  ),
  "keeps keys that are to be deleted": steps(SLOTS, { deletes: false }),
  "has slots of 32 bits": asks(SLOTS, ({ slot, ...request }) =>
    slot === undefined ? request : { ...request, slot: slot >>> 0 },
  ),
  "keeps 4,096 characters": steps(SLOTS, { read: ({ text }) => text.slice(0, 4_096) }),
  "answers in the order of the keys": asks("have each key and limit in the order of the request", (request) => ({
    ...request,
    keys: request.keys.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  })),
  "sorts the keys of its caller": asks(NOT_CHANGED, (request) => {
    (request.keys as KeyRequest[]).sort((a, b) => (a.key < b.key ? -1 : 1));
    return request;
  }),
  "answers with one object, again and again": takes(NOT_CHANGED, (take) => {
    const reply = {} as TakeReply;
    return async (request, nowMs) => Object.assign(reply, await take(request, nowMs));
  }),
  "ignores case": steps(ANY_KEY, { name: (key) => key.toLowerCase() }),
  "ignores spaces at the end": steps(ANY_KEY, { name: (key) => key.trimEnd() }),
  "has one form of each accent": steps(ANY_KEY, { name: (key) => key.normalize("NFC") }),
  "has keys of 255 characters": steps(ANY_KEY, { name: (key) => key.slice(0, 255) }),
  "reads a backslash as an escape": steps(ANY_KEY, { name: (key) => key.replaceAll("\\", "") }),
  "resets the first key only": steps(RESET, { resets: (rows, [first]) => void rows.delete(first!) }),
  "resets everything": steps(RESET, { resets: (rows) => rows.clear() }),
  "cannot reset what is not there": steps(RESET, {
    resets(rows, keys) {
      for (const key of keys) if (!rows.delete(key)) throw new Error("not found");
    },
  }),
  "keeps limit keys on a reset": steps("of limits that have their own are forgotten by a reset too", {
    resets(rows, keys) {
      for (const key of keys) if (!key.includes("#")) rows.delete(key);
    },
  }),
  "says it is a cache": one(SAYS, { ...storeOverRows(), kind: "cache" }),
  "has no secret": one(SAYS, { ...storeOverRows(), keySecret: "" }),
  "has half a millisecond": one(SAYS, { ...storeOverRows(), timeoutMs: 0.5 }),
  "tells a pong": one(SAYS, { ...storeOverRows(), ping: async () => "PONG" as unknown as undefined }),
};
