// A core decision together with its state: a store without I/O.

import type { LimitSpec, LimitValue } from "../../../src/core/algorithms.ts";
import type { Records } from "../../../src/core/records.ts";
import { Flag, type TakeReply, type TakeRequest, take } from "../../../src/core/take.ts";
import type { WindowRecord } from "../../../src/core/window.ts";
import { keyRequest } from "../../../src/testing/store-case.ts";

export { keyRequest };

export class Counter {
  readonly values: Map<string, Records>;
  /** By limit key. */
  readonly limitValues: Map<string, LimitValue>;

  constructor(
    values: Iterable<readonly [string, Records]> = [],
    limitValues: Iterable<readonly [string, LimitValue]> = [],
  ) {
    this.values = new Map(values);
    this.limitValues = new Map(limitValues);
  }

  take(request: TakeRequest, nowMs: number): TakeReply {
    const stored = {
      records: (key: string) => this.values.get(key),
      value: (key: string) => this.limitValues.get(key),
    };
    const { reply, records, values } = take(stored, request, nowMs);
    for (const written of records) this.values.set(written.key, written.records);
    for (const written of values) {
      if (written.kept) this.limitValues.set(written.key, written.kept.value as LimitValue);
      else this.limitValues.delete(written.key);
    }
    return reply;
  }

  /** Asks one enforced limit under one key. */
  takeOne(limit: LimitSpec, cost: number, nowMs: number, flag: Flag = Flag.take, slot = 0): TakeReply {
    return this.take({ keys: [keyRequest("key", [limit], { cost })], flag, slot }, nowMs);
  }

  copy(): Counter {
    return new Counter(this.values, this.limitValues);
  }

  /** The sum of all counts of a key's n-th limit, which must be a sliding window. */
  total(key: string, position = 0): number {
    const record = this.values.get(key)?.[position] as WindowRecord | undefined;
    return (record?.counts ?? []).reduce((sum, count) => sum + count, 0);
  }
}
