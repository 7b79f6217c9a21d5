-- How the records of a key are written and found again. The only file that knows the codec, beside one_window.lua,
-- one_bucket.lua and windows_only.lua.
-- Mirror: src/core/records.ts
--
-- A value is a row of msgpack integers: the records, one per limit, in the order of the configuration that wrote it. A record is
-- { id, integer, integer, … }; its id says what it is of and how long it is: see docs/storage-schema.md. A limit finds its record
-- by it, whatever the order, so a changed configuration keeps the counts that it can keep.
--
-- No lists within a list, since they take twice as long to unpack.

local function length_of(id)
  return RECORD_INTEGERS + math.floor(id % ID_A / ID_KINDS)
end

local function is_whole(value)
  return type(value) == 'number' and value >= 0 and value <= MAX_EXACT and value % 1 == 0
end

-- The records by id. Absent, and rubbish that something else wrote into our key, are both empty: a limiter that fails for
-- ever on one damaged value would be worse than one that starts counting anew. What is not one record after the other is
-- rubbish, and so is a record with anything but counts in it. A row ends with its last value, or with nil where an id would be; one
-- whose last record is not whole is rubbish.
local function decode_records(value)
  local found = { pcall(cmsgpack.unpack, value) }
  local records, at = {}, 2 -- the first is what pcall says
  while is_whole(found[at]) do
    local id, record, sound = found[at], {}, true
    for i = 1, length_of(id) do
      record[i] = found[at]
      sound = sound and is_whole(record[i])
      at = at + 1
    end
    if sound and not records[id] then records[id] = record end
  end
  return found[at] == nil and found[at - 1] ~= nil and records or {}
end

local function encode_records(records)
  local value = ''
  for r = 1, #records do value = value .. cmsgpack.pack(unpack(records[r])) end
  return value
end

-- The record of a limit, a new one of zeros if there is none; and whether it is new.
local function find_record(records, id)
  if records[id] then return records[id], false end
  local record = { id }
  for i = 2, length_of(id) do record[i] = 0 end
  return record, true
end
