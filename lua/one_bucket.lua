-- One token or leaky bucket, new or as it was written. For any other decision the function replies nil before anything
-- is written, and take.lua goes on.
-- Mirror: src/kernel/core/token-bucket.ts, like token_bucket.lua

-- Returns the reply and, unless the limit refuses, the value to write and its expiry in ms. Returns nil, or fails on a
-- value that is not a number, if the decision is not for this function. Called by pcall. It gets arguments instead of
-- upvalues.
local function one_bucket(args, now_ms, value)
  local id = args[4] + 0
  if id % ID_A ~= KIND_BUCKET then return nil end
  local limit, burst = args[3] + 0, args[5] + 0
  local window_ms, cost = (id - KIND_BUCKET) / ID_A, (args[2] - (HEAD_FLAGS + FLAG_TAKE)) / HEAD_COST
  -- Another flag, or two windows in six arguments, make a fraction. Under a policy in shadow the group is part of this
  -- number too, which makes it larger than every cost.
  if cost % 1 ~= 0 or cost < 1 or cost > MAX_UNITS then return nil end
  local debt = 0
  if value then
    local found, at_ms, stored, more = cmsgpack.unpack(value)
    if found ~= id or at_ms > now_ms or at_ms < 0 or at_ms % 1 ~= 0 or more ~= nil then return nil end
    if stored > MAX_EXACT or stored % 1 ~= 0 then return nil end
    -- A bucket never holds more than its burst.
    debt = math.max(0, stored - (now_ms - at_ms) * limit)
  end
  local charged = debt + cost * window_ms
  if cost > burst or charged > burst * window_ms + args[6] * limit then return { now_ms, -id, now_ms, debt } end
  return { now_ms, id, now_ms, charged }, cmsgpack.pack(id, now_ms, charged), math.ceil(charged / limit)
end
