-- Applies one item to one slot, as `engine/entity/apply.ts` does. Reads through the batch's overlay and
-- writes only to the overlay: nothing is written to the store before every batch of the call is decided
-- (functions do not roll back).
--
-- Every `applyX(work, slot, at)` reads its arguments from `work.items`, beginning at index `at`, and returns
-- a decision: a number, or for a vote a packed array. It changes `slot` and calls `touch` only after the last
-- check that may refuse the item.

local APPLIED, ABSENT, FORGOTTEN, GAP, BEHIND, OVERFLOW, DAMAGED, CONTAINED = 0, 1, 2, 3, 4, 5, 10, 12

-- What 3-votes.lua fills. (One table, because a library may have 200 local names.)
local voting = {}

-- The store's time and the rules of the current call.
local nowMs, rules

-- `changed`: `slot[CHANGED] or COUNTERS` if this item changed only counters.
local function touch(work, slot, changed)
  local version = work.version
  slot[CHANGED], work.changed = changed or true, true
  slot[VERSION] = version
  if slot[SINCE] == 0 then
    slot[SINCE] = version
  end
end

-- The listing of a slot in the form that key names contain.
local function getListing(slot)
  local listing = slot[LISTING]
  if not listing then
    listing = toListing(slot[ADDRESS], slot[INCARNATION])
    slot[LISTING] = listing
  end
  return listing
end

-- The positions at which the current item counted before the store lost it (generation, version, generation …),
-- in ascending order; nil if not lost. `lostCopies`: the batches that it was in (producer, sequence, producer …).
local lostPositions, lostCopies

-- Whether the store has one of these batches after all.
local function hasCopy(work)
  for index = 1, #lostCopies, 2 do
    local newest = call('HGET', work.key, (parseProducer(lostCopies[index])))
    if newest and unpackLastSequence(newest) >= lostCopies[index + 1] then
      return true
    end
  end
  return false
end

-- Whether a lost item is contained in the SQL row that its listing was initialised from: by the newest
-- position where it counted in the row's generation or an earlier one.
local function isInBaseRow(slot)
  local generation = lostPositions and openRest(slot)[BASE_GENERATION]
  if not generation then
    return false
  end
  local index = #lostPositions - 1
  while index > 1 and lostPositions[index] > generation do
    index = index - 2
  end
  if generation ~= lostPositions[index] then
    return generation > lostPositions[index]
  end
  return openRest(slot)[BASE_VERSION] >= lostPositions[index + 1]
end

-- The member of a set of visitors that says that it is the first one: without it somebody deleted the set. A number,
-- as the others, so that Redis stores it as compactly.
local WHOLE = '-7240515287105437413'

-- Checks at once whether a visitor is new, and counts them.
local function countVisitor(work, slot, rest, visitor)
  local key = work.stem .. 'u:' .. getListing(slot)
  work.visitors = work.visitors or {}
  local new = work.visitors[key] or {}
  if not new[visitor] and call('SISMEMBER', key, visitor) == 0 then
    new[visitor] = true
    new[WHOLE] = new[WHOLE] or rest[UNIQUE_CLICKS] == 0 or nil
    work.visitors[key] = new
    rest[UNIQUE_CLICKS] = rest[UNIQUE_CLICKS] + 1
  end
end

-- Counts the visitors that `addVisitor` collected, one by one.
local function countCollected(work, slot, rest)
  for _, visitor in ipairs(slot[VISITORS] or {}) do
    countVisitor(work, slot, rest, visitor)
  end
  slot[VISITORS] = false
end

