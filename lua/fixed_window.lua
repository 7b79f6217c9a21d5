-- The fixed window counter: aligned windows with one count each.
-- Mirror: src/core/fixed-window.ts
--@kinds KIND_FIXED_WINDOW
--
-- a: window_ms
-- Record: { id, newest, count }: newest is floor(ms / window_ms) of the newest window written, count in units.

local function fixed_window()
  local NEWEST, COUNT = 2, 3
  local window = {}

  -- If the clock has stepped back, the newer window stays. A window number that no clock reaches is damage.
  function window.read(record, limit, now_ms)
    local window_ms = limit.a
    local current = math.floor(now_ms / window_ms)
    if record[NEWEST] < current or record[NEWEST] > MAX_EXACT / window_ms then
      record[NEWEST] = current
      record[COUNT] = 0
    end
    return record
  end

  function window.admits(record, limit, cost)
    return record[COUNT] + cost <= limit.limit
  end

  function window.charge(record, _, cost)
    record[COUNT] = math.min(MAX_COUNT, record[COUNT] + cost)
  end

  function window.give_back(record, limit, cost)
    if record[NEWEST] ~= math.floor(limit.at_ms / limit.a) then return end
    record[COUNT] = math.max(0, record[COUNT] - cost)
  end

  function window.reset_after_ms(record, limit, now_ms)
    if record[COUNT] == 0 then return 0 end
    return (record[NEWEST] + 1) * limit.a - now_ms
  end

  function window.record_ends_at_ms(record, window_ms)
    return (record[NEWEST] + 1) * window_ms
  end

  function window.view(record, _, _, _, reply)
    reply[#reply + 1] = record[NEWEST]
    reply[#reply + 1] = record[COUNT]
  end

  return window
end
