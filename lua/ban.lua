-- A ban: whoever is refused too often is refused for some time. Its units are refusals.
-- Mirror: src/kernel/core/ban.ts, which says how refusals become entries
--@kinds KIND_BAN
--
-- limit: so many refusals begin a ban
-- a, buckets: the form of the record, which is always the same
-- b: within_ms
-- c: how many steps follow
-- steps: how long the first ban lasts, the second, and so on, in ms; each further one lasts as long as the last
-- Record: { id, ends_at_ms, bans, at_ms, refusals, … }: the end of the last ban, how many there were, and 8 entries.
-- Those that are not used are zero, and stand behind the others.

local function ban()
  local ENDS_AT_MS, BANS, FIRST, LAST, PARTS = 2, 3, 4, 18, 8
  local bans = { has_burst = true, has_steps = true }

  local function longest_ms(limit)
    local longest = 0
    for s = 1, #limit.steps do longest = math.max(longest, limit.steps[s]) end
    return longest
  end

  -- A ban that lasts longer than any can is damage, and so is an entry of the future.
  function bans.read(record, limit, now_ms)
    local ends_at_ms = record[ENDS_AT_MS]
    if ends_at_ms + longest_ms(limit) <= now_ms or ends_at_ms - now_ms > MAX_WINDOW_MS then
      record[ENDS_AT_MS], record[BANS] = 0, 0
    end
    local to = FIRST
    for at = FIRST, LAST, 2 do
      local at_ms, refusals = record[at], record[at + 1]
      record[at], record[at + 1] = 0, 0
      if refusals > 0 and at_ms > now_ms - limit.b and at_ms <= now_ms + limit.b then
        record[to], record[to + 1] = at_ms, math.min(MAX_COUNT, refusals)
        to = to + 2
      end
    end
    return record
  end

  function bans.admits(record, _, _, now_ms)
    return record[ENDS_AT_MS] <= now_ms
  end

  -- The place of the last entry, before FIRST if there is none, and the refusals of all.
  local function sum_up(record)
    local last, sum = FIRST - 2, 0
    for at = FIRST, LAST, 2 do
      if record[at + 1] > 0 then
        last = at
        sum = sum + record[at + 1]
      end
    end
    return last, sum
  end

  -- What was refused before a ban began neither counts nor prolongs it.
  function bans.charge(record, limit, refusals, now_ms)
    if record[ENDS_AT_MS] > now_ms then return end
    local last, sum = sum_up(record)
    if sum + refusals < limit.limit then
      if last < FIRST or last < LAST and (now_ms - record[last]) * PARTS >= limit.b then
        last = last + 2
        record[last] = now_ms
      end
      record[last + 1] = record[last + 1] + refusals
      return
    end
    for at = FIRST, LAST + 1 do record[at] = 0 end
    record[BANS] = math.min(record[BANS] + 1, #limit.steps)
    record[ENDS_AT_MS] = now_ms + limit.steps[record[BANS]]
  end

  function bans.give_back() end

  function bans.reset_after_ms(record, limit, now_ms)
    local last_ms = 0
    if record[ENDS_AT_MS] > 0 then last_ms = record[ENDS_AT_MS] + longest_ms(limit) end
    for at = FIRST, LAST, 2 do
      if record[at + 1] > 0 then last_ms = math.max(last_ms, record[at] + limit.b) end
    end
    return math.max(0, last_ms - now_ms)
  end

  function bans.record_ends_at_ms(record)
    return record[ENDS_AT_MS]
  end

  -- All refusals count as long as the last entry.
  function bans.view(record, _, _, _, reply)
    local last, sum = sum_up(record)
    reply[#reply + 1] = record[ENDS_AT_MS]
    reply[#reply + 1] = record[BANS]
    reply[#reply + 1] = sum > 0 and record[last] or 0
    reply[#reply + 1] = sum
  end

  return bans
end
