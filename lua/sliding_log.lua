-- The sliding log: one entry for each request, with its instant and its cost. An entry counts while now - at < window.
-- Mirror: src/kernel/core/sliding-log.ts
--@kinds KIND_LOG
--
-- a: window_ms
-- Record: { id, used, newest_at_ms }: used is the sum of the costs in the log, in units.
-- Limit key, a list: msgpack at_ms, cost for each entry, oldest first. Without its record it counts for nothing.

local function sliding_log()
  local USED, NEWEST_AT_MS = 2, 3
  -- The number of entries in the first read. Whenever all of them have expired, the next read takes twice as many: an
  -- expired entry is read about once.
  local FIRST_CHUNK = 16
  local log = { has_limit_key = true }

  -- state.is_rubbish: the value under the limit key counts for nothing, and the next change replaces it. A value of
  -- another type is rubbish too.
  local function range(state, first, last)
    local entries = redis.pcall('LRANGE', state.key, first, last)
    if not entries.err then return entries end
    raise_unless_wrong_type(entries, 'LRANGE', state.key, first, last)
    state.is_rubbish = true
    return {}
  end

  local function unpack_entry(entry)
    local readable, at_ms, cost = pcall(cmsgpack.unpack, entry)
    if readable and is_whole(at_ms) and is_whole(cost) then return at_ms, cost end
    return 0, 0
  end

  -- Counts the expired entries, but leaves them in the list: drop() is a write, and a write that grows must come first.
  -- state.expired is their number; nil if there are none. They are the oldest entries.
  local function find_expired(state, now_ms)
    local record, window_ms = state.record, state.window_ms
    local expired, chunk = 0, FIRST_CHUNK
    while true do
      local entries = range(state, expired, expired + chunk - 1)
      for i = 1, #entries do
        local at_ms, cost = unpack_entry(entries[i])
        if now_ms - at_ms < window_ms then
          state.oldest_at_ms = at_ms
          state.oldest_cost = cost
          break
        end
        expired = expired + 1
        record[USED] = math.max(0, record[USED] - cost)
      end
      if expired > 0 then state.expired = expired end
      if state.oldest_at_ms then return end
      if #entries < chunk then
        record[USED] = 0
        return
      end
      chunk = chunk * 2
    end
  end

  function log.drop(state)
    if state.expired then redis.call('LTRIM', state.key, state.expired, -1) end
    state.expired = nil
  end

  function log.read(record, limit, now_ms, key, is_new)
    local state = { record = record, window_ms = limit.a, key = key, is_rubbish = is_new }
    if not is_new then find_expired(state, now_ms) end
    return state
  end

  function log.admits(state, limit, cost)
    return state.record[USED] + cost <= limit.limit
  end

  -- If the clock has stepped back, the entry gets the newest instant, so that the list stays in order.
  function log.charge(state, _, cost, now_ms, _, expiry_ms)
    local record = state.record
    local at_ms = math.max(now_ms, record[NEWEST_AT_MS])
    local entry = cmsgpack.pack(at_ms, cost)
    local length = redis.pcall('RPUSH', state.key, entry)
    if type(length) ~= 'number' then
      raise_unless_wrong_type(length, 'RPUSH', state.key, entry)
      redis.call('DEL', state.key)
      length = redis.call('RPUSH', state.key, entry)
    end
    if state.is_rubbish and length > 1 then state.expired = length - 1 end
    log.drop(state)
    redis.call('PEXPIRE', state.key, math.max(expiry_ms, at_ms + state.window_ms - now_ms))
    record[USED] = math.min(MAX_COUNT, record[USED] + cost)
    record[NEWEST_AT_MS] = at_ms
    if not state.oldest_at_ms then
      state.oldest_at_ms = at_ms
      state.oldest_cost = cost
    end
  end

  -- Takes back from the entries of at_ms, newest first. An entry that is left has a cost of at least 1.
  function log.give_back(state, limit, cost, now_ms)
    if state.is_rubbish then redis.call('DEL', state.key) end
    log.drop(state)
    local entries = range(state, 0, -1)
    local newest_at_ms = 0
    for i = #entries, 1, -1 do
      local entry_at_ms, entry_cost = unpack_entry(entries[i])
      local back = entry_at_ms == limit.at_ms and math.min(cost, entry_cost) or 0
      if back > 0 and back == entry_cost then
        redis.call('LREM', state.key, -1, entries[i])
      else
        if back > 0 then redis.call('LSET', state.key, i - 1, cmsgpack.pack(entry_at_ms, entry_cost - back)) end
        newest_at_ms = math.max(newest_at_ms, entry_at_ms)
      end
      state.record[USED] = math.max(0, state.record[USED] - back)
      cost = cost - back
    end
    state.record[NEWEST_AT_MS] = newest_at_ms
    state.oldest_at_ms = nil
    find_expired(state, now_ms)
    log.drop(state)
  end

  function log.reset_after_ms(state, _, now_ms)
    if state.record[USED] == 0 then return 0 end
    return state.record[NEWEST_AT_MS] + state.window_ms - now_ms
  end

  function log.record_ends_at_ms(record, window_ms)
    return record[NEWEST_AT_MS] + window_ms
  end

  -- The instants at which first_units and second_units will have expired, read from the oldest entry on with one
  -- command. Units that a damaged list lacks expire when the log is empty.
  local function leave_at_ms(state, first_units, second_units)
    local window_ms = state.window_ms
    local needed = math.max(first_units, second_units)
    if needed <= 0 then return 0, 0 end
    if needed <= state.oldest_cost then
      local at_ms = state.oldest_at_ms + window_ms
      return first_units > 0 and at_ms or 0, second_units > 0 and at_ms or 0
    end
    local last_at_ms = state.record[NEWEST_AT_MS] + window_ms
    local first_at_ms = first_units > 0 and last_at_ms or 0
    local second_at_ms = second_units > 0 and last_at_ms or 0
    local left = 0
    -- Each entry costs 1 or more, so these entries are enough.
    local entries = range(state, 0, needed - 1)
    for i = 1, #entries do
      local at_ms, cost = unpack_entry(entries[i])
      if left < first_units and left + cost >= first_units then first_at_ms = at_ms + window_ms end
      if left < second_units and left + cost >= second_units then second_at_ms = at_ms + window_ms end
      left = left + cost
    end
    return first_at_ms, second_at_ms
  end

  -- used, and three instants: the refused cost is admitted, more is left than now, the log is empty. 0 means now.
  function log.view(state, limit, cost, now_ms, reply, refused)
    local used = state.record[USED]
    local wait_for = refused and cost <= limit.limit and used + cost - limit.limit or 0
    local grow_by = used > 0 and math.max(0, used - limit.limit) + 1 or 0
    local retry_at_ms, grows_at_ms = leave_at_ms(state, wait_for, grow_by)
    reply[#reply + 1] = used
    reply[#reply + 1] = retry_at_ms
    reply[#reply + 1] = grows_at_ms
    reply[#reply + 1] = used > 0 and state.record[NEWEST_AT_MS] + state.window_ms or 0
  end

  return log
end
