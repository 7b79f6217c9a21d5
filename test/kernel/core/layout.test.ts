// Every valid configuration fits into the layout of the arguments and records.

import { expect, it } from "vitest";
import { Flag, Kind, MAX_BUCKETS, MAX_LIMITS, MAX_UNITS, MAX_WINDOW_MS } from "../../../src/kernel/core/layout.ts";
import { recordIdOf } from "../../../src/kernel/core/records.ts";
import { encodeRequest } from "../../../src/kernel/store/redis.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const longest = { limit: MAX_UNITS, kind: Kind.whole, bucketMs: MAX_WINDOW_MS, buckets: MAX_BUCKETS } as const;

it("keeps ids and heads exact: the longest window, and the group of the last of 65,535 policies in shadow", () => {
  expect(recordIdOf(longest)).toBeLessThan(2 ** 43);
  const keys = [keyRequest("key", Array(MAX_LIMITS).fill(longest), { group: 65_535, cost: MAX_UNITS })].map((key) => {
    return { ...key, once: { id: "id", forMs: 60_000, repeats: 2 } };
  });
  const [, head] = encodeRequest({ keys, flag: Flag.look }, 0);
  expect(head).toBe(Number((((65_535n * 2n + 1n) * 2n ** 30n + BigInt(MAX_UNITS)) * 16n + 8n) * 4n + 3n));
  expect(head).toBeLessThan(2 ** 53);
});
