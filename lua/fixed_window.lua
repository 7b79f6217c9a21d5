-- The fixed window counter: aligned windows, each with a count of its own.
-- Mirror: src/core/fixed-window.ts
--
-- a: window_ms · b: 0
-- Record: { 3, window_ms, 0, newest, count }: newest is floor(ms / window_ms) of the newest window written, count in units.

local FIXED = 3

local function fixed_window()
  local WINDOW_MS, NEWEST, COUNT = 2, 4, 5
  local window = {}

  -- A clock that stepped back leaves the newer window where it is.
  function window.read(records, position, limit, now_ms)
    local window_ms = limit.a
    local current = math.floor(now_ms / window_ms)
    local record = find_record(records, position, FIXED, window_ms, 0, 5, MAX_EXACT / window_ms)
    if not record or record[NEWEST] < current then record = { FIXED, window_ms, 0, current, 0 } end
    return record
  end

  function window.admits(record, limit, cost)
    return record[COUNT] + cost <= limit.limit
  end

  function window.charge(record, _, cost)
    record[COUNT] = math.min(MAX_COUNT, record[COUNT] + cost)
  end

  function window.give_back(record, _, cost, at_ms)
    if record[NEWEST] ~= math.floor(at_ms / record[WINDOW_MS]) then return end
    record[COUNT] = math.max(0, record[COUNT] - cost)
  end

  function window.record(record)
    return record
  end

  function window.reset_after_ms(record, _, now_ms)
    if record[COUNT] == 0 then return 0 end
    return (record[NEWEST] + 1) * record[WINDOW_MS] - now_ms
  end

  function window.view(record, _, _, _, reply)
    reply[#reply + 1] = record[NEWEST]
    reply[#reply + 1] = record[COUNT]
  end

  return window
end
