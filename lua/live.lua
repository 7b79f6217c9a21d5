-- Reads the live document, or replaces it if nobody else has replaced it.
-- Mirror: src/store/live.ts
--
-- KEYS[1]  a hash: `version` and `text`
-- ARGV[1]  the version that the caller has; 0: none
-- ARGV[2]  the new text; absent: read only
--
-- Reading returns the version, and the text if it is of another version than the caller's and there is one.
-- Writing returns the new version; 0: the document has another version than the caller's, and nothing was written.
-- A version that was damaged by hand counts as 0, and its text as one that no caller has: the next change repairs it.

local number = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
local is_sound = number and number >= 0 and number == math.floor(number) and number < 9007199254740992
local version = is_sound and number or 0
local is_known = version == tonumber(ARGV[1])
if not ARGV[2] then
  if is_sound and is_known then
    return {version}
  end
  return {version, redis.call('HGET', KEYS[1], 'text')}
end
if not is_known then
  return {0}
end
redis.call('HSET', KEYS[1], 'version', version + 1, 'text', ARGV[2])
return {version + 1}
