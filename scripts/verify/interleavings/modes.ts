/** What is explored: one mode after the other, each with its bounds. */

import type { Policy } from "../../../src/kernel/core/policy.ts";

/** How often each thing may happen in one execution. */
export interface Bounds {
  readonly requests: number;
  /** Time passes to the next instant at which anything changes. */
  readonly passes: number;
  /** A message is lost, a call is refused before it runs, or a connection breaks. */
  readonly faults: number;
  readonly resets: number;
  /** An isolate dies. */
  readonly deaths: number;
  /** The runtime ends one request with its background. */
  readonly ended: number;
  /** The clock of an isolate steps back. */
  readonly steps: number;
  /** The limit's number changes. */
  readonly changes: number;
  /** A request renews its slots, or extends its reservation. */
  readonly goOn: number;
}

export const WINDOW_MS = 1_000;
/** Calendar limits count days of this zone, in ms. A day ends 100 ms after an execution has begun, as windows do. */
export const CALENDAR = { window: "day", zone: "America/Los_Angeles", zoneMs: -8 * 3_600_000, periodMs: 86_400_000 };

/** The algorithm of a limit. Its window or timeout is `WINDOW_MS`, its period that of `CALENDAR`. */
export type ModeAlgorithm =
  | "fixed-window"
  | "calendar"
  | "concurrency"
  | { readonly buckets: number; readonly oldest: "weighted" | "whole" };

/** A policy, and where its one key lies. */
export interface ModePolicy {
  /** The name of the policy is its key, too. */
  readonly name: string;
  /** The position in the list of places. */
  readonly place: number;
  readonly algorithm: ModeAlgorithm;
  readonly mode: Policy["mode"];
  readonly consistency: Policy["consistency"];
  readonly onStoreFailure: Policy["onStoreFailure"];
  readonly limit: number;
  /** The number after a change. */
  readonly other: number;
  /** Only with `shared`. */
  readonly syncMs?: number;
  /** How requests with an id are charged once. Absent: ids mean nothing. */
  readonly once?: { readonly forMs: number; readonly repeats: number };
}

export interface Mode {
  readonly name: string;
  readonly isolates: number;
  readonly policies: readonly ModePolicy[];
  /** Which policies a request may be about: positions in `policies`. */
  readonly asked: readonly (readonly number[])[];
  readonly costs: readonly number[];
  /** The ids that a request may have. 0: it has none. */
  readonly ids: readonly number[];
  /** By isolate: its clock less the clock of the stores. Absent: 0. */
  readonly offsetsMs?: readonly number[];
  /** How many units an isolate may wish to have ahead of demand. */
  readonly wishes: readonly number[];
  /** What may take the place of random numbers, from 0 to 1: each request chooses one. Absent: 0.5. */
  readonly chances?: readonly number[];
  /** An admitted request holds a reservation, not only slots. */
  readonly reserves: boolean;
  /** What an admitted request may do: `renew`, `release`, `extend`, and `settle` with a number of units. */
  readonly acts: readonly string[];
  readonly bounds: Bounds;
}

const NOTHING: Bounds = {
  requests: 0,
  passes: 0,
  faults: 0,
  resets: 0,
  deaths: 0,
  ended: 0,
  steps: 0,
  changes: 0,
  goOn: 0,
};

const POLICY: ModePolicy = {
  name: "p",
  place: 0,
  algorithm: "fixed-window",
  mode: "enforce",
  consistency: "strict",
  onStoreFailure: "deny",
  limit: 2,
  other: 3,
};

export const STRICT: Mode = {
  name: "strict",
  isolates: 2,
  policies: [POLICY],
  asked: [[0]],
  costs: [1, 2],
  ids: [0],
  wishes: [0],
  reserves: false,
  acts: [],
  bounds: { ...NOTHING, requests: 3, passes: 3, faults: 1 },
};
export const FALLBACK: Mode = { ...STRICT, name: "fallback", policies: [{ ...POLICY, onStoreFailure: "local" }] };
const LEASED_POLICY: ModePolicy = { ...POLICY, consistency: "leased", limit: 4 };
export const LEASED: Mode = { ...STRICT, name: "leased", policies: [LEASED_POLICY], costs: [1], wishes: [0, 2] };

