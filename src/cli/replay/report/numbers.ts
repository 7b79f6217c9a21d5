/** Numbers for people: with their unit, and never rounded to nothing or to everything. */

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 5 });

/** For a share of nothing. */
export const NONE = "–";

export function count(n: number): string {
  return WHOLE.format(n);
}

/** The number of a limit, as it is written in the configuration: dollars have decimals. */
export function limitNumber(n: number): string {
  return NUMBER.format(n);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Three digits: `12.3 %`, `1.23 %`, `0.012 %`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return NONE;
  if (part <= 0) return "0 %";
  if (part >= whole) return "100 %";
  const value = (part / whole) * 100;
  if (value < 0.001) return "< 0.001 %";
  if (value > 99.9) return "> 99.9 %";
  const decimals = value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  return `${value.toFixed(decimals)} %`;
}

/** A share that somebody has written, such as 0.001, as they would write it: `0.1 %`. */
export function share(value: number): string {
  return `${Number((value * 100).toPrecision(6))} %`;
}

/** `2026-11-21 10:00:00`, in UTC. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

export function bytes(n: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const step = n < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(n) / 10));
  return `${step === 0 ? count(n) : (n / 1024 ** step).toFixed(1)} ${units[step]}`;
}

/** `41 s`, `3 min`, `2 h 5 min`: rounded up. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 100 && seconds !== 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 100 && minutes !== 60) return `${minutes} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours < 48) return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
  return `${Math.ceil(hours / 24)} d`;
}
