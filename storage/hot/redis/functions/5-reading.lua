-- `load`, `heads` and `peek`: what the port shows. They write nothing.

-- Arguments: prefix, clock, for how long last votes are kept, then shard, address and voter ('' for none) of each request.
local function load(keys, arguments)
  local prefix, nowMs, keptMs = arguments[1], clock(arguments[2]), tonumber(arguments[3])
  local range = { fromMs = nowMs - keptMs, toMs = nowMs + clockAheadMaxMs }
  local parts = {}
  for index = 4, #arguments, 3 do
    local stem = stemOf(prefix, tonumber(arguments[index]))
    local address, user = arguments[index + 1], arguments[index + 2]
    local row = call('HGET', stem .. 'e', address)
    local votedAtMs = 0
    local slot = openSlot(address, user ~= '' and row)
    if slot[LIVING] then
      local releasedMs = restOf(slot)[RELEASED]
      for bucket = bucketOf(range.fromMs), bucketOf(range.toMs) do
        local stored = call('HGET', votesKey(stem, listingOf(address, slot[INCARNATION]), bucket), user)
        if stored then
          votedAtMs = max(votedAtMs, holdingSince(unpackValue(stored), range, releasedMs))
        end
      end
    end
    parts[#parts + 1] = pack(tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0))
    parts[#parts + 1] = pack(votedAtMs)
    parts[#parts + 1] = row or none
  end
  return concat(parts)
end

-- Generation, version, mark, dirty entities and outbox votes of each shard. Arguments: prefix, shards.
local function heads(keys, arguments)
  local row = {}
  for index = 2, #arguments do
    local stem = stemOf(arguments[1], tonumber(arguments[index]))
    local meta = call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD)
    row[#row + 1] = tonumber(meta[1] or 0)
    row[#row + 1], row[#row + 2] = unpackVersion(meta[2])
    row[#row + 1] = call('ZCARD', stem .. 'd')
    row[#row + 1] = call('ZCARD', stem .. 'o')
  end
  return pack(row)
end

local function peekEntities(parts, stem, room)
  local addresses = room > 0 and call('ZRANGE', stem .. 'd', 0, room - 1) or {}
  local rows = readSlots(stem, addresses)
  local generation = pack(tonumber(call('HGET', stem .. 'e', GENERATION_FIELD) or 0))
  for index, address in ipairs(addresses) do
    parts[#parts + 1] = pack(address)
    parts[#parts + 1] = generation
    parts[#parts + 1] = rows[index] or none
  end
  return #addresses
end

-- Entities first, then votes; a number before each kind of each shard. Arguments: prefix, then shard, entities and votes wanted.
local function peek(keys, arguments)
  local parts = {}
  for index = 2, #arguments, 3 do
    local stem = stemOf(arguments[1], tonumber(arguments[index]))
    local head = #parts + 1
    parts[head] = none
    parts[head] = pack(peekEntities(parts, stem, tonumber(arguments[index + 1])))
    local room = tonumber(arguments[index + 2])
    local votes = room > 0 and call('ZRANGE', stem .. 'o', 0, room - 1) or {}
    parts[#parts + 1] = pack(#votes)
    for _, vote in ipairs(votes) do
      parts[#parts + 1] = pack(vote)
    end
  end
  return concat(parts)
end
