-- `commit`: decides all batches of a call, then writes them.
--
-- A batch is one flat array: shard, producer, sequence, number of addresses, the addresses, then the items.
-- An item is its kind, the index of its address, its incarnation and its arguments. `LOST`, the positions where
-- it counted and its earlier batches precede an item that the store lost. The reply is, per batch, a
-- head and the slots of its addresses in their order. Arguments: prefix, the test's clock or '', rules, the
-- packed batches one after the other.

local LOST = 9
local DONE, DUPLICATE, SEQUENCE_GAP, UNINITIALISED = 0, 1, 2, 3
-- Addresses follow this index in a batch, slots follow this index in the values read for it.
local addressesAt, slotsAt = 4, 3

-- Packs so many decisions, each a number below 128 or packed already.
function voting.packDecisions(count)
  local decisions = voting.decisions
  for index = 1, count do
    local decision = decisions[index]
    decisions[index] = type(decision) == 'number' and char(decision) or decision
  end
  local head = count < 16 and char(0x90 + count) or packFixed('>BH', 0xdc, count)
  return head .. concat(decisions, '', 1, count)
end

-- Returns the packed decisions, or their count when all are `applied`, as in the embedded store.
local function decideItems(work)
  local items, slots = work.items, work.values
  local decisions, count, isPlain = voting.decisions, 0, true
  local at, last = addressesAt + items[addressesAt] + 1, #items
  while at <= last do
    lostPositions = nil
    local kind = items[at]
    if kind == LOST then
      lostPositions, lostCopies = items[at + 1], items[at + 2]
      at = at + 3
      kind = items[at]
    end
    local decision = applyItem(work, slots[slotsAt + items[at + 1]], at + 3)
    count = count + 1
    decisions[count] = decision
    isPlain = isPlain and decision == APPLIED
    at = at + 3 + argumentCounts[kind] + (kind == VOTE and items[at + 6] or 0)
  end
  return isPlain and count or voting.packDecisions(count)
end

-- Work tables, reused by the next call: there are at most as many as shards, and creating them is expensive.
local reusedWorks = {}

-- Reads what the batch needs into `work.values`; `openSlots` then replaces packed slots by open ones.
local function openWork(work, prefix, items)
  local stem, field = getStem(prefix, items[1]), (parseProducer(items[2]))
  local key = getEntitiesKey(stem)
  local final = addressesAt + items[addressesAt]
  local values = call('HMGET', key, GENERATION_FIELD, VERSION_FIELD, field, unpack(items, addressesAt + 1, final))
  local before, chainHash = unpackVersion(values[2])
  work.stem, work.key, work.field, work.items, work.values = stem, key, field, items, values
  work.generation, work.before, work.version, work.chainHash = parseGeneration(values[1]), before, before + 1, chainHash
  work.last, work.outcome, work.decisions, work.changed = values[3] and unpackLastSequence(values[3]) or 0, DONE, false, false
  work.votes, work.visitors, work.removedVisitors, work.outbox = nil, nil, nil, nil
  work.parts, work.due = nil, nil
end

local function openSlots(work)
  local items, values = work.items, work.values
  for place = 1, items[addressesAt] do
    values[slotsAt + place] = openSlot(items[addressesAt + place], values[slotsAt + place])
  end
end

local function decideBatch(work, prefix, items)
  openWork(work, prefix, items)
  local sequence = items[3]
  if work.generation == 0 then
    work.outcome = UNINITIALISED
  elseif sequence <= work.last then
    work.outcome = DUPLICATE
    work.decisions = sequence == work.last and work.values[3] and unpackDecisions(work.values[3]) or false
  elseif sequence ~= work.last + 1 then
    work.outcome = SEQUENCE_GAP
  else
    work.last = sequence
    openSlots(work)
    work.decisions = decideItems(work)
    if work.changed then
      work.chainHash = extendChainHash(work.chainHash, items[2], sequence)
    end
  end
end

-- The arguments of one HSET; the table is reused by the next.
local fields = {}

