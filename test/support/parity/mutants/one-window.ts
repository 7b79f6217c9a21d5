// Not here, because they change nothing that can be seen: edits that make this file give up more often. The rest of the
// script then makes the same decision. Tried by other tests: what needs the server's clock (KEEPTTL) by expiry.test.ts,
// damaged counts by rubbish.test.ts, and that a look writes nothing by commands.test.ts.

import type { MutatedFile } from "./mutate.ts";

export const oneWindow: MutatedFile = {
  file: "one_window",
  cases: ["one window"],
  edits: [
    ["found ~= id or", "found == id or"],
    ["newest ~= (now", "newest == (now"],
    ["/ bucket_ms or more", "/ bucket_ms and more"],
    ["more ~= nil then", "more == nil then"],
    ["% ID_A ~= ID", "% ID_A == ID"],
    ["cost % 1 ~= 0", "cost % 1 == 0"],
    ["args[3] - cost", "args[3] + cost"],
    ["cost - count\n", "cost + count\n"],
    ["before * (bucket_ms", "before + (bucket_ms"],
    ["bucket_ms - elapsed_ms) >", "bucket_ms + elapsed_ms) >"],
    ["elapsed_ms) > room", "elapsed_ms) >= room"],
    ["now_ms, -id,", "now_ms, id,"],
    ["count = count + cost", "count = count - cost"],
    ["return { now_ms, id, newest", "return { elapsed_ms, id, newest"],
    ["pack(id, newest, count", "pack(id, newest, cost"],
    ["min_expiry_ms > 1", "min_expiry_ms < 1"],
    ["newest + 2", "newest + 3"],
    ["bucket_ms - now_ms or", "bucket_ms + now_ms or"],
    ["(id - (ID", "(id + (ID"],
  ],
};
