/** Instants in the reader's zone, with UTC on hover. */

import { now } from "../api.ts";
import { duration } from "./numbers.ts";

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const EXACT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function clock(ms: number): string {
  return CLOCK.format(ms);
}

export function day(ms: number): string {
  return DAY.format(ms);
}

/** With the day, unless it is today. */
export function instant(ms: number, isExact = false): string {
  const time = (isExact ? EXACT : CLOCK).format(ms);
  return new Date(ms).toDateString() === new Date(now()).toDateString() ? time : `${DAY.format(ms)} ${time}`;
}

export function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function Time({ ms, exact = false }: { ms: number; exact?: boolean }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={utc(ms)}>
      {instant(ms, exact)}
    </time>
  );
}

const A_DAY_MS = 86_400_000;

/** Follows a long wait: nobody counts the hours of a month. @param afterMs the wait, which ends at the instant. */
export function OnDay({ ms, afterMs }: { ms: number; afterMs: number }) {
  if (afterMs < A_DAY_MS) return null;
  return (
    <>
      , on <Time ms={ms} />
    </>
  );
}

/** `12 s ago` or `in 3 h`. */
export function relative(ms: number): string {
  const ahead = ms - now();
  return ahead > 0 ? `in ${duration(ahead)}` : `${duration(-ahead)} ago`;
}
