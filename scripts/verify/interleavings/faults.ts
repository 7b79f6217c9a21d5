/**
 * Faults that are planted one at a time, to test the explorer: of the kind that attacks on this program have found. Each
 * must be found within the bounds of its mode.
 */

import type { Fault } from "./replace.ts";

interface Planted extends Fault {
  /** A mode of QUICK or FULL. */
  readonly mode: string;
}

export const FAULTS: readonly Planted[] = [
  {
    name: "a late reply is not heard",
    mode: "strict, faults",
    file: "isolate/flows/settle.ts",
    was: "await giveBack(place, chargedInVain(asked, reply, isKept), reply, slot);",
    is: "",
  },
  {
    name: "what a late reply shows as charged is given back although the request was admitted",
    mode: "fallback, faults",
    file: "isolate/flows/settle.ts",
    was: "const isKept = (group: number) => decision.allowed &&",
    is: "const isKept = (group: number) => !decision.allowed &&",
  },
  {
    name: "a reset lets replies of earlier calls live",
    mode: "strict, reset",
    file: "isolate/calls.ts",
    was: "  record.reset = reset;\n",
    is: "",
  },
  {
    name: "a reset forgets the leased units",
    mode: "leased, reset",
    file: "isolate/calls.ts",
    was: "  record.leases = undefined;\n",
    is: "",
  },
  {
    name: "a reset forgets what may refuse",
    mode: "strict, reset",
    file: "isolate/calls.ts",
    was: "  record.mayRefuse = false;\n  record.leases",
    is: "  record.leases",
  },
  {
    name: "a reset forgets the debts",
    mode: "fallback, reset",
    file: "isolate/calls.ts",
    was: "    record.own = undefined;\n",
    is: "    memory.owing.add(key);\n",
  },
  {
    name: "a refusal is trusted too long",
    mode: "strict, reset",
    file: "isolate/refusals.ts",
    was: "if (!known || localAtMs - known.receivedAtMs >= trustedMs) return undefined;",
    is: "if (!known) return undefined;",
  },
  {
    name: "the end of a bucket is missed: leased units are spent after it",
    mode: "leased, plain",
    file: "isolate/leases.ts",
    was: "for (const { units, endsAtMs } of all) if (endsAtMs > latestMs) sum += units;",
    is: "for (const { units } of all) sum += units;",
  },
  {
    name: "a refusal holds beyond the end of its bucket",
    mode: "strict, faults",
    file: "isolate/refusals.ts",
    was: "const latest = at(latestMs);",
    is: "const latest = at(earliestMs);",
  },
  {
    name: "a debt is repaid twice",
    mode: "fallback, faults",
    file: "isolate/flows/repay.ts",
    was: "  endRepayment(memory, number);\n}",
    is: "  undoRepayment(memory, number, nowMs);\n}",
  },
  {
    name: "a failed repayment of unknown outcome is charged again",
    mode: "fallback, two faults",
    file: "isolate/flows/repay.ts",
    was: "if (!notRun && !(await timeout?.answer)) return;",
    is: "if (!notRun && !(await timeout?.answer)) return undoRepayment(memory, number, nowMs);",
  },
  {
    name: "reserved units are put back although they were spent",
    mode: "leased, plain",
    file: "isolate/leased-takes.ts",
    was: "const back = allowed && !isLate ? [] : ended.reserved;",
    is: "const back = ended.reserved;",
  },
  {
    name: "leased units are returned and kept",
    mode: "leased, plain",
    file: "isolate/leased-returns.ts",
    was: "  lease.units = kept;\n",
    is: "",
  },
  {
    name: "the units of a late lease are booked with those that the request needed",
    mode: "leased, faults",
    file: "isolate/leased-takes.ts",
    was: "book(memory, found, keys[k]!, nowMs, { charged: allowed ? ahead : 0, leased: ahead, back: [] });",
    is: "book(memory, found, keys[k]!, nowMs, { charged: allowed ? ahead : 0, leased: ahead + 1, back: [] });",
  },
  {
    name: "units are returned to no one: a background ends before the units are due",
    mode: "leased, plain",
    file: "isolate/flows/return-units.ts",
    was: "await Promise.all(unused.map((one) => returnToStore(place, name, one)));",
    is: "",
  },
  {
    name: "a waiting request is never uncounted",
    mode: "leased, plain",
    file: "isolate/flows/leased.ts",
    was: "if (isCalling && mayWaitMs <= 0) break;",
    is: "",
  },
];
