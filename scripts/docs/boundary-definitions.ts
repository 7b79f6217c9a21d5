/**
 * What each algorithm admits, by its definition (docs/algorithms.md): over the whole history of a client, in integers,
 * one unit a request. It shares nothing with src and lua: it can say whether they are right.
 */

export const LIMIT = 50;
export const WINDOW_MS = 10_000;

/** Whether one more unit is admitted at `nowMs`, after those that were admitted at these instants. */
export type Definition = (admittedAtMs: readonly number[], nowMs: number) => boolean;

/** `LIMIT` per aligned window. */
export const fixedWindow: Definition = (admittedAtMs, nowMs) =>
  countIf(admittedAtMs, (atMs) => Math.floor(atMs / WINDOW_MS) === Math.floor(nowMs / WINDOW_MS)) + 1 <= LIMIT;

/** S*B + O*(B-e) + B <= L*B: the bucket before the window counts by the part that the window still covers. */
export function weighted(buckets: number): Definition {
  const bucketMs = WINDOW_MS / buckets;
  return (admittedAtMs, nowMs) => {
    const { newer, oldest } = bucketCounts(admittedAtMs, nowMs, buckets);
    const elapsedMs = nowMs % bucketMs;
    return newer * bucketMs + oldest * (bucketMs - elapsedMs) + bucketMs <= LIMIT * bucketMs;
  };
}

/** S + O + 1 <= L: the bucket before the window counts in full. */
export function whole(buckets: number): Definition {
  return (admittedAtMs, nowMs) => {
    const { newer, oldest } = bucketCounts(admittedAtMs, nowMs, buckets);
    return newer + oldest + 1 <= LIMIT;
  };
}

/** `LIMIT` in any window: a unit counts while now - at < window. */
export const slidingLog: Definition = (admittedAtMs, nowMs) =>
  countIf(admittedAtMs, (atMs) => nowMs - atMs < WINDOW_MS) + 1 <= LIMIT;

/** A bucket of `LIMIT` tokens, of which `LIMIT` come back per window. Its level in units of 1/WINDOW_MS token. */
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

/** How many of these requests are admitted. @param atMs in the order of time. */
export function replay(definition: Definition, atMs: readonly number[]): number[] {
  const admittedAtMs: number[] = [];
  for (const nowMs of atMs) if (definition(admittedAtMs, nowMs)) admittedAtMs.push(nowMs);
  return admittedAtMs;
}

/** `newer`: units in the `buckets` newest buckets. `oldest`: in the one before them. */
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
