-- One decision: checks every limit of every policy, then charges all of them or none.
-- Mirror: src/kernel/core/take.ts
--
-- KEYS          for each policy, partition and scope a string, the records of its limits (records.lua). After it the
--               once key of the request's id (once.lua), if it has one, and then the limit key of each of its limits
--               that has one (sliding_log.lua, concurrency.lua), in the order of ARGV
--
-- Names in capitals are the numbers of src/kernel/core/layout.ts.
--
-- ARGV[1]       now_ms     the instant of the decision, ms since the epoch. 0: this server's clock. Other values: tests
--                          and simulation
--   then for each key of records:
--               head       (((group * HEAD_ONCE + once) * HEAD_COSTS + cost) * HEAD_LIMITS + limits) * HEAD_FLAGS
--                          + flag
--                 group    0 enforced; g > 0 the g-th policy in shadow: charged only if it admits too, never blocks.
--                 once     1 if the request has an id under this key, otherwise 0
--                 cost     0 … MAX_UNITS units; 0 looks without charging
--                 limits   1 … 8, the number of limits that follow
--                 flag     0 check, then charge · 1 charge even a refused cost · 2 give back · 3 look: check only. The
--                          flags of one call may differ: src/kernel/core/take.ts has the rules
--     then, only if once is 1:
--               for_ms     for how long after the charge the id is a repeat, 1,000 … 3,600,000 ms
--               repeats    how many repeats are admitted, 1 … 10; with flag 2: 1 if a repeat is undone, 0 if a charge;
--                          with flag 1 or 2: -1 - used, the settlement of a reservation that has used 0 … MAX_UNITS
--     then for each limit:
--               limit      1 … MAX_UNITS units
--               id         identifies its record: (a * ID_BUCKETS + buckets) * ID_KINDS + kind
--                 kind     the number of a KIND: each algorithm's file names its kinds (`--@kinds`)
--                 a        as the kind's file says, below 2^32
--                 buckets  of a sliding window, 1 … 60; 0 for other kinds
--               b, c       only if the kind's file says has_burst: as the file says
--               steps      only if the kind's file says has_steps: c numbers, as the file says
--               starts_at_ms, turns_at_ms, ends_at_ms
--                          only if the kind's file says has_bounds: as the file says
--               at_ms      only with flag 2: an instant of the bucket to give back to, ms since the epoch. 0 is enough
--                          for slots. With flag 1 too if the kind's file says has_bounds: as the file says
--   then, absent without concurrency limits:
--               slot       the number of this request, below 2^53, by which concurrency limits know it
--
-- Reply         now_ms, then for each key of records: 1 if the request is a repeat there, which its limits neither
--               refuse nor count, 2 if the repeats of its id are used up, 3 + used for a reservation that was settled
--               before, 0 if its id is new; absent if once is 0. Then for each limit in the order of ARGV:
--               its id, negative if the limit refused, and its counts after the decision: the integers that its file's
--               `view` appends
--               now_ms alone: this clock is in none of the periods that a limit's bounds tell. Nothing was charged or
--               written, under any flag
--
-- Commands: TIME, GET of one key or MGET of several, one SET for each key of records that changed, one SET or DEL for
-- each id that changed, and the commands of limits with limit keys.

local call, args = redis.call, ARGV

local now_ms, min_expiry_ms
if args[1] == '0' then
  local time = call('TIME')
  local ms = time[2] / 1000
  now_ms, min_expiry_ms = time[1] * 1000 + ms - ms % 1, 1
else
  -- An injected clock and the server's expiry run apart: keys of a simulation must outlive any pause between its steps.
  now_ms, min_expiry_ms = tonumber(args[1]), INJECTED_CLOCK_EXPIRY_MS
end

local n, value, values = #KEYS, nil, args
if n == 1 then
  value = redis.pcall('GET', KEYS[1])
else
  values = call('MGET', unpack(KEYS))
end

-- Shortcuts to the same decision. Each answers only what it surely decides right. For anything else it replies nil
-- before it has written anything, and the code below decides from the same values. Making a function costs time in
-- every run, so each function is made only where it may answer.

local sound, reply, changed, expiry_ms
if value and #args == 4 then
  --@include one_window
  sound, reply, changed, expiry_ms = pcall(one_window, args, now_ms, value, min_expiry_ms)
elseif n == 1 and #args == 6 then
  --@include one_bucket
  sound, reply, changed, expiry_ms = pcall(one_bucket, args, now_ms, value)
end
if sound and reply then
  if changed and expiry_ms then
    call('SET', KEYS[1], changed, 'PX', math.max(expiry_ms, min_expiry_ms))
  elseif changed then
    call('SET', KEYS[1], changed, 'KEEPTTL')
  end
  return reply
end

-- A single value replaces now_ms, because a table for it would cost more than reading it.
if n == 1 then args[1] = value end

--@include windows_only
reply = windows_only(args, values, n, now_ms, min_expiry_ms)
if reply then return reply end

local WRONG_TYPE = '^-?WRONGTYPE' -- Dragonfly leaves the - of an error in it

-- MGET replies nil for a key of another type; GET replies an error. Any other error becomes the reply, because the key
-- may hold counts.
if type(values[1]) == 'table' then
  if not string.find(values[1].err, WRONG_TYPE) then return values[1] end
  values[1] = false
end

-- For limit keys: raises the error of a command by running the command again, unless the error says that the key has
-- another type.
local function raise_unless_wrong_type(reply, ...)
  if not string.find(reply.err, WRONG_TYPE) then redis.call(...) end
end

