-- The sliding window counter: n buckets of B ms, and the bucket before them, which counts by the part of it that the
-- window still covers ("weighted") or in full ("whole").
-- Mirror: src/core/sliding-window.ts
--
-- a: bucket_ms · b: buckets · limit * bucket_ms < 2^53
-- Record: { kind, bucket_ms, buckets, newest, count, count, … }: newest is floor(ms / bucket_ms) of the newest bucket
-- written, then buckets + 1 counts in units, newest first.

local WEIGHTED, WHOLE = 1, 2

local function sliding_window()
  local NEWEST, FIRST_COUNT = 4, 5
  local window = {}

  -- Makes the bucket of now_ms the newest. A clock that stepped back leaves the newer bucket where it is: rolling back
  -- would forget what was charged.
  local function roll(record, now_ms)
    local buckets = record[3]
    local bucket = math.floor(now_ms / record[2])
    local passed = bucket - record[NEWEST]
    if passed <= 0 then return end
    for age = buckets, 0, -1 do
      record[FIRST_COUNT + age] = age >= passed and record[FIRST_COUNT + age - passed] or 0
    end
    record[NEWEST] = bucket
  end

  function window.read(records, position, limit, now_ms)
    local kind, bucket_ms, buckets = limit.kind, limit.a, limit.b
    local record = find_record(records, position, kind, bucket_ms, buckets, buckets + 5, MAX_EXACT / bucket_ms)
    if not record then
      record = { kind, bucket_ms, buckets, math.floor(now_ms / bucket_ms) }
      for age = 0, buckets do record[FIRST_COUNT + age] = 0 end
    end
    roll(record, now_ms)
    return record
  end

  -- S*B + O*(B-e) + c*B <= L*B, in the form that stays exact when forced counts make O*(B-e) pass 2^53: a rounded
  -- product is then still above the right side, which is below it.
  function window.admits(record, limit, cost, now_ms)
    local bucket_ms, buckets = record[2], record[3]
    local room = limit.limit - cost
    for age = 0, buckets - 1 do room = room - record[FIRST_COUNT + age] end
    local oldest = record[FIRST_COUNT + buckets]
    if record[1] == WHOLE then return oldest <= room end
    local elapsed_ms = math.max(0, now_ms - record[NEWEST] * bucket_ms)
    return oldest * (bucket_ms - elapsed_ms) <= room * bucket_ms
  end

  function window.charge(record, _, cost)
    record[FIRST_COUNT] = math.min(MAX_COUNT, record[FIRST_COUNT] + cost)
  end

  -- Takes back what was charged in the bucket of at_ms, never below zero; a bucket that has left is left alone.
  function window.give_back(record, _, cost, at_ms)
    local age = record[NEWEST] - math.floor(at_ms / record[2])
    if age < 0 or age > record[3] then return end
    record[FIRST_COUNT + age] = math.max(0, record[FIRST_COUNT + age] - cost)
  end

  function window.record(record)
    return record
  end

  -- Milliseconds until the record is as new: when the newest bucket with a count has left.
  function window.reset_after_ms(record, _, now_ms)
    local bucket_ms, buckets = record[2], record[3]
    for age = 0, buckets do
      if record[FIRST_COUNT + age] > 0 then
        return (record[NEWEST] + buckets + 1 - age) * bucket_ms - now_ms
      end
    end
    return 0
  end

  function window.view(record, _, _, _, reply)
    for i = NEWEST, #record do reply[#reply + 1] = record[i] end
  end

  return window
end
