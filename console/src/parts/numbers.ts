/** Numbers for people: with their unit, and never more precise than they are. */

import type { MeterUnit } from "../api.ts";

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const ONE = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/** For what is unknown or does not apply. */
export const NONE = "–";

export function count(n: number): string {
  return n < 1e7 ? WHOLE.format(n) : COMPACT.format(n);
}

/** A number of a limit, in the unit of its policy's meter: `$12.50`, `9,000 tokens`. */
export function amount(n: number, unit: MeterUnit | undefined): string {
  if (unit === "usd") {
    const minimumFractionDigits = Number.isInteger(n) ? 0 : 2;
    return `$${n.toLocaleString("en-US", { minimumFractionDigits, maximumFractionDigits: 5 })}`;
  }
  return unit === "tokens" ? plural(n, "token") : count(n);
}

/** A sum of many requests, no more precise than is read: `$184.48`, `$0.37`, `$0.00137`. */
export function amountOfMany(n: number, unit: MeterUnit | undefined): string {
  if (unit !== "usd" || n < 0.1) return amount(n, unit);
  return `$${n.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A number and its unit: slow traffic is told per minute. */
export function rate(perSecond: number): readonly [number: string, unit: string] {
  if (perSecond === 0) return ["0", "/s"];
  if (perSecond >= 10) return [count(perSecond), "/s"];
  if (perSecond >= 1) return [ONE.format(perSecond), "/s"];
  const perMinute = perSecond * 60;
  if (perMinute >= 0.95) return [perMinute >= 10 ? count(perMinute) : ONE.format(perMinute), "/min"];
  return [ONE.format(perSecond * 3_600), "/h"];
}

/** A share of few is told without decimals. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return NONE;
  if (part === 0) return "0 %";
  if (part === whole) return "100 %";
  const value = (part / whole) * 100;
  if (value < 0.1) return "< 0.1 %";
  return `${whole >= 500 ? ONE.format(value) : WHOLE.format(Math.max(1, value))} %`;
}

export function milliseconds(seconds: number): string {
  if (seconds >= 1) return `${ONE.format(seconds)} s`;
  return seconds < 0.01 ? `${ONE.format(seconds * 1_000)} ms` : `${WHOLE.format(seconds * 1_000)} ms`;
}

/** Two bounds of the histogram in one unit: `10 / 250 ms`. */
export function atMost(first: number, second: number): string {
  const text = (seconds: number) => (seconds === Number.POSITIVE_INFINITY ? "> 1,000" : count(seconds * 1_000));
  return `${text(first)} / ${text(second)}`;
}

/** `41 s`, `3 min`, `2 h 5 min`: rounded up, as waits are. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 100 && seconds !== 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 100 && minutes !== 60) return `${minutes} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours < 48) return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
  return `${Math.ceil(hours / 24)} d`;
}

/** A hash, short enough to be compared by eye. The whole one is one copy away. */
export function shortHash(hash: string): string {
  return hash.length > 10 ? `${hash.slice(0, 4)}…${hash.slice(-3)}` : hash;
}
