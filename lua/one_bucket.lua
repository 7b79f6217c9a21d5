-- One token or leaky bucket, new or as it was written. Whatever is not exactly that goes on to the rest of take.lua before anything
-- is written.
-- Mirror: src/core/token-bucket.ts, as token_bucket.lua

-- Two windows are six arguments too.
local bucket_id = #args == 6 and args[2] % HEAD_COST == HEAD_FLAGS + FLAG_TAKE and args[4] + 0
if bucket_id and bucket_id % ID_A == KIND_BUCKET then
  -- The reply, and the value to write and its expiry unless it refuses. Nil, or an error where something is no number: not for here.
  local function check_bucket(args, now_ms, value, id)
    local limit, burst = args[3] + 0, args[5] + 0
    local window_ms, cost = (id - KIND_BUCKET) / ID_A, (args[2] - (HEAD_FLAGS + FLAG_TAKE)) / HEAD_COST
    -- A shadow policy's cost is beyond all costs.
    if cost < 1 or cost > MAX_UNITS then return nil end
    local debt = 0
    if value then
      local found, at_ms, stored, more = cmsgpack.unpack(value)
      if found ~= id or at_ms > now_ms or at_ms < 0 or at_ms % 1 ~= 0 or more ~= nil then return nil end
      if stored > MAX_EXACT or stored % 1 ~= 0 then return nil end
      -- A debt of less than nothing is none, as without a record.
      debt = math.max(0, stored - (now_ms - at_ms) * limit)
    end
    local charged = debt + cost * window_ms
    if cost > burst or charged > burst * window_ms + args[6] * limit then return { now_ms, -id, now_ms, debt } end
    return { now_ms, id, now_ms, charged }, cmsgpack.pack(id, now_ms, charged), math.ceil(charged / limit)
  end

  local sound, reply, changed, expiry_ms = pcall(check_bucket, args, now_ms, value, bucket_id)
  if sound and reply then
    if changed then call('SET', KEYS[1], changed, 'PX', math.max(expiry_ms, min_expiry_ms)) end
    return reply
  end
end
