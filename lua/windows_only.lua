-- The decision that nearly every request asks for, without anything that costs: all limits are sliding or fixed windows, all are
-- enforced, the flag is 0 or 3, and every key holds its records in the order of ARGV, or nothing. Whatever else there is falls
-- through to the rest of take.lua before anything is written, so this may give up at any point of its checks.
-- Mirror: src/core/sliding-window.ts and fixed-window.ts, as sliding_window.lua and fixed_window.lua
--
-- A fixed window is a whole window of 0 buckets: what counts is the newest alone.
--
-- One list for a key, from one unpack: { moves_expiry, cost, records … }. It is packed again as it is, and its first
-- two places then make it the reply. Tables, closures, calls and texts that become numbers are what a script's time goes
-- into: `args[i] + 0` takes half of tonumber's.

-- Brings the records of a key to now, charges them, and marks the refused with a negative id: what another limit refuses is
-- taken back, since most is admitted. Nil, or an error where something is no number: not for here. No upvalues: they would be
-- made anew for every decision.
local function check_windows(value, args, from, to, cost, charge, now_ms)
  local records = value and { 0, cost, cmsgpack.unpack(value) } or { 0, cost }
  local at, moves, refused = 3, false, false
  for a = from, to, 2 do
    local id = args[a + 1] + 0
    local low = id % 512
    local kind = low % 8
    if kind > 3 then return nil end
    local bucket_ms, newest_at, oldest_at = (id - low) / 512, at + 1, at + 2 + (low - kind) / 8
    if not value then
      records[at] = id
      for i = newest_at, oldest_at do records[i] = 0 end
    end
    if records[at] ~= id then return nil end

    local elapsed_ms = now_ms % bucket_ms
    local bucket = (now_ms - elapsed_ms) / bucket_ms
    local passed = bucket - records[newest_at]
    if passed ~= 0 then
      -- Before any of them leaves: a record that is damaged anywhere starts anew.
      for i = newest_at, oldest_at do
        local number = records[i]
        if number < 0 or number > 9007199254740991 or number % 1 ~= 0 then return nil end
      end
      if passed < 0 then return nil end
      records[newest_at] = bucket
      for i = oldest_at, at + 2, -1 do records[i] = i - passed > newest_at and records[i - passed] or 0 end
    end

    local room = args[a] - cost
    for i = at + 2, oldest_at do
      local count = records[i]
      if count < 0 or count > 2147483648 or count % 1 ~= 0 then return nil end
      room = room - count
    end
    local oldest, covered_ms = records[oldest_at], bucket_ms
    if kind == 1 then covered_ms = bucket_ms - elapsed_ms end
    if oldest * covered_ms > (room + oldest) * bucket_ms then
      records[at] = -id
      refused = true
    end

    -- A charge moves the expiry only where it is the first in its bucket.
    local newest = records[at + 2]
    if newest == 0 then moves = true end
    records[at + 2] = newest + charge
    at = oldest_at + 1
  end
  if records[at] then return nil end
  records[1] = moves
  return records, refused
end

-- The lists of the keys go behind the values, where nobody looks who goes on: a table of their own would cost more.
local is_checked, allowed, from = flag == '0' or flag == '3', 1, 4
for k = 1, is_checked and n or 0 do
  local to = from + 1 + 2 * args[from + 2]
  local cost = args[from + 1] + 0
  local sound, records, refused = pcall(check_windows, values[k], args, from + 3, to, cost, flag == '0' and cost or 0, now_ms)
  if not (sound and records) or args[from] ~= '0' then
    is_checked = false
    break
  end
  if refused then allowed = 0 end
  values[n + k] = records
  from = to + 2
end

if is_checked then
  for k = 1, flag == '0' and n or 0 do
    local records = values[n + k]
    local cost = records[2]
    if cost > 0 then
      if allowed == 1 then
        local value = cmsgpack.pack(unpack(records, 3))
        if records[1] or is_injected then
          local expires_at_ms, at = 0, 3
          while records[at] do
            local low = records[at] % 512
            local buckets = (low - low % 8) / 8
            local ends_at_ms = (records[at + 1] + buckets + 1) * (records[at] - low) / 512
            if ends_at_ms > expires_at_ms then expires_at_ms = ends_at_ms end
            at = at + 3 + buckets
          end
          call('SET', KEYS[k], value, 'PX', math.max(expires_at_ms - now_ms, min_expiry_ms))
        else
          call('SET', KEYS[k], value, 'KEEPTTL')
        end
      else
        local at = 3
        while records[at] do
          records[at + 2] = records[at + 2] - cost
          local low = math.abs(records[at]) % 512
          at = at + 3 + (low - low % 8) / 8
        end
      end
    end
  end
  local reply = values[n + 1]
  reply[1], reply[2] = now_ms, allowed
  for k = 2, n do
    local records = values[n + k]
    for i = 3, #records do reply[#reply + 1] = records[i] end
  end
  return reply
end
