-- The decision about windows, with as little work as possible. All limits are sliding, fixed or calendar windows, all
-- are enforced, all flags are 0 or all are 3, and every key holds nothing, or its records in the order of ARGV. For any
-- other decision the function returns nil before anything is written, and take.lua goes on. It may give up at any of
-- its checks.
-- Mirror: src/kernel/core/window.ts and calendar.ts, like the Lua files of these names
--
-- A fixed window is treated as a whole window of 0 buckets: only the newest bucket counts. A period of a calendar is
-- treated as a fixed window that has the period's end as its number.
--
-- Each key has one list, from one unpack: { cost, records … }. The cost is negative if the charge moves the expiry. The
-- list is packed again as it is. The list of a single key becomes the reply, with now_ms in its first place.
-- A script spends its time on tables, closures, calls, and texts that become numbers: `args[i] + 0` takes half of
-- tonumber's time.

-- values: the value of each key. For a single key it is args, with the value in the place of now_ms.
local function windows_only(args, values, n, now_ms, min_expiry_ms)
  -- Brings the records of a key to now, charges them, and marks refusing limits with a negative id. The charge comes
  -- first, because most requests are admitted; if another limit refuses, the charge is taken back. Returns nil, or
  -- fails on a value that is not a number, if the decision is not for this function. It has no upvalues: they would be
  -- made anew for every decision.
  local function check_windows(value, args, a, limits, cost, now_ms)
    local records = value and { cost, cmsgpack.unpack(value) } or { cost }
    local at, refused = 2, false
    for _ = 1, limits do
      local id = args[a + 1] + 0
      local low = id % ID_A
      local kind = low % ID_KINDS
      local bucket_ms, newest_at, first_at = (id - low) / ID_A, at + 1, at + 2
      local oldest_at = first_at + (low - kind) / ID_KINDS
      if not value then
        records[at] = id
        for i = newest_at, oldest_at do records[i] = 0 end
      end
      if records[at] ~= id then return nil end

      local room = args[a] - cost
      local elapsed_ms, bucket
      if kind <= KIND_FIXED_WINDOW then
        elapsed_ms = now_ms % bucket_ms
        bucket = (now_ms - elapsed_ms) / bucket_ms
        a = a + 2
      elseif kind == KIND_CALENDAR and now_ms >= args[a + 2] + 0 then
        bucket = args[a + 3] + 0
        if now_ms >= bucket then bucket = args[a + 4] + 0 end
        if now_ms >= bucket then return nil end
        a = a + 5
      else
        return nil
      end
      -- Compare and do not compute: arithmetic would turn text into a number.
      if records[newest_at] ~= bucket then
        -- Check all counts before any of them leaves: a record that is damaged anywhere starts anew.
        for i = newest_at, oldest_at do
          local number = records[i]
          if number < 0 or number > MAX_EXACT or number % 1 ~= 0 then return nil end
        end
        local passed = bucket - records[newest_at]
        -- A record that is ahead: its number is above that of now, or it names a later end of a period.
        if passed < 0 or records[newest_at] > now_ms then return nil end
        records[newest_at] = bucket
        for i = oldest_at, first_at, -1 do records[i] = i - passed > newest_at and records[i - passed] or 0 end
      end

      for i = first_at, oldest_at do
        local count = records[i]
        if count < 0 or count % 1 ~= 0 then return nil end
        room = room - count
      end
      -- With a limit of at most MAX_UNITS, no count exceeds MAX_COUNT if the counts leave this much room.
      if room < MAX_UNITS - MAX_COUNT then return nil end
      local oldest, covered_ms = records[oldest_at], bucket_ms
      if kind == KIND_WEIGHTED then covered_ms = bucket_ms - elapsed_ms end
      if oldest * covered_ms > (room + oldest) * bucket_ms then
        records[at] = -id
        refused = true
      end

      -- A charge moves the expiry only if it is the first one in its bucket.
      local newest = records[first_at]
      if newest == 0 then records[1] = -cost end
      records[first_at] = newest + cost
      at = oldest_at + 1
    end
    if #records >= at then return nil end
    return records, refused, a
  end

  -- The list of a key replaces its value. With several keys it goes behind the values: a table of lists would cost
  -- more. A look takes back what it charged, as a refusal does.
  local call, lists = redis.call, n > 1 and n or 0
  local head = args[2] + 0
  local flag = head % HEAD_FLAGS
  if flag ~= FLAG_TAKE and flag ~= FLAG_LOOK then return nil end
  local takes_back, from = flag == FLAG_LOOK, 2
  for k = 1, n do
    if k > 1 then head = args[from] + 0 end
    local low = head % HEAD_COST
    if low % HEAD_FLAGS ~= flag then return nil end
    local cost, limits = (head - low) / HEAD_COST, (low - flag) / HEAD_FLAGS
    local sound, records, refused, to = pcall(check_windows, values[k], args, from + 1, limits, cost, now_ms)
    -- Under a policy in shadow the group is part of this number too, which makes it larger than every cost.
    if not (sound and records) or cost > MAX_UNITS then return nil end
    if refused then takes_back = true end
    values[lists + k] = records
    from = to
  end

  for k = 1, n do
    local records = values[lists + k]
    local cost = records[1]
    if cost ~= 0 and not takes_back then
      local value = cmsgpack.pack(unpack(records, 2))
      -- With an injected clock (take.lua) every charge moves the expiry.
      if cost < 0 or min_expiry_ms > 1 then
        local expires_at_ms, at = 0, 2
        while records[at] do
          local low = records[at] % ID_A
          local buckets = (low - low % ID_KINDS) / ID_KINDS
          local ends_at_ms = records[at + 1]
          if low ~= KIND_CALENDAR then ends_at_ms = (ends_at_ms + buckets + 1) * (records[at] - low) / ID_A end
          if ends_at_ms > expires_at_ms then expires_at_ms = ends_at_ms end
          at = at + RECORD_INTEGERS + buckets
        end
        call('SET', KEYS[k], value, 'PX', math.max(expires_at_ms - now_ms, min_expiry_ms))
      else
        call('SET', KEYS[k], value, 'KEEPTTL')
      end
    elseif cost ~= 0 then
      local at = 2
      while records[at] do
        local low = math.abs(records[at]) % ID_A
        records[at + 2] = records[at + 2] - math.abs(cost)
        at = at + RECORD_INTEGERS + (low - low % ID_KINDS) / ID_KINDS
      end
    end
  end
  if n == 1 then
    values[1][1] = now_ms
    return values[1]
  end
  local reply = { now_ms }
  for k = 1, n do
    local records = values[lists + k]
    for i = 2, #records do reply[#reply + 1] = records[i] end
  end
  return reply
end
