// A core decision together with its state: a store without I/O.

import type { LimitSpec, LimitValue } from "../../../src/kernel/core/algorithms.ts";
import type { Records } from "../../../src/kernel/core/records.ts";
import { Flag, type TakeReply, type TakeRequest, take } from "../../../src/kernel/core/take.ts";
import type { WindowRecord } from "../../../src/kernel/core/window.ts";
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
    const { reply, written } = take((key) => this.values.get(key) ?? this.limitValues.get(key), request, nowMs);
    for (const { key, kind, value } of written) {
      if (kind === undefined) this.values.set(key, value as Records);
      else if (value) this.limitValues.set(key, value as LimitValue);
      else this.limitValues.delete(key);
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
