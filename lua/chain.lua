-- Chains: of each chain one link pays. take.lua includes this file only where a key is a link.
-- Mirror: src/core/chain.ts

-- Adds to the refused groups each link but the payer of its chain, and ENFORCED if a chain has no payer. The payer is
-- the first link that does not refuse; a link under which the request is a repeat comes before the others.
local function choose_payers(entries, refused_by_group)
  local repeated_by_group, payers = {}, {}
  for k = 1, #entries do
    if entries[k].repeated then repeated_by_group[entries[k].group] = true end
  end
  local function chain_of(group) return math.floor((group - CHAINED) / CHAIN_LINKS) end
  for k = 1, #entries do
    local group = entries[k].group
    if group >= CHAINED and not refused_by_group[group] then
      local chain, is_repeat = chain_of(group), repeated_by_group[group]
      local other = payers[chain]
      local is_before
      if other == nil then
        is_before = true
      elseif is_repeat == repeated_by_group[other] then
        is_before = group < other
      else
        is_before = is_repeat
      end
      if is_before then payers[chain] = group end
    end
  end
  for k = 1, #entries do
    local group = entries[k].group
    if group >= CHAINED then
      local payer = payers[chain_of(group)]
      if payer == nil then refused_by_group[ENFORCED] = true end
      if payer ~= group then refused_by_group[group] = true end
    end
  end
end
