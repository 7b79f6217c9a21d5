/**
 * The numbers of the stored bytes and of the script's arguments, in one place. TypeScript imports them. The Lua files
 * name them in capitals (`ID_KINDS`, `KIND_BUCKET`, `FLAG_LOOK`), and scripts/build/build-lua.ts replaces these names.
 */

/**
 * The prefix of every key: the program and the storage version. docs/storage-schema.md says when the version changes.
 */
export const KEY_PREFIX = "hg:2:";

/**
 * The key of the live document, of a namespace `hg:live:<namespace>`. It has no braces, and no policy has its form. It
 * has no storage version: counts may begin at zero once, but what operators have changed stays. A text that this
 * version would misread gets another key.
 */
export const LIVE_KEY = "hg:live";

export const liveKey = (namespace: string): string => (namespace === "" ? LIVE_KEY : `${LIVE_KEY}:${namespace}`);

/** Whether a text may name a deployment in keys. */
export function isNamespace(text: unknown): text is string {
  return typeof text === "string" && /^[A-Za-z0-9-]{0,24}$/.test(text);
}
export const NAMESPACE_EXPECTED = "at most 24 letters, digits and -";

/** The namespace of a key of counts: `hg:2:<namespace>:{…}`. Empty: it has none. */
export function namespaceOf(key: string): string {
  return /^hg:2:([A-Za-z0-9-]{1,24}):\{/.exec(key)?.[1] ?? "";
}

/** What decides the hash slot of a key: the text between the first "{" and the next "}". Without them the whole key. */
export function hashTagOf(key: string): string {
  const from = key.indexOf("{");
  const to = key.indexOf("}", from);
  return from < 0 || to < 0 ? key : key.slice(from + 1, to);
}

/**
 * The numbers by which the script and the storage know an algorithm, 1 … 31. The first three are windows with a record
 * of counts.
 */
export const Kind = {
  weighted: 1,
  whole: 2,
  fixedWindow: 3,
  bucket: 4,
  log: 5,
  concurrency: 6,
  calendar: 7,
  ban: 8,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

// The id by which a limit finds its record: (a * ID_BUCKETS + buckets) * ID_KINDS + kind. `a` is a duration in ms, at
// most 31 days, so an id is an integer below 2^43.

/** One more than the largest kind. */
export const ID_KINDS = 32;
/** One more than the largest number of buckets of a sliding window. */
export const ID_BUCKETS = 64;
/**
 * The factor of `a` in an id: `ID_BUCKETS * ID_KINDS`. It is written as a number: bundlers remove unused numbers, but
 * not unused products.
 */
export const ID_A = 2_048;

/** The number of integers in a record, apart from the buckets that its id names. The first integer is the id. */
export const RECORD_INTEGERS = 3;

/** What the decision does with the counts of a key. src/kernel/core/take.ts has the rules. */
export const Flag = { take: 0, chargeAnyway: 1, giveBack: 2, look: 3 } as const;
export type Flag = (typeof Flag)[keyof typeof Flag];

/** The group of all enforced policies. Each policy in shadow has a group of its own, with a larger number. */
export const ENFORCED = 0;

// The head of a key's arguments:
// (((group * HEAD_ONCE + once) * HEAD_COSTS + cost) * HEAD_LIMITS + limits) * HEAD_FLAGS + flag.

/** One more than the largest flag. */
export const HEAD_FLAGS = 4;
/** One more than the largest number of limits of a key. */
export const HEAD_LIMITS = 16;
/** The factor of the cost in a head: `HEAD_LIMITS * HEAD_FLAGS`. */
export const HEAD_COST = 64;
/** 2^30: above every cost. */
export const HEAD_COSTS = 1_073_741_824;
/** The factor of the group in what stands before the cost. Without an id, an enforced key has nothing there. */
export const HEAD_ONCE = 2;

/**
 * The most keys of one take, limit keys included: every store takes so many. Redis can hand a script about 8,000, and
 * other requests wait while a take is decided.
 */
export const MAX_KEYS = 1_000;
/** The most policies of a chain: the one that matches, and its overflows. */
export const MAX_CHAIN = 4;
/** The largest number of limits of a policy. */
export const MAX_LIMITS = 8;
/** The longest window and the longest timeout. */
export const MAX_WINDOW_MS = 31 * 86_400_000;
/** How long repeats of a request may be admitted without a charge. */
export const ONCE_MS_RANGE = { min: 1_000, max: 3_600_000 } as const;
/** The most repeats of a request that are admitted without a charge. */
export const MAX_REPEATS = 10;
/** The largest number of buckets of a window. */
export const MAX_BUCKETS = 60;
/** The most records of other configurations that a key carries along. */
export const MAX_CARRIED = 8;
/** Two years: no period and no window is longer, so a record that ends later is damaged. */
export const MAX_CARRIED_MS = 732 * 86_400_000;
/** The largest limit of a log, which has an entry of about 12 bytes in Redis for each request. */
export const MAX_LOG_UNITS = 10_000;
/** The largest limit and the largest cost, in units. */
export const MAX_UNITS = 1_000_000_000;
/** 2^31, the largest count: sums of 61 forced counts stay far below 2^53. */
export const MAX_COUNT = 2_147_483_648;
/** 2^53 - 1, the largest integer that is exact in both languages. */
export const MAX_EXACT = Number.MAX_SAFE_INTEGER;
/** The year 10000, ms since the epoch: a later instant in a record is damage. */
export const MAX_INSTANT_MS = 253_402_300_800_000;
/** A day: keys that are written under an injected clock live at least this long. */
export const INJECTED_CLOCK_EXPIRY_MS = 86_400_000;
