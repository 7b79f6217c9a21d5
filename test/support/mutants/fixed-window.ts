import type { MutatedFile } from "./mutate.ts";

export const fixedWindow: MutatedFile = {
  file: "fixed_window",
  cases: ["fixed-window"],
  edits: [
    ["current = math.floor(now_ms", "current = math.ceil(now_ms"],
    ["0, 5, MAX_EXACT", "0, 4, MAX_EXACT"],
    ["MAX_EXACT / window_ms", "MAX_EXACT * window_ms"],
    ["not record or record", "not record and record"],
    ["record[NEWEST] < current", "record[NEWEST] <= current"],
    ["record[NEWEST] < current", "record[NEWEST] ~= current"],
    ["0, current, 0 }", "0, current, 1 }"],
    ["+ cost <= limit.limit", "+ cost < limit.limit"],
    ["record[COUNT] + cost <=", "record[COUNT] - cost <="],
    ["math.min(MAX_COUNT", "math.max(MAX_COUNT"],
    ["math.min(MAX_COUNT", "math.min(MAX_EXACT"],
    ["record[COUNT] + cost)", "record[COUNT] - cost)"],
    ["math.floor(at_ms", "math.ceil(at_ms"],
    ["record[NEWEST] ~= math", "record[NEWEST] < math"],
    ["record[NEWEST] ~= math", "record[NEWEST] > math"],
    ["math.max(0, record", "math.min(0, record"],
    ["record[COUNT] == 0 then", "record[COUNT] == 1 then"],
    ["(record[NEWEST] + 1)", "(record[NEWEST] + 2)"],
  ],
};
