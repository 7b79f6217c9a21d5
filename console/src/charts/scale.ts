/** Where axes have their lines. Pure. */

import { clock, day } from "../parts/time.tsx";

/** From zero to at least `most`, at 1, 2 or 5 times a power of ten: at most five lines. */
export function ticksTo(most: number): number[] {
  if (!(most > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => most / one <= 4)!;
  const length = Math.ceil(most / step) + 1;
  return Array.from({ length }, (_, i) => i * step);
}

/** In one unit for the whole axis: slow traffic per minute, and slower per hour. */
export function unitOf(most: number): readonly [factor: number, unit: string] {
  if (most >= 1) return [1, "/s"];
  return most * 60 >= 1 ? [60, "/min"] : [3_600, "/h"];
}

const MINUTE_MS = 60_000;
const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 7_200, 14_400];

/** Instants at which the reader's clock shows round times. @param fitting how many labels there is space for. */
export function instantsIn(
  fromMs: number,
  toMs: number,
  fitting: number,
): { readonly atMs: number; readonly text: string }[] {
  const stepMs = (STEPS_MIN.find((one) => (toMs - fromMs) / (one * MINUTE_MS) <= fitting) ?? 14_400) * MINUTE_MS;
  // Round by the reader's clock, and not by UTC.
  const shiftMs = new Date(fromMs).getTimezoneOffset() * MINUTE_MS;
  const first = Math.ceil((fromMs - shiftMs) / stepMs) * stepMs + shiftMs;
  const length = Math.max(0, Math.floor((toMs - first) / stepMs) + 1);
  return Array.from({ length }, (_, i) => {
    const atMs = first + i * stepMs;
    const isMidnight = clock(atMs) === "00:00";
    return { atMs, text: isMidnight ? day(atMs) : clock(atMs) };
  });
}
