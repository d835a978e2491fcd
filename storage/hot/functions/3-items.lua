-- Applying one item to one slot, as in `engine/entity/apply.ts`. Reads through the batch's overlay, writes to it only:
-- nothing reaches the store before every batch of the call is decided (functions do not roll back).
--
-- Every `applyX(work, open, at)` finds its arguments in `work.items` from `at` on, and returns a decision. `open.slot` is
-- changed in place, and `touch` called, only when nothing can be refused any more.

local APPLIED, ABSENT, FORGOTTEN, GAP, BEHIND, OVERFLOW = 0, 1, 2, 3, 4, 5

-- The store's time and the rules in force, for the call that runs.
local nowMs, rules

local function touch(work, open)
  open.changed = true
  work.changed = true
  open.slot[VERSION] = work.version
  if open.slot[SINCE] == 0 then
    open.slot[SINCE] = work.version
  end
end

-- The rest of an open slot, to be read and changed.
local function restOf(open)
  local rest = open.rest
  if not rest then
    rest = unpackValue(open.restText)
    open.rest = rest
  end
  return rest
end

-- The listing of an open slot, as it stands in key names.
local function listingIn(open)
  local listing = open.listing
  if not listing then
    listing = listingOf(open.address, open.slot[INCARNATION])
    open.listing = listing
  end
  return listing
end

-- One voter's votes in one bucket, as the batch sees them.
local function votesIn(work, open, bucket)
  local key = votesKey(work.stem, listingIn(open), bucket)
  work.votes = work.votes or {}
  local known = work.votes[key]
  if not known then
    known = { rows = {}, changed = {}, bucket = bucket }
    work.votes[key] = known
  end
  return key, known
end

local function votesOf(work, open, user, bucket)
  local key, known = votesIn(work, open, bucket)
  local row = known.rows[user]
  if not row then
    local stored = call('HGET', key, user)
    row = stored and unpackValue(stored) or {}
    known.rows[user] = row
  end
  return row, known
end

local function mark(work, open, user, vote)
  local row, known = votesOf(work, open, user, bucketOf(vote.atMs))
  local index = 1
  while row[index] and row[index] ~= vote.atMs do
    index = index + 2
  end
  if not row[index] and vote.knownOnly then
    return
  end
  row[index], row[index + 1] = vote.atMs, vote.flag
  known.changed[user] = true
end

local function holdingSinceOf(work, open, user, range)
  local sinceMs = 0
  for bucket = bucketOf(range.fromMs), bucketOf(range.toMs) do
    local row = votesOf(work, open, user, bucket)
    sinceMs = max(sinceMs, holdingSince(row, range, restOf(open)[RELEASED]))
  end
  return sinceMs
end

-- The place where the item to be applied was applied once, before it was lost: a generation and a version, or nothing.
local lostGeneration, lostVersion

-- A lost item that came back with the row its listing was initialised from.
local function inRow(open)
  local generation = lostGeneration and restOf(open)[BASE_GENERATION]
  if not generation or generation ~= lostGeneration then
    return generation and generation > lostGeneration
  end
  return restOf(open)[BASE_VERSION] >= lostVersion
end

