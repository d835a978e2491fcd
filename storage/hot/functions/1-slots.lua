-- What every function of the library shares: the store's clock, key names, and how a slot stands in its hash.
--
-- All keys of a shard are its key stem, `<prefix>{s<N>}:`, and a letter: `e` entities, `d` dirty, `o` outbox, `p` producers,
-- `u:<listing>` visitors, `v:<listing>:<bucket>` last votes. A listing is `<address>:<incarnation>`. `e` also holds the
-- shard's generation, version and producers, in fields that begin with `!` as no address does: a batch then costs
-- one read and one write. Numbers are doubles, exact up to 2^53, which is the counters' maximum; posted values may be
-- larger, so they stay text. `tostring` of a number loses digits above 1e14: use `digits`.

local counterMax = 9007199254740991
local clockAheadMaxMs = 2000
local clockBehindMaxMs = 5000
local bucketMs = 12 * 3600000

-- A living slot rests as two packed rows, one after the other: what a stats post touches, and the rest, which is then
-- carried along unread. A buried listing is a row of its incarnation alone.
local INCARNATION, SINCE, VERSION, LISTED, LISTED_SINCE = 1, 2, 3, 4, 5
local SERVERS, STATUS, LAST_POST, UPTIME, TOTAL_UPTIME, CHECKED = 6, 10, 11, 12, 13, 14
local slotLength = 14
-- Positions in the rest.
local FLUSHED, REVISION, BANNED, PREMIUM_UNTIL, CLICKS, UNIQUE = 1, 2, 3, 4, 5, 6
local INVITES, UPVOTES, DOWNVOTES, RELEASED, ADJUSTMENT = 7, 8, 9, 10, 11
-- The row of SQL that the listing was initialised from; earlier libraries kept none.
local BASE_GENERATION, BASE_VERSION = 12, 13

-- Short names of what Lua and Redis offer. Nothing of it exists while a library is loaded: the first call fills them.
local floor, max, min, concat, format, byte, sub
local pack, unpackValue, unpackOne, unpackSome, packFixed, unpackFixed, call, none

local function prepare()
  floor, max, min = math.floor, math.max, math.min
  concat, format, byte, sub = table.concat, string.format, string.byte, string.sub
  pack, unpackValue = cmsgpack.pack, cmsgpack.unpack
  unpackOne, unpackSome = cmsgpack.unpack_one, cmsgpack.unpack_limit
  packFixed, unpackFixed = struct.pack, struct.unpack
  call = redis.call
  none = pack(nil)
end

-- Values handed over in one inner call; Lua's stack ends near 8,000.
local chunkMax = 1000

local GENERATION_FIELD, VERSION_FIELD, PRODUCER_FIELD = '!g', '!v', '!q:'

-- Values that may stand on Lua's stack at once.
local stackMax = 4000

local function offsetAndRow(offset, ...)
  return offset, { ... }
end

-- The row that begins after `offset` bytes, after the offset of the next one (-1 after the last). A table made at its full
-- size costs half of one that grows.
local function unpackRow(text, offset)
  local first, high, low = byte(text, offset + 1, offset + 3)
  if first ~= 0xdc or high * 256 + low > stackMax then
    return unpackOne(text, offset)
  end
  return offsetAndRow(unpackSome(text, high * 256 + low, offset + 3))
end

local function slotAndRest(text, offset, ...)
  return { ... }, sub(text, offset + 1)
end

-- The slot of a packed one, and its rest, still packed; nothing for nothing.
local function unpackSlot(text)
  if not text then
    return nil
  elseif byte(text) == 0x90 + slotLength then
    return slotAndRest(text, unpackSome(text, slotLength, 1))
  end
  return unpackValue(text)
end

local function digits(number)
  return format('%.0f', number)
end

-- Milliseconds since the epoch. A test may bring its own clock.
local function clock(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + floor(tonumber(time[2]) / 1000)
end

-- Key stems by shard, for the prefix used last.
local stems, stemsPrefix = {}, nil

-- A version and the mark of its history in their field: eight bytes each are read and written faster than digits.
local function packVersion(version, mark)
  return packFixed('<dd', version, mark)
end

-- Earlier libraries wrote the version alone.
local function unpackVersion(text)
  if not text then
    return 0, 0
  elseif #text < 16 then
    return (unpackFixed('<d', text)), 0
  end
  local version, mark = unpackFixed('<dd', text)
  return version, mark
end

-- As `markAfter` in `engine/entity/history.ts`.
local function markAfter(mark, producer, sequence)
  local a, b, c, d, e = byte(producer, -5, -1)
  local tail
  if e then
    tail = (((a * 128 + b) * 128 + c) * 128 + d) * 128 + e
  else
    tail = 0
    for index = 1, #producer do
      tail = tail * 128 + byte(producer, index)
    end
  end
  return (mark * 257 + tail + (sequence % 65536) * 4294967296) % 1099511627689
end

-- A producer's newest batch: its number, when it came, what was decided. The common case, a count of plain decisions, is
-- of fixed length and marked by a byte that begins no packed row.
local PLAIN = 1

local function packNewest(last, seenMs, decisions)
  if type(decisions) == 'number' then
    return packFixed('<Bddd', PLAIN, last, seenMs, decisions)
  end
  return pack({ last, seenMs, decisions })
end

local function unpackNewest(text)
  if byte(text) == PLAIN then
    local _, last, seenMs, decisions = unpackFixed('<Bddd', text)
    return last, seenMs, decisions
  end
  local row = unpackValue(text)
  return row[1], row[2], row[3]
end

local function stemOf(prefix, shard)
  if prefix ~= stemsPrefix then
    stems, stemsPrefix = {}, prefix
  end
  local stem = stems[shard]
  if not stem then
    stem = prefix .. '{s' .. digits(shard) .. '}:'
    stems[shard] = stem
  end
  return stem
end

local function listingOf(address, incarnation)
  return address .. ':' .. digits(incarnation)
end

local function bucketOf(atMs)
  return max(0, floor(atMs / bucketMs))
end

local function votesKey(stem, listing, bucket)
  return stem .. 'v:' .. listing .. ':' .. digits(bucket)
end

local function isLiving(slot)
  return slot ~= nil and slot[VERSION] ~= nil
end

-- Calls a command with any number of arguments, a chunk at a time.
local function callChunked(command, key, arguments)
  local count = #arguments
  if count == 0 then
    return
  end
  for first = 1, count, chunkMax do
    call(command, key, unpack(arguments, first, min(first + chunkMax - 1, count)))
  end
end

-- The packed slots of many addresses, false where there is none.
local function readSlots(stem, addresses)
  local count = #addresses
  if count <= chunkMax then
    return count == 0 and {} or call('HMGET', stem .. 'e', unpack(addresses))
  end
  local rows = {}
  for first = 1, count, chunkMax do
    local last = min(first + chunkMax - 1, count)
    local part = call('HMGET', stem .. 'e', unpack(addresses, first, last))
    for index = 1, #part do
      rows[first + index - 1] = part[index]
    end
  end
  return rows
end
