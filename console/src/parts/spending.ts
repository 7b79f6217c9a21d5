/** What is spent and will be spent, in words. An estimate is never told without the time that its rate is of. */

import type { Outlook, SpendingRate } from "../data/spending.ts";
import { duration } from "./numbers.ts";

/** Less than this part of a range is not called by its name: the gateway has just begun to count. */
const NEARLY_WHOLE = 0.9;

/** `last hour`, `last 24 h`; `last 20 min` if only so much of it is counted. */
export function rangeText(minutes: number, countedSeconds: number): string {
  const isWhole = countedSeconds >= minutes * 60 * NEARLY_WHOLE;
  if (isWhole && minutes === 60) return "last hour";
  return `last ${duration(isWhole ? minutes * 60_000 : countedSeconds * 1_000)}`;
}

/** Without its full stop: an instant may follow. */
export function outlookText(outlook: Outlook, { over }: SpendingRate): string {
  const of = typeof over === "string" ? `of the ${over}` : `since its window began, ${duration(over.sinceMs)} ago`;
  switch (outlook.is) {
    case "unspent":
      return `At the rate ${of}, which is 0, it will not be spent`;
    case "resets":
      return `At the rate ${of}, it resets before it is spent`;
    case "spent":
      return `At the rate ${of}, it will be spent in ${duration(outlook.afterMs)}`;
  }
}