-- user, upvote, atMs, itags
local function applyVote(work, open, at)
  local items, slot, rest = work.items, open.slot, restOf(open)
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
  local sinceMs = holdingSinceOf(work, open, user, range)
  if sinceMs > 0 and atMs < sinceMs + window[1] then
    return { WAIT, sinceMs + window[1] }
  end
  local count = window[2]
  assert(#itags >= count, 'a vote needs an itag for each vote it grants')
  local position = upvote and UPVOTES or DOWNVOTES
  if rest[position] > counterMax - count then
    return OVERFLOW
  end
  if not inRow(open) then
    rest[position] = rest[position] + count
  end
  touch(work, open)
  mark(work, open, user, { atMs = atMs, flag = CAST })
  local tail = concat({ '', open.address, digits(slot[INCARNATION]), upvote and '1' or '0', digits(atMs) }, '\0')
  work.outbox = work.outbox or {}
  for number = 1, count do
    local row = itags[number] .. tail .. '\0' .. digits(number - 1) .. '\0' .. user
    work.outbox[#work.outbox + 1] = 0
    work.outbox[#work.outbox + 1] = row
  end
  return { count }
end

-- visitor
local function applyClick(work, open, at)
  local rest, visitor = restOf(open), work.items[at]
  if rest[CLICKS] >= counterMax then
    return OVERFLOW
  end
  local unique = rest[UNIQUE] < rules.visitorsMax and rest[UNIQUE] <= rest[CLICKS]
  if unique then
    local key = work.stem .. 'u:' .. listingIn(open)
    work.visitors = work.visitors or {}
    local new = work.visitors[key]
    if (new and new[visitor]) or call('SISMEMBER', key, visitor) == 1 then
      unique = false
    else
      new = new or {}
      new[visitor] = true
      work.visitors[key] = new
    end
  end
  rest[CLICKS] = rest[CLICKS] + 1
  if unique then
    rest[UNIQUE] = rest[UNIQUE] + 1
  end
  touch(work, open)
  return APPLIED
end

local function applyInvite(work, open)
  local rest = restOf(open)
  if rest[INVITES] >= counterMax then
    return OVERFLOW
  end
  rest[INVITES] = rest[INVITES] + 1
  touch(work, open)
  return APPLIED
end

local function fold(work, open, atMs)
  if byte(open.address) == 98 then
    foldUptime(open.slot, min(atMs, nowMs), rules)
  end
end

-- atMs, servers, shards, users, shardList, status; false where not posted
local function applyStats(work, open, at)
  local items, slot = work.items, open.slot
  local atMs = items[at]
  fold(work, open, atMs)
  for offset = 0, 4 do
    local value = items[at + 1 + offset]
    if value then
      slot[SERVERS + offset] = value
    end
  end
  slot[LAST_POST] = max(slot[LAST_POST], min(atMs, nowMs))
  touch(work, open)
  return APPLIED
end

-- atMs, revision, listed, banned, premium until, listed since
local function applyFacts(work, open, at)
  local items, slot, rest = work.items, open.slot, restOf(open)
  if items[at + 1] <= rest[REVISION] then
    return APPLIED
  end
  fold(work, open, items[at])
  rest[REVISION], slot[LISTED], rest[BANNED] = items[at + 1], items[at + 2], items[at + 3]
  rest[PREMIUM_UNTIL], slot[LISTED_SINCE] = items[at + 4], items[at + 5]
  touch(work, open)
  return APPLIED
end

-- sequence, upvotes, downvotes, release before, released marks, held marks (user, time, user, time …)
local function applyAdjust(work, open, at)
  local items, rest = work.items, restOf(open)
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
  touch(work, open)
  for offset = 4, 5 do
    local marks = items[at + offset]
    local flag = offset == 4 and RELEASED_FLAG or HELD
    for index = 1, #marks, 2 do
      mark(work, open, marks[index], { atMs = marks[index + 1], flag = flag, knownOnly = true })
    end
  end
  return APPLIED
end

-- Forgets the visitors of a listing that is dead now. Its last votes expire: no key of a later one can meet them.
local function bury(work, open)
  if not isLiving(open.slot) then
    return
  end
  local key = work.stem .. 'u:' .. listingOf(open.address, open.slot[INCARNATION])
  if work.visitors then
    work.visitors[key] = nil
  end
  work.buried = work.buried or {}
  work.buried[#work.buried + 1] = key
end

local function replace(work, open, slot, rest)
  bury(work, open)
  open.slot, open.rest, open.restText = slot, rest, nil
  open.listing = nil
  open.changed = true
  work.changed = true
end

-- row generation, row version, the shard's generation before the row was read or false, slot, its rest
local function applyInit(work, open, at)
  local items = work.items
  local generation, version, readUnder, slot = items[at], items[at + 1], items[at + 2], items[at + 3]
  if readUnder and readUnder ~= work.generation then
    return ABSENT
  end
  if generation > work.generation or (generation == work.generation and version > work.before) then
    return BEHIND
  end
  -- One batch may hold the item twice, and the overlay changes it.
  slot[SINCE], slot[VERSION] = 0, work.version
  replace(work, open, slot, items[at + 4])
  return APPLIED
end

local INIT, STATS, CLICK, INVITE, FORGET = 1, 2, 3, 4, 8
local appliers = { nil, applyStats, applyClick, applyInvite, applyVote, applyAdjust, applyFacts, nil }
-- Arguments of each kind, beside kind, address and incarnation.
local argumentCounts = { 5, 6, 1, 0, 4, 6, 6, 0 }

-- Sent again, but there already, or overtaken by a newer post. The other kinds cannot count twice.
local function isSettled(open, kind, atMs)
  if kind == STATS then
    return atMs < open.slot[LAST_POST]
  end
  return (kind == CLICK or kind == INVITE) and inRow(open)
end

-- `at` is the place of the item's first argument.
local function applyItem(work, open, at)
  local items, slot = work.items, open.slot
  local kind, incarnation = items[at - 3], items[at - 1]
  local known = slot and slot[INCARNATION] or 0
  local living = isLiving(slot)
  if slot and (known > incarnation or (known == incarnation and not living)) then
    return kind == FORGET and APPLIED or FORGOTTEN
  end
  if kind == FORGET then
    replace(work, open, { incarnation })
    return APPLIED
  end
  if living and known == incarnation then
    if kind == INIT or (lostGeneration and isSettled(open, kind, items[at])) then
      return APPLIED
    end
    return appliers[kind](work, open, at)
  end
  return kind == INIT and applyInit(work, open, at) or ABSENT
end
