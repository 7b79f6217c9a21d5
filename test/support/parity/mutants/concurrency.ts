// Not here, because the edit changes nothing that can be seen: give_back `math.max(0` → another number. A slot that is
// released was counted. `if is_renewal` → `if not is_renewal` is tried by full.test.ts.

import type { MutatedFile } from "./mutate.ts";

export const concurrency: MutatedFile = {
  file: "concurrency",
  cases: ["concurrency", "mixes"],
  edits: [
    ["has_limit_key = true", "has_limit_key = false"],
    ["has_no_record = true", "has_no_record = false"],
    ["'(%.0f', now_ms)", "'%.0f', now_ms)"],
    ["type(in_flight) == 'number'", "type(in_flight) ~= 'number'"],
    ["in_flight = 0, is_rubbish", "in_flight = 1, is_rubbish"],
    ["is_rubbish = true", "is_rubbish = false"],
    ["<= limit.limit", "< limit.limit"],
    ["math.min(cost, 1)", "math.max(cost, 1)"],
    ["math.min(cost, 1)", "math.min(cost, 2)"],
    ["'-inf', string.format('%.0f', now_ms)", "'-inf', string.format('(%.0f', now_ms)"],
    ["now_ms + limit.a", "now_ms + limit.limit"],
    ["'%.0f', slot)\n    if", "'%.1f', slot)\n    if"],
    ["state.in_flight + redis.call('ZADD'", "state.in_flight - redis.call('ZADD'"],
    ["type(added) ~= 'number'", "type(added) == 'number'"],
    ["added == 1 and", "added == 0 and"],
    ["state.in_flight + 1 or", "state.in_flight + 2 or"],
    ["state.is_rubbish = false", "state.is_rubbish = true"],
    ["math.max(expiry_ms, limit.a)", "math.min(expiry_ms, limit.a)"],
    ["state.in_flight - redis.call('ZREM'", "state.in_flight + redis.call('ZREM'"],
    ["'%.0f', slot)))", "'%.0f', now_ms)))"],
  ],
};
