-- One decision: checks every limit of every policy, then charges all of them or none.
-- Mirror: src/core/take.ts
--
-- KEYS[1 … n]   string, one for each policy, partition and scope: the records of its limits (records.lua)
-- KEYS[n+1 …]   the own key of each limit that has one (sliding_log.lua, concurrency.lua), in the order of ARGV
--
-- ARGV[1]       now_ms     the instant of the decision, ms since the epoch; 0: this server's clock. Not 0: tests and simulation
-- ARGV[2]       flag       0 check, then charge · 1 charge even what is refused · 2 give back · 3 look: check only
-- ARGV[3]       n          how many of KEYS hold records
--   then for each of these:
--               group      0 enforced; g > 0 the g-th shadow policy: charged only if it admits too, and never blocks
--               cost       0 … 1e9 units; 0 looks without charging
--               limits     1 … 8, how many follow
--     then for each limit:
--               limit      1 … 1e9 units
--               id         what its record is found by: (a * 64 + buckets) * 8 + kind
--                 kind     1 weighted, 2 whole (sliding_window.lua) · 3 fixed_window.lua · 4 token_bucket.lua ·
--                          5 sliding_log.lua · 6 concurrency.lua
--                 a        what the kind's file says, below 2^44
--                 buckets  of a sliding window, 1 … 60; else 0
--               b, c       only after kind 4: what its file says
--   then, absent if both are 0:
--               at_ms      flag 2: an instant of the bucket to give back to, ms since the epoch; else 0
--               slot       the number of this request, below 2^53: what concurrency limits know it by; 0 without such limits
--
-- Reply         now_ms, allowed (1 or 0), then for each limit in the order of ARGV:
--               its id, negative if it refused, and its counts after the decision, as its file's `view` says: so many integers
--               as the kind has
--
-- Commands: TIME, MGET, one SET for each key of records that changed, and those of the limits with own keys.

local call, args = redis.call, ARGV
local flag = args[2]

local now_ms, min_expiry_ms
local is_injected = args[1] ~= '0'
if is_injected then
  -- An injected clock and the server's expiry run apart: keys of a simulation outlive any pause between its steps.
  now_ms, min_expiry_ms = tonumber(args[1]), 86400000
else
  local time = call('TIME')
  local ms = time[2] / 1000
  now_ms, min_expiry_ms = time[1] * 1000 + ms - ms % 1, 1
end

local values = args[3] == '1' and call('MGET', KEYS[1]) or call('MGET', unpack(KEYS, 1, args[3]))
local n = #values

--@include windows_only

--@include records
--@include sliding_window
--@include fixed_window
--@include token_bucket
--@include sliding_log
--@include concurrency

local CHARGE_ANYWAY, GIVE_BACK, LOOK = '1', '2', '3'
local ENFORCED = 0

-- By kind. A decision builds only those that its limits need.
local BUILDERS = { sliding_window, sliding_window, fixed_window, token_bucket, sliding_log, concurrency }
local algorithms = {}
local function algorithm_of(kind)
  if not algorithms[kind] then algorithms[kind] = BUILDERS[kind]() end
  return algorithms[kind]
end

local at = 3
local function next_number()
  at = at + 1
  return (args[at] or 0) + 0
end

local all_checks, cost_of, group_of = {}, {}, {}
local refused_by_group = {}

local own = n
for k = 1, n do
  local group, cost, limits = next_number(), next_number(), next_number()
  local stored = decode_records(values[k])
  local checks = {}
  for l = 1, limits do
    local limit = { limit = next_number(), id = next_number() }
    limit.kind, limit.buckets, limit.a = limit.id % 8, math.floor(limit.id / 8) % 64, math.floor(limit.id / 512)
    if limit.kind == BUCKET then limit.b, limit.c = next_number(), next_number() end
    local algorithm = algorithm_of(limit.kind)
    if limit.kind >= LOG then own = own + 1 end
    local record, is_new = find_record(stored, limit.id)
    local state = algorithm.read(record, limit, now_ms, KEYS[own], is_new)
    local refused = flag ~= GIVE_BACK and not algorithm.admits(state, limit, cost, now_ms)
    if refused then refused_by_group[group] = true end
    checks[l] = { algorithm = algorithm, limit = limit, record = record, state = state, refused = refused }
  end
  all_checks[k], cost_of[k], group_of[k] = checks, cost, group
end
local at_ms, slot = next_number(), next_number()

for k = 1, n do
  local checks, cost = all_checks[k], cost_of[k]
  local admitted = not refused_by_group[ENFORCED] and not refused_by_group[group_of[k]]
  local charged = cost > 0 and flag ~= LOOK and (admitted or flag == CHARGE_ANYWAY)
  local changed = charged and (flag ~= GIVE_BACK or values[k])
  for l = 1, #checks do
    local check = checks[l]
    if charged and flag == GIVE_BACK then
      check.algorithm.give_back(check.state, check.limit, cost, at_ms, now_ms, slot)
    elseif charged then
      check.algorithm.charge(check.state, check.limit, cost, now_ms, slot, min_expiry_ms)
    end
    changed = changed or check.state.dropped
  end
  if changed then
    local records, expiry_ms = {}, min_expiry_ms
    for l = 1, #checks do
      local check = checks[l]
      if check.limit.kind ~= CONCURRENCY then records[#records + 1] = check.record end
      expiry_ms = math.max(expiry_ms, check.algorithm.reset_after_ms(check.state, check.limit, now_ms))
    end
    if #records > 0 then redis.call('SET', KEYS[k], encode_records(records), 'PX', expiry_ms) end
  end
end

local reply = { now_ms, refused_by_group[ENFORCED] and 0 or 1 }
for k = 1, n do
  for l = 1, #all_checks[k] do
    local check = all_checks[k][l]
    reply[#reply + 1] = check.refused and -check.limit.id or check.limit.id
    check.algorithm.view(check.state, check.limit, cost_of[k], now_ms, reply, check.refused)
  end
end
return reply
