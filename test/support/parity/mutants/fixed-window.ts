import type { MutatedFile } from "./mutate.ts";

export const fixedWindow: MutatedFile = {
  file: "fixed_window",
  cases: ["fixed-window"],
  edits: [
    ["current = math.floor(now_ms", "current = math.ceil(now_ms"],
    ["MAX_EXACT / window_ms", "MAX_EXACT * window_ms"],
    ["current or record", "current and record"],
    ["record[NEWEST] < current", "record[NEWEST] <= current"],
    ["record[NEWEST] < current", "record[NEWEST] ~= current"],
    ["= current\n", "= now_ms\n"],
    ["record[COUNT] = 0", "record[COUNT] = 1"],
    ["+ cost <= limit.limit", "+ cost < limit.limit"],
    ["record[COUNT] + cost <=", "record[COUNT] - cost <="],
    ["math.min(MAX_COUNT", "math.max(MAX_COUNT"],
    ["math.min(MAX_COUNT", "math.min(MAX_EXACT"],
    ["record[COUNT] + cost)", "record[COUNT] - cost)"],
    ["math.floor(limit.at_ms", "math.ceil(limit.at_ms"],
    ["record[NEWEST] ~= math", "record[NEWEST] < math"],
    ["record[NEWEST] ~= math", "record[NEWEST] > math"],
    ["math.max(0, record", "math.min(0, record"],
    ["record[COUNT] == 0 then", "record[COUNT] == 1 then"],
    ["(record[NEWEST] + 1) * limit.a", "(record[NEWEST] + 2) * limit.a"],
    ["(record[NEWEST] + 1) * window_ms", "(record[NEWEST] + 2) * window_ms"],
  ],
};
