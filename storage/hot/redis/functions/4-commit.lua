-- `commit`: decides all batches of a call, then writes them.
--
-- A batch is one flat row: shard, producer, sequence, number of addresses, the addresses, then the items; an item is kind,
-- place of its address, incarnation and its arguments; before one that was lost stand `LOST` and where it was applied. The
-- reply is, per batch, a head and the slots of its addresses in their order. Arguments: prefix, the test's clock or '', rules,
-- then the batches, packed one after the other.

local LOST = 9
local DONE, DUPLICATE, SEQUENCE_GAP, UNINITIALISED = 0, 1, 2, 3
-- Where the addresses begin in a batch, and the slots in what is read for it.
local addressesAt, rowsAt = 4, 3

-- A count when every decision is plain, as in the embedded store.
local function decideItems(work)
  local items, slots = work.items, work.rows
  local decisions, count = nil, 0
  local at, last = addressesAt + items[addressesAt] + 1, #items
  while at <= last do
    lostGeneration = nil
    local kind = items[at]
    if kind == LOST then
      lostGeneration, lostVersion = items[at + 1], items[at + 2]
      at = at + 3
      kind = items[at]
    end
    local decision = applyItem(work, slots[rowsAt + items[at + 1]], at + 3)
    count = count + 1
    if decision ~= APPLIED and not decisions then
      decisions = {}
      for earlier = 1, count - 1 do
        decisions[earlier] = APPLIED
      end
    end
    if decisions then
      decisions[count] = decision
    end
    at = at + 3 + argumentCounts[kind]
  end
  return decisions or count
end

-- Batches at work, used again by the next call: there are at most as many as shards, and making them is dear.
local worksKept = {}

local function workAt(index)
  local work = worksKept[index]
  if not work then
    work = {}
    worksKept[index] = work
  end
  return work
end

-- The rows of `work` are what is read for the batch; once it is decided, opened slots stand in the places of theirs.
local function openWork(work, prefix, items)
  local stem, field = stemOf(prefix, items[1]), (producerOf(items[2]))
  local key = entitiesKey(stem)
  local final = addressesAt + items[addressesAt]
  local rows = call('HMGET', key, GENERATION_FIELD, VERSION_FIELD, field, unpack(items, addressesAt + 1, final))
  local before, mark = unpackVersion(rows[2])
  work.stem, work.key, work.field, work.items, work.rows = stem, key, field, items, rows
  work.generation, work.before, work.version, work.mark = generationOf(rows[1]), before, before + 1, mark
  work.last, work.outcome, work.decisions, work.changed = rows[3] and lastOf(rows[3]) or 0, DONE, false, false
  work.votes, work.visitors, work.buried, work.outbox = nil, nil, nil, nil
end

local function openSlots(work)
  local items, rows = work.items, work.rows
  for place = 1, items[addressesAt] do
    rows[rowsAt + place] = openSlot(items[addressesAt + place], rows[rowsAt + place])
  end
end

local function decideBatch(work, prefix, items)
  openWork(work, prefix, items)
  local sequence = items[3]
  if work.generation == 0 then
    work.outcome = UNINITIALISED
  elseif sequence <= work.last then
    work.outcome = DUPLICATE
    work.decisions = sequence == work.last and work.rows[3] and decidedOf(work.rows[3]) or false
  elseif sequence ~= work.last + 1 then
    work.outcome = SEQUENCE_GAP
  else
    work.last = sequence
    openSlots(work)
    work.decisions = decideItems(work)
    if work.changed then
      work.mark = markAfter(work.mark, items[2], sequence)
    end
  end
end

