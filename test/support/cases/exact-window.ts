// The sliding window counter, computed from its definition in exact integers: the units in each bucket, and the part of
// each bucket that the window still covers. It shares no formula with src/kernel/core.

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";

const MAX_COUNT = 2n ** 31n;

export class ExactWindow {
  readonly units = new Map<bigint, bigint>();
  readonly limit: WindowLimit;

  constructor(limit: WindowLimit) {
    this.limit = limit;
  }

  charge(cost: number, nowMs: number): void {
    const bucket = BigInt(nowMs) / BigInt(this.limit.bucketMs);
    const sum = (this.units.get(bucket) ?? 0n) + BigInt(cost);
    this.units.set(bucket, sum > MAX_COUNT ? MAX_COUNT : sum);
  }

  /** Free units times bucketMs. Each bucket counts in proportion to the part that the window still covers. */
  free(nowMs: number): bigint {
    const bucketMs = BigInt(this.limit.bucketMs);
    const windowStart = BigInt(nowMs) - bucketMs * BigInt(this.limit.buckets);
    let free = BigInt(this.limit.limit) * bucketMs;
    for (const [bucket, units] of this.units) {
      const end = (bucket + 1n) * bucketMs;
      const covered = end <= windowStart ? 0n : end - windowStart < bucketMs ? end - windowStart : bucketMs;
      if (covered === 0n) this.units.delete(bucket);
      free -= units * (this.limit.kind === Kind.whole && covered > 0n ? bucketMs : covered);
    }
    return free;
  }

  admits(cost: number, nowMs: number): boolean {
    return BigInt(cost) * BigInt(this.limit.bucketMs) <= this.free(nowMs);
  }

  remaining(nowMs: number): number {
    const free = this.free(nowMs);
    return free <= 0n ? 0 : Number(free / BigInt(this.limit.bucketMs));
  }
}
