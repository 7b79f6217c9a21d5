// Not here, because it changes nothing that can be seen: find_record `return record, true` for any algorithm but the
// log.

import type { MutatedFile } from "./mutate.ts";

export const records: MutatedFile = {
  file: "records",
  cases: ["sliding-window", "mixes"],
  edits: [
    ["RECORD_INTEGERS + math.floor", "4 + math.floor"],
    ["value >= 0", "value > 0"],
    ["value <= MAX_EXACT and", "value < MAX_EXACT and"],
    ["value <= MAX_EXACT and value % 1", "value <= MAX_EXACT or value % 1"],
    ["value % 1 == 0", "value % 2 == 0"],
    ["sound = sound and", "sound = sound or"],
    ["if sound and not", "if sound or not"],
    ["found[at] == nil", "found[at] ~= nil"],
    ["found[at - 1] ~= nil", "found[at - 1] == nil"],
    ["nil and found", "nil or found"],
    ["records[id] = nil", "records[id] = record"],
    ["return record, false", "return record, true"],
    ["record, true", "record, false"],
    ["for i = 2, length_of", "for i = 3, length_of"],
    ["record[i] = 0", "record[i] = 1"],
    ["#records + MAX_CARRIED", "#records - MAX_CARRIED"],
    ["others[id] and #records", "others[id] or #records"],
    ["#records < last", "#records > last"],
    ["left_ms > 0", "left_ms < 0"],
    ["left_ms <= MAX_CARRIED_MS", "left_ms > MAX_CARRIED_MS"],
    ["math.max(expiry_ms, left_ms)", "math.min(expiry_ms, left_ms)"],
  ],
};
