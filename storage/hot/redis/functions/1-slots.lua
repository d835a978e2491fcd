-- What every function of the library shares: the store's clock, key names, and the packed form of a slot.
--
-- All keys of a shard are its key stem, `<prefix>{s<N>}:`, and a letter: `e` entities, `d` dirty, `o` outbox,
-- `p` producers, `c` changes, `t` due parts, `u:<listing>` visitors, `v:<listing>:<bucket>` last votes, `w` which of these there are,
-- `b:<listing>:<shard count>` parts. A listing is `<address>:<incarnation>`. `e` also holds the shard's generation, version and producers, in fields that
-- begin with `!` as no address does: a batch then costs one read and one write. On one server the key
-- `<prefix>moved` changes with every call that changes a shard's head (see `heads`). Numbers are doubles, exact up
-- to 2^53, which is the counters' maximum; posted values may be larger, so they stay text. `tostring` of a
-- number loses digits above 1e14: use `digits`.

local counterMax = 9007199254740991
local clockAheadMaxMs = 2000
local clockBehindMaxMs = 5000
local bucketMs = 12 * 3600000

-- The stored form of a slot, in MessagePack:
--
--   a listing      two arrays, one after the other: the *first*, which has what a stats post changes, and the
--                  *rest*, which a stats post copies unread
--   a deleted one  an array that holds the incarnation alone
--
-- slot-layout.ts has the values of both arrays in their order; here a name in capitals that it defines stands
-- for the value's position. The rest may end before BASE_GENERATION and BASE_VERSION (the SQL row that the
-- listing was initialised from), and before PARTS (the head of 3-parts.lua). Any other form is of a newer
-- library, which may run beside this one during an update: such a listing is neither shown nor changed here,
-- and its items are answered DAMAGED.
--
-- The first array is written in a *fixed form*, in which `struct` reads and writes it in half the time of
-- `cmsgpack`. It is valid MessagePack with these heads alone:
--
--   the array    1 byte, or 3 from 16 values on (HEAD_BYTES)
--   a number     0xcb, then a double of 8 bytes
--   a flag       0xc2 or 0xc3
--   a text       0xd9, its length in 1 byte, its bytes
--
-- So INCARNATION, SINCE and VERSION are at the same bytes in each. Arrays with texts of more than 255 bytes
-- have heads of any width: `slot.isWide`. In these the incarnation does not begin with 0xcb, because it is a
-- whole number, which `cmsgpack` writes as such.
--
-- While a call runs, an open slot is one Lua array: its address and what changed, then the values of the first
-- array, then the index of the first byte of the rest (REST_AT). The rest is a table of its own (REST),
-- unpacked at first use.

-- A value of CHANGED: of the first array only SINCE and VERSION changed.
local COUNTERS = 1
local TRUE = 0xc3
-- The incarnation of an open slot whose stored form is unknown, and what replies contain in its place.
local UNKNOWN, unknownForm = 1e300, '\144'

-- Short names for functions of Lua and Redis. They do not exist yet while a library loads, so the first call
-- sets them.
local floor, max, min, concat, format, byte, char, find, sub
local unpackValue, unpackOne, unpackSome, unpackFixed, call, none

local function prepare()
  floor, max, min = math.floor, math.max, math.min
  concat, format, byte, char = table.concat, string.format, string.byte, string.char
  find, sub = string.find, string.sub
  pack, unpackValue = cmsgpack.pack, cmsgpack.unpack
  unpackOne, unpackSome = cmsgpack.unpack_one, cmsgpack.unpack_limit
  packFixed, unpackFixed = struct.pack, struct.unpack
  call = redis.call
  none = pack(nil)
end

-- Values passed in one `redis.call`; Lua's stack holds about 8,000.
local chunkMax = 1000

local GENERATION_FIELD, VERSION_FIELD, PRODUCER_FIELD = '!g', '!v', '!q:'
-- The number of the form of a shard's keys, and the field that has it (storage/hot/redis/format.ts).
local FORMAT_FIELD, format1 = '!f', '1'

-- Values that one `unpack` may put on Lua's stack.
local stackMax = 4000

local function toOffsetAndArray(offset, ...)
  return offset, { ... }
end

-- Unpacks the array that begins after `offset` bytes. Returns the offset of the next array (-1 after the last
-- one) and the array. A table created at its full size costs half of one that grows.
local function unpackArray(text, offset)
  local first, high, low = byte(text, offset + 1, offset + 3)
  if first < 0xa0 then
    return toOffsetAndArray(unpackSome(text, first - 0x90, offset + 1))
  elseif first ~= 0xdc or high * 256 + low > stackMax then
    return unpackOne(text, offset)
  end
  return toOffsetAndArray(unpackSome(text, high * 256 + low, offset + 3))
