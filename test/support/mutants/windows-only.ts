// Not here, because they change nothing that can be seen: whatever makes the file give up more often, since the rest of the
// script then decides the same; the bound of a count, since the rest decides the same above it. Damage that leaves with its bucket
// is tried by rubbish.test.ts, and what needs the server's clock (KEEPTTL) by expiry.test.ts.

import type { MutatedFile } from "./mutate.ts";

export const windowsOnly: MutatedFile = {
  file: "windows_only",
  cases: ["sliding-window", "fixed-window", "mixes"],
  edits: [
    ["kind > 3", "kind > 4"],
    ["(id - low) / 512", "(id + low) / 512"],
    ["at + 2 + (low", "at + 1 + (low"],
    ["records[at] ~= id then", "records[at] == id then"],
    ["passed ~= 0", "passed > 0"],
    ["passed < 0 then", "passed > 0 then"],
    ["records[newest_at] = bucket", "records[newest_at] = passed"],
    ["oldest_at, at + 2, -1", "oldest_at, at + 3, -1"],
    ["i - passed > newest_at", "i - passed >= newest_at"],
    ["passed] or 0", "passed] or 1"],
    ["args[a] - cost", "args[a] + cost"],
    ["for i = at + 2, oldest_at do", "for i = at + 3, oldest_at do"],
    ["count < 0 or count", "count < 0 and count"],
    ["room = room - count", "room = room + count"],
    ["kind == 1 then", "kind ~= 1 then"],
    ["bucket_ms - elapsed_ms end", "bucket_ms + elapsed_ms end"],
    ["covered_ms > (room", "covered_ms >= (room"],
    ["(room + oldest)", "(room - oldest)"],
    ["records[at] = -id", "records[at] = id"],
    ["refused = true", "refused = false"],
    ["bucket + oldest_at - newest_at", "bucket + oldest_at - at"],
    ["ends_at_ms > expires_at_ms", "ends_at_ms < expires_at_ms"],
    ["if records[at] then return nil", "if not records[at] then return nil"],
    ["from + 1 + 2 *", "from + 1 + 3 *"],
    ["(sound and records)", "(sound or records)"],
    ["records) or args", "records) and args"],
    ["flag == '3'", "flag == '1'"],
    ["and flag == '0' then", "and flag ~= '0' then"],
    ["allowed = 0 end", "allowed = 1 end"],
    ["== 1 and cost", "== 1 or cost"],
    ["cost > 0 and", "cost >= 0 and"],
    ["records[at + 2] + cost", "records[at + 2] - cost"],
    ["at + 3 + (low", "at + 2 + (low"],
    ["unpack(records, 3)", "unpack(records, 4)"],
    ["math.max(math.abs", "math.min(math.abs"],
    ["= now_ms, allowed", "= now_ms, n"],
    ["for i = 3, #checked", "for i = 4, #checked"],
  ],
};
