/** What a policy with a meter spends, and when a limit will be spent at that rate. Pure: the clock is an argument. */

import { parseDurationMs } from "../../../src/kernel/core/duration.ts";
import { type CalendarWindow, periodAt } from "../../../src/kernel/core/periods.ts";
import { toWritten } from "../../../src/kernel/core/units.ts";
import type { Limit, PolicyAnswer, StatsAnswer } from "../api.ts";
import { type Span, total, within } from "./sums.ts";

/** Dollars or tokens that a policy has paid for in a span. Requests that still run are not in it. */
export function spentIn(stats: StatsAnswer, span: Span, { name, meter }: PolicyAnswer): number {
  const units = total(within(stats.settled, span).filter(({ policy }) => policy === name));
  return toWritten(units, meter?.unit);
}

/** How fast dollars or tokens are spent. */
export interface SpendingRate {
  readonly perMs: number;
  /** Which time it was measured over: in words, or since so long ago, when the window began. */
  readonly over: string | { readonly sinceMs: number };
}

/** Of what a client has spent or reserved, since its window began. */
export function rateSince(startsAtMs: number, nowMs: number, used: number): SpendingRate {
  const sinceMs = Math.max(1_000, nowMs - startsAtMs);
  return { perMs: used / sinceMs, over: { sinceMs } };
}

const SUNDAY = 7;
/** Every period of a calendar is longer: so long before its end an instant lies in it, whatever the clocks say. */
const BEFORE_END_MS = 3_600_000;

/** When the window with this end began. Undefined: the limit has no windows that follow each other. */
export function windowStartMs(limit: Limit, endsAtMs: number): number | undefined {
  const { algorithm, window = "", zone = "UTC", weekStart, monthDay = 1 } = limit;
  if (algorithm === "fixed-window") return endsAtMs - parseDurationMs(window)!;
  if (algorithm !== "calendar") return undefined;
  const firstDay = weekStart === "sunday" ? SUNDAY : monthDay;
  return periodAt({ window: window as CalendarWindow, zone, firstDay }, endsAtMs - BEFORE_END_MS).startsAtMs;
}

export type Outlook =
  /** Nothing is spent at this rate. */
  | { readonly is: "unspent" }
  /** The window ends before its limit is spent. */
  | { readonly is: "resets" }
  | { readonly is: "spent"; readonly afterMs: number };

/** @param left more than 0. @param resetAfterMs the time until the window ends. */
export function outlookOf(left: number, resetAfterMs: number, { perMs }: SpendingRate): Outlook {
  if (perMs <= 0) return { is: "unspent" };
  const afterMs = left / perMs;
  return afterMs < resetAfterMs ? { is: "spent", afterMs } : { is: "resets" };
}
