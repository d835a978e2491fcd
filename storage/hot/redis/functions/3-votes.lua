-- Votes: decides a vote by the rules of `engine/entity/votes.ts`, and keeps last votes in buckets of `bucketMs`,
-- a key each. The items of other kinds
-- that write last votes are in 3-items.lua.

-- The decision of an accepted vote by the number of votes it counts, packed: below 0 where the totals contain
-- them already; the decisions of one batch, a table that the next reuses.
voting.acceptances, voting.decisions = {}, {}

-- The decision to accept a vote, packed.
function voting.packAcceptance(count)
  local decision = voting.acceptances[count]
  if not decision then
    decision = pack({ count })
    voting.acceptances[count] = decision
  end
  return decision
end

-- A voter's votes in the bucket of `key`, as the batch sees them; nil or false if there are none.
function voting.readVotes(work, key, user)
  local written = work.votes and work.votes[key]
  local votes = written and written[user]
  if votes then
    return votes
  end
  local stored = call('HGET', key, user)
  return stored and unpackValue(stored)
end

-- Adds a cast vote to a voter's votes in a bucket, or sets another flag on an existing one. `votes` comes
-- from `readVotes`.
function voting.writeVote(work, key, user, votes, atMs, flag)
  if votes then
    local index = 1
    while votes[index] and votes[index] ~= atMs do
      index = index + 2
    end
    votes[index], votes[index + 1] = atMs, flag
  else
    votes = { atMs, flag }
  end
  work.votes = work.votes or {}
  local written = work.votes[key]
  if written then
    written[user] = votes
  else
    work.votes[key] = { [user] = votes }
  end
end

function voting.hasVote(votes, atMs)
  for index = 1, votes and #votes or 0, 2 do
    if votes[index] == atMs then
      return true
    end
  end
  return false
end

function voting.setVoteFlag(work, slot, user, atMs, flag)
  local key = toVotesKey(work.stem, getListing(slot), toBucket(atMs))
  local votes = voting.readVotes(work, key, user)
  if voting.hasVote(votes, atMs) then
    voting.writeVote(work, key, user, votes, atMs, flag)
  end
end

-- The time of the vote that makes a voter wait (0: none). Then the key and the voter's votes of the bucket of
-- `atMs`, if that bucket was read.
function voting.findHoldingVote(work, slot, user, atMs)
  local sinceMs, listing, releasedMs = 0, getListing(slot), openRest(slot)[RELEASED_BEFORE_MS]
  local castBucket, castKey, castVotes = toBucket(atMs), nil, nil
  local fromMs = max(atMs, nowMs - bucketMs) - rules.longestWaitMs
  local toMs = max(nowMs, atMs) + clockAheadMaxMs
  for bucket = toBucket(fromMs), toBucket(toMs) do
    local key = toVotesKey(work.stem, listing, bucket)
    local votes = voting.readVotes(work, key, user)
    if votes then
      sinceMs = max(sinceMs, findHoldingSince(votes, fromMs, toMs, releasedMs))
    end
    if bucket == castBucket then
      castKey, castVotes = key, votes
    end
  end
  return sinceMs, castKey, castVotes
end

-- Puts accepted votes into the outbox, one for each of the itags from `at` on. What follows the
-- time, its origin and source, is one argument.
function voting.addToOutbox(work, slot, at, count)
  local items, outbox = work.items, work.outbox or {}
  work.outbox = outbox
  local user, upvote, atMs, origin = items[at - 5], items[at - 4], items[at - 3], items[at - 1]
  local head = '\0' .. slot[ADDRESS] .. '\0' .. digits(slot[INCARNATION])
  head = head .. (upvote and '\0001\0' or '\0000\0') .. digits(atMs) .. origin .. '\0'
  for number = 0, count - 1 do
    local last = #outbox
    outbox[last + 1] = '0'
    outbox[last + 2] = items[at + number] .. head .. digits(number) .. '\0' .. user
  end
end

-- The field that counts the votes in the outbox, from the first `mend` on, the one that counts those that were lost
-- there, and the one that counts listings that lost their visitors.
voting.outboxField, voting.lostField, voting.unseenField = '!o', '!lost', '!unseen'

function voting.countOutbox(key, more)
  local counted = more ~= 0 and call('HGET', key, voting.outboxField)
  if counted then
    call('HSET', key, voting.outboxField, digits(counted + more))
  end
end

-- Why no voter's request is accepted; nil if one may be. A lost vote was accepted before.
function voting.findRefusal(slot, rest, atMs)
  if rest[BANNED] then
    return VOTE_BANNED
  elseif not slot[LISTED] then
    return NOT_LISTED
  elseif atMs > nowMs + clockAheadMaxMs then
    return CLOCK_AHEAD
  end
  return atMs < nowMs - clockBehindMaxMs and CLOCK_BEHIND or nil
end

-- user, upvote, atMs, number of itags, origin and source, itags
function voting.applyVote(work, slot, at)
  local items, rest = work.items, openRest(slot)
  local user, upvote, atMs = items[at], items[at + 1], items[at + 2]
  local refusal = not lostPositions and voting.findRefusal(slot, rest, atMs)
  if refusal then
    return pack({ refusal, 0 })
  end
  local window = findWindow(rest, atMs, rules)
  local sinceMs, key, votes = voting.findHoldingVote(work, slot, user, atMs)
  if sinceMs > 0 and atMs < sinceMs + window[1] then
    return pack({ WAIT, sinceMs + window[1] })
  end
  local count = window[2]
  assert(items[at + 3] >= count, 'a vote needs an itag for each vote it grants')
  local position = upvote and UPVOTES or DOWNVOTES
  if rest[position] > counterMax - count then
    return OVERFLOW
  end
  local isIncluded = isInBaseRow(slot)
  if not isIncluded then
    rest[position] = rest[position] + count
  end
  touch(work, slot, slot[CHANGED] or COUNTERS)
  if not key then
    key = toVotesKey(work.stem, getListing(slot), toBucket(atMs))
    votes = voting.readVotes(work, key, user)
  end
  voting.writeVote(work, key, user, votes, atMs, CAST)
  voting.addToOutbox(work, slot, at + 5, count)
  return voting.packAcceptance(isIncluded and -count or count)
end

appliers[VOTE] = voting.applyVote