/** The smallest and the largest number: an isolate tells early or late, and takes parts of a unit for 1 or for 0. */
export const SHARED: Mode = {
  ...STRICT,
  name: "shared",
  policies: [{ ...POLICY, consistency: "shared", syncMs: 100, onStoreFailure: "local" }],
  chances: [0, 0.999],
};

/** A request is about the one policy, or about both. */
const TWO = { asked: [[0], [0, 1]] };
const SECOND: ModePolicy = { ...POLICY, name: "q", limit: 3 };
export const STRICT_TWO: Mode = { ...STRICT, ...TWO, name: "strict, two policies", policies: [POLICY, SECOND] };
export const LEASED_TWO: Mode = {
  ...LEASED,
  ...TWO,
  name: "leased, two policies",
  policies: [
    { ...LEASED_POLICY, limit: 3 },
    { ...LEASED_POLICY, name: "q", limit: 4 },
  ],
};
/** One strict policy makes the whole request strict. */
export const MIXED: Mode = { ...LEASED_TWO, name: "leased and strict", policies: [LEASED_POLICY, SECOND] };
export const FALLBACK_TWO: Mode = {
  ...STRICT_TWO,
  name: "fallback, two policies",
  policies: [
    { ...POLICY, onStoreFailure: "local" },
    { ...SECOND, onStoreFailure: "local" },
  ],
};

/** A decision over two places: p lies in the first, q in the second. */
function split(name: string, p: Partial<ModePolicy> = {}, q: Partial<ModePolicy> = {}): Mode {
  const policies = [
    { ...POLICY, limit: 3, ...p },
    { ...POLICY, name: "q", place: 1, ...q },
  ];
  return { ...STRICT, ...TWO, name: `two places, ${name}`, policies };
}
const LOCAL = { onStoreFailure: "local" } as const;
export const SPLIT = split("strict");
export const SPLIT_DENY_LOCAL = split("deny and local", {}, LOCAL);
export const SPLIT_LOCAL = split("local", LOCAL, LOCAL);
/** A request of cost 2 for both policies is charged in vain at the first place. */
export const SPLIT_IN_VAIN = split("in vain", { limit: 2 }, { limit: 1 });
/** The first place refuses every request of cost 2 for both policies: the other one charges in vain, or alone. */
export const SPLIT_BESIDE = split("beside a refusal", { limit: 1 }, LOCAL);
export const SPLIT_SHADOW = split("shadow", {}, { mode: "shadow" });

function sliding(mode: Mode, buckets: number, oldest: "weighted" | "whole"): Mode {
  const policies = mode.policies.map((policy) => ({ ...policy, algorithm: { buckets, oldest } }));
  return { ...mode, name: `${mode.name}, sliding window (${oldest}, ${buckets})`, policies };
}
export const SLIDING = sliding(STRICT, 1, "weighted");
export const SLIDING_TWO = sliding(STRICT, 2, "weighted");
export const WHOLE = sliding(STRICT, 1, "whole");
export const WHOLE_TWO = sliding(STRICT, 2, "whole");
export const LEASED_SLIDING = sliding(LEASED, 1, "weighted");
export const LEASED_WHOLE = sliding(LEASED, 2, "whole");

