-- `settled` (mark flushed), `publish`, `clear`, `sweep` and `mend`: changes other than commits. Each is safe
-- to repeat.

-- Marks an open slot as flushed. A slot that changed since the flush moves to the end of the dirty index, so
-- that others get their turn. `receipt` has, from `at` on, incarnation, version, flushed votes and generation
-- of the flush; `generation` is the shard's current one.
local function markSlotFlushed(slot, receipt, at, generation)
  if not slot[EXISTS] or slot[INCARNATION] ~= receipt[at] or slot[SINCE] == 0 then
    return
  end
  local flushedVotes = receipt[at + 2]
  local _, storedVotes = unpackSome(slot[PACKED], 1, slot[REST_AT])
  if slot[REST] or storedVotes ~= flushedVotes then
    openRest(slot)[FLUSHED] = flushedVotes
  end
  local isClean = slot[VERSION] == receipt[at + 1] and receipt[at + 3] == generation
  slot[SINCE], slot[CHANGED] = isClean and 0 or slot[VERSION], COUNTERS
end

-- Marks the slots of a flush receipt; see `settled`. A receipt may name an address twice.
local function markSlotsFlushed(stem, receipt, generation)
  local addresses, slots, fields, moved = {}, {}, {}, {}
  for number = 1, receipt[2] do
    addresses[number] = receipt[number * 5 - 2]
  end
  local packed = readFields(stem .. 'e', addresses)
  for number, address in ipairs(addresses) do
    local slot = slots[address] or openSlot(address, packed[number])
    slots[address] = slot
    markSlotFlushed(slot, receipt, number * 5 - 1, generation)
  end
  for address, slot in pairs(slots) do
    if slot[CHANGED] then
      fields[#fields + 1], fields[#fields + 2] = address, packSlot(slot)
    end
    if slot[SINCE] ~= slot[STORED_SINCE] then
      moved[#moved + 1] = slot
    end
  end
  callChunked('HSET', stem .. 'e', fields)
  writeDirtyIndex(stem, moved)
end

-- Compares without making a text: `find` with a plain text from the first byte on.
local function hasItag(vote, itag)
  return vote and find(vote, itag, 1, true) == 1 and byte(vote, #itag + 1) == 0
end

-- Removes the votes whose itags stand in `receipt` from `at` on; votes that could not be read stand there whole.
-- Usually they are the oldest ones in order; then one command removes them.
-- Returns how many it removed.
local function removeVotes(key, receipt, at)
  local removed = 0
  local count, same = #receipt - at + 1, 0
  local oldest = count > 0 and call('ZRANGE', key, 0, count) or {}
  while same < count and hasItag(oldest[same + 1], receipt[at + same]) do
    same = same + 1
  end
  if same > 0 and not hasItag(oldest[same + 1], receipt[at + same - 1]) then
    removed = call('ZREMRANGEBYRANK', key, 0, same - 1)
    at = at + same
  end
  for position = at, #receipt do
    local found = call('ZREM', key, receipt[position])
    if found == 0 then
      found = call('ZREMRANGEBYLEX', key, '[' .. receipt[position] .. '\0', '(' .. receipt[position] .. '\1')
    end
    removed = removed + found
  end
  return removed
end

-- Arguments: prefix, then per shard a packed flush receipt: shard, number of entities, then address,
-- incarnation, version, flushed votes and generation of each entity, then the flushed votes (see `removeVotes`).
local function settled(keys, arguments)
  for index = 2, #arguments do
    local receipt = unpackValue(arguments[index])
    local stem = getStem(arguments[1], receipt[1])
    local generation, raising = unpack(call('HMGET', stem .. 'e', GENERATION_FIELD, moves.raisingField))
    -- While the generation is being raised, nothing that was flushed under the old one is clean.
    generation = not raising and tonumber(generation or 0)
    markSlotsFlushed(stem, receipt, generation)
    voting.countOutbox(stem .. 'e', -removeVotes(stem .. 'o', receipt, 3 + receipt[2] * 5))
  end
  moves.record(keys, arguments[1])
  return #arguments - 1
end

-- Marks the clean slots among `fields` (address, packed slot, address, packed slot …) as dirty. Field names
-- that begin with `!` belong to the shard. Fails on a listing of an unknown form: a node that knows it must publish.
local function markDirty(stem, fields)
  local changed, dirty = {}, {}
  for index = 1, #fields, 2 do
    local slot = openSlot(fields[index], byte(fields[index]) ~= 33 and fields[index + 1])
    assert(slot[INCARNATION] ~= UNKNOWN, 'a listing has the form of a newer library')
    if slot[EXISTS] and slot[SINCE] == 0 then
      slot[SINCE] = slot[VERSION]
      changed[#changed + 1] = fields[index]
      changed[#changed + 1] = packSlot(slot)
      dirty[#dirty + 1] = slot[SINCE]
      dirty[#dirty + 1] = fields[index]
    end
  end
  callChunked('HSET', stem .. 'e', changed)
  callChunked('ZADD', stem .. 'd', dirty)
end

-- Raises one generation and marks every entity dirty, about as many per call as the last argument says. Returns
-- 1 while a further call is needed, else 0. Between two calls the shard has a field with the highest generation
-- asked for, the server that gave out the cursor, and the cursor: the next call continues there, whoever makes
-- it. On another server (a failover, a moved slot) the cursor means nothing, so the marking begins again.
-- Arguments: prefix, shard, generation, entities per call.
local function publish(keys, arguments)
  local key = getStem(arguments[1], tonumber(arguments[2])) .. 'e'
  local generation, left, cursor = tonumber(arguments[3]), tonumber(arguments[4]), '0'
  local meta = call('HMGET', key, GENERATION_FIELD, moves.raisingField)
  if generation <= tonumber(meta[1] or 0) then
    return 0
  end
  if meta[2] then
    local raising = unpackValue(meta[2])
    generation = max(generation, raising[1])
    cursor = raising[2] == moves.nameServer() and raising[3] or '0'
  end
  repeat
    local step = call('HSCAN', key, cursor, 'COUNT', chunkMax)
    cursor = step[1]
    markDirty(sub(key, 1, -2), step[2])
    left = left - #step[2] / 2
  until cursor == '0' or left <= 0
  if cursor ~= '0' then
    call('HSET', key, moves.raisingField, pack({ generation, moves.nameServer(), cursor }))
    return 1
  end
  call('HDEL', key, moves.raisingField)
  call('HSET', key, GENERATION_FIELD, digits(generation), FORMAT_FIELD, format1)
  moves.record(keys, arguments[1])
  return 0
end

-- Empties a shard if it is still at the given position. Visitors and last votes stay: they are valid for any
-- history. Arguments: prefix, shard, generation, version.
local function clear(keys, arguments)
  local stem = getStem(arguments[1], tonumber(arguments[2]))
  local meta = call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD)
  if tonumber(meta[1] or 0) ~= tonumber(arguments[3]) or unpackVersion(meta[2]) ~= tonumber(arguments[4]) then
    return 0
  end
  for _, letter in ipairs({ 'e', 'd', 'o', 'p', 'c', 't' }) do
    call('UNLINK', stem .. letter)
  end
  moves.record(keys, arguments[1])
  return 1
end

-- Removes producers that have been idle for long; last votes expire by themselves. Arguments: prefix, now,
-- shards.
local function sweep(keys, arguments)
  local producerIdleMs = 7 * 86400000
  local nowMs = tonumber(arguments[2])
  for index = 3, #arguments do
    local stem = getStem(arguments[1], tonumber(arguments[index]))
    local idle = {}
    for _, field in ipairs(call('SMEMBERS', stem .. 'p')) do
      local newest = call('HGET', stem .. 'e', field)
      local _, seenMs = unpackNewest(newest or packNewest(0, 0, 0))
      if nowMs - seenMs > producerIdleMs then
        idle[#idle + 1] = field
      end
    end
    callChunked('HDEL', stem .. 'e', idle)
    callChunked('SREM', stem .. 'p', idle)
  end
  return #arguments - 2
end

-- What `mend` found in one step.
moves.found = { 'dirty', 'due', 'parts', 'producers', 'votes', 'visitors', 'voters' }

-- Notices visitors that were deleted, and adds the listing to `lost` where last votes were.
function moves.mendPeople(stem, slot, found, lost)
  local rest, listing, voters = openRest(slot), getListing(slot), 0
  local visitors = stem .. 'u:' .. listing
  if rest[UNIQUE_CLICKS] > 0 and call('SISMEMBER', visitors, WHOLE) == 0 then
    call('SADD', visitors, WHOLE)
    call('HSET', stem .. 'e', voting.unseenField, digits((call('HGET', stem .. 'e', voting.unseenField) or 0) + 1))
    found.visitors = found.visitors + 1
  end
  for bucket = toBucket(nowMs) - 2, found.isListed and toBucket(nowMs) + 1 or 0 do
    local name = listing .. ':' .. digits(bucket)
    local endMs = tonumber(call('ZSCORE', stem .. 'w', name) or nowMs)
    if endMs < 0 then
      call('ZADD', stem .. 'w', -endMs, name)
      voters = voters + 1
    elseif endMs > nowMs and call('EXISTS', stem .. 'v:' .. name) == 0 then
      call('ZREM', stem .. 'w', name)
      voters = voters + 1
    end
  end
  if voters > 0 then
    found.voters = found.voters + voters
    lost[#lost + 1] = slot[ADDRESS]
    lost[#lost + 1] = slot[INCARNATION]
  end
end

-- Compares a record with the indexes that must name it. Parts whose table is gone are dropped: their sums would
-- count each further post a second time.
function moves.mendListing(stem, slot, found)
  local address = slot[ADDRESS]
  if slot[SINCE] > 0 and not call('ZSCORE', stem .. 'd', address) then
    found.dirty = found.dirty + call('ZADD', stem .. 'd', slot[SINCE], address)
  end
  local head = parts.has(slot) and parts.openHead(slot)
  if not head then
    return
  end
  local work = { stem = stem }
  for base = parts.CURRENT, parts.BUILDING, parts.tableLength do
    if slot.head and head[base + parts.SEEN] > 0 and call('EXISTS', parts.getKey(work, slot, head[base])) == 0 then
      parts.drop(work, slot)
      call('HSET', stem .. 'e', address, packSlot(slot))
      parts.write(work)
      found.parts = found.parts + 1
    end
  end
  if slot.head and head[parts.DUE] < counterMax and not call('ZSCORE', stem .. 't', address) then
    found.due = found.due + call('ZADD', stem .. 't', head[parts.DUE], address)
  end
end

-- Compares the number of votes in the outbox with the one that commits and flushes count, once the count has begun.
function moves.mendOutbox(stem, found)
  local counted, size = call('HGET', stem .. 'e', voting.outboxField), call('ZCARD', stem .. 'o')
  if counted and tonumber(counted) > size then
    found.votes = tonumber(counted) - size
    call('HSET', stem .. 'e', voting.lostField, digits(found.votes + (call('HGET', stem .. 'e', voting.lostField) or 0)))
  end
  if call('HEXISTS', stem .. 'e', GENERATION_FIELD) == 1 then
    call('HSET', stem .. 'e', voting.outboxField, digits(size))
  end
end

-- Compares records with what is queued for them: mends what a deleted key left out. One step of a round over a
-- shard. Answers the next cursor, the votes that were lost without a row in SQL so far, the listings that lost their
-- visitors, what was found, and the listings that lost last votes (address, incarnation …).
-- Arguments: prefix, shard, cursor, entities.
local function mend(keys, arguments)
  local stem, found, reply, lost = getStem(arguments[1], tonumber(arguments[2])), {}, {}, {}
  nowMs = readClock('')
  local over = call('ZRANGEBYSCORE', stem .. 'w', -nowMs, nowMs, 'LIMIT', 0, chunkMax)
  callChunked('ZREM', stem .. 'w', over)
  found.isListed = call('ZCARD', stem .. 'w') > 0
  for _, name in ipairs(moves.found) do
    found[name] = 0
  end
  local step = call('HSCAN', stem .. 'e', arguments[3], 'COUNT', arguments[4])
  for index = 1, #step[2], 2 do
    local name = step[2][index]
    if find(name, PRODUCER_FIELD, 1, true) == 1 then
      found.producers = found.producers + call('SADD', stem .. 'p', name)
    elseif byte(name) ~= 33 then
      local slot = openSlot(name, step[2][index + 1])
      if slot[EXISTS] then
        moves.mendListing(stem, slot, found)
        moves.mendPeople(stem, slot, found, lost)
      end
    end
  end
  moves.mendOutbox(stem, found)
  for index, name in ipairs(moves.found) do
    reply[index] = found[name]
  end
  if found.dirty + found.votes > 0 then
    moves.record(keys, arguments[1])
  end
  local votes, visitors = unpack(call('HMGET', stem .. 'e', voting.lostField, voting.unseenField))
  return concat({ pack(step[1]), pack(tonumber(votes or 0)), pack(tonumber(visitors or 0)), pack(reply), pack(lost) })
end
