-- Requests in flight. Each holds a slot until it gives the slot back, or until timeout_ms after it took or renewed it.
-- Mirror: src/kernel/core/concurrency.ts
--@kinds KIND_CONCURRENCY
--
-- a: timeout_ms
-- No record. Limit key, a sorted set: member slot (the request's number), score the instant at which the slot is lost.
-- Taking is a charge, renewing a charge anyway (flag 1), releasing a give back (flag 2). Each is about one slot,
-- whatever the cost.

local function concurrency()
  local slots = { has_limit_key = true, has_no_record = true }

  -- Reading writes nothing: the next change removes lost slots.
  function slots.read(_, _, now_ms, key)
    local from = string.format('(%.0f', now_ms)
    local in_flight = redis.pcall('ZCOUNT', key, from, '+inf')
    if type(in_flight) == 'number' then return { key = key, in_flight = in_flight } end
    raise_unless_wrong_type(in_flight, 'ZCOUNT', key, from, '+inf')
    return { key = key, in_flight = 0, is_rubbish = true }
  end

  function slots.admits(state, limit, cost)
    return state.in_flight + math.min(cost, 1) <= limit.limit
  end

  local function remove_lost(state, now_ms)
    if state.is_rubbish then redis.call('DEL', state.key) end
    redis.call('ZREMRANGEBYSCORE', state.key, '-inf', string.format('%.0f', now_ms))
  end

  -- A renewal adds nothing. It removes lost slots first, so that a full Redis lets it pass.
  function slots.charge(state, limit, _, now_ms, slot, expiry_ms, is_renewal)
    local lost_at_ms, member = string.format('%.0f', now_ms + limit.a), string.format('%.0f', slot)
    if is_renewal then
      remove_lost(state, now_ms)
      state.in_flight = state.in_flight + redis.call('ZADD', state.key, lost_at_ms, member)
    else
      local added = redis.pcall('ZADD', state.key, lost_at_ms, member)
      if type(added) ~= 'number' then
        raise_unless_wrong_type(added, 'ZADD', state.key, lost_at_ms, member)
        redis.call('DEL', state.key)
        added = redis.call('ZADD', state.key, lost_at_ms, member)
      end
      state.is_rubbish = false
      remove_lost(state, now_ms)
      -- A slot that is not new was either in flight or lost.
      state.in_flight = added == 1 and state.in_flight + 1 or redis.call('ZCARD', state.key)
    end
    redis.call('PEXPIRE', state.key, math.max(expiry_ms, limit.a))
  end

  function slots.give_back(state, _, _, now_ms, slot)
    remove_lost(state, now_ms)
    state.in_flight = math.max(0, state.in_flight - redis.call('ZREM', state.key, string.format('%.0f', slot)))
  end

  function slots.reset_after_ms()
    return 0
  end

  function slots.view(state, _, _, _, reply)
    reply[#reply + 1] = state.in_flight
  end

  return slots
end