-- A bucket expires when no window can reach its votes any more. As long as it has none but those just written, nobody has
-- said so yet.
local function writeVotes(work)
  for key, written in pairs(work.votes) do
    local fields, endMs = {}, 0
    for user, row in pairs(written) do
      fields[#fields + 1] = user
      fields[#fields + 1] = pack(row)
      endMs = (bucketOf(row[1]) + 2) * bucketMs + rules.keptMs
    end
    callChunked('HSET', key, fields)
    if call('HLEN', key) * 2 <= #fields then
      call('PEXPIRE', key, max(bucketMs, endMs - nowMs))
    end
  end
end

local function writeVisitors(work)
  for _, key in ipairs(work.buried or {}) do
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

-- The visitors of a slot that waited: as many as are new count.
local function writeWaiting(work, slot)
  local rest = restOf(slot)
  rest[UNIQUE] = rest[UNIQUE] + callChunked('SADD', work.stem .. 'u:' .. listingIn(slot), slot[VISITORS])
end

-- The marks of slots that became dirty or clean.
local function writeMarks(work, moved)
  local marks, cleaned = {}, {}
  for _, slot in ipairs(moved) do
    if slot[SINCE] > 0 then
      marks[#marks + 1] = slot[SINCE]
      marks[#marks + 1] = slot[ADDRESS]
    else
      cleaned[#cleaned + 1] = slot[ADDRESS]
    end
  end
  callChunked('ZADD', work.stem .. 'd', marks)
  callChunked('ZREM', work.stem .. 'd', cleaned)
end

-- What one HSET carries, used again by the next.
local fields = {}

-- The shard's fields and those of every changed slot.
local function writeSlots(work)
  local slots, count, moved = work.rows, 4, nil
  fields[1], fields[2] = work.field, packNewest(work.last, nowMs, work.decisions)
  fields[3], fields[4] = VERSION_FIELD, packVersion(work.version, work.mark)
  for place = rowsAt + 1, rowsAt + work.items[addressesAt] do
    local slot = slots[place]
    if slot[CHANGED] then
      if slot[VISITORS] then
        writeWaiting(work, slot)
      end
      local row = packSlot(slot)
      slot[ROW] = row
      fields[count + 1], fields[count + 2] = slot[ADDRESS], row
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
    writeMarks(work, moved)
  end
end

local function writeBatch(work)
  if not work.rows[3] then
    call('SADD', work.stem .. 'p', work.field)
  end
  if not work.changed then
    work.version = work.before
    call('HSET', work.key, work.field, packNewest(work.last, nowMs, work.decisions))
    if work.votes then
      writeVotes(work)
    end
    return
  end
  if work.visitors or work.buried then
    writeVisitors(work)
  end
  writeSlots(work)
  if work.votes then
    writeVotes(work)
  end
  if work.outbox then
    callChunked('ZADD', work.stem .. 'o', work.outbox)
  end
end

-- An array of six, as `pack` would make it; for a plain count of decisions its bytes are laid down directly.
local function packHead(work, version)
  local outcome, last, generation, decisions = work.outcome, work.last, work.generation, work.decisions
  if type(decisions) ~= 'number' then
    return pack({ outcome, last, version, work.mark, generation, decisions })
  end
  local head, double = 0x9600 + outcome, 0xcb
  local mark = work.mark
  return packFixed('>HBdBdBdBdBd', head, double, last, double, version, double, mark, double, generation, double, decisions)
end

local function replyTo(works)
  local parts, count = {}, 0
  for _, work in ipairs(works) do
    local done, rows = work.outcome == DONE, work.rows
    count = count + 1
    parts[count] = packHead(work, done and work.version or work.before)
    for place = rowsAt + 1, rowsAt + work.items[addressesAt] do
      local row = rows[place]
      if done then
        row = row[ROW]
      end
      count = count + 1
      parts[count] = row or none
    end
  end
  return concat(parts)
end

local function writeAll(works)
  for _, work in ipairs(works) do
    if work.outcome == DONE then
      writeBatch(work)
    end
  end
end

-- Lets go of what the call has read.
local function release(works)
  for _, work in ipairs(works) do
    work.items, work.rows, work.votes, work.visitors, work.outbox = nil, nil, nil, nil, nil
  end
end

local function commit(keys, arguments)
  local prefix = arguments[1]
  nowMs, rules = clock(arguments[2]), rulesOf(arguments[3])
  local works, count = {}, 0
  local text, offset = arguments[4], 0
  repeat
    local items
    offset, items = unpackRow(text, offset)
    count = count + 1
    works[count] = workAt(count)
    decideBatch(works[count], prefix, items)
  until offset < 0
  local written, failure = pcall(writeAll, works)
  if not written then
    -- Only a bug, or a foreign value under a key of ours, comes here: the caller must not take it for a refusal.
    return redis.error_reply('HALFWRITTEN ' .. tostring(type(failure) == 'table' and failure.err or failure))
  end
  local reply = replyTo(works)
  release(works)
  return reply
end
