// Not here, because they change nothing that can be seen: edits that make this file give up more often. The rest of the
// script then makes the same decision. Damaged numbers are tried by rubbish.test.ts.

import type { MutatedFile } from "./mutate.ts";

export const oneBucket: MutatedFile = {
  file: "one_bucket",
  cases: ["one bucket"],
  edits: [
    ["cost < 1 or", "cost < 0 or"],
    ["cost % 1 ~= 0", "cost % 1 == 0"],
    ["cost > MAX_UNITS", "cost > MAX_EXACT"],
    ["local debt = 0", "local debt = 1"],
    ["if value then", "if not value then"],
    ["found ~= id", "found == id"],
    ["at_ms > now_ms", "at_ms < now_ms"],
    ["more ~= nil", "more == nil"],
    ["math.max(0, stored", "math.min(0, stored"],
    ["math.max(0, stored", "math.max(1, stored"],
    ["(now_ms - at_ms)", "(now_ms + at_ms)"],
    ["at_ms) * limit", "at_ms) * burst"],
    ["debt + cost * window_ms", "debt - cost * window_ms"],
    ["cost > burst or", "cost >= burst or"],
    ["burst or charged", "burst and charged"],
    ["charged > burst", "charged >= burst"],
    ["burst * window_ms + args[6]", "burst * window_ms - args[6]"],
    ["now_ms, -id,", "now_ms, id,"],
    ["-id, now_ms, debt }", "-id, now_ms, charged }"],
    ["now_ms, charged }", "now_ms, debt }"],
    ["pack(id, now_ms, charged)", "pack(id, now_ms, cost)"],
    ["math.ceil", "math.floor"],
    ["/ limit)\n", "/ burst)\n"],
  ],
};
