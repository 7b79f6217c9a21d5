// A core decision with its state: what a store is, without one.

import type { LimitOwn, LimitSpec } from "../../../src/core/algorithms.ts";
import type { Records } from "../../../src/core/records.ts";
import type { WindowRecord } from "../../../src/core/sliding-window.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply, type TakeRequest, take } from "../../../src/core/take.ts";

export class Counter {
  readonly values: Map<string, Records>;
  /** By own key. */
  readonly own: Map<string, LimitOwn>;

  constructor(values: Iterable<readonly [string, Records]> = [], own: Iterable<readonly [string, LimitOwn]> = []) {
    this.values = new Map(values);
    this.own = new Map(own);
  }

  take(request: TakeRequest, nowMs: number): TakeReply {
    const stored = { records: (key: string) => this.values.get(key), own: (key: string) => this.own.get(key) };
    const { reply, records, own } = take(stored, request, nowMs);
    for (const written of records) this.values.set(written.key, written.records);
    for (const written of own) {
      if (written.own) this.own.set(written.key, written.own.value);
      else this.own.delete(written.key);
    }
    return reply;
  }

  /** One enforced limit under one key. */
  takeOne(limit: LimitSpec, cost: number, nowMs: number, flag: Flag = Flag.take, slot = 0): TakeReply {
    return this.take({ keys: [keyRequest("key", [limit], { cost })], flag, slot }, nowMs);
  }

  copy(): Counter {
    return new Counter(this.values, this.own);
  }

  /** All counts of a key's n-th limit, a sliding window, together. */
  total(key: string, position = 0): number {
    const record = this.values.get(key)?.[position] as WindowRecord | undefined;
    return (record?.counts ?? []).reduce((sum, count) => sum + count, 0);
  }
}

export function keyRequest(
  key: string,
  limits: readonly LimitSpec[],
  { group = ENFORCED, cost = 1 }: { readonly group?: number; readonly cost?: number } = {},
): KeyRequest {
  return { key, group, cost, limits };
}
