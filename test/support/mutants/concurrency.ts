// Not here, because it changes nothing that can be seen: give_back `math.max(0` → another number, since a slot that is
// released was counted; `if is_renewal` → `if not is_renewal`, which full.test.ts tries.

import type { MutatedFile } from "./mutate.ts";

export const concurrency: MutatedFile = {
  file: "concurrency",
  cases: ["concurrency", "mixes"],
  edits: [
    ["'(%.0f', now_ms), '+inf'", "'%.0f', now_ms), '+inf'"],
    ["in_flight or 0, is_rubbish", "in_flight or 1, is_rubbish"],
    ["is_rubbish = not in_flight", "is_rubbish = in_flight"],
    ["<= limit.limit", "< limit.limit"],
    ["math.min(cost, 1)", "math.max(cost, 1)"],
    ["math.min(cost, 1)", "math.min(cost, 2)"],
    ["'-inf', string.format('%.0f', now_ms)", "'-inf', string.format('(%.0f', now_ms)"],
    ["now_ms + limit.a", "now_ms + limit.limit"],
    ["'%.0f', slot)\n    local added", "'%.1f', slot)\n    local added"],
    ["state.in_flight + add(", "state.in_flight - add("],
    ["added == 1 and", "added == 0 and"],
    ["state.in_flight + 1 or", "state.in_flight + 2 or"],
    ["is_rubbish = false", "is_rubbish = true"],
    ["math.max(expiry_ms, limit.a)", "math.min(expiry_ms, limit.a)"],
    ["state.in_flight - redis.call('ZREM'", "state.in_flight + redis.call('ZREM'"],
    ["'%.0f', slot)))", "'%.0f', now_ms)))"],
  ],
};
