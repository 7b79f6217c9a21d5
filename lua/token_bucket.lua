-- Token bucket and leaky bucket: `burst` tokens, of which `limit` come back per window, continuously. The leaky bucket
-- also admits a cost that would be admitted within max_delay_ms; the caller holds the request until then.
-- Mirror: src/kernel/core/token-bucket.ts
--@kinds KIND_BUCKET
--
-- a: window_ms · b: burst · c: max_delay_ms, 0 for a token bucket · burst * window_ms + max_delay_ms * limit < 2^53
-- Record: { id, at_ms, debt }: debt is what a full bucket lacked at at_ms, in 1/window_ms token. Each ms pays back
-- `limit` of these units: every integer rate is exact.

local function token_bucket()
  local AT_MS, DEBT = 2, 3
  local bucket = { has_burst = true }

  -- If the clock has stepped back, the record stays. Nothing is paid back until the clock has caught up.
  function bucket.read(record, limit, now_ms)
    local elapsed_ms = now_ms - record[AT_MS]
    if elapsed_ms > 0 then
      record[DEBT] = math.max(0, record[DEBT] - elapsed_ms * limit.limit)
      record[AT_MS] = now_ms
    end
    return record
  end

  -- level >= cost, where level = burst - debt + what max_delay_ms pays back. Both sides are exact below 2^53, and the
  -- right side is always below 2^53.
  function bucket.admits(record, limit, cost)
    local window_ms, burst, max_delay_ms = limit.a, limit.b, limit.c
    return cost <= burst and record[DEBT] + cost * window_ms <= burst * window_ms + max_delay_ms * limit.limit
  end

  function bucket.charge(record, limit, cost)
    record[DEBT] = math.min(MAX_EXACT, record[DEBT] + cost * limit.a)
  end

  function bucket.give_back(record, limit, cost)
    record[DEBT] = math.max(0, record[DEBT] - cost * limit.a)
  end

  function bucket.reset_after_ms(record, limit, now_ms)
    if record[DEBT] == 0 then return 0 end
    return record[AT_MS] - now_ms + math.ceil(record[DEBT] / limit.limit)
  end

  -- A window after the last charge: how fast it refills is not stored.
  function bucket.record_ends_at_ms(record, window_ms)
    return record[AT_MS] + window_ms
  end

  function bucket.view(record, _, _, _, reply)
    reply[#reply + 1] = record[AT_MS]
    reply[#reply + 1] = record[DEBT]
  end

  return bucket
end
