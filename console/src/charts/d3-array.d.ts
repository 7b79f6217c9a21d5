/** What the charts use of d3-array. It comes without types. */

declare module "d3-array" {
  /** Running totals, in the order of the values. */
  export function cumsum(values: Iterable<number>): Float64Array;
  /** The interval, extended to round numbers. */
  export function nice(start: number, stop: number, count: number): [start: number, stop: number];
  /** About `count` round numbers within the interval. */
  export function ticks(start: number, stop: number, count: number): number[];
}
