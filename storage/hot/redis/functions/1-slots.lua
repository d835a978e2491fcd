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

-- A slot rests as two packed rows, one after the other: what a stats post touches, and the rest, which is then carried
-- along unread. A buried listing is a row of its incarnation alone. While a call runs a slot is one array: where it stands
-- and what became of it, then the first row's values; the rest is a table of its own, made when it is asked for.
local ADDRESS, ROW, CHANGED, LIVING, STORED_SINCE, REST, LISTING, VISITORS = 1, 2, 3, 4, 5, 6, 7, 8
local INCARNATION, SINCE, VERSION, LISTED, LISTED_SINCE = 9, 10, 11, 12, 13
local SERVERS, SHARDS, USERS, SHARD_LIST, STATUS = 14, 15, 16, 17, 18
local LAST_POST, UPTIME, TOTAL_UPTIME, CHECKED = 19, 20, 21, 22
-- Where the rest begins in the packed slot.
local REST_AT = 23
local firstLength = 14
-- Positions in the rest.
local FLUSHED, REVISION, BANNED, PREMIUM_UNTIL, CLICKS, UNIQUE = 1, 2, 3, 4, 5, 6
local INVITES, UPVOTES, DOWNVOTES, RELEASED, ADJUSTMENT = 7, 8, 9, 10, 11
-- The row of SQL that the listing was initialised from; earlier libraries kept none.
local BASE_GENERATION, BASE_VERSION = 12, 13

-- The first row as `struct` reads and writes it: MessagePack like any other, with every number a double and every text's
-- length in one byte. That is half the work of `cmsgpack`. Rows of earlier libraries and rows with longer texts have
-- numbers of any width: their second byte is another.
local ROW_OF_FIRST, DOUBLE, SHORT_TEXT, TRUE, FALSE = 0x9e, 0xcb, 0xd900, 0xc3, 0xc2
local FIRST_READ = '>xxdxdxdBxdxBc0xBc0xBc0xBc0xBc0xdxdxdxd'
local FIRST_WRITTEN = '>HdBdBdHdHc0Hc0Hc0Hc0Hc0BdBdBdBdc0'
local shortMax = 255

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
  if first < 0xa0 then
    return offsetAndRow(unpackSome(text, first - 0x90, offset + 1))
  elseif first ~= 0xdc or high * 256 + low > stackMax then
    return unpackOne(text, offset)
  end
  return offsetAndRow(unpackSome(text, high * 256 + low, offset + 3))
end

local function withoutOffset(_, ...)
  return { ... }
end

local function openAnyWidth(address, row, offset, ...)
  local slot = { address, row, false, true, 0, false, false, false, ... }
  slot[REST_AT] = offset + 1
  return slot
end

-- A packed slot, opened; `row` is false where there is none.
local function openSlot(address, row)
  local first, second
  if row then
    first, second = byte(row, 1, 2)
  end
  if first ~= ROW_OF_FIRST then
    return { address, row, false, false, 0, false, false, false, row and unpackValue(row)[1] or -1, 0 }
  end
  local slot
  if second == DOUBLE then
    slot = { address, row, false, true, 0, false, false, false, unpackFixed(FIRST_READ, row) }
    slot[LISTED] = slot[LISTED] == TRUE
  else
    slot = openAnyWidth(address, row, unpackSome(row, firstLength, 1))
  end
  slot[STORED_SINCE] = slot[SINCE]
  return slot
end

-- The rest of a living slot, to be read and changed.
local function restOf(slot)
  local rest = slot[REST]
  if not rest then
    local row, restAt = slot[ROW], slot[REST_AT]
    rest = withoutOffset(unpackSome(row, byte(row, restAt) - 0x90, restAt))
    slot[REST] = rest
  end
  return rest
end

-- The rest is packed anew only when it was looked at.
local function packSlot(slot)
  if not slot[LIVING] then
    return pack({ slot[INCARNATION] })
  end
  local rest = slot[REST] and pack(slot[REST]) or sub(slot[ROW], slot[REST_AT])
  local servers, shards, users, shardList, status =
    slot[SERVERS], slot[SHARDS], slot[USERS], slot[SHARD_LIST], slot[STATUS]
  if #servers > shortMax or #shards > shortMax or #users > shortMax or #shardList > shortMax then
    return pack({ unpack(slot, INCARNATION, CHECKED) }) .. rest
  end
  return packFixed(
    FIRST_WRITTEN,
    ROW_OF_FIRST * 256 + DOUBLE,
    slot[INCARNATION],
    DOUBLE,
    slot[SINCE],
    DOUBLE,
    slot[VERSION],
    (slot[LISTED] and TRUE or FALSE) * 256 + DOUBLE,
    slot[LISTED_SINCE],
    SHORT_TEXT + #servers,
    servers,
    SHORT_TEXT + #shards,
    shards,
    SHORT_TEXT + #users,
    users,
    SHORT_TEXT + #shardList,
    shardList,
    SHORT_TEXT + #status,
    status,
    DOUBLE,
    slot[LAST_POST],
    DOUBLE,
    slot[UPTIME],
    DOUBLE,
    slot[TOTAL_UPTIME],
    DOUBLE,
    slot[CHECKED],
    rest
  )
end

-- Digits of a whole number. The same few come again and again: incarnations, buckets, the time of now.
local digits
do
  local known, count, countMax = {}, 0, 1000

  function digits(number)
    local text = known[number]
    if not text then
      if count >= countMax then
        known, count = {}, 0
      end
      text = format('%.0f', number)
      known[number], count = text, count + 1
    end
    return text
  end
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
local stems, stemsPrefix, entitiesKeys = {}, nil, {}

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

-- The field of a producer, and the end of its name as a number. A call's batches mostly have the same one.
local producerOf
do
  local known, field, tail

  function producerOf(producer)
    if producer ~= known then
      known, field, tail = producer, PRODUCER_FIELD .. producer, 0
      for index = max(1, #producer - 4), #producer do
        tail = tail * 128 + byte(producer, index) % 128
      end
    end
    return field, tail
  end
end

-- As `extendChainHash` in `engine/entity/history.ts`.
local function markAfter(mark, producer, sequence)
  local _, tail = producerOf(producer)
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

local function lastOf(text)
  if byte(text) == PLAIN then
    return (unpackFixed('<xd', text))
  end
  return (unpackNewest(text))
end

local function decidedOf(text)
  local _, _, decisions = unpackNewest(text)
  return decisions
end

local function stemOf(prefix, shard)
  if prefix ~= stemsPrefix then
    stems, stemsPrefix, entitiesKeys = {}, prefix, {}
  end
  local stem = stems[shard]
  if not stem then
    stem = prefix .. '{s' .. digits(shard) .. '}:'
    stems[shard] = stem
  end
  return stem
end

local function entitiesKey(stem)
  local key = entitiesKeys[stem]
  if not key then
    key = stem .. 'e'
    entitiesKeys[stem] = key
  end
  return key
end

-- The generation in its field; shards mostly share one.
local generationOf
do
  local known, generation

  function generationOf(text)
    if text ~= known then
      known, generation = text, tonumber(text or 0)
    end
    return generation
  end
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

-- Calls a command with any number of arguments, a chunk at a time; gives the sum of the answers.
local function callChunked(command, key, arguments)
  local count, sum = #arguments, 0
  for first = 1, count, chunkMax do
    sum = sum + call(command, key, unpack(arguments, first, min(first + chunkMax - 1, count)))
  end
  return sum
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
