// Not here, because they change nothing that can be seen. `elapsed_ms > 0` → `>= 0` pays back nothing in 0 ms.
// reset_after_ms `== 0` → `== 1` or `< 0`: a debt of 0 is paid back after 0 ms, and a key's expiry is at least 1 ms.

import type { MutatedFile } from "./mutate.ts";

export const tokenBucket: MutatedFile = {
  file: "token_bucket",
  cases: ["token-bucket", "leaky-bucket"],
  edits: [
    ["has_burst = true", "has_burst = false"],
    ["now_ms - record[AT_MS]", "now_ms + record[AT_MS]"],
    ["elapsed_ms > 0", "elapsed_ms > 1"],
    ["elapsed_ms > 0", "elapsed_ms ~= 0"],
    ["math.max(0, record[DEBT] - elapsed_ms", "math.min(0, record[DEBT] - elapsed_ms"],
    ["math.max(0, record[DEBT] - elapsed_ms", "math.max(1, record[DEBT] - elapsed_ms"],
    ["elapsed_ms * limit.limit)", "elapsed_ms * limit.a)"],
    ["elapsed_ms * limit.limit)", "elapsed_ms + limit.limit)"],
    ["return cost <= burst", "return cost < burst"],
    ["burst and record", "burst or record"],
    ["cost * window_ms <= burst", "cost * window_ms < burst"],
    ["<= burst * window_ms + max", "<= burst * window_ms - max"],
    ["max_delay_ms * limit.limit", "max_delay_ms * limit.a"],
    ["limit.b, limit.c", "limit.b, limit.b"],
    ["math.min(MAX_EXACT", "math.max(MAX_EXACT"],
    ["math.min(MAX_EXACT", "math.min(MAX_COUNT"],
    ["record[DEBT] + cost * limit.a)", "record[DEBT] + cost * limit.limit)"],
    ["math.max(0, record[DEBT] - cost", "math.max(1, record[DEBT] - cost"],
    ["record[DEBT] - cost * limit.a)", "record[DEBT] - cost * limit.b)"],
    ["math.ceil(record[DEBT]", "math.floor(record[DEBT]"],
    ["record[AT_MS] - now_ms", "record[AT_MS] + now_ms"],
    ["return record[AT_MS] + window_ms", "return record[AT_MS] - window_ms"],
  ],
};
