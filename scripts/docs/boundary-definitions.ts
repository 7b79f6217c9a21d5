/**
 * What each algorithm admits, by its definition in docs/algorithms.md: over the whole history of a client, in integers,
 * one unit a request. This file shares nothing with src and lua, so that it can check them.
 */

export const LIMIT = 50;
export const WINDOW_MS = 10_000;

/** Whether one more unit is admitted at `nowMs`, after the units that were admitted at these instants. */
export type Definition = (admittedAtMs: readonly number[], nowMs: number) => boolean;

/** At most `LIMIT` in each aligned window. */
export const fixedWindow: Definition = (admittedAtMs, nowMs) =>
  countIf(admittedAtMs, (atMs) => Math.floor(atMs / WINDOW_MS) === Math.floor(nowMs / WINDOW_MS)) + 1 <= LIMIT;

/** S*B + O*(B-e) + B <= L*B: the bucket before the newest ones counts by the part that the window still covers. */
export function weighted(buckets: number): Definition {
  const bucketMs = WINDOW_MS / buckets;
  return (admittedAtMs, nowMs) => {
    const { newer, oldest } = bucketCounts(admittedAtMs, nowMs, buckets);
    const elapsedMs = nowMs % bucketMs;
    return newer * bucketMs + oldest * (bucketMs - elapsedMs) + bucketMs <= LIMIT * bucketMs;
  };
}

/** S + O + 1 <= L: the bucket before the newest ones counts fully. */
export function whole(buckets: number): Definition {
  return (admittedAtMs, nowMs) => {
    const { newer, oldest } = bucketCounts(admittedAtMs, nowMs, buckets);
    return newer + oldest + 1 <= LIMIT;
  };
}

/** At most `LIMIT` in any window. A unit counts while now - at < window. */
export const slidingLog: Definition = (admittedAtMs, nowMs) =>
  countIf(admittedAtMs, (atMs) => nowMs - atMs < WINDOW_MS) + 1 <= LIMIT;

/** A bucket of `LIMIT` tokens that fills by `LIMIT` tokens per window. `level` is in units of 1/WINDOW_MS token. */
export const tokenBucket: Definition = (admittedAtMs, nowMs) => {
  let level = LIMIT * WINDOW_MS;
  let atMs = admittedAtMs[0] ?? nowMs;
  const refill = (untilMs: number) => {
    level = Math.min(LIMIT * WINDOW_MS, level + (untilMs - atMs) * LIMIT);
    atMs = untilMs;
  };
  for (const takenAtMs of admittedAtMs) {
    refill(takenAtMs);
    level -= WINDOW_MS;
  }
  refill(nowMs);
  return level >= WINDOW_MS;
};

/** The instants of the admitted requests. @param atMs in order of time. */
export function replay(definition: Definition, atMs: readonly number[]): number[] {
  const admittedAtMs: number[] = [];
  for (const nowMs of atMs) if (definition(admittedAtMs, nowMs)) admittedAtMs.push(nowMs);
  return admittedAtMs;
}

/** `newer`: the units in the newest `buckets` buckets. `oldest`: the units in the bucket before them. */
function bucketCounts(admittedAtMs: readonly number[], nowMs: number, buckets: number) {
  const bucketMs = WINDOW_MS / buckets;
  const age = (atMs: number) => Math.floor(nowMs / bucketMs) - Math.floor(atMs / bucketMs);
  return {
    newer: countIf(admittedAtMs, (atMs) => age(atMs) < buckets),
    oldest: countIf(admittedAtMs, (atMs) => age(atMs) === buckets),
  };
}

function countIf(values: readonly number[], holds: (value: number) => boolean): number {
  return values.filter(holds).length;
}
