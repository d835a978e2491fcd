-- `load`, `heads` and `peek`: the reading functions. They write nothing. `load` and `peek` answer with slots as
-- texts, so that a damaged one makes nothing else unreadable.

-- Arguments: prefix, clock, how long last votes are stored, then shard, address and voter ('' for none) of
-- each request.
local function load(keys, arguments)
  local prefix, nowMs, storedMs = arguments[1], readClock(arguments[2]), tonumber(arguments[3])
  local fromMs, toMs = nowMs - storedMs, nowMs + clockAheadMaxMs
  local parts = {}
  for index = 4, #arguments, 3 do
    local stem = getStem(prefix, tonumber(arguments[index]))
    local address, user = arguments[index + 1], arguments[index + 2]
    local packed = call('HGET', stem .. 'e', address)
    local votedAtMs = 0
    local slot = openSlot(address, user ~= '' and packed)
    if slot[EXISTS] then
      local releasedMs = openRest(slot)[RELEASED_BEFORE_MS]
      for bucket = toBucket(fromMs), toBucket(toMs) do
        local stored = call('HGET', toVotesKey(stem, toListing(address, slot[INCARNATION]), bucket), user)
        if stored then
          votedAtMs = max(votedAtMs, findHoldingSince(unpackValue(stored), fromMs, toMs, releasedMs))
        end
      end
    end
    parts[#parts + 1] = pack(tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0))
    parts[#parts + 1] = pack(votedAtMs)
    parts[#parts + 1] = pack(showSlot(packed))
  end
  return concat(parts)
end

-- The current value of `moved` ('' for none). Then, if it is not the one the caller knows: generation,
-- version, chain hash, and the numbers of dirty entities and outbox votes of each shard; else nil. Arguments:
-- prefix, the known value or '', shards.
local function heads(keys, arguments)
  local heads, key = {}, moves.getKey(keys, arguments[1])
  local moved = key and call('GET', key) or ''
  if moved ~= '' and moved == arguments[2] then
    return pack(moved) .. none
  end
  for index = 3, #arguments do
    local stem = getStem(arguments[1], tonumber(arguments[index]))
    local meta = call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD)
    heads[#heads + 1] = tonumber(meta[1] or 0)
    heads[#heads + 1], heads[#heads + 2] = unpackVersion(meta[2])
    heads[#heads + 1] = call('ZCARD', stem .. 'd')
    heads[#heads + 1] = call('ZCARD', stem .. 'o')
  end
  return pack(moved) .. pack(heads)
end

local function peekEntities(parts, stem, room)
  local addresses = room > 0 and call('ZRANGE', stem .. 'd', 0, room - 1) or {}
  local slots = readFields(stem .. 'e', addresses)
  local generation = pack(tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0))
  local count = #parts
  for index, address in ipairs(addresses) do
    parts[count + 1], parts[count + 2], parts[count + 3] = pack(address), generation, pack(showSlot(slots[index]))
    count = count + 3
  end
  return #addresses
end

-- For each shard: the number of dirty entities, the entities, the number of outbox votes, the votes.
-- Arguments: prefix, then per shard its number and the maxima of entities and votes.
local function peek(keys, arguments)
  local parts = {}
  for index = 2, #arguments, 3 do
    local stem = getStem(arguments[1], tonumber(arguments[index]))
    local head = #parts + 1
    parts[head] = none
    parts[head] = pack(peekEntities(parts, stem, tonumber(arguments[index + 1])))
    local room = tonumber(arguments[index + 2])
    local votes = room > 0 and call('ZRANGE', stem .. 'o', 0, room - 1) or {}
    parts[#parts + 1] = pack(#votes)
    local count = #parts
    for index, vote in ipairs(votes) do
      parts[count + index] = pack(vote)
    end
  end
  return concat(parts)
end
