-- Reads the live document, or replaces it if nobody else has replaced it.
-- Mirror: src/kernel/store/live.ts
--
-- KEYS[1]  a hash: `version`, `mark`, `text`
-- ARGV[1]  the version that the caller has; 0: none
-- ARGV[2]  to read: the mark of the caller's text; empty: none. To write: the mark of the new text
-- ARGV[3]  the new text; absent: read only
--
-- Reading returns the version and the mark (empty: none), and the text if it is another one than the caller's. A
-- version can come again after the document has vanished. A mark, a random text, does not.
-- Writing returns the new version; 0: the document has another version than the caller's, and nothing was written.
-- A version that was damaged by hand counts as 0, and its text as one that no caller has: the next change repairs it.

local stored = redis.call('HMGET', KEYS[1], 'version', 'mark')
local number = tonumber(stored[1] or '0')
local is_sound = number and number >= 0 and number == math.floor(number) and number < 9007199254740992
local version = is_sound and number or 0
local mark = stored[2] or ''
local is_version = version == tonumber(ARGV[1])
if not ARGV[3] then
  if is_sound and is_version and mark == ARGV[2] then
    return {version, mark}
  end
  return {version, mark, redis.call('HMGET', KEYS[1], 'text')[1]}
end
if not is_version then
  return {0}
end
redis.call('HSET', KEYS[1], 'version', version + 1, 'mark', ARGV[2], 'text', ARGV[3])
return {version + 1}
