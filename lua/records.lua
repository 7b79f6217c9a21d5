-- How the records of a key are written and found again. The only file that knows the codec.
-- Mirror: src/core/records.ts
--
-- A value is a msgpack list of records, one per limit, in the order of the configuration that wrote it. A record is a list
-- of integers that begins with { kind, a, b }: see docs/storage-schema.md. A limit finds its record by these three, whatever
-- the order, so a changed configuration keeps the counts that it can keep.

local MAX_EXACT = 9007199254740991 -- 2^53 - 1
local MAX_COUNT = 2147483648 -- 2^31: keeps sums of 61 forced counts far below 2^53

-- Absent, and rubbish that something else wrote into our key, are both an empty list: a limiter that fails for ever
-- on one damaged value would be worse than one that starts counting anew.
local function decode_records(value)
  if not value then return {} end
  local readable, records = pcall(cmsgpack.unpack, value)
  if readable and type(records) == 'table' then return records end
  return {}
end

local function encode_records(records)
  return cmsgpack.pack(records)
end

local function is_whole(value, max)
  return type(value) == 'number' and value >= 0 and value <= max and value % 1 == 0
end

-- A record with anything but counts in it is rubbish as well: see above.
-- length: how many integers it has; max_fourth: the largest that the one after { kind, a, b } may be.
local function is_record_of(record, kind, a, b, length, max_fourth)
  if type(record) ~= 'table' or #record ~= length then return false end
  if record[1] ~= kind or record[2] ~= a or record[3] ~= b then return false end
  if not is_whole(record[4], max_fourth) then return false end
  for i = 5, length do
    if not is_whole(record[i], MAX_EXACT) then return false end
  end
  return true
end

-- position: where the record stands unless the configuration changed; looked at first.
local function find_record(records, position, kind, a, b, length, max_fourth)
  if is_record_of(records[position], kind, a, b, length, max_fourth) then return records[position] end
  for i = 1, #records do
    if is_record_of(records[i], kind, a, b, length, max_fourth) then return records[i] end
  end
  return nil
end