const SLOT: ModePolicy = { ...POLICY, name: "s", algorithm: "concurrency" };
export const SLOTS: Mode = { ...STRICT, name: "slots", policies: [SLOT], costs: [1], acts: ["renew", "release"] };
const ALONE_SLOT: ModePolicy = { ...SLOT, onStoreFailure: "local" };
export const FALLBACK_SLOTS: Mode = { ...SLOTS, name: "fallback, slots", policies: [ALONE_SLOT] };
/** A request takes a slot at the second place. The first one refuses a cost of 2. */
export const SPLIT_SLOTS: Mode = {
  ...split("slots", { limit: 1 }, { ...LOCAL, name: "s", algorithm: "concurrency" }),
  ...{ asked: [[0, 1]], acts: ["renew", "release"] },
};
/** A request takes a slot and units of a window. */
export const SLOTS_BESIDE: Mode = { ...SLOTS, name: "slots and units", policies: [SLOT, POLICY], asked: [[0, 1]] };
export const FALLBACK_BESIDE: Mode = {
  ...SLOTS_BESIDE,
  name: "fallback, slots and units",
  policies: [ALONE_SLOT, { ...POLICY, onStoreFailure: "local" }],
};

const RESERVED = {
  reserves: true,
  costs: [2],
  acts: ["extend", "settle 0", "settle 1", "settle 2", "settle 3"],
};
const RESERVED_POLICY: ModePolicy = { ...POLICY, limit: 3 };
export const RESERVATIONS: Mode = { ...STRICT, ...RESERVED, name: "reservations", policies: [RESERVED_POLICY] };
export const FALLBACK_RESERVATIONS: Mode = {
  ...RESERVATIONS,
  name: "fallback, reservations",
  policies: [{ ...RESERVED_POLICY, onStoreFailure: "local" }],
  acts: RESERVED.acts.slice(1),
};
export const RESERVATIONS_BESIDE: Mode = {
  ...RESERVATIONS,
  name: "reservations and slots",
  policies: [SLOT, RESERVED_POLICY],
  asked: [[0, 1]],
  acts: ["renew", ...RESERVED.acts],
};
/** Both places hold a reservation, and one of them may be silent meanwhile. */
export const SPLIT_RESERVATIONS: Mode = {
  ...split("reservations", { limit: 3 }, { ...LOCAL, limit: 3 }),
  ...{ ...RESERVED, asked: [[0, 1]], acts: RESERVED.acts.slice(1) },
};

const DAY = { algorithm: "calendar" } as const;
export const CALENDAR_STRICT: Mode = { ...STRICT, name: "calendar", policies: [{ ...POLICY, ...DAY }] };
/** One isolate's clock is after midnight, another's before it, while the store's clock is on the other side. */
export const CALENDAR_CLOCKS: Mode = { ...CALENDAR_STRICT, name: "calendar, other clocks", offsetsMs: [200, -200] };
export const CALENDAR_FALLBACK: Mode = {
  ...STRICT,
  name: "calendar, fallback",
  policies: [{ ...POLICY, ...DAY, onStoreFailure: "local" }],
};
export const CALENDAR_LEASED: Mode = {
  ...LEASED,
  name: "calendar, leased",
  policies: [{ ...LEASED_POLICY, ...DAY }],
};

/** Ids end after 60 ms in place of 1 s or more, so that they may end while a message is on its way. */
const ONCE = { once: { forMs: 60, repeats: 1 } };
const ID = { ids: [1], costs: [1] };
const ID_OR_NONE = { ids: [0, 1], costs: [1] };
export const CHARGED_ONCE: Mode = { ...STRICT, ...ID, name: "once", policies: [{ ...POLICY, ...ONCE }] };
export const ONCE_FALLBACK: Mode = {
  ...CHARGED_ONCE,
  name: "once, fallback",
  policies: [{ ...POLICY, ...ONCE, onStoreFailure: "local" }],
};
/** A request with an id is decided strictly. */
export const ONCE_LEASED: Mode = {
  ...LEASED,
  ...ID_OR_NONE,
  name: "once, leased",
  policies: [{ ...LEASED_POLICY, ...ONCE }],
};
/** Ids mean something under one policy of two. */
export const ONCE_TWO: Mode = {
  ...STRICT_TWO,
  ...ID,
  name: "once, two policies",
  policies: [{ ...POLICY, ...ONCE }, SECOND],
};
/** Both places know the id. The second one has a limit of 1. */
export const ONCE_SPLIT: Mode = {
  ...split("", { limit: 2, ...ONCE }, { limit: 1, ...ONCE }),
  ...ID_OR_NONE,
  name: "once, two places",
};
/** The second place knows no ids, and refuses the second request. */
export const ONCE_SPLIT_ONE: Mode = {
  ...split("", { limit: 2, ...ONCE }, { limit: 1 }),
  ...ID,
  name: "once, one of two places",
};

