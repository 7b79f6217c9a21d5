-- How the records of a key are written and found. Only this file, one_window.lua, one_bucket.lua and windows_only.lua
-- know the codec.
-- Mirror: src/kernel/core/records.ts
--
-- A value is a row of msgpack integers: the records, one for each limit, in the order of the configuration that
-- wrote it, and then the records of other configurations. A record is { id, integer, integer, … }. The id says which
-- limit the record belongs to, and how long the record is: docs/storage-schema.md. A limit finds its record by the
-- id, in any order: a changed configuration keeps every count that it can keep.
--
-- Unpacking a list within a list takes twice as long, so a row has none.

local function length_of(id)
  return RECORD_INTEGERS + math.floor(id % ID_A / ID_KINDS)
end

local function is_whole(value)
  return type(value) == 'number' and value >= 0 and value <= MAX_EXACT and value % 1 == 0
end

-- The records by id, and the same in their order. An absent value has no records. A damaged value has no records
-- either: starting to count anew is better than failing forever. A value is damaged if it is not one record after
-- another. A record with anything but counts in it is damaged too, and left out. A row ends with its last value, or
-- with nil in the place of an id.
local function decode_records(value)
  local found = { pcall(cmsgpack.unpack, value) }
  local records, row, at = {}, {}, 2 -- the first is what pcall says
  while is_whole(found[at]) do
    local id, record, sound = found[at], {}, true
    for i = 1, length_of(id) do
      record[i] = found[at]
      sound = sound and is_whole(record[i])
      at = at + 1
    end
    if sound and not records[id] then
      records[id] = record
      row[#row + 1] = record
    end
  end
  if found[at] == nil and found[at - 1] ~= nil then return records, row end
  return {}, {}
end

local function encode_records(records)
  local value = ''
  for r = 1, #records do value = value .. cmsgpack.pack(unpack(records[r])) end
  return value
end

-- Takes the record of a limit out of `records`: whether it is new comes second. A new record is all zeros.
local function find_record(records, id)
  local record = records[id]
  records[id] = nil
  if record then return record, false end
  record = { id }
  for i = 2, length_of(id) do record[i] = 0 end
  return record, true
end

-- Adds the records that no limit has taken out of `others`. They belong to another configuration over the same counts:
-- the one before a deploy, or that of a canary. A record that has ended or is damaged is left out. Returns the expiry
-- in ms that all records need.
local function carry_along(records, others, row, algorithm_of, now_ms, expiry_ms)
  local last = #records + MAX_CARRIED
  for r = 1, #row do
    local record = row[r]
    local id = record[1]
    local algorithm = others[id] and #records < last and algorithm_of(id % ID_KINDS)
    if algorithm and algorithm.record_ends_at_ms then
      local buckets = math.floor(id / ID_KINDS) % ID_BUCKETS
      local left_ms = algorithm.record_ends_at_ms(record, math.floor(id / ID_A), buckets) - now_ms
      if left_ms > 0 and left_ms <= MAX_CARRIED_MS then
        records[#records + 1] = record
        expiry_ms = math.max(expiry_ms, left_ms)
      end
    end
  end
  return expiry_ms
end
