/** When and where the requests of a setting arrive. */

import { mulberry32 } from "../../test/support/mulberry32.ts";
import { MOST_REQUESTS, type Setting } from "./setting.ts";

export interface Arrival {
  /** After the beginning, which is a boundary of windows, ms. The burst before it is at a negative instant. */
  readonly afterMs: number;
  /** The position of the location. */
  readonly location: number;
}

/** At most `MOST_REQUESTS`, in order. */
export function arrivalsOf(setting: Setting): Arrival[] {
  const { shape, demand, windows, windowS, locations, seed } = setting;
  const windowMs = windowS * 1_000;
  const random = mulberry32(seed);
  const count = Math.min(MOST_REQUESTS, demand * windows);
  const evenly = (n: number, fromMs: number, spanMs: number) =>
    Array.from({ length: n }, (_, i) => fromMs + Math.floor((i * spanMs) / n));
  const instants = {
    // What a counter of two buckets admits most of: its limit at the end of a window, then as much as comes.
    boundary: () => [
      ...Array<number>(Math.min(count, setting.limit)).fill(-1),
      ...evenly(count, 0, windows * windowMs),
    ],
    steady: () => evenly(count, 0, windows * windowMs),
    random: () => Array.from({ length: count }, () => Math.floor(random() * windows * windowMs)),
    bursts: () =>
      Array.from({ length: windows }, (_, w) => Array<number>(demand).fill(w * windowMs + windowMs / 2)).flat(),
    drawn: () => drawnInstants(setting, windowMs),
  }[shape]();
  const sorted = instants.slice(0, MOST_REQUESTS).sort((a, b) => a - b);
  return sorted.map((afterMs, i) => ({ afterMs, location: i % locations.length }));
}

/** Each window as it was drawn: each tenth of it has its part of the demand. */
function drawnInstants({ drawn, demand, windows }: Setting, windowMs: number): number[] {
  const heights = [...drawn].map(Number);
  const sum = heights.reduce((all, height) => all + height, 0);
  if (sum === 0) return [];
  const tenthMs = windowMs / heights.length;
  return Array.from({ length: windows }, (_, w) =>
    heights.flatMap((height, tenth) => {
      const n = Math.round((demand * height) / sum);
      return Array.from({ length: n }, (_, i) => Math.floor(w * windowMs + (tenth + i / n) * tenthMs));
    }),
  ).flat();
}
