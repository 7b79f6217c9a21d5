-- Charging once: what is stored of the id of a request, and what a decision does to a key with an id.
-- Mirror: src/kernel/core/once.ts
--
-- A value is a row of two msgpack integers: ends_at_ms, the end of the id in ms since the epoch, and used, the repeats
-- that were admitted, or of a reservation the units that it was settled with. A damaged value counts as absent, like a
-- damaged record.

-- Reads the id into the entry of its key: its end and its repeats, or nothing if it is absent or has ended. An end that
-- no clock reaches is damage. `repeated`: no limit of the key refuses the request. `beyond`: the repeats are used up,
-- and it is charged as without an id. `settles`: a reservation is settled.
local function read_once(entry, key, value, for_ms, repeats, now_ms)
  entry.once_key, entry.for_ms, entry.repeats = key, for_ms, repeats
  local _, ends_at_ms, used, more = pcall(cmsgpack.unpack, value)
  if is_whole(ends_at_ms) and is_whole(used) and more == nil then
    local left_ms = ends_at_ms - now_ms
    if left_ms > 0 and left_ms <= MAX_WINDOW_MS then entry.ends_at_ms, entry.used = ends_at_ms, used end
  end
  entry.settles = repeats < 0
  local decides = entry.flag == FLAG_TAKE or entry.flag == FLAG_LOOK
  local known = decides and entry.cost > 0 and entry.used ~= nil
  entry.repeated = known and entry.used < repeats
  entry.beyond = known and not entry.repeated
end

-- Writes the id of a key that is charged, repeated, given back or settled. Returns whether the limits change.
local function change_once(entry, now_ms, min_expiry_ms)
  if entry.settles then
    if entry.used then return false end
    local value = cmsgpack.pack(now_ms + entry.for_ms, -1 - entry.repeats)
    redis.call('SET', entry.once_key, value, 'PX', math.max(entry.for_ms, min_expiry_ms))
    return true
  end
  if entry.flag == FLAG_CHARGE_ANYWAY then return true end
  local undoes, used = entry.flag == FLAG_GIVE_BACK, entry.used
  if undoes and not used then return entry.repeats == 0 end
  if undoes and used == 0 then
    redis.call('DEL', entry.once_key)
    return true
  end
  if entry.beyond then return true end
  local ends_at_ms = used and entry.ends_at_ms or now_ms + entry.for_ms
  local count = used and used + (undoes and -1 or 1) or 0
  redis.call('SET', entry.once_key, cmsgpack.pack(ends_at_ms, count), 'PX', math.max(ends_at_ms - now_ms, min_expiry_ms))
  return not used
end
