import type { MutatedFile } from "./mutate.ts";

export const chain: MutatedFile = {
  file: "chain",
  cases: ["chains"],
  edits: [
    ["if entries[k].repeated", "if not entries[k].repeated"],
    ["repeated_by_group[entries[k].group] = true", "repeated_by_group[entries[k].group] = false"],
    ["/ CHAIN_LINKS", "* CHAIN_LINKS"],
    ["group >= CHAINED and not", "group > CHAINED and not"],
    ["CHAINED and not refused", "CHAINED or not refused"],
    ["and not refused_by_group[group] then", "and refused_by_group[group] then"],
    ["other == nil", "other ~= nil"],
    ["is_repeat == repeated_by_group", "is_repeat ~= repeated_by_group"],
    ["group < other", "group > other"],
    ["is_before = is_repeat", "is_before = other"],
    ["if is_before then", "if not is_before then"],
    ["payers[chain] = group end", "payers[chain] = chain end"],
    ["if group >= CHAINED then", "if group > CHAINED then"],
    ["if group >= CHAINED then", "if group >= LINKED then"],
    ["payer == nil", "payer ~= nil"],
    ["refused_by_group[ENFORCED] = true", "refused_by_group[ENFORCED] = false"],
    ["payer ~= group", "payer == group"],
    ["refused_by_group[group] = true end", "refused_by_group[group] = false end"],
  ],
};