end

local function toArray(_, ...)
  return { ... }
end

-- The number of values of a packed array and the bytes of its head; -1 if it is none.
local function readLength(packed)
  local first, high, low = byte(packed, 1, 3)
  if first == 0xdc then
    return high * 256 + low, 3
  end
  return first >= 0x90 and first < 0xa0 and first - 0x90 or -1, 1
end

local function fillWideSlot(address, packed, offset, ...)
  local slot = { address, packed, false, true, 0, false, false, false, ... }
  slot[REST_AT], slot.isWide = offset + 1, true
  return slot
end

-- Opens what is not of the fixed form; `packed` is false when the store has no slot.
local function openOtherForm(address, packed)
  local incarnation = -1
  if packed then
    local length, headBytes = readLength(packed)
    if length == FIRST_LENGTH then
      return fillWideSlot(address, packed, unpackSome(packed, length, headBytes))
    elseif length == 1 then
      incarnation = unpackValue(packed)[1]
    else
      incarnation, packed = UNKNOWN, unknownForm
    end
  end
  return { address, packed, false, false, 0, false, false, false, incarnation, 0 }
end

-- Opens a packed slot; `packed` is false when the store has none.
local function openSlot(address, packed)
  local head, mark
  if packed then
    head, mark = byte(packed, HEAD_BYTES, HEAD_BYTES + 1)
  end
  local slot
  if head == HEAD_END and mark == DOUBLE and (HEAD_BYTES == 1 or byte(packed) == 0xdc) then
    slot = { address, packed, false, true, 0, false, false, false, unpackFixed(FIRST_READ, packed) }
    slot[LISTED] = slot[LISTED] == TRUE
  else
    slot = openOtherForm(address, packed)
  end
  slot[STORED_SINCE] = slot[SINCE]
  return slot
end

-- A stored slot as replies contain it.
local function showSlot(packed)
  if not packed then
    return none
  end
  local length = readLength(packed)
  local isKnown = length == 1 or length == FIRST_LENGTH
  return isKnown and packed or unknownForm
end

-- The rest of a listed slot as a table to read and change. Unpacks it at first use.
local function openRest(slot)
  local rest = slot[REST]
  if not rest then
    local packed, restAt = slot[PACKED], slot[REST_AT]
    rest = toArray(unpackSome(packed, byte(packed, restAt) - 0x90, restAt))
    slot[REST] = rest
  end
  return rest
end

-- What 3-parts.lua fills. (One table, because a library may have 200 local names.)
local parts = {}

-- Packs a slot. The rest is packed again only if it was unpacked, and of a first array in the fixed form only
-- what changed: the bytes before SINCE and those after VERSION are copied.
local function packSlot(slot)
  if not slot[EXISTS] then
    return pack({ slot[INCARNATION] })
  end
  local stored = slot[PACKED]
  local rest = slot.head and parts.packRest(slot) or slot[REST] and pack(slot[REST]) or sub(stored, slot[REST_AT])
  if slot[CHANGED] == COUNTERS and not slot.isWide then
    local unchanged = sub(stored, HEAD_BYTES + 28, slot[REST_AT] - 1)
    return packFixed(COUNTERS_WRITE, stored, slot[SINCE], DOUBLE, slot[VERSION], unchanged, rest)
  end
  return packFirst(slot, rest)
end

-- The digits of a whole number. Caches them: the same few numbers (incarnations, buckets, the current time)
-- recur.
local digits
do
  local texts, count, countMax = {}, 0, 1000

  function digits(number)
    local text = texts[number]
    if not text then
      if count >= countMax then
        texts, count = {}, 0
      end
      text = format('%.0f', number)
      texts[number], count = text, count + 1
    end
    return text
  end
end

