// What an isolate answers by itself under strict: only refusals, and only those that the store would give at the same
// instant.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { draws, expectReached } from "../support/cases/draws.ts";
import { run, traffics } from "./adversary.ts";

const limits = (spanMs: number): fc.Arbitrary<LimitSpec> => {
  const limit = fc.integer({ min: 1, max: 200 });
  return fc.oneof(
    fc.record({
      kind: fc.constantFrom(Kind.weighted, Kind.whole),
      limit,
      bucketMs: fc.constant(spanMs),
      buckets: fc.constantFrom(1, 2, 10),
    }),
    fc.record({ kind: fc.constant(Kind.fixedWindow), limit, windowMs: fc.constant(spanMs) }),
    fc.record({
      kind: fc.constant(Kind.bucket),
      limit,
      windowMs: fc.constant(spanMs),
      burst: limit,
      maxDelayMs: fc.constant(0),
    }),
  );
};

it("the store would have admitted none of the requests that were refused without a call", async () => {
  let refused = 0;
  const traffic = traffics("strict", fc.constantFrom(50, 200, 1_000, 3_000), limits, { mayLose: true, isPlain: false });
  await fc.assert(
    fc.asyncProperty(traffic, async (one) => {
      await run(one, async ({ central }, keys, { reply, source }) => {
        if (source !== "cache") return;
        refused++;
        expect(reply.allowed).toBe(false);
        expect((await central.take({ keys, flag: Flag.look })).allowed).toBe(false);
      });
    }),
    draws(60),
  );
  expectReached(refused, 200);
});