export function bounded(mode: Mode, name: string, bounds: Partial<Bounds>, more: Partial<Mode> = {}): Mode {
  return { ...mode, ...more, name: `${mode.name}, ${name}`, bounds: { ...NOTHING, ...bounds } };
}

const ALONE = { isolates: 1 };
const ENDS = { acts: ["settle 0", "settle 3"] };
const ONES = { costs: [1] };
const TWOS = { costs: [2] };

/** Small enough for `npm run test:long`. */
export const QUICK: readonly Mode[] = [
  bounded(STRICT, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(STRICT, "two isolates, a reset", { requests: 2, resets: 1 }, ONES),
  bounded(FALLBACK, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(LEASED, "two isolates", { requests: 2, passes: 1 }),
  bounded(LEASED_TWO, "one isolate", { requests: 2 }, ALONE),
  bounded(WHOLE, "one isolate", { requests: 2, passes: 2 }, { ...ALONE, costs: [2] }),
  bounded(SPLIT, "one isolate", { requests: 2 }, { ...ALONE, ...TWOS }),
  bounded(SLOTS, "one isolate, a fault", { requests: 1, faults: 1, goOn: 1 }, ALONE),
  bounded(RESERVATIONS, "one isolate, a fault", { requests: 1, faults: 1, goOn: 1 }, ALONE),
  bounded(CALENDAR_STRICT, "one isolate", { requests: 2, passes: 2 }, { ...ALONE, ...TWOS }),
  bounded(CALENDAR_FALLBACK, "one isolate, a fault", { requests: 1, passes: 2, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(CHARGED_ONCE, "one isolate", { requests: 2, passes: 1 }, ALONE),
  bounded(ONCE_FALLBACK, "one isolate, a fault", { requests: 2, faults: 1 }, ALONE),
  bounded(ONCE_SPLIT_ONE, "two isolates", { requests: 2 }),
  bounded(SHARED, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...TWOS }),
];

/** The longest first, so that no long one begins at the end. */
export const FULL: readonly Mode[] = [
  bounded(STRICT, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, ALONE),
  bounded(STRICT, "one isolate, three requests", { requests: 3, passes: 1 }, ALONE),
  bounded(SPLIT_IN_VAIN, "one isolate, time passes", { requests: 2, passes: 1 }, { ...ALONE, ...TWOS }),
  bounded(FALLBACK, "two isolates, a fault", { requests: 2, passes: 1, faults: 1 }, ONES),
  bounded(FALLBACK, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, ALONE),
  bounded(FALLBACK, "one isolate, two faults", { requests: 2, passes: 1, faults: 2 }, { ...ALONE, ...ONES }),
  bounded(FALLBACK, "one isolate, three requests", { requests: 3, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(FALLBACK, "one isolate, a reset", { requests: 2, faults: 1, resets: 1 }, { ...ALONE, ...ONES }),
  bounded(LEASED, "two isolates", { requests: 2, passes: 2 }),
  bounded(LEASED, "one isolate, three requests", { requests: 3, passes: 2 }, ALONE),
  bounded(LEASED, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, ALONE),
  bounded(LEASED, "two isolates, a reset", { requests: 2, resets: 1 }),
  bounded(LEASED, "two isolates, a death", { requests: 2, passes: 1, deaths: 1 }),
  bounded(LEASED, "one isolate, a clock steps back", { requests: 2, passes: 1, steps: 1 }, ALONE),
  bounded(STRICT, "two isolates, a reset", { requests: 2, passes: 1, resets: 1 }, ONES),
  bounded(STRICT, "two isolates", { requests: 2, passes: 2 }),
  bounded(STRICT, "three isolates", { requests: 3 }, { ...ONES, isolates: 3 }),
  bounded(STRICT, "two isolates, a death", { requests: 2, passes: 1, deaths: 1 }, ONES),
  bounded(STRICT, "one isolate, a request is ended", { requests: 2, passes: 2, ended: 1 }, ALONE),
  bounded(STRICT, "one isolate, a clock steps back", { requests: 2, passes: 2, steps: 1 }, ALONE),
  bounded(STRICT_TWO, "one isolate", { requests: 2, passes: 1 }, ALONE),
  bounded(STRICT_TWO, "one isolate, a fault", { requests: 3, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(STRICT_TWO, "two isolates", { requests: 3 }, ONES),
  bounded(STRICT_TWO, "two isolates, a reset", { requests: 2, resets: 1 }, ONES),
  bounded(FALLBACK_TWO, "one isolate, a fault", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(LEASED_TWO, "one isolate", { requests: 3, passes: 1 }, ALONE),
  bounded(LEASED_TWO, "two isolates", { requests: 2 }),
  bounded(LEASED_TWO, "one isolate, a fault", { requests: 2, faults: 1 }, ALONE),
  bounded(LEASED_TWO, "one isolate, a reset", { requests: 2, resets: 1 }, ALONE),
  bounded(MIXED, "one isolate", { requests: 3 }, ALONE),
  bounded(MIXED, "two isolates", { requests: 2, passes: 1 }),
  bounded(SLIDING, "one isolate", { requests: 2, passes: 3 }, ALONE),
  bounded(SLIDING, "two isolates", { requests: 2, passes: 2 }),
  bounded(SLIDING_TWO, "one isolate", { requests: 2, passes: 2 }, ALONE),
  bounded(WHOLE, "one isolate", { requests: 2, passes: 2 }, ALONE),
  bounded(WHOLE_TWO, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, { ...ALONE, costs: [2] }),
  bounded(LEASED_SLIDING, "one isolate", { requests: 2, passes: 3 }, ALONE),
  bounded(LEASED_SLIDING, "two isolates", { requests: 2, passes: 2 }),
  bounded(LEASED_WHOLE, "one isolate", { requests: 2, passes: 3 }, ALONE),
  bounded(SPLIT, "one isolate", { requests: 2 }, ALONE),
  bounded(SPLIT, "one isolate, time passes", { requests: 1, passes: 2, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT, "one isolate, a fault", { requests: 2, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT, "two isolates, a death", { requests: 2, deaths: 1 }, TWOS),
  bounded(SPLIT_IN_VAIN, "two isolates, a reset", { requests: 1, resets: 1 }, TWOS),
  bounded(SPLIT_IN_VAIN, "two isolates", { requests: 2 }, TWOS),
  bounded(SPLIT_DENY_LOCAL, "one isolate, a fault", { requests: 2, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_DENY_LOCAL, "one isolate, time passes", { requests: 1, passes: 2, faults: 1 }, ALONE),
  bounded(SPLIT_LOCAL, "one isolate, two faults", { requests: 2, faults: 2 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_SHADOW, "one isolate, a fault", { requests: 2, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_BESIDE, "one isolate, a fault", { requests: 1, passes: 1, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_BESIDE, "one isolate, a reset", { requests: 1, faults: 1, resets: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_SLOTS, "one isolate, refused", { requests: 1, passes: 1, faults: 1 }, { ...ALONE, ...TWOS }),
  bounded(SPLIT_SLOTS, "one isolate, a fault", { requests: 1, faults: 1, goOn: 1 }, { ...ALONE, ...ONES }),
  bounded(SPLIT_SLOTS, "one isolate, time passes", { requests: 1, passes: 1 }, { ...ALONE, ...ONES }),
  bounded(SPLIT_RESERVATIONS, "one isolate, a fault", { requests: 1, faults: 1 }, ALONE),
  bounded(SPLIT_RESERVATIONS, "one isolate, time passes", { requests: 1, passes: 1 }, ALONE),
  bounded(STRICT, "three isolates, a fault", { requests: 3, faults: 1 }, { ...ONES, isolates: 3 }),
  bounded(STRICT, "three isolates, a reset", { requests: 2, resets: 1 }, { ...ONES, isolates: 3 }),
  bounded(FALLBACK, "three isolates, a fault", { requests: 3, faults: 1 }, { ...ONES, isolates: 3 }),
  bounded(SLOTS, "one isolate", { requests: 2, goOn: 1 }, ALONE),
  bounded(SLOTS, "one isolate, a fault", { requests: 2, faults: 1 }, ALONE),
  bounded(SLOTS, "one isolate, a timeout", { requests: 1, passes: 2, faults: 1, goOn: 1 }, ALONE),
  bounded(SLOTS, "one isolate, three requests", { requests: 3 }, ALONE),
  bounded(SLOTS, "two isolates, a reset", { requests: 2, resets: 1 }),
  bounded(SLOTS, "two isolates, a death", { requests: 2, deaths: 1 }),
  bounded(SLOTS, "one isolate, a request is ended", { requests: 1, passes: 2, ended: 1 }, ALONE),
  bounded(FALLBACK_SLOTS, "one isolate, two faults", { requests: 2, faults: 2 }, ALONE),
  bounded(FALLBACK_SLOTS, "one isolate, a timeout", { requests: 1, passes: 2, faults: 1 }, ALONE),
  bounded(FALLBACK_SLOTS, "one isolate, a reset", { requests: 1, faults: 1, resets: 1 }, ALONE),
  bounded(SLOTS_BESIDE, "one isolate, a fault", { requests: 1, passes: 1, faults: 1 }, ALONE),
  bounded(SLOTS_BESIDE, "two isolates", { requests: 2 }),
  bounded(FALLBACK_BESIDE, "one isolate, a fault", { requests: 1, passes: 1, faults: 1 }, ALONE),
  bounded(RESERVATIONS, "one isolate, a fault", { requests: 1, passes: 1, faults: 1, goOn: 1 }, ALONE),
  bounded(RESERVATIONS, "one isolate, an extension", { requests: 1, passes: 2, goOn: 1 }, ALONE),
  bounded(RESERVATIONS, "two isolates, a reset", { requests: 1, resets: 1, goOn: 1 }),
  bounded(RESERVATIONS, "two isolates, a reset and two requests", { requests: 2, resets: 1 }, ENDS),
  bounded(RESERVATIONS, "one isolate, two requests", { requests: 2, faults: 1 }, { ...ALONE, ...ENDS }),
  bounded(RESERVATIONS, "two isolates, a death", { requests: 2, deaths: 1, goOn: 1 }),
  bounded(FALLBACK_RESERVATIONS, "one isolate, a fault", { requests: 1, passes: 1, faults: 1 }, ALONE),
  bounded(FALLBACK_RESERVATIONS, "one isolate, two requests", { requests: 2, faults: 1 }, { ...ALONE, ...ENDS }),
  bounded(FALLBACK_RESERVATIONS, "one isolate, two faults", { requests: 2, faults: 2 }, { ...ALONE, ...ENDS }),
  bounded(FALLBACK_RESERVATIONS, "one isolate, time", { requests: 2, passes: 1, faults: 1 }, { ...ALONE, ...ENDS }),
  bounded(FALLBACK_RESERVATIONS, "one isolate, a reset", { requests: 1, faults: 1, resets: 1 }, ALONE),
  bounded(RESERVATIONS_BESIDE, "one isolate, a fault", { requests: 1, faults: 1, goOn: 1 }, ALONE),
  bounded(RESERVATIONS_BESIDE, "two isolates", { requests: 2 }),
  bounded(STRICT, "two isolates, another number", { requests: 2, passes: 1, changes: 1 }),
  bounded(CALENDAR_STRICT, "one isolate", { requests: 2, passes: 3 }, { ...ALONE, ...TWOS }),
  bounded(CALENDAR_STRICT, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(
    CALENDAR_STRICT,
    "one isolate, a clock steps back",
    { requests: 2, passes: 2, steps: 1 },
    { ...ALONE, ...TWOS },
  ),
  bounded(CALENDAR_CLOCKS, "two isolates", { requests: 2, passes: 2 }, TWOS),
  bounded(CALENDAR_FALLBACK, "one isolate, a fault", { requests: 2, passes: 3, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(CALENDAR_FALLBACK, "one isolate, two faults", { requests: 2, passes: 2, faults: 2 }, { ...ALONE, ...ONES }),
  bounded(CALENDAR_LEASED, "one isolate", { requests: 2, passes: 3 }, { ...ALONE, wishes: [2] }),
  bounded(
    CALENDAR_LEASED,
    "one isolate, a clock steps back",
    { requests: 2, passes: 2, steps: 1 },
    { ...ALONE, wishes: [2] },
  ),
  bounded(CHARGED_ONCE, "one isolate, a fault", { requests: 2, passes: 2, faults: 1 }, ALONE),
  bounded(CHARGED_ONCE, "one isolate, three requests", { requests: 3, passes: 1 }, ALONE),
  bounded(CHARGED_ONCE, "one isolate, time passes", { requests: 2, passes: 3 }, ALONE),
  bounded(CHARGED_ONCE, "two isolates", { requests: 4 }),
  bounded(ONCE_FALLBACK, "one isolate, two faults", { requests: 2, passes: 2, faults: 2 }, ALONE),
  bounded(ONCE_FALLBACK, "one isolate, three requests", { requests: 3, faults: 1 }, ALONE),
  bounded(ONCE_LEASED, "one isolate", { requests: 2, passes: 1 }, ALONE),
  bounded(ONCE_TWO, "one isolate", { requests: 2, passes: 1, faults: 1 }, ALONE),
  bounded(ONCE_SPLIT, "one isolate", { requests: 2 }, ALONE),
  bounded(ONCE_SPLIT, "one isolate, a fault", { requests: 2, faults: 1 }, { ...ALONE, ids: [1] }),
  bounded(ONCE_SPLIT_ONE, "one isolate, a fault", { requests: 2, faults: 1 }, ALONE),
  bounded(ONCE_SPLIT, "one isolate, time passes", { requests: 1, passes: 2, faults: 1 }, { ...ALONE, ids: [1] }),
  bounded(ONCE_SPLIT_ONE, "two isolates", { requests: 2 }),
  bounded(SHARED, "two isolates", { requests: 3, passes: 1 }),
  bounded(SHARED, "two isolates, a refusal", { requests: 2, passes: 6 }, { ...TWOS, chances: [0] }),
  bounded(SHARED, "one isolate, a fault", { requests: 3, passes: 2, faults: 1 }, { ...ALONE, ...ONES }),
  bounded(
    SHARED,
    "one isolate, a fault and time",
    { requests: 3, passes: 3, faults: 1 },
    { ...ALONE, ...ONES, chances: [0] },
  ),
  bounded(SHARED, "two isolates, a fault", { requests: 2, passes: 1, faults: 1 }),
  bounded(SHARED, "two isolates, a reset", { requests: 3, resets: 1 }, ONES),
  bounded(SHARED, "one isolate, a clock steps back", { requests: 2, passes: 2, steps: 1 }, ALONE),
  bounded(SHARED, "one isolate, a request is ended", { requests: 2, passes: 2, ended: 1 }, ALONE),
];