-- A bucket expires when no window reaches its votes. The expiry is set while the bucket holds only the votes
-- just written. A new one that is listed (`w`) was deleted: a score below 0 says so.
function voting.writeVotes(work)
  for key, written in pairs(work.votes) do
    local count, endMs = 0, 0
    for user, votes in pairs(written) do
      fields[count + 1] = user
      fields[count + 2] = #votes == 2 and packFixed('>HdB', 0x9200 + DOUBLE, votes[1], votes[2]) or pack(votes)
      count = count + 2
      endMs = (toBucket(votes[1]) + 2) * bucketMs + rules.storedMs
    end
    local added, size = callChunked('HSET', key, fields, count), call('HLEN', key)
    if size * 2 <= count then
      call('PEXPIRE', key, max(bucketMs, endMs - nowMs))
    end
    if size == added then
      local index, name = work.stem .. 'w', sub(key, #work.stem + 3)
      if call('ZADD', index, endMs, name) == 0 then
        call('ZADD', index, -endMs, name)
      end
    end
  end
end

local function writeVisitors(work)
  for _, key in ipairs(work.removedVisitors or {}) do
    call('UNLINK', key)
  end
  for key, new in pairs(work.visitors or {}) do
    local members = {}
    for visitor in pairs(new) do
      members[#members + 1] = visitor
    end
    callChunked('SADD', key, members)
  end
end

-- Writes the collected visitors of a slot and counts the new ones.
local function writeCollectedVisitors(work, slot)
  local rest, key = openRest(slot), work.stem .. 'u:' .. getListing(slot)
  if rest[UNIQUE_CLICKS] == 0 then
    call('SADD', key, WHOLE)
  end
  rest[UNIQUE_CLICKS] = rest[UNIQUE_CLICKS] + callChunked('SADD', key, slot[VISITORS])
end

-- Updates the dirty index for slots that became dirty or clean.
local function writeDirtyIndex(stem, moved)
  local dirty, cleaned = {}, {}
  for _, slot in ipairs(moved) do
    if slot[SINCE] > 0 then
      dirty[#dirty + 1] = slot[SINCE]
      dirty[#dirty + 1] = slot[ADDRESS]
    else
      cleaned[#cleaned + 1] = slot[ADDRESS]
    end
  end
  callChunked('ZADD', stem .. 'd', dirty)
  callChunked('ZREM', stem .. 'd', cleaned)
end

-- Writes the shard's fields and every changed slot.
local function writeSlots(work)
  local slots, count, moved = work.values, 4, nil
  fields[1], fields[2] = work.field, packNewest(work.last, nowMs, work.decisions)
  fields[3], fields[4] = VERSION_FIELD, packVersion(work.version, work.chainHash)
  for place = slotsAt + 1, slotsAt + work.items[addressesAt] do
    local slot = slots[place]
    if slot[CHANGED] then
      if slot[VISITORS] then
        writeCollectedVisitors(work, slot)
      end
      local packed = packSlot(slot)
      slot[PACKED] = packed
      fields[count + 1], fields[count + 2] = slot[ADDRESS], packed
      count = count + 2
      if slot[SINCE] ~= slot[STORED_SINCE] then
        moved = moved or {}
        moved[#moved + 1] = slot
      end
    end
    if count > chunkMax then
      call('HSET', work.key, unpack(fields, 1, count))
      count = 0
    end
  end
  if count > 0 then
    call('HSET', work.key, unpack(fields, 1, count))
  end
  if moved then
    writeDirtyIndex(work.stem, moved)
  end
end

local function writeBatch(work)
  if not work.values[3] then
    call('SADD', work.stem .. 'p', work.field)
  end
  if not work.changed then
    work.version = work.before
    call('HSET', work.key, work.field, packNewest(work.last, nowMs, work.decisions))
    if work.visitors then
      writeVisitors(work)
    end
    if work.votes then
      voting.writeVotes(work)
    end
    return
  end
  if work.visitors or work.removedVisitors then
    writeVisitors(work)
  end
  writeSlots(work)
  changeList.record(work, slotsAt + 1, slotsAt + work.items[addressesAt])
  if work.votes then
    voting.writeVotes(work)
  end
  if work.outbox then
    voting.countOutbox(work.key, callChunked('ZADD', work.stem .. 'o', work.outbox))
  end
  if work.parts or work.due then
    parts.write(work)
  end
end

-- An array of six values: outcome, sequence number, version, chain hash, generation and decisions.
local function packReplyHead(work, version)
  local decisions = work.decisions
  if type(decisions) ~= 'string' then
    decisions = pack(decisions)
  end
  return packFixed(
    '>HBdBdBdBdc0',
    0x9600 + work.outcome,
    DOUBLE,
    work.last,
    DOUBLE,
    version,
    DOUBLE,
    work.chainHash,
    DOUBLE,
    work.generation,
    decisions
  )
end

local function packReply(works)
  local parts, count = {}, 0
  for _, work in ipairs(works) do
    local done, values = work.outcome == DONE, work.values
    count = count + 1
    parts[count] = packReplyHead(work, done and work.version or work.before)
    for place = slotsAt + 1, slotsAt + work.items[addressesAt] do
      count = count + 1
      parts[count] = done and (values[place][PACKED] or none) or showSlot(values[place])
    end
  end
  return concat(parts)
end

local function writeAll(works, keys, prefix)
  for _, work in ipairs(works) do
    if work.outcome == DONE and work.changed then
      moves.record(keys, prefix)
      break
    end
  end
  for _, work in ipairs(works) do
    if work.outcome == DONE then
      writeBatch(work)
    end
  end
end

-- Drops the values of this call from the reused work tables.
local function dropReferences(works)
  for _, work in ipairs(works) do
    work.items, work.values, work.votes, work.visitors, work.outbox = nil, nil, nil, nil, nil
    work.parts, work.due = nil, nil
  end
end

local function commit(keys, arguments)
  local prefix = arguments[1]
  nowMs, rules = readClock(arguments[2]), unpackRules(arguments[3])
  local works, count = {}, 0
  local text, offset = arguments[4], 0
  repeat
    local items
    offset, items = unpackArray(text, offset)
    count = count + 1
    reusedWorks[count] = reusedWorks[count] or {}
    works[count] = reusedWorks[count]
    decideBatch(works[count], prefix, items)
  until offset < 0
  local written, failure = pcall(writeAll, works, keys, prefix)
  if not written then
    -- Only a bug, or another program's value under one of our keys, leads here: the caller must not treat it
    -- as a refusal.
    return redis.error_reply('HALFWRITTEN ' .. tostring(type(failure) == 'table' and failure.err or failure))
  end
  local reply = packReply(works)
  dropReferences(works)
  return reply
end
