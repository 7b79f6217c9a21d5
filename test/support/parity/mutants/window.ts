// Not here, because it changes nothing that can be seen: roll `passed <= 0` → `< 0`. Rolling by 0 buckets copies every
// count to its own place.

import type { MutatedFile } from "./mutate.ts";

export const window: MutatedFile = {
  file: "window",
  cases: ["sliding-window", "fixed-window"],
  edits: [
    ["passed = buckets + 1", "passed = buckets + 0"],
    ["MAX_EXACT / bucket_ms", "MAX_EXACT * bucket_ms"],
    ["bucket = math.floor(now_ms", "bucket = math.ceil(now_ms"],
    ["passed <= 0", "passed == 0"],
    ["passed <= 0", "passed <= 1"],
    ["for age = buckets, 0, -1", "for age = buckets, 1, -1"],
    ["age >= passed and", "age > passed and"],
    ["age - passed] or 0", "age - passed] or 1"],
    ["for age = 0, buckets - 1 do room", "for age = 0, buckets - 2 do room"],
    ["for age = 0, buckets - 1 do room", "for age = 1, buckets - 1 do room"],
    ["~= KIND_WEIGHTED", "== KIND_WEIGHTED"],
    ["return oldest <= room end", "return oldest < room end"],
    ["math.max(0, now_ms", "math.min(0, now_ms"],
    ["math.max(0, now_ms", "math.max(1, now_ms"],
    ["elapsed_ms) <= room * bucket_ms", "elapsed_ms) < room * bucket_ms"],
    ["(bucket_ms - elapsed_ms)", "(bucket_ms + elapsed_ms)"],
    ["math.min(MAX_COUNT", "math.max(MAX_COUNT"],
    ["math.min(MAX_COUNT", "math.min(2147483647"],
    ["math.floor(limit.at_ms", "math.ceil(limit.at_ms"],
    ["if age < 0", "if age <= 0"],
    ["age < 0 or", "age < 0 and"],
    ["age > limit.buckets", "age >= limit.buckets"],
    ["math.max(0, record", "math.min(0, record"],
    ["math.max(0, record", "math.max(1, record"],
    ["+ age] > 0 then", "+ age] >= 0 then"],
    ["+ age] > 0 then", "+ age] > 1 then"],
    ["+ buckets + 1 - age", "+ buckets + 2 - age"],
    ["+ buckets + 1) *", "+ buckets + 2) *"],
    ["for i = NEWEST, #record", "for i = FIRST_COUNT, #record"],
  ],
};
