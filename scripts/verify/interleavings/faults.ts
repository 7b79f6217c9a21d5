/**
 * Faults that are planted one at a time, to test the explorer. Attacks on this program have found faults like them.
 * Each must be found within the bounds of its mode.
 */

import {
  bounded,
  CALENDAR_CLOCKS,
  CALENDAR_FALLBACK,
  CALENDAR_LEASED,
  CALENDAR_STRICT,
  CHARGED_ONCE,
  FALLBACK,
  LEASED,
  LEASED_SLIDING,
  LEASED_TWO,
  type Mode,
  ONCE_FALLBACK,
  ONCE_SPLIT_ONE,
  ONCE_TWO,
  RESERVATIONS,
  SHARED,
  SLIDING,
  SLOTS,
  SPLIT,
  SPLIT_BESIDE,
  SPLIT_SLOTS,
  STRICT,
  STRICT_TWO,
} from "./modes.ts";
import type { Fault } from "./replace.ts";

interface Planted extends Fault {
  readonly mode: Mode;
}

// Small bounds: the explorer finds the fault in seconds.
const ALONE = { isolates: 1 };
const STRICT_ALONE = bounded(STRICT, "one isolate", { requests: 2, passes: 3 }, ALONE);
const STRICT_RESET = bounded(STRICT, "reset", { requests: 2, passes: 1, resets: 1 }, ALONE);
const FALLBACK_ALONE = bounded(FALLBACK, "one isolate", { requests: 2, passes: 2, faults: 1 }, ALONE);
const FALLBACK_FAULTS = bounded(
  FALLBACK,
  "two faults",
  { requests: 3, passes: 1, faults: 2 },
  { ...ALONE, costs: [1] },
);
const FALLBACK_RESET = bounded(FALLBACK, "reset", { requests: 2, passes: 1, faults: 1, resets: 1 }, ALONE);
const LEASED_PLAIN = bounded(LEASED, "one isolate", { requests: 3, passes: 4 }, ALONE);
const LEASED_RESERVED = bounded(LEASED, "reserved", { requests: 3 }, { ...ALONE, costs: [1, 2] });
const LEASED_RESET = bounded(LEASED, "reset", { requests: 3, resets: 1 }, { ...ALONE, wishes: [2] });
const STRICT_TRUST = bounded(STRICT, "trust", { requests: 2, passes: 4, resets: 1 }, { costs: [2] });
const FALLBACK_REPAID = bounded(FALLBACK, "three requests", { requests: 3, faults: 1 }, { ...ALONE, costs: [1] });
const LEASED_FAULTS = bounded(LEASED, "faults", { requests: 3, passes: 2, faults: 1 }, ALONE);

const STRICT_BOTH = bounded(STRICT_TWO, "one isolate", { requests: 2 }, ALONE);
const LEASED_BOTH = bounded(LEASED_TWO, "one isolate", { requests: 3 }, ALONE);
const LEASED_BUCKETS = bounded(LEASED_SLIDING, "one isolate", { requests: 2, passes: 4 }, ALONE);
const STRICT_BUCKETS = bounded(SLIDING, "one isolate", { requests: 2, passes: 3 }, ALONE);

const SPLIT_ALONE = bounded(SPLIT, "one isolate", { requests: 2, faults: 1 }, ALONE);
const SPLIT_PASSES = bounded(SPLIT, "time passes", { requests: 1, passes: 1 }, ALONE);
const SPLIT_REFUSED = bounded(SPLIT_BESIDE, "time passes", { requests: 1, passes: 1 }, { ...ALONE, costs: [2] });
const SPLIT_SLOT = bounded(SPLIT_SLOTS, "time passes", { requests: 1, passes: 1 }, { ...ALONE, costs: [2] });
const SPLIT_TRUST = bounded(SPLIT, "trust", { requests: 3, passes: 1, resets: 1 }, { costs: [2], asked: [[0]] });
const SLOTS_ALONE = bounded(SLOTS, "one isolate", { requests: 1, passes: 1, faults: 1 }, ALONE);
const RESERVED_ALONE = bounded(
  RESERVATIONS,
  "one isolate",
  { requests: 2, faults: 1 },
  { ...ALONE, acts: ["settle 1", "settle 3"] },
);

