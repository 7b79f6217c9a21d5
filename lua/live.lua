-- Reads the live document, or replaces it if nobody else has replaced it.
-- Mirror: src/store/live.ts
--
-- KEYS[1]  a hash: `version` and `text`
-- ARGV[1]  the version that the caller has; 0: none
-- ARGV[2]  the new text; absent: read only
--
-- Reading returns the version, and the text if it is of another version than the caller's and there is one.
-- Writing returns the new version; 0: the document has another version than the caller's, and nothing was written.
-- Both return -1 if the version is damaged: no caller can have it, and nothing is written.

local version = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
if not version or version < 0 or version ~= math.floor(version) or version >= 9007199254740992 then
  return {-1}
end
local is_known = version == tonumber(ARGV[1])
if not ARGV[2] then
  if is_known then
    return {version}
  end
  return {version, redis.call('HGET', KEYS[1], 'text')}
end
if not is_known then
  return {0}
end
redis.call('HSET', KEYS[1], 'version', version + 1, 'text', ARGV[2])
return {version + 1}
