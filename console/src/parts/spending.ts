/** What is spent and will be spent, in words. An estimate is never told without the time that its rate is of. */

import type { Outlook, SpendingRate } from "../data/spending.ts";
import { duration } from "./numbers.ts";

/** Less than this part of a range is not called by its name: the gateway has just begun to count. */
const NEARLY_WHOLE = 0.9;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** `last hour`, `last 24 h`; `last 20 min` if only so much of it is counted. */
export function rangeText(minutes: number, countedSeconds: number): string {
  const isWhole = countedSeconds >= minutes * 60 * NEARLY_WHOLE;
  if (isWhole && minutes === 60) return "last hour";
  return `last ${duration(isWhole ? minutes * MINUTE_MS : countedSeconds * 1_000)}`;
}

/** No more precise than an estimate is: `about 11 h`. */
function about(ms: number): string {
  const stepMs = ms >= 2 * HOUR_MS ? HOUR_MS : ms >= 2 * MINUTE_MS ? MINUTE_MS : 1_000;
  return duration(Math.max(1, Math.round(ms / stepMs)) * stepMs);
}

/** Without its full stop: an instant may follow. */
export function outlookText(outlook: Outlook, { over }: SpendingRate): string {
  const of = typeof over === "string" ? `of the ${over}` : `since its window began, ${duration(over.sinceMs)} ago`;
  switch (outlook.is) {
    case "unspent":
      return `At the rate ${of}, which is 0, the rest will not be spent`;
    case "resets":
      return `At the rate ${of}, it resets before the rest is spent`;
    case "spent":
      return `At the rate ${of}, the rest will be spent in about ${about(outlook.afterMs)}`;
  }
}
