-- Applying one item to one slot, as in `engine/entity/apply.ts`. Reads through the batch's overlay, writes to it only:
-- nothing reaches the store before every batch of the call is decided (functions do not roll back).
--
-- Every `applyX(work, slot, at)` finds its arguments in `work.items` from `at` on, and returns a decision. `open.slot` is
-- changed in place, and `touch` called, only when nothing can be refused any more.

local APPLIED, ABSENT, FORGOTTEN, GAP, BEHIND, OVERFLOW = 0, 1, 2, 3, 4, 5

-- The store's time and the rules in force, for the call that runs.
local nowMs, rules

local function touch(work, slot)
  local version = work.version
  slot[CHANGED], work.changed = true, true
  slot[VERSION] = version
  if slot[SINCE] == 0 then
    slot[SINCE] = version
  end
end

-- The listing of a slot, as it stands in key names.
local function listingIn(slot)
  local listing = slot[LISTING]
  if not listing then
    listing = listingOf(slot[ADDRESS], slot[INCARNATION])
    slot[LISTING] = listing
  end
  return listing
end

-- A voter's votes in the bucket of `key`, as the batch sees them; nothing where he has none.
local function votesOf(work, key, user)
  local written = work.votes and work.votes[key]
  local row = written and written[user]
  if row then
    return row
  end
  local stored = call('HGET', key, user)
  return stored and unpackValue(stored)
end

-- Gives a voter's votes in a bucket one more, or another flag to one that is there. `row`: as `votesOf` gave it.
local function writeMark(work, key, user, row, atMs, flag)
  row = row or {}
  local index = 1
  while row[index] and row[index] ~= atMs do
    index = index + 2
  end
  row[index], row[index + 1] = atMs, flag
  work.votes = work.votes or {}
  local written = work.votes[key]
  if not written then
    written = {}
    work.votes[key] = written
  end
  written[user] = row
end

local function remark(work, slot, user, atMs, flag)
  local key = votesKey(work.stem, listingIn(slot), bucketOf(atMs))
  local row = votesOf(work, key, user)
  for index = 1, row and #row or 0, 2 do
    if row[index] == atMs then
      writeMark(work, key, user, row, atMs, flag)
      return
    end
  end
end

-- Since when a voter is held back; then, of the bucket of `atMs`, the key and his votes, if it was looked at.
local function holdingSinceOf(work, slot, user, range, atMs)
  local sinceMs, listing, releasedMs = 0, listingIn(slot), restOf(slot)[RELEASED]
  local castBucket, castKey, castRow = bucketOf(atMs), nil, nil
  for bucket = bucketOf(range.fromMs), bucketOf(range.toMs) do
    local key = votesKey(work.stem, listing, bucket)
    local row = votesOf(work, key, user)
    if row then
      sinceMs = max(sinceMs, holdingSince(row, range, releasedMs))
    end
    if bucket == castBucket then
      castKey, castRow = key, row
    end
  end
  return sinceMs, castKey, castRow
end

-- The place where the item to be applied was applied once, before it was lost: a generation and a version, or nothing.
local lostGeneration, lostVersion

-- A lost item that came back with the row its listing was initialised from.
local function inRow(slot)
  local generation = lostGeneration and restOf(slot)[BASE_GENERATION]
  if not generation or generation ~= lostGeneration then
    return generation and generation > lostGeneration
  end
  return restOf(slot)[BASE_VERSION] >= lostVersion
end

