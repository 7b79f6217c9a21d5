-- The commonest decision of all: one weighted window of one bucket, charged before in the same bucket. Whatever is not exactly that
-- goes on to the rest of take.lua before anything is written.
-- Mirror: src/core/sliding-window.ts, as sliding_window.lua and windows_only.lua
--
-- What windows_only.lua does, with the record in locals: its loops and its list take up to a tenth more of the whole call.

local window_id = value and #args == 4 and args[4] + 0
if window_id and window_id % ID_A == ID_KINDS + KIND_WEIGHTED then
  -- The reply, and the value to write unless it refuses. Nil, or an error where something is no number: not for here.
  local function check_window(args, now_ms, value, id)
    local found, newest, count, before, more = cmsgpack.unpack(value)
    local bucket_ms, cost = (id - (ID_KINDS + KIND_WEIGHTED)) / ID_A, (args[2] - (HEAD_FLAGS + FLAG_TAKE)) / HEAD_COST
    local elapsed_ms = now_ms % bucket_ms
    -- Compared, not computed with: text would become a number.
    if found ~= id or newest ~= (now_ms - elapsed_ms) / bucket_ms or more ~= nil then return nil end
    -- Another flag leaves a fraction. A shadow policy's cost is beyond all costs.
    if cost % 1 ~= 0 or cost < 1 or cost > MAX_UNITS then return nil end
    -- A count of 0 was given back: the charge moves the expiry.
    if count < 1 or count % 1 ~= 0 or before < 0 or before % 1 ~= 0 then return nil end
    -- What is so much above every limit is rubbish, or was forced.
    local room = args[3] - cost - count
    if room - before < MAX_UNITS - MAX_COUNT then return nil end
    if before * (bucket_ms - elapsed_ms) > room * bucket_ms then return { now_ms, -id, newest, count, before } end
    count = count + cost
    return { now_ms, id, newest, count, before }, cmsgpack.pack(id, newest, count, before)
  end

  local sound, reply, changed = pcall(check_window, args, now_ms, value, window_id)
  if sound and reply then
    if changed and min_expiry_ms > 1 then
      call('SET', KEYS[1], changed, 'PX', math.max((reply[3] + 2) * (reply[2] - (ID_KINDS + KIND_WEIGHTED)) / ID_A - now_ms, min_expiry_ms))
    elseif changed then
      call('SET', KEYS[1], changed, 'KEEPTTL')
    end
    return reply
  end
end
