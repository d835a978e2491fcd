-- `commit`: decides all batches of a call, then writes them.
--
-- A batch is one flat row: shard, producer, sequence, number of addresses, the addresses, then the items; an item is kind,
-- place of its address, incarnation and its arguments; before one that was lost stand `LOST` and where it was applied. The reply is, per batch, a head and the slots of its addresses in
-- their order. Arguments: prefix, the test's clock or '', rules, then the batches, packed one after the other.

local LOST = 9
local DONE, DUPLICATE, SEQUENCE_GAP, UNINITIALISED = 0, 1, 2, 3
-- Where the addresses begin in a batch, and the slots in what is read for it.
local addressesAt, rowsAt = 4, 3

local function openSlot(work, place)
  local row = work.rows[rowsAt + place]
  local slot, restText = unpackSlot(row)
  local open = {
    address = work.items[addressesAt + place],
    slot = slot,
    restText = restText,
    rest = nil,
    storedSince = slot and slot[SINCE] or 0,
    changed = false,
    listing = nil,
  }
  work.opened[place] = open
  return open
end

-- A count when every decision is plain, as in the embedded store.
local function decideItems(work)
  local items, opened = work.items, work.opened
  local decisions, count = nil, 0
  local at, last = addressesAt + items[addressesAt] + 1, #items
  while at <= last do
    lostGeneration = nil
    if items[at] == LOST then
      lostGeneration, lostVersion = items[at + 1], items[at + 2]
      at = at + 3
    end
    local place = items[at + 1]
    local decision = applyItem(work, opened[place] or openSlot(work, place), at + 3)
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
    at = at + 3 + argumentCounts[items[at]]
  end
  return decisions or count
end

local function openWork(prefix, items)
  local stem, field = stemOf(prefix, items[1]), PRODUCER_FIELD .. items[2]
  local final = addressesAt + items[addressesAt]
  local rows =
    call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD, field, unpack(items, addressesAt + 1, final))
  local newest = rows[3]
  local last, decided, _ = 0, false, nil
  if newest then
    last, _, decided = unpackNewest(newest)
  end
  local before, mark = unpackVersion(rows[2])
  return {
    stem = stem,
    field = field,
    items = items,
    rows = rows,
    opened = {},
    generation = tonumber(rows[1] or 0),
    before = before,
    mark = mark,
    version = before + 1,
    new = not newest,
    last = last,
    decided = decided,
    outcome = DONE,
    decisions = false,
    changed = false,
  }
end

local function decideBatch(prefix, items)
  local work, sequence = openWork(prefix, items), items[3]
  if work.generation == 0 then
    work.outcome = UNINITIALISED
  elseif sequence <= work.last then
    work.outcome = DUPLICATE
    work.decisions = sequence == work.last and work.decided or false
  elseif sequence ~= work.last + 1 then
    work.outcome = SEQUENCE_GAP
  else
    work.last = sequence
    work.decisions = decideItems(work)
    if work.changed then
      work.mark = markAfter(work.mark, items[2], sequence)
    end
  end
  return work
end

local function writeVotes(work)
  for key, known in pairs(work.votes) do
    local fields = {}
    for user in pairs(known.changed) do
      fields[#fields + 1] = user
      fields[#fields + 1] = pack(known.rows[user])
    end
    if #fields > 0 then
      callChunked('HSET', key, fields)
      local endMs = (known.bucket + 2) * bucketMs + rules.keptMs
      call('PEXPIRE', key, digits(max(bucketMs, endMs - nowMs)))
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

-- As `unpackSlot` takes it. The rest is packed anew only when it was looked at.
local function packSlot(open)
  local slot = open.slot
  if not isLiving(slot) then
    return pack(slot)
  end
  return pack(slot) .. (open.rest and pack(open.rest) or open.restText)
end

-- The shard's fields and those of every changed slot; the marks of those that became dirty or clean.
local function writeSlots(work, fields)
  local marks, cleaned = {}, nil
  for place, open in pairs(work.opened) do
    if open.changed then
      local slot = open.slot
      local row, since = packSlot(open), slot[SINCE] or 0
      fields[#fields + 1] = open.address
      fields[#fields + 1] = row
      work.rows[rowsAt + place] = row
      if since ~= open.storedSince and since > 0 then
        marks[#marks + 1] = digits(since)
        marks[#marks + 1] = open.address
      elseif since ~= open.storedSince then
        cleaned = cleaned or {}
        cleaned[#cleaned + 1] = open.address
      end
    end
  end
  callChunked('HSET', work.stem .. 'e', fields)
  callChunked('ZADD', work.stem .. 'd', marks)
  if cleaned then
    callChunked('ZREM', work.stem .. 'd', cleaned)
  end
end

local function writeBatch(work)
  local fields = { work.field, packNewest(work.last, nowMs, work.decisions) }
  if work.new then
    call('SADD', work.stem .. 'p', work.field)
  end
  if not work.changed then
    work.version = work.before
    call('HSET', work.stem .. 'e', fields[1], fields[2])
    return
  end
  fields[3], fields[4] = VERSION_FIELD, packVersion(work.version, work.mark)
  writeSlots(work, fields)
  if work.votes then
    writeVotes(work)
  end
  if work.visitors or work.buried then
    writeVisitors(work)
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
  local double = 0xcb
  return packFixed(
    '>BBBdBdBdBdBd',
    0x96,
    outcome,
    double,
    last,
    double,
    version,
    double,
    work.mark,
    double,
    generation,
    double,
    decisions
  )
end

local function replyTo(parts, work)
  local version = work.outcome == DONE and work.version or work.before
  local count = #parts + 1
  parts[count] = packHead(work, version)
  for place = 1, work.items[addressesAt] do
    parts[count + place] = work.rows[rowsAt + place] or none
  end
end

local function writeAll(works)
  for _, work in ipairs(works) do
    if work.outcome == DONE then
      writeBatch(work)
    end
  end
end

local function commit(keys, arguments)
  local prefix = arguments[1]
  nowMs, rules = clock(arguments[2]), rulesOf(arguments[3])
  local works = {}
  local text, offset = arguments[4], 0
  repeat
    local items
    offset, items = unpackRow(text, offset)
    works[#works + 1] = decideBatch(prefix, items)
  until offset < 0
  local written, failure = pcall(writeAll, works)
  if not written then
    -- Only a bug, or a foreign value under a key of ours, comes here: the caller must not take it for a refusal.
    return redis.error_reply('HALFWRITTEN ' .. tostring(type(failure) == 'table' and failure.err or failure))
  end
  local parts = {}
  for _, work in ipairs(works) do
    replyTo(parts, work)
  end
  return concat(parts)
end
