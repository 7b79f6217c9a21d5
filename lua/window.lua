-- The window counters: n buckets of B ms, and the bucket before them. That bucket counts by the part that the window
-- still covers (weighted), or in full (whole). A fixed window is a whole window of 0 buckets: only the newest bucket
-- counts.
-- Mirror: src/kernel/core/window.ts
--@kinds KIND_WEIGHTED KIND_WHOLE KIND_FIXED_WINDOW
--
-- a: bucket_ms; of a fixed window window_ms · buckets: 1 … 60; of a fixed window 0
-- limit * bucket_ms < 2^53, but for a fixed window
-- Record: { id, newest, count, count, … }: newest is floor(ms / bucket_ms) of the newest bucket written, then buckets +
-- 1 counts in units, newest first.

local function window()
  local NEWEST, FIRST_COUNT = 2, 3
  local counter = {}

  -- Makes the bucket of now_ms the newest. If the clock has stepped back, the newer bucket stays: rolling back would
  -- forget charges. A bucket number that no clock reaches is damage.
  function counter.read(record, limit, now_ms)
    local bucket_ms, buckets = limit.a, limit.buckets
    local bucket = math.floor(now_ms / bucket_ms)
    local passed = bucket - record[NEWEST]
    if record[NEWEST] > MAX_EXACT / bucket_ms then passed = buckets + 1 end
    if passed <= 0 then return record end
    for age = buckets, 0, -1 do
      record[FIRST_COUNT + age] = age >= passed and record[FIRST_COUNT + age - passed] or 0
    end
    record[NEWEST] = bucket
    return record
  end

  -- S*B + O*(B-e) + c*B <= L*B: S and O are the counts in the window and in the bucket before it, e is the elapsed part
  -- of the newest bucket, c the cost and L the limit. In this form it stays exact. If a forced count makes O*(B-e)
  -- exceed 2^53, the rounded product is still above the right side, which is below 2^53.
  function counter.admits(record, limit, cost, now_ms)
    local bucket_ms, buckets = limit.a, limit.buckets
    local room = limit.limit - cost
    for age = 0, buckets - 1 do room = room - record[FIRST_COUNT + age] end
    local oldest = record[FIRST_COUNT + buckets]
    if limit.kind ~= KIND_WEIGHTED then return oldest <= room end
    local elapsed_ms = math.max(0, now_ms - record[NEWEST] * bucket_ms)
    return oldest * (bucket_ms - elapsed_ms) <= room * bucket_ms
  end

  function counter.charge(record, _, cost)
    record[FIRST_COUNT] = math.min(MAX_COUNT, record[FIRST_COUNT] + cost)
  end

  -- Takes back from the bucket of at_ms, never below zero. A bucket that has left the record is not changed.
  function counter.give_back(record, limit, cost)
    local age = record[NEWEST] - math.floor(limit.at_ms / limit.a)
    if age < 0 or age > limit.buckets then return end
    record[FIRST_COUNT + age] = math.max(0, record[FIRST_COUNT + age] - cost)
  end

  -- Milliseconds until the record is as new, which is when the newest bucket with a count leaves.
  function counter.reset_after_ms(record, limit, now_ms)
    local bucket_ms, buckets = limit.a, limit.buckets
    for age = 0, buckets do
      if record[FIRST_COUNT + age] > 0 then
        return (record[NEWEST] + buckets + 1 - age) * bucket_ms - now_ms
      end
    end
    return 0
  end

  function counter.record_ends_at_ms(record, bucket_ms, buckets)
    return (record[NEWEST] + buckets + 1) * bucket_ms
  end

  function counter.view(record, _, _, _, reply)
    for i = NEWEST, #record do reply[#reply + 1] = record[i] end
  end

  return counter
end
