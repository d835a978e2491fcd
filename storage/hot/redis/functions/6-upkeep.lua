-- `settled`, `publish` and `sweep`: what changes without being counted. Each may be repeated.

local producerIdleMs = 7 * 86400000

-- What moved on since it was flushed goes to the end of the queue, so that it cannot keep others waiting.
-- `row`: incarnation, version, flushed votes and generation of the flush, then the shard's generation.
local function settleSlot(stem, address, row)
  local slot = openSlot(address, call('HGET', stem .. 'e', address))
  if not slot[LIVING] or slot[INCARNATION] ~= row[1] or slot[SINCE] == 0 then
    return
  end
  restOf(slot)[FLUSHED] = row[3]
  local since = slot[SINCE]
  slot[SINCE] = slot[VERSION] == row[2] and row[4] == row[5] and 0 or slot[VERSION]
  call('HSET', stem .. 'e', address, packSlot(slot))
  if slot[SINCE] == since then
    return
  elseif slot[SINCE] == 0 then
    call('ZREM', stem .. 'd', address)
  else
    call('ZADD', stem .. 'd', slot[SINCE], address)
  end
end

local function isTagged(vote, itag)
  return vote and sub(vote, 1, #itag + 1) == itag .. '\0'
end

-- Removes votes by the itags in `row` from `at` on. They mostly are the oldest in their order, and then leave in one command.
local function settleVotes(key, row, at)
  local count, same = #row - at + 1, 0
  local oldest = count > 0 and call('ZRANGE', key, 0, count) or {}
  while same < count and isTagged(oldest[same + 1], row[at + same]) do
    same = same + 1
  end
  if same > 0 and not isTagged(oldest[same + 1], row[at + same - 1]) then
    call('ZREMRANGEBYRANK', key, 0, same - 1)
    at = at + same
  end
  for position = at, #row do
    call('ZREMRANGEBYLEX', key, '[' .. row[position] .. '\0', '(' .. row[position] .. '\1')
  end
end

-- Arguments: prefix, then per shard a packed row: shard, number of entities, address, incarnation, version, flushed votes
-- and generation of each, then itags.
local function settled(keys, arguments)
  for index = 2, #arguments do
    local row = unpackValue(arguments[index])
    local stem = stemOf(arguments[1], row[1])
    local generation = tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0)
    local at = 3
    for _ = 1, row[2] do
      settleSlot(stem, row[at], { row[at + 1], row[at + 2], row[at + 3], row[at + 4], generation })
      at = at + 5
    end
    settleVotes(stem .. 'o', row, at)
  end
  return #arguments - 1
end

-- Marks the clean ones of some addresses and rows (address, row, address, row …).
local function markDirty(stem, found)
  local fields, marks = {}, {}
  for index = 1, #found, 2 do
    local slot = openSlot(found[index], byte(found[index]) ~= 33 and found[index + 1])
    if slot[LIVING] and slot[SINCE] == 0 then
      slot[SINCE] = slot[VERSION]
      fields[#fields + 1] = found[index]
      fields[#fields + 1] = packSlot(slot)
      marks[#marks + 1] = slot[SINCE]
      marks[#marks + 1] = found[index]
    end
  end
  callChunked('HSET', stem .. 'e', fields)
  callChunked('ZADD', stem .. 'd', marks)
end

-- Raises one generation and marks every living entity, in one go: an entity flushed under the old generation between two
-- steps would be clean under the new one. Arguments: prefix, shard, generation.
local function publish(keys, arguments)
  local stem = stemOf(arguments[1], tonumber(arguments[2]))
  local known = tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0)
  if tonumber(arguments[3]) <= known then
    return 0
  end
  local cursor = '0'
  repeat
    local step = call('HSCAN', stem .. 'e', cursor, 'COUNT', chunkMax)
    cursor = step[1]
    markDirty(stem, step[2])
  until cursor == '0'
  call('HSET', stem .. 'e', GENERATION_FIELD, arguments[3])
  return 1
end

-- Empties a shard that still stands at a place. Visitors and last votes stay: they are true of any past. Arguments: prefix,
-- shard, generation, version.
local function clear(keys, arguments)
  local stem = stemOf(arguments[1], tonumber(arguments[2]))
  local meta = call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD)
  if tonumber(meta[1] or 0) ~= tonumber(arguments[3]) or unpackVersion(meta[2]) ~= tonumber(arguments[4]) then
    return 0
  end
  for _, letter in ipairs({ 'e', 'd', 'o', 'p' }) do
    call('UNLINK', stem .. letter)
  end
  return 1
end

-- Removes producers long idle; last votes expire by themselves. Arguments: prefix, now, shards.
local function sweep(keys, arguments)
  local nowMs = tonumber(arguments[2])
  for index = 3, #arguments do
    local stem = stemOf(arguments[1], tonumber(arguments[index]))
    local idle = {}
    for _, field in ipairs(call('SMEMBERS', stem .. 'p')) do
      local row = call('HGET', stem .. 'e', field)
      local _, seenMs = unpackNewest(row or packNewest(0, 0, 0))
      if nowMs - seenMs > producerIdleMs then
        idle[#idle + 1] = field
      end
    end
    callChunked('HDEL', stem .. 'e', idle)
    callChunked('SREM', stem .. 'p', idle)
  end
  return #arguments - 2
end
