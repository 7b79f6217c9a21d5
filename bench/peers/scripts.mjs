/** The plain scripts that many projects write, in a good form: each checks before it charges where it can. */

/** KEYS[1] · ARGV limit, window in ms, cost. Reply: allowed, ms until the key expires. Refused requests count too. */
export const INCR_EXPIRE = `
local n = redis.call('INCRBY', KEYS[1], ARGV[3])
if n == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if n > tonumber(ARGV[1]) then return { 0, redis.call('PTTL', KEYS[1]) } end
return { 1, 0 }`;

/** KEYS[1] · ARGV limit, window in ms, cost, now in ms by the caller's clock, a unique name for this request. */
export const SORTED_SET_LOG = `
local limit, window, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) + cost > limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { 0, (oldest[2] or now) + window - now }
end
for i = 1, cost do redis.call('ZADD', KEYS[1], ARGV[4], ARGV[5] .. ':' .. i) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 1, 0 }`;

/** KEYS[1] · ARGV as above, without the name. Ten sub-buckets per window. The oldest sub-bucket counts fully. */
export const HASH_BUCKETS = `
local limit, window, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local size = window / 10
local current = math.floor(now / size)
local fields = redis.call('HGETALL', KEYS[1])
local used, oldest = 0, current
for i = 1, #fields, 2 do
  local bucket = tonumber(fields[i])
  if bucket < current - 10 then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    used = used + tonumber(fields[i + 1])
    if bucket < oldest then oldest = bucket end
  end
end
if used + cost > limit then return { 0, (oldest + 11) * size - now } end
redis.call('HINCRBY', KEYS[1], current, cost)
redis.call('PEXPIRE', KEYS[1], window + size)
return { 1, 0 }`;

/** The cost of any script, and the cost of any script that reads and writes one key. */
export const BARE = "return 1";
export const GET_SET = "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