-- Milliseconds since the epoch; `given` is a test's own time, or ''.
local function readClock(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + floor(tonumber(time[2]) / 1000)
end

-- The key `moved`, and what raises a generation. (A table, because a library may have 200 local names.)
local moves = { raisingField = '!n' }

-- Where calls name keys, the server is part of a Cluster, and no key belongs to all shards.
function moves.getKey(keys, prefix)
  return #keys == 0 and prefix .. 'moved'
end

-- Names this process of Redis. The address of a table differs where two begin at the same time.
function moves.nameServer()
  if not moves.server then
    local time = call('TIME')
    moves.server = time[1] .. '.' .. time[2] .. tostring(moves)
  end
  return moves.server
end

-- Records that this call changes the heads of shards. Uses the time, because a counter would have a value a
-- second time after Redis has lost its newest writes.
function moves.record(keys, prefix)
  local key = moves.getKey(keys, prefix)
  if key then
    local time = call('TIME')
    call('SET', key, time[1] .. '.' .. time[2])
  end
end

-- Key stems by shard, cached for the last prefix used.
local stems, stemsPrefix, entitiesKeys = {}, nil, {}

-- Packs a shard's version and chain hash into one field: eight bytes each are faster to read and write than
-- digits.
local function packVersion(version, chainHash)
  return packFixed('<dd', version, chainHash)
end

-- Returns version and chain hash.
local function unpackVersion(text)
  if not text then
    return 0, 0
  end
  local version, chainHash = unpackFixed('<dd', text)
  return version, chainHash
end

-- The hash field of a producer, and the end of its name as a number. Most batches of a call have the same
-- producer.
local parseProducer
do
  local cached, field, tail

  function parseProducer(producer)
    if producer ~= cached then
      cached, field, tail = producer, PRODUCER_FIELD .. producer, 0
      for index = max(1, #producer - 4), #producer do
        tail = tail * 128 + byte(producer, index) % 128
      end
    end
    return field, tail
  end
end

-- As `extendChainHash` in `engine/entity/history.ts`.
local function extendChainHash(chainHash, producer, sequence)
  local _, tail = parseProducer(producer)
  return (chainHash * 257 + tail + (sequence % 65536) * 4294967296) % 1099511627689
end

-- A producer's newest batch: its sequence number, its arrival time and its decisions. The common case, a
-- count of `applied` decisions, has a fixed length and begins with a byte that no packed array begins with.
-- Else an array of three values; the decisions in it are packed once and never unpacked.
local PLAIN = 1

local function packNewest(last, seenMs, decisions)
  if type(decisions) == 'number' then
    return packFixed('<Bddd', PLAIN, last, seenMs, decisions)
  end
  return packFixed('>HdBdc0', 0x9300 + DOUBLE, last, DOUBLE, seenMs, decisions)
end

-- Returns the sequence number, the arrival time, and the decisions: a count or packed ones.
local function unpackNewest(text)
  if byte(text) == PLAIN then
    local _, last, seenMs, decisions = unpackFixed('<Bddd', text)
    return last, seenMs, decisions
  end
  local offset, last, seenMs = unpackSome(text, 2, 1)
  return last, seenMs, sub(text, offset + 1)
end

local function unpackLastSequence(text)
  if byte(text) == PLAIN then
    return (unpackFixed('<xd', text))
  end
  local _, last = unpackSome(text, 1, 1)
  return last
end

local function unpackDecisions(text)
  local _, _, decisions = unpackNewest(text)
  return decisions
end

local function getStem(prefix, shard)
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

local function getEntitiesKey(stem)
  local key = entitiesKeys[stem]
  if not key then
    key = stem .. 'e'
    entitiesKeys[stem] = key
  end
  return key
end

-- Parses the generation field. Caches the last one: most shards have the same generation.
local parseGeneration
do
  local cached, generation

  function parseGeneration(text)
    if text ~= cached then
      cached, generation = text, tonumber(text or 0)
    end
    return generation
  end
end

local function toListing(address, incarnation)
  return address .. ':' .. digits(incarnation)
end

local function toBucket(atMs)
  return max(0, floor(atMs / bucketMs))
end

local function toVotesKey(stem, listing, bucket)
  return stem .. 'v:' .. listing .. ':' .. digits(bucket)
end

-- Calls a command with any number of arguments, a chunk at a time; returns the sum of the answers. `count`:
-- the number of arguments where the table may have more.
local function callChunked(command, key, arguments, count)
  local sum = 0
  count = count or #arguments
  for first = 1, count, chunkMax do
    sum = sum + call(command, key, unpack(arguments, first, min(first + chunkMax - 1, count)))
  end
  return sum
end

-- Reads the values of many names in a hash; false where it has none.
local function readFields(key, names)
  local count = #names
  if count <= chunkMax then
    return count == 0 and {} or call('HMGET', key, unpack(names))
  end
  local values = {}
  for first = 1, count, chunkMax do
    local part = call('HMGET', key, unpack(names, first, min(first + chunkMax - 1, count)))
    for index = 1, #part do
      values[first + index - 1] = part[index]
    end
  end
  return values
end
