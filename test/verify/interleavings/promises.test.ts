// The oracle of the explorer: what may be admitted in any span of time, whatever the store counts.

import { expect, it } from "vitest";
import type { ModeAlgorithm } from "../../../scripts/verify/interleavings/modes.ts";
import { promisedBy } from "../../../scripts/verify/interleavings/promises.ts";

/** Units at instants, in ms, under a limit of 2 units per second. */
function broken(algorithm: ModeAlgorithm, ...admissions: readonly [atMs: number, units: number][]): string | undefined {
  const buckets = [{ admitted: 0, loose: 0, most: 2 }];
  return promisedBy(algorithm).broken(
    buckets,
    admissions.map(([atMs, units]) => ({ atMs, units })),
  );
}

it("a whole sliding window admits no more than the limit in any window", () => {
  expect(broken({ buckets: 1, oldest: "whole" }, [900, 2], [1_900, 2])).toBeUndefined();
  expect(broken({ buckets: 2, oldest: "whole" }, [900, 2], [1_899, 1])).toBe(
    "3 units were admitted within 1000 ms, and 2 are the most",
  );
});

it("a weighted sliding window admits less than twice the limit in any window", () => {
  expect(broken({ buckets: 1, oldest: "weighted" }, [900, 2], [1_000, 1])).toBeUndefined();
  expect(broken({ buckets: 1, oldest: "weighted" }, [900, 2], [1_899, 2])).toMatch(/^4 units were .* 3 are the most$/);
});

it("a weighted sliding window of two buckets admits no more than the limit within one bucket's length", () => {
  expect(broken({ buckets: 2, oldest: "weighted" }, [900, 2], [1_400, 1])).toBeUndefined();
  expect(broken({ buckets: 2, oldest: "weighted" }, [900, 2], [1_399, 1])).toMatch(/^3 units were admitted within 500/);
});

it("a fixed window admits the limit, and what a reset may have let be spent twice", () => {
  const { broken: isBroken } = promisedBy("fixed-window");
  expect(isBroken([{ admitted: 3, loose: 1, most: 2 }], [])).toBeUndefined();
  expect(isBroken([{ admitted: 4, loose: 1, most: 2 }], [])).toBe(
    "4 units were admitted in one window, and 3 are the most",
  );
});