--@include records
--@include once

-- Each file that names its kinds, and the list BUILDERS of their functions by kind. A decision builds only the
-- algorithms that its limits need.
--@algorithms
local algorithms = {}
local function algorithm_of(kind)
  if not algorithms[kind] and BUILDERS[kind] then algorithms[kind] = BUILDERS[kind]() end
  return algorithms[kind]
end

local at = 1
local function next_number()
  at = at + 1
  return (args[at] or 0) + 0
end

local entries, refused_by_group, has_expired = {}, {}, nil

local key = 0
while key < n do
  key = key + 1
  local entry = { key = KEYS[key], exists = values[key], checks = {} }
  local head = next_number()
  entry.flag = head % HEAD_FLAGS
  head = math.floor(head / HEAD_FLAGS)
  local limits = head % HEAD_LIMITS
  head = math.floor(head / HEAD_LIMITS)
  entry.cost = head % HEAD_COSTS
  head = math.floor(head / HEAD_COSTS)
  entry.group, entry.has_id = math.floor(head / HEAD_ONCE), head % HEAD_ONCE == 1
  local stored, row = decode_records(values[key])
  entry.others, entry.row = stored, row
  if entry.has_id then
    key = key + 1
    read_once(entry, KEYS[key], values[key], next_number(), next_number(), now_ms)
  end
  for l = 1, limits do
    local limit = { limit = next_number(), id = next_number() }
    limit.kind, limit.a = limit.id % ID_KINDS, math.floor(limit.id / ID_A)
    limit.buckets = math.floor(limit.id / ID_KINDS) % ID_BUCKETS
    local algorithm = algorithm_of(limit.kind)
    if algorithm.has_burst then limit.b, limit.c = next_number(), next_number() end
    if algorithm.has_steps then
      limit.steps = {}
      for s = 1, limit.c do limit.steps[s] = next_number() end
    end
    if algorithm.has_bounds then
      limit.starts_at_ms, limit.turns_at_ms, limit.ends_at_ms = next_number(), next_number(), next_number()
    end
    if entry.flag == FLAG_GIVE_BACK or algorithm.has_bounds and entry.flag == FLAG_CHARGE_ANYWAY then
      limit.at_ms = next_number()
    end
    if algorithm.has_limit_key then key = key + 1 end
    local record, is_new = find_record(stored, limit.id)
    local state = algorithm.read(record, limit, now_ms, KEYS[key], is_new)
    -- Reading writes nothing: the caller may ask again.
    if not state then return { now_ms } end
    local refused = not entry.repeated and entry.flag ~= FLAG_GIVE_BACK
      and not algorithm.admits(state, limit, entry.cost, now_ms)
    if refused then refused_by_group[entry.group] = true end
    has_expired = has_expired or state.expired
    entry.checks[l] = { algorithm = algorithm, limit = limit, record = record, state = state, refused = refused }
  end
  entries[#entries + 1] = entry
end
local slot = next_number()

-- A full Redis refuses the first write of a script if that command can grow, and checks no later write. Charged keys
-- are written first, and a charge begins with the write that grows: Redis refuses it before anything is written. A key
-- that is not charged only drops expired entries, which a full Redis lets pass.
local CHARGES, DROPS = 1, 2
for turn = CHARGES, has_expired and DROPS or CHARGES do
  for k = 1, #entries do
    local entry = entries[k]
    local checks, cost, flag = entry.checks, entry.cost, entry.flag
    local admitted = not refused_by_group[ENFORCED] and not refused_by_group[entry.group]
    local charged = turn == CHARGES and cost > 0 and flag ~= FLAG_LOOK and (admitted or flag ~= FLAG_TAKE)
    if entry.has_id and (charged or turn == CHARGES and entry.settles) then
      charged = change_once(entry, now_ms, min_expiry_ms) and charged
    end
    local changed = charged and (flag ~= FLAG_GIVE_BACK or entry.exists)
    for l = 1, #checks do
      local check = checks[l]
      if charged and flag == FLAG_GIVE_BACK then
        check.algorithm.give_back(check.state, check.limit, cost, now_ms, slot)
      elseif charged then
        check.algorithm.charge(check.state, check.limit, cost, now_ms, slot, min_expiry_ms, flag == FLAG_CHARGE_ANYWAY)
      elseif turn == DROPS and check.state.expired then
        check.algorithm.drop(check.state)
        changed = true
      end
    end
    if changed then
      local records, expiry_ms = {}, min_expiry_ms
      for l = 1, #checks do
        local check = checks[l]
        if not check.algorithm.has_no_record then records[#records + 1] = check.record end
        expiry_ms = math.max(expiry_ms, check.algorithm.reset_after_ms(check.state, check.limit, now_ms))
      end
      if #records > 0 then
        if next(entry.others) then
          expiry_ms = carry_along(records, entry.others, entry.row, algorithm_of, now_ms, expiry_ms)
        end
        redis.call('SET', entry.key, encode_records(records), 'PX', expiry_ms)
      end
    end
  end
end

reply = { now_ms }
for k = 1, #entries do
  local entry = entries[k]
  if entry.has_id then
    local settled = entry.settles and entry.used and 3 + entry.used
    reply[#reply + 1] = settled or entry.repeated and 1 or entry.beyond and 2 or 0
  end
  for l = 1, #entry.checks do
    local check = entry.checks[l]
    reply[#reply + 1] = check.refused and -check.limit.id or check.limit.id
    check.algorithm.view(check.state, check.limit, entry.cost, now_ms, reply, check.refused)
  end
end
return reply
