// What reads the server's clock is tried by script.test.ts, since parity injects its instants.

import type { MutatedFile } from "./mutate.ts";

export const take: MutatedFile = {
  file: "take",
  cases: ["mixes"],
  edits: [
    ["now_ms == 0", "now_ms ~= 0"],
    ["min_expiry_ms = 86400000", "min_expiry_ms = 86400001"],
    ["sliding_window, fixed_window, token", "sliding_window, sliding_window, token"],
    ["local own = n", "local own = 1"],
    ["limit = tonumber(ARGV[at + 1])", "limit = tonumber(ARGV[at + 2])"],
    ["c = tonumber(ARGV[at + 5])", "c = tonumber(ARGV[at + 4])"],
    ["at = at + 5", "at = at + 4"],
    ["kind >= LOG", "kind > LOG"],
    ["own = own + 1", "own = own + 2"],
    ["flag ~= GIVE_BACK and not", "flag == GIVE_BACK and not"],
    ["flag ~= GIVE_BACK and not", "flag ~= CHARGE_ANYWAY and not"],
    ["refused_by_group[group] = true", "refused_by_group[k] = true"],
    ["[ENFORCED] and not", "[ENFORCED] or not"],
    ["cost > 0 and", "cost >= 0 and"],
    ["cost > 0 and", "cost > 1 and"],
    ["flag ~= LOOK", "flag == LOOK"],
    ["(admitted or flag", "(admitted and flag"],
    ["charged and (flag", "charged or (flag"],
    ["GIVE_BACK or values", "GIVE_BACK and values"],
    ["charged and flag == GIVE_BACK", "charged or flag == GIVE_BACK"],
    ["changed or check.state.dropped", "changed and check.state.dropped"],
    ["math.max(expiry_ms", "math.min(expiry_ms"],
    ["#records > 0", "#records > 1"],
    ["[ENFORCED] and 0 or 1", "[ENFORCED] and 0 or 0"],
    ["check.refused and 1", "check.refused and 0"],
    ["cost_of[k], now_ms, reply", "cost_of[l], now_ms, reply"],
  ],
};