-- user, upvote, atMs, itags
local function applyVote(work, slot, at)
  local items, rest = work.items, restOf(slot)
  local user, upvote, atMs, itags = items[at], items[at + 1], items[at + 2], items[at + 3]
  if rest[BANNED] then
    return { VOTE_BANNED, 0 }
  elseif not slot[LISTED] then
    return { NOT_LISTED, 0 }
  elseif atMs > nowMs + clockAheadMaxMs then
    return { CLOCK_AHEAD, 0 }
  elseif atMs < nowMs - clockBehindMaxMs and not lostGeneration then
    return { CLOCK_BEHIND, 0 }
  end
  local fromMs = max(atMs, nowMs - bucketMs) - rules.longestWaitMs
  local range = { fromMs = fromMs, toMs = max(nowMs, atMs) + clockAheadMaxMs }
  local window = windowInForce(rest, atMs, rules)
  local sinceMs, key, row = holdingSinceOf(work, slot, user, range, atMs)
  if sinceMs > 0 and atMs < sinceMs + window[1] then
    return { WAIT, sinceMs + window[1] }
  end
  local count = window[2]
  assert(#itags >= count, 'a vote needs an itag for each vote it grants')
  local position = upvote and UPVOTES or DOWNVOTES
  if rest[position] > counterMax - count then
    return OVERFLOW
  end
  if not inRow(slot) then
    rest[position] = rest[position] + count
  end
  touch(work, slot)
  if not key then
    key = votesKey(work.stem, listingIn(slot), bucketOf(atMs))
    row = votesOf(work, key, user)
  end
  writeMark(work, key, user, row, atMs, CAST)
  local tail = '\0' .. slot[ADDRESS] .. '\0' .. digits(slot[INCARNATION])
  tail = tail .. (upvote and '\0001\0' or '\0000\0') .. digits(atMs) .. '\0'
  local outbox = work.outbox or {}
  work.outbox = outbox
  local last = #outbox
  for number = 1, count do
    outbox[last + 1], outbox[last + 2] = 0, itags[number] .. tail .. digits(number - 1) .. '\0' .. user
    last = last + 2
  end
  return { count }
end

-- Decides now whether a visitor is new.
local function countVisitor(work, slot, rest, visitor)
  local key = work.stem .. 'u:' .. listingIn(slot)
  work.visitors = work.visitors or {}
  local new = work.visitors[key] or {}
  if not new[visitor] and call('SISMEMBER', key, visitor) == 0 then
    new[visitor] = true
    work.visitors[key] = new
    rest[UNIQUE] = rest[UNIQUE] + 1
  end
end

-- Visitors wait until they are written: then Redis says how many were new. Only where the cap is near must each be
-- known before the next.
local function addVisitor(work, slot, rest, visitor)
  local waiting = slot[VISITORS] or {}
  slot[VISITORS] = waiting
  if rest[UNIQUE] + #waiting < rules.visitorsMax then
    waiting[#waiting + 1] = visitor
    return
  end
  slot[VISITORS] = false
  for _, earlier in ipairs(waiting) do
    countVisitor(work, slot, rest, earlier)
  end
  if rest[UNIQUE] < rules.visitorsMax then
    countVisitor(work, slot, rest, visitor)
  end
end

-- visitor
local function applyClick(work, slot, at)
  local rest = restOf(slot)
  local clicks, unique = rest[CLICKS], rest[UNIQUE]
  if clicks >= counterMax then
    return OVERFLOW
  end
  if unique < rules.visitorsMax and unique <= clicks then
    addVisitor(work, slot, rest, work.items[at])
  end
  rest[CLICKS] = clicks + 1
  touch(work, slot)
  return APPLIED
end

local function applyInvite(work, slot)
  local rest = restOf(slot)
  if rest[INVITES] >= counterMax then
    return OVERFLOW
  end
  rest[INVITES] = rest[INVITES] + 1
  touch(work, slot)
  return APPLIED
end

local function fold(slot, atMs)
  if byte(slot[ADDRESS]) == 98 then
    foldUptime(slot, atMs < nowMs and atMs or nowMs, rules)
  end
end

-- atMs, servers, shards, users, shardList, status; false where not posted
local function applyStats(work, slot, at)
  local items = work.items
  local atMs = items[at]
  fold(slot, atMs)
  slot[SERVERS] = items[at + 1] or slot[SERVERS]
  slot[SHARDS] = items[at + 2] or slot[SHARDS]
  slot[USERS] = items[at + 3] or slot[USERS]
  slot[SHARD_LIST] = items[at + 4] or slot[SHARD_LIST]
  slot[STATUS] = items[at + 5] or slot[STATUS]
  local postedMs = atMs < nowMs and atMs or nowMs
  if postedMs > slot[LAST_POST] then
    slot[LAST_POST] = postedMs
  end
  touch(work, slot)
  return APPLIED
end

-- atMs, revision, listed, banned, premium until, listed since
local function applyFacts(work, slot, at)
  local items, rest = work.items, restOf(slot)
  if items[at + 1] <= rest[REVISION] then
    return APPLIED
  end
  fold(slot, items[at])
  rest[REVISION], slot[LISTED], rest[BANNED] = items[at + 1], items[at + 2], items[at + 3]
  rest[PREMIUM_UNTIL], slot[LISTED_SINCE] = items[at + 4], items[at + 5]
  touch(work, slot)
  return APPLIED
end

-- sequence, upvotes, downvotes, release before, released marks, held marks (user, time, user, time …)
local function applyAdjust(work, slot, at)
  local items, rest = work.items, restOf(slot)
  local sequence = items[at]
  if sequence <= rest[ADJUSTMENT] then
    return APPLIED
  elseif sequence ~= rest[ADJUSTMENT] + 1 then
    return GAP
  end
  local upvotes = max(0, rest[UPVOTES] + items[at + 1])
  local downvotes = max(0, rest[DOWNVOTES] + items[at + 2])
  if max(upvotes, downvotes) > counterMax then
    return OVERFLOW
  end
  rest[UPVOTES], rest[DOWNVOTES], rest[ADJUSTMENT] = upvotes, downvotes, sequence
  rest[RELEASED] = max(rest[RELEASED], items[at + 3])
  touch(work, slot)
  for offset = 4, 5 do
    local marks = items[at + offset]
    local flag = offset == 4 and RELEASED_FLAG or HELD
    for index = 1, #marks, 2 do
      remark(work, slot, marks[index], marks[index + 1], flag)
    end
  end
  return APPLIED
end

-- Forgets the visitors of a listing that is dead now. Its last votes expire: no key of a later one can meet them.
local function bury(work, slot)
  if not slot[LIVING] then
    return
  end
  local key = work.stem .. 'u:' .. listingIn(slot)
  if work.visitors then
    work.visitors[key] = nil
  end
  work.buried = work.buried or {}
  work.buried[#work.buried + 1] = key
end

-- Begins another listing in a slot: a living one with a first row and a rest, or a dead one.
local function replace(work, slot, incarnation, first, rest)
  bury(work, slot)
  slot[LIVING], slot[REST], slot[LISTING], slot[VISITORS] = first ~= nil, rest or false, false, false
  for index = 2, first and firstLength or 0 do
    slot[INCARNATION - 1 + index] = first[index]
  end
  slot[INCARNATION], slot[SINCE], slot[VERSION] = incarnation, 0, work.version
  slot[CHANGED], work.changed = true, true
end

-- row generation, row version, the shard's generation before the row was read or false, slot, its rest
local function applyInit(work, slot, at)
  local items = work.items
  local generation, version, readUnder, first = items[at], items[at + 1], items[at + 2], items[at + 3]
  if readUnder and readUnder ~= work.generation then
    return ABSENT
  end
  if generation > work.generation or (generation == work.generation and version > work.before) then
    return BEHIND
  end
  replace(work, slot, first[1], first, items[at + 4])
  return APPLIED
end

-- The shard's generation before the rows were read, marks that were cast, held ones (user, time, user, time …). The listing
-- is not there yet: only its voters are written down.
local function applyRemember(work, slot, at)
  local items = work.items
  if items[at] ~= work.generation then
    return ABSENT
  end
  local listing = listingOf(slot[ADDRESS], items[at - 1])
  for offset = 1, 2 do
    local marks = items[at + offset]
    local flag = offset == 1 and CAST or HELD
    for index = 1, #marks, 2 do
      local user, atMs = marks[index], marks[index + 1]
      local key = votesKey(work.stem, listing, bucketOf(atMs))
      writeMark(work, key, user, votesOf(work, key, user), atMs, flag)
    end
  end
  return APPLIED
end

local INIT, STATS, CLICK, INVITE, FORGET, REMEMBER = 1, 2, 3, 4, 8, 10
local appliers = { nil, applyStats, applyClick, applyInvite, applyVote, applyAdjust, applyFacts, nil }
-- Arguments of each kind, beside kind, address and incarnation.
local argumentCounts = { 5, 6, 1, 0, 4, 6, 6, 0, 0, 3 }

-- Sent again, but there already, or overtaken by a newer post. The other kinds cannot count twice.
local function isSettled(slot, kind, atMs)
  if kind == STATS then
    return atMs < slot[LAST_POST]
  end
  return (kind == CLICK or kind == INVITE) and inRow(slot)
end

-- `at` is the place of the item's first argument.
local function applyItem(work, slot, at)
  local items = work.items
  local kind, incarnation = items[at - 3], items[at - 1]
  local known, living = slot[INCARNATION], slot[LIVING]
  if known > incarnation or (known == incarnation and not living) then
    return kind == FORGET and APPLIED or FORGOTTEN
  end
  if kind == FORGET then
    replace(work, slot, incarnation)
    return APPLIED
  end
  if living and known == incarnation then
    if kind == INIT or kind == REMEMBER or (lostGeneration and isSettled(slot, kind, items[at])) then
      return APPLIED
    end
    return appliers[kind](work, slot, at)
  end
  if kind == REMEMBER then
    return applyRemember(work, slot, at)
  end
  return kind == INIT and applyInit(work, slot, at) or ABSENT
end