-- Collects visitors for one SADD, whose answer says how many were new. Only near the maximum is each visitor
-- checked before the next.
local function addVisitor(work, slot, rest, visitor)
  local waiting = slot[VISITORS] or {}
  if rest[UNIQUE_CLICKS] + #waiting < rules.visitorsMax then
    waiting[#waiting + 1] = visitor
    slot[VISITORS] = waiting
    return
  end
  countCollected(work, slot, rest)
  if rest[UNIQUE_CLICKS] < rules.visitorsMax then
    countVisitor(work, slot, rest, visitor)
  end
end

-- Stores the visitor of a lost click that is contained in the row: counted there, and maybe lost here. Another
-- click of this visitor, earlier in the batch, counts them first.
local function rememberVisitor(work, slot, visitor)
  local rest = openRest(slot)
  countCollected(work, slot, rest)
  if rest[UNIQUE_CLICKS] < rules.visitorsMax and rest[UNIQUE_CLICKS] <= rest[CLICKS] then
    local key = work.stem .. 'u:' .. getListing(slot)
    work.visitors = work.visitors or {}
    work.visitors[key] = work.visitors[key] or {}
    work.visitors[key][visitor] = true
  end
end

-- visitor
local function applyClick(work, slot, at)
  local rest = openRest(slot)
  local clicks, unique = rest[CLICKS], rest[UNIQUE_CLICKS]
  if clicks >= counterMax then
    return OVERFLOW
  end
  if unique < rules.visitorsMax and unique <= clicks then
    addVisitor(work, slot, rest, work.items[at])
  end
  rest[CLICKS] = clicks + 1
  touch(work, slot, slot[CHANGED] or COUNTERS)
  return APPLIED
end

local function applyInvite(work, slot)
  local rest = openRest(slot)
  if rest[INVITE_CLICKS] >= counterMax then
    return OVERFLOW
  end
  rest[INVITE_CLICKS] = rest[INVITE_CLICKS] + 1
  touch(work, slot, slot[CHANGED] or COUNTERS)
  return APPLIED
end

local function foldIfBot(slot, atMs)
  if byte(slot[ADDRESS]) == 98 then
    foldUptime(slot, atMs < nowMs and atMs or nowMs, rules)
  end
end

-- Whether a bot has parts, read from one byte of its slot where the rest is not unpacked.
function parts.has(slot)
  local rest = slot[REST]
  if rest then
    return rest[PARTS]
  end
  return byte(slot[PACKED], slot[REST_AT]) >= 0x90 + PARTS
end

-- atMs, then what is posted: see `mergePost`
local function applyStats(work, slot, at)
  local items = work.items
  local atMs = items[at]
  foldIfBot(slot, atMs)
  local ends = mergePost(slot, items, at) and parts.has(slot)
  local decision = ends and parts.drop(work, slot) and parts.ENDED or APPLIED
  local postedMs = atMs < nowMs and atMs or nowMs
  if postedMs > slot[LAST_STATS_POST_MS] then
    slot[LAST_STATS_POST_MS] = postedMs
  end
  touch(work, slot)
  return decision
end

-- atMs, revision, listed, banned, premium until, listed since
local function applyFacts(work, slot, at)
  local items, rest = work.items, openRest(slot)
  if items[at + 1] <= rest[REVISION] then
    return APPLIED
  end
  foldIfBot(slot, items[at])
  rest[REVISION], slot[LISTED], rest[BANNED] = items[at + 1], items[at + 2], items[at + 3]
  rest[PREMIUM_UNTIL], slot[LISTED_SINCE] = items[at + 4], items[at + 5]
  touch(work, slot)
  return APPLIED
end

-- sequence, upvotes, downvotes, release before, released cast votes, pinned cast votes (user, time, user,
-- time …)
local function applyAdjust(work, slot, at)
  local items, rest = work.items, openRest(slot)
  local sequence = items[at]
  if sequence <= rest[ADJUSTMENT] then
    return APPLIED
  elseif sequence ~= rest[ADJUSTMENT] + 1 then
    return GAP
  end
  local upvotes = min(counterMax, max(0, rest[UPVOTES] + items[at + 1]))
  local downvotes = min(counterMax, max(0, rest[DOWNVOTES] + items[at + 2]))
  rest[UPVOTES], rest[DOWNVOTES], rest[ADJUSTMENT] = upvotes, downvotes, sequence
  rest[RELEASED_BEFORE_MS] = max(rest[RELEASED_BEFORE_MS], items[at + 3])
  touch(work, slot, slot[CHANGED] or COUNTERS)
  for offset = 4, 5 do
    local castVotes = items[at + offset]
    local flag = offset == 4 and RELEASED_FLAG or PINNED
    for index = 1, #castVotes, 2 do
      voting.setVoteFlag(work, slot, castVotes[index], castVotes[index + 1], flag)
    end
  end
  return APPLIED
end

-- Marks the visitors and parts of a deleted listing for removal. Its last votes expire: keys of a later listing never
-- equal theirs.
local function removeVisitors(work, slot)
  if not slot[EXISTS] then
    return
  end
  if parts.has(slot) then
    parts.drop(work, slot)
  end
  local key = work.stem .. 'u:' .. getListing(slot)
  if work.visitors then
    work.visitors[key] = nil
  end
  work.removedVisitors = work.removedVisitors or {}
  work.removedVisitors[#work.removedVisitors + 1] = key
end

-- Puts another listing in a slot: with a first array and a rest, or a tombstone without them.
local function replaceListing(work, slot, incarnation, first, rest)
  removeVisitors(work, slot)
  slot[EXISTS], slot[REST], slot[LISTING], slot[VISITORS] = first ~= nil, rest or false, false, false
  slot.head, slot.isWide = nil, nil
  for index = 2, first and FIRST_LENGTH or 0 do
    slot[INCARNATION - 1 + index] = first[index]
  end
  slot[INCARNATION], slot[SINCE], slot[VERSION] = incarnation, 0, work.version
  slot[CHANGED], work.changed = true, true
end

-- SQL row's generation and version, the shard's generation before the row was read or false, first array,
-- rest
local function applyInit(work, slot, at)
  local items = work.items
  local generation, version, readUnder, first = items[at], items[at + 1], items[at + 2], items[at + 3]
  if readUnder and readUnder ~= work.generation then
    return ABSENT
  end
  if generation > work.generation or (generation == work.generation and version > work.before) then
    return BEHIND
  end
  replaceListing(work, slot, first[1], first, items[at + 4])
  if openRest(slot)[UNIQUE_CLICKS] > 0 then
    work.visitors = work.visitors or {}
    work.visitors[work.stem .. 'u:' .. getListing(slot)] = { [WHOLE] = true }
  end
  return APPLIED
end

-- The shard's generation before the SQL rows were read, cast votes, pinned cast votes (user, time, user, time
-- …). Only voters are written, and of a listing that exists only those that are missing.
local function applyRemember(work, slot, at, exists)
  local items = work.items
  if items[at] ~= work.generation then
    return exists and APPLIED or ABSENT
  end
  local listing = toListing(slot[ADDRESS], items[at - 1])
  for offset = 1, 2 do
    local castVotes = items[at + offset]
    local flag = offset == 1 and CAST or PINNED
    for index = 1, #castVotes, 2 do
      local user, atMs = castVotes[index], castVotes[index + 1]
      local key = toVotesKey(work.stem, listing, toBucket(atMs))
      local votes = voting.readVotes(work, key, user)
      if not (exists and voting.hasVote(votes, atMs)) then
        voting.writeVote(work, key, user, votes, atMs, flag)
      end
    end
  end
  return APPLIED
end

local INIT, STATS, CLICK, INVITE, VOTE, FORGET, REMEMBER = 1, 2, 3, 4, 5, 8, 10
local appliers = { nil, applyStats, applyClick, applyInvite, nil, applyAdjust, applyFacts, nil }
-- Arguments of each kind, beside kind, address and incarnation, and beside a vote's itags.
local argumentCounts = { 5, STATS_ARGUMENTS, 1, 0, 5, 6, 6, 0, 0, 3 }

-- Whether a lost item that was sent again is contained already, or older than the newest post.
local function isContained(work, slot, kind, atMs)
  if hasCopy(work) then
    return true
  elseif kind == STATS then
    return atMs < slot[LAST_STATS_POST_MS]
  end
  return (kind == CLICK or kind == INVITE) and isInBaseRow(slot)
end

-- `at` is the index of the item's first argument.
local function applyItem(work, slot, at)
  local items = work.items
  local kind, incarnation = items[at - 3], items[at - 1]
  local current, exists = slot[INCARNATION], slot[EXISTS]
  if current > incarnation or (current == incarnation and not exists) then
    if current == UNKNOWN then
      return DAMAGED
    end
    return kind == FORGET and APPLIED or FORGOTTEN
  end
  if kind == FORGET then
    replaceListing(work, slot, incarnation)
    return APPLIED
  end
  if exists and current == incarnation then
    if kind == INIT then
      return APPLIED
    elseif kind == REMEMBER then
      return applyRemember(work, slot, at, true)
    elseif lostPositions and isContained(work, slot, kind, items[at]) then
      if kind == CLICK then
        rememberVisitor(work, slot, items[at])
      end
      return CONTAINED
    end
    return appliers[kind](work, slot, at)
  end
  if kind == REMEMBER then
    return applyRemember(work, slot, at)
  end
  return kind == INIT and applyInit(work, slot, at) or ABSENT
end
