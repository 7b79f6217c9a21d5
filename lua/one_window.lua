-- The most common decision: one weighted window of one bucket, charged before in the same bucket. For any other
-- decision the function replies nil before anything is written, and take.lua goes on.
-- Mirror: src/kernel/core/window.ts, like window.lua and windows_only.lua
--
-- It does what windows_only.lua does, with the record in locals. The loops and the list of windows_only.lua take up to
-- a tenth more of the whole call.

-- Returns the reply and, unless the limit refuses, the value to write, and its expiry in ms if the charge moves the
-- expiry. Returns nil, or fails on a value that is not a number, if the decision is not for this function. Called by
-- pcall. It gets arguments instead of upvalues, which would be made anew for every decision.
local function one_window(args, now_ms, value, min_expiry_ms)
  local id = args[4] + 0
  -- The kind is weighted, and there is 1 bucket.
  if id % ID_A ~= ID_KINDS + KIND_WEIGHTED then return nil end
  local found, newest, count, before, more = cmsgpack.unpack(value)
  local bucket_ms, cost = (id - (ID_KINDS + KIND_WEIGHTED)) / ID_A, (args[2] - (HEAD_FLAGS + FLAG_TAKE)) / HEAD_COST
  local elapsed_ms = now_ms % bucket_ms
  -- Compare and do not compute: arithmetic would turn text into a number.
  if found ~= id or newest ~= (now_ms - elapsed_ms) / bucket_ms or more ~= nil then return nil end
  -- Another flag makes a fraction.
  if cost % 1 ~= 0 or cost < 1 then return nil end
  -- A count of 0 was given back: this charge moves the expiry.
  if count < 1 or count % 1 ~= 0 or before < 0 or before % 1 ~= 0 then return nil end
  -- A count this far above every limit is damage, or was forced. Under a policy in shadow the group is part of the cost
  -- too, which leaves even less room.
  local room = args[3] - cost - count
  if room - before < MAX_UNITS - MAX_COUNT then return nil end
  if before * (bucket_ms - elapsed_ms) > room * bucket_ms then return { now_ms, -id, newest, count, before } end
  count = count + cost
  -- The expiry stays, because this bucket was charged before. With an injected clock (take.lua) every charge moves it.
  local expiry_ms = min_expiry_ms > 1 and (newest + 2) * bucket_ms - now_ms or nil
  return { now_ms, id, newest, count, before }, cmsgpack.pack(id, newest, count, before), expiry_ms
end
