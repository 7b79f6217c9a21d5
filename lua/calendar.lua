-- The calendar counter: one count for each day, week, month or year of a time zone.
-- Mirror: src/kernel/core/calendar.ts; what it shares with a fixed window is in window.ts
--@kinds KIND_CALENDAR
--
-- a: a number for window, zone and first day
-- starts_at_ms, turns_at_ms, ends_at_ms: bounds of two periods that follow each other, ms since the epoch. The script
-- has no time zones. Thus the caller computes the period that it believes this clock to be in, and the next one.
-- at_ms: the last instant of the period to give back to, or to charge anyway. If that period has ended, nothing
-- changes. 0 with flag 1: the present period
-- Record: { id, ends_at_ms, count }: ends_at_ms is the end of the newest period written, count in units.

local function calendar()
  local ENDS_AT_MS, COUNT = 2, 3
  local period = { has_bounds = true }

  -- nil: the clock is in neither period. If the clock has stepped back, the newer period stays. An end that no clock
  -- reaches is damage.
  function period.read(record, limit, now_ms)
    if now_ms < limit.starts_at_ms or now_ms >= limit.ends_at_ms then return nil end
    if record[ENDS_AT_MS] <= now_ms or record[ENDS_AT_MS] > MAX_INSTANT_MS then
      record[ENDS_AT_MS] = now_ms < limit.turns_at_ms and limit.turns_at_ms or limit.ends_at_ms
      record[COUNT] = 0
    end
    return record
  end

  function period.admits(record, limit, cost)
    return record[COUNT] + cost <= limit.limit
  end

  function period.charge(record, limit, cost)
    local at_ms = limit.at_ms or 0
    if at_ms > 0 and record[ENDS_AT_MS] ~= at_ms + 1 then return end
    record[COUNT] = math.min(MAX_COUNT, record[COUNT] + cost)
  end

  function period.give_back(record, limit, cost)
    if record[ENDS_AT_MS] ~= limit.at_ms + 1 then return end
    record[COUNT] = math.max(0, record[COUNT] - cost)
  end

  function period.reset_after_ms(record, _, now_ms)
    if record[COUNT] == 0 then return 0 end
    return record[ENDS_AT_MS] - now_ms
  end

  function period.record_ends_at_ms(record)
    return record[ENDS_AT_MS]
  end

  function period.view(record, _, _, _, reply)
    reply[#reply + 1] = record[ENDS_AT_MS]
    reply[#reply + 1] = record[COUNT]
  end

  return period
end