const CALENDAR_ALONE = bounded(CALENDAR_STRICT, "one isolate", { requests: 2, passes: 3 }, ALONE);
const CALENDAR_OTHER = bounded(CALENDAR_CLOCKS, "two isolates", { requests: 2, passes: 2 }, { costs: [2] });
const CALENDAR_DEBT = bounded(CALENDAR_FALLBACK, "a fault", { requests: 2, passes: 2, faults: 1 }, ALONE);
const CALENDAR_UNITS = bounded(CALENDAR_LEASED, "one isolate", { requests: 3, passes: 4 }, ALONE);
const ONCE_ALONE = bounded(ONCE_FALLBACK, "one isolate", { requests: 2, faults: 1 }, ALONE);
const ONCE_UNDONE = bounded(ONCE_SPLIT_ONE, "one isolate", { requests: 2 }, ALONE);
const ONCE_ENDS = bounded(CHARGED_ONCE, "time passes", { requests: 2, passes: 2 }, ALONE);
const ONCE_THREE = bounded(CHARGED_ONCE, "three requests", { requests: 3 }, ALONE);
const ONCE_USED_UP = bounded(CHARGED_ONCE, "the whole limit", { requests: 2 }, { ...ALONE, costs: [2] });
const ONCE_TOO_MUCH = bounded(CHARGED_ONCE, "too much", { requests: 2 }, { ...ALONE, costs: [3] });
const ONCE_BOTH = bounded(ONCE_TWO, "the whole limit", { requests: 2 }, { ...ALONE, costs: [2], asked: [[0]] });
const SHARED_ALONE = bounded(
  SHARED,
  "three requests",
  { requests: 3, passes: 1 },
  { ...ALONE, costs: [1], chances: [0] },
);
const SHARED_FAULT = bounded(
  SHARED,
  "a fault",
  { requests: 3, passes: 5, faults: 1 },
  { ...ALONE, costs: [1], chances: [0] },
);
const SHARED_REFUSED = bounded(SHARED, "a refusal", { requests: 2, passes: 6 }, { costs: [2], chances: [0] });
const SHARED_STEP = bounded(SHARED, "a step", { requests: 2, passes: 4, steps: 1 }, { ...ALONE, chances: [0] });

