// Not here, because they change nothing that can be seen: find_record `records, position` → another position, since that is
// only where the search begins; `~= length` → `>`, since a count that is missing is no whole number either.

import type { MutatedFile } from "./mutate.ts";

export const records: MutatedFile = {
  file: "records",
  cases: ["sliding-window", "mixes"],
  edits: [
    ["readable and type", "readable or type"],
    ["value >= 0", "value > 0"],
    ["value <= max and", "value < max and"],
    ["value <= max and value % 1", "value <= max or value % 1"],
    ["value % 1 == 0", "value % 2 == 0"],
    ["~= length", "< length"],
    ["~= kind or record[2]", "~= kind and record[2]"],
    ["~= a or record[3]", "~= a and record[3]"],
    ["record[4], max_fourth", "record[4], MAX_EXACT"],
    ["for i = 5, length do", "for i = 6, length do"],
    ["then return records[position]", "then return records[1]"],
    ["for i = 1, #records do", "for i = 2, #records do"],
    ["MAX_COUNT = 2147483648", "MAX_COUNT = 2147483647"],
  ],
};