export const FAULTS: readonly Planted[] = [
  {
    name: "a late reply is not heard",
    mode: STRICT_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: "await giveBackCharged(place, inVain, slot);",
    is: "",
  },
  {
    name: "what a late reply shows as charged is given back although the request was admitted",
    mode: FALLBACK_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: "const isKept = (key: string) => owing",
    is: "const isKept = (key: string) => !owing",
  },
  {
    name: "a reset lets replies of earlier calls live",
    mode: STRICT_RESET,
    file: "kernel/place/calls.ts",
    was: "  record.reset = reset;\n",
    is: "",
  },
  {
    name: "a reset forgets the leased units",
    mode: LEASED_RESET,
    file: "features/leases/leases.ts",
    was: "  record.leases = undefined;\n",
    is: "",
  },
  {
    name: "a reset forgets the debts",
    mode: FALLBACK_RESET,
    file: "kernel/place/calls.ts",
    was: "{ room, generation, bytes, leases, pending, sent, shown });",
    is: "{ room, generation, bytes, leases, pending, sent, shown, own: record.own });\n    memory.owing.add(key);",
  },
  {
    name: "a refusal is trusted too long",
    mode: STRICT_TRUST,
    file: "kernel/place/refusals.ts",
    was: "localAtMs - known.receivedAtMs >= (most === undefined ? trustedMs : Math.min(most, trustedMs))",
    is: "false",
  },
  {
    name: "the end of a bucket is missed: leased units are spent after it",
    mode: LEASED_PLAIN,
    file: "features/leases/leases.ts",
    was: "for (const { units, endsAtMs } of all) if (endsAtMs > latestMs) sum += units;",
    is: "for (const { units } of all) sum += units;",
  },
  {
    name: "a refusal holds beyond the end of its bucket",
    mode: STRICT_ALONE,
    file: "kernel/place/refusals.ts",
    was: "const latest = at(latestMs);",
    is: "const latest = at(earliestMs);",
  },
  {
    name: "a debt is repaid twice",
    mode: FALLBACK_REPAID,
    file: "kernel/place/flows/repay.ts",
    was: "  endRepayment(memory, number);\n  return undefined;",
    is: "  undoRepayment(memory, number, nowMs);\n  return undefined;",
  },
  {
    name: "a failed repayment of unknown outcome is charged again",
    mode: FALLBACK_FAULTS,
    file: "kernel/place/flows/repay.ts",
    was: "else if (notRun) undoRepayment(memory, number, nowMs);",
    is: "else undoRepayment(memory, number, nowMs);",
  },
  {
    name: "reserved units are put back although they were spent",
    mode: LEASED_RESERVED,
    file: "features/leases/leased-takes.ts",
    was: "const back = allowed && !hasLostUnits ? [] : one.reserved;",
    is: "const back = one.reserved;",
  },
  {
    name: "leased units are returned and kept",
    mode: LEASED_PLAIN,
    file: "features/leases/leased-returns.ts",
    was: "  lease.units = kept;\n",
    is: "",
  },
  {
    name: "the units of a late lease are booked with those that the request needed",
    mode: LEASED_FAULTS,
    file: "features/leases/leased-takes.ts",
    was: "book(memory, found, keys[k]!, nowMs, { charged: allowed ? ahead : 0, leased: ahead, back: [] });",
    is: "book(memory, found, keys[k]!, nowMs, { charged: allowed ? ahead : 0, leased: ahead + 1, back: [] });",
  },
  {
    name: "units are returned to no one: a background ends before the units are due",
    mode: LEASED_PLAIN,
    file: "features/leases/return-units.ts",
    was: "await Promise.all(unused.map((one) => returnToStore(place, name, one, returning)));",
    is: "",
  },
  {
    name: "a charge of unknown outcome is owed",
    mode: FALLBACK_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: "      if (notRun) {\n",
    is: "      {\n",
  },
  {
    name: "a refused request is charged to the policies that would admit it",
    mode: STRICT_BOTH,
    file: "kernel/core/take.ts",
    was: "const admitted = allowed && !refused.has(group);",
    is: "const admitted = !checked[k]!.checks.some(({ refused }) => refused) && group === ENFORCED;",
  },
  {
    name: "leased units of one policy suffice for a request of two",
    mode: LEASED_BOTH,
    file: "features/leases/leased-takes.ts",
    was: "const suffices = leases.every(",
    is: "const suffices = leases.some(",
  },
  {
    name: "units come back to the present bucket, not to their own",
    mode: LEASED_BUCKETS,
    file: "kernel/core/window.ts",
    was: "const age = record.newest - Math.floor(atMs / record.bucketMs);",
    is: "const age = 0;",
  },
  {
    name: "at the end of a bucket its units are forgotten",
    mode: STRICT_BUCKETS,
    file: "kernel/core/window.ts",
    was: "(age >= passed ? record.counts[age - passed]! : 0)",
    is: "(age > passed ? record.counts[age - passed]! : 0)",
  },
  {
    name: "units are not given back when another place refuses",
    mode: SPLIT_ALONE,
    file: "features/places/places.ts",
    was: "const undone = undo(inVain, call);",
    is: "const undone = Promise.resolve();",
  },
  {
    name: "units are given back twice when another place refuses",
    mode: SPLIT_ALONE,
    file: "features/places/places.ts",
    was: "const undone = undo(inVain, call);",
    is: "const undone = undo([...inVain, ...inVain], call);",
  },
  {
    name: "units are given back to the place that has refused",
    mode: SPLIT_ALONE,
    file: "kernel/place/taker.ts",
    was: "const { allowed, nowMs: atMs, charged: receipts } = reply;",
    is: "const { allowed, nowMs: atMs } = reply;\n  const receipts = lines.map(({ request }) => ({ ...request, atMs }));",
  },
  {
    name: "the late reply of a place is not heard after a refusal",
    mode: SPLIT_PASSES,
    file: "kernel/place/flows/outage.ts",
    was: "if (asked.length === 0) decided([]);",
    is: "",
  },
  {
    name: "what a silent place charges beside a refusal stays charged",
    mode: SPLIT_REFUSED,
    file: "kernel/place/flows/outage.ts",
    was: "if (!isKept) decided([]);",
    is: "",
  },
  {
    name: "a slot of a silent place beside a refusal is released twice",
    mode: SPLIT_SLOT,
    file: "kernel/place/flows/outage.ts",
    was: "known?.charged && !(isKept && admitted.has(key));",
    is: "known?.charged && !admitted.has(key);",
  },
  {
    name: "a request is admitted although the place of a policy with deny is silent",
    mode: SPLIT_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: 'const isDenied = mustHear || lines.some(({ onFailure }) => onFailure === "deny");',
    is: "const isDenied = mustHear;",
  },
  {
    name: "a refusal by one of several places is trusted as long as one by a place alone",
    mode: SPLIT_TRUST,
    file: "stores/split-store.ts",
    was: "const trustedMs = () => TRUSTED_MS;",
    is: "const trustedMs = () => 5_000;",
  },
  {
    name: "a lost release is forgotten",
    mode: SLOTS_ALONE,
    file: "kernel/place/flows/settle.ts",
    was: "if (slots.length === 0) return giveBackLater(memory, back, failure, timing.nowMs(), call);",
    is: "if (slots.length === 0) return;",
  },
  {
    name: "a slot is released twice",
    mode: SLOTS_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: "const isBack = (key: string) => known?.charged && !(isKept && admitted.has(key));",
    is: "const isBack = (_: string) => false;",
  },
  {
    name: "a late slot is kept",
    mode: SLOTS_ALONE,
    file: "kernel/place/flows/outage.ts",
    was: "await giveBackCharged(place, inVain, slot);",
    is: "await giveBackCharged(place, inVain, 0);",
  },
  {
    name: "a settlement of unknown outcome is sent again",
    mode: RESERVED_ALONE,
    file: "kernel/place/flows/settle.ts",
    was: "if (failure.notRun) addDebts(memory, keysWith(request, true), timing.nowMs());",
    is: "addDebts(memory, keysWith(request, true), timing.nowMs());",
  },
  {
    name: "a settlement returns one unit too many",
    mode: RESERVED_ALONE,
    file: "kernel/limiter/settlement.ts",
    was: "const back = Math.min(left, cost);",
    is: "const back = Math.min(left + 1, cost);",
  },
  {
    name: "leased units are spent after the end of their period",
    mode: CALENDAR_UNITS,
    file: "kernel/core/window.ts",
    was: "lease: { endsAtMs: endAt,",
    is: "lease: { endsAtMs: (limit, chargedAtMs) => endAt(limit, chargedAtMs) + 1_000,",
  },
  {
    name: "a debt is charged to a later period than its own",
    mode: CALENDAR_DEBT,
    file: "kernel/core/calendar.ts",
    was: "if (atMs > 0 && record.endsAtMs !== endAt(limit, atMs)) return record;",
    is: "",
  },
  {
    name: "a refusal is remembered beyond the end of its period",
    mode: CALENDAR_ALONE,
    file: "kernel/core/algorithm.ts",
    was: "const view = read(record, undefined, limit, nowMs);",
    is: "const view = record;",
  },
  {
    name: "the isolate's own clock says in which period the store is",
    mode: CALENDAR_OTHER,
    file: "kernel/place/store-clock.ts",
    was: "const earliestMs = Math.max(newestMs, Math.floor(localAtMs + offset.low - driftMs));\n  return { localAtMs, earliestMs, latestMs: Math.ceil(localAtMs + offset.high + driftMs) + STANDSTILL_MS, trustedMs };",
    is: "return { localAtMs, earliestMs: localAtMs, latestMs: localAtMs, trustedMs };",
  },
  {
    name: "what the fallback has admitted with an id is owed",
    mode: ONCE_ALONE,
    file: "kernel/place/debts.ts",
    was: "if (group !== ENFORCED || cost === 0 || limits.length === 0 || once) continue;",
    is: "if (group !== ENFORCED || cost === 0 || limits.length === 0) continue;",
  },
  {
    name: "undoing a charge leaves its id",
    mode: ONCE_UNDONE,
    file: "kernel/core/once.ts",
    was: "return { changesLimits: true, written: { kept: undefined } };",
    is: "return { changesLimits: true };",
  },
  {
    name: "undoing a repeat leaves it counted",
    mode: ONCE_UNDONE,
    file: "kernel/core/once.ts",
    was: "(undoes ? -1 : 1)",
    is: "(undoes ? 0 : 1)",
  },
  {
    name: "an undo gives units back that a repeat still needs",
    mode: ONCE_UNDONE,
    file: "kernel/core/once.ts",
    was: "if (undoes && known!.used === 0)",
    is: "if (undoes)",
  },
  {
    name: "a repeat is refused from memory",
    mode: ONCE_USED_UP,
    file: "kernel/place/refusals.ts",
    was: "return once && recalled.some(({ refused }) => refused) ? undefined : recalled;",
    is: "return recalled;",
  },
  {
    name: "a repeat is given units back after the end of its id",
    mode: ONCE_ENDS,
    file: "kernel/core/take.ts",
    was: "return { ...charged, once: first?.repeated ? { ...once, isRepeat: true } : once };",
    is: "return { ...charged, once };",
  },
  {
    name: "repeats are admitted without a charge for ever",
    mode: ONCE_THREE,
    file: "kernel/core/once.ts",
    was: 'return known.used < repeats ? "repeat" : "beyond";',
    is: 'return "repeat";',
  },
  {
    name: "repeats prolong their id",
    mode: ONCE_ENDS,
    file: "kernel/core/once.ts",
    was: "const endsAtMs = known ? known.endsAtMs : nowMs + forMs;",
    is: "const endsAtMs = nowMs + forMs;",
  },
  {
    name: "a refused request begins its id",
    mode: ONCE_TOO_MUCH,
    file: "kernel/core/take.ts",
    was: "if (once && (charged || once.settles !== undefined)) {\n      const change = changeOnce(once, known, flag, repetition, nowMs);\n      charged &&= change.changesLimits;",
    is: "if (cost > 0 && flag !== Flag.look && once) {\n      const change = changeOnce(once, known, flag, repetition, nowMs);\n      charged &&= change.changesLimits;",
  },
  {
    name: "a repeat is refused by the policy that knows its id",
    mode: ONCE_BOTH,
    file: "kernel/core/take.ts",
    was: 'const refused = repetition !== "repeat" && flag !== Flag.giveBack',
    is: "const refused = flag !== Flag.giveBack",
  },
  {
    name: "what was told without an answer is told again",
    mode: SHARED_FAULT,
    file: "kernel/place/flows/repay.ts",
    was: "else if (notRun) undoRepayment(memory, number, nowMs);",
    is: "else undoRepayment(memory, number, nowMs);",
  },
  {
    name: "what is on its way to the store does not count beside a reply",
    mode: SHARED_FAULT,
    file: "features/shared/wrap.ts",
    was: "(number) => number !== call);",
    is: "() => false);",
  },
  {
    name: "what was not told yet does not count beside a reply",
    mode: SHARED_ALONE,
    file: "features/shared/wrap.ts",
    was: "const untold = debtsOf(record, receivedAtMs, (number) => number !== call);",
    is: "const untold = [];",
  },
  {
    name: "after a failure nothing is told before the next request",
    mode: SHARED_FAULT,
    file: "features/shared/wrap.ts",
    was: "for (let leastMs = 0; owing.size > 0; ) {",
    is: "for (let leastMs = 0; owing.size > 1_000; ) {",
  },
  {
    name: "a question after a refusal charges a unit",
    mode: SHARED_REFUSED,
    file: "kernel/place/telling.ts",
    was: "group: ENFORCED, cost: 0 }",
    is: "group: ENFORCED, cost: 1 }",
  },
  {
    name: "a timer tells nothing because the clock was set back",
    mode: SHARED_STEP,
    file: "kernel/place/telling.ts",
    was: "return timerAtMs === firedAtMs || ",
    is: "return ",
  },
];
