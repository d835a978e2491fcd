-- The rules of uptime and voting, the same as in `engine/entity/uptime.ts` and `votes.ts`. A change here
-- needs the same change there: the conformance suite checks both against one model. Pure: calls no Redis
-- command.

local WAIT, NOT_LISTED, VOTE_BANNED, CLOCK_AHEAD, CLOCK_BEHIND = 0, 1, 2, 3, 4
local CAST, RELEASED_FLAG, PINNED = 0, 1, 2
local dayMs = 86400000

-- The rules arrive as one packed value. They rarely change, so the last ones are cached.
local rulesText, cachedRules

-- Positions: 1 check interval, 2 freshness of a post, 3 visitors' maximum, 4–5 standard, 6–7 premium and 8–9
-- weekend window (wait, votes per user), 10 how long votes are stored, 11 downtimes, 12 when parts are stale
-- and 13 gone, 14 how long a table of parts waits.
local function unpackRules(text)
  if text ~= rulesText then
    local values = unpackValue(text)
    cachedRules = {
      checkMs = values[1],
      freshMs = values[2],
      visitorsMax = values[3],
      standard = { values[4], values[5] },
      premium = { values[6], values[7] },
      weekend = { values[8], values[9] },
      longestWaitMs = max(values[4], values[6], values[8]),
      storedMs = values[10],
      downtimes = values[11],
      staleMs = values[12],
      goneMs = values[13],
      switchMs = values[14],
    }
    rulesText = text
  end
  return cachedRules
end

local function countChecks(fromMs, toMs, checkMs)
  if toMs <= fromMs then
    return 0
  end
  return floor(toMs / checkMs) - floor(fromMs / checkMs)
end

-- Counts the checks in (fromMs, toMs] outside downtimes, which are from, to, from, to, oldest first.
local function countChecksOutsideDowntimes(fromMs, toMs, rules)
  local downtimes = rules.downtimes
  local count = countChecks(fromMs, toMs, rules.checkMs)
  local index = #downtimes
  while index > 1 and count > 0 and downtimes[index] > fromMs do
    local lostFromMs = max(fromMs, downtimes[index - 1] - 1)
    count = count - countChecks(lostFromMs, min(toMs, downtimes[index] - 1), rules.checkMs)
    index = index - 2
  end
  return count
end

-- Adds all checks up to `nowMs` to the slot's uptime. Must run before facts, status or last post change.
local function foldUptime(slot, nowMs, rules)
  local checkMs = rules.checkMs
  local lastCheckMs = nowMs - nowMs % checkMs
  if not slot[LISTED] or lastCheckMs <= slot[UPTIME_CHECKED_MS] then
    return
  end
  local sinceMs = max(slot[UPTIME_CHECKED_MS], slot[LISTED_SINCE])
  if lastCheckMs <= sinceMs then
    return
  end
  slot[UPTIME_CHECKED_MS] = lastCheckMs
  if sinceMs == 0 then
    return
  end
  slot[TOTAL_UPTIME] = slot[TOTAL_UPTIME] + countChecksOutsideDowntimes(sinceMs, lastCheckMs, rules)
  if slot[LAST_STATS_POST_MS] > 0 and slot[STATUS] ~= 'offline' then
    local freshUntilMs = slot[LAST_STATS_POST_MS] + rules.freshMs
    slot[UPTIME] = slot[UPTIME] + countChecksOutsideDowntimes(sinceMs, min(lastCheckMs, freshUntilMs), rules)
  end
end

local function isWeekend(atMs)
  local day = floor(atMs / dayMs) % 7
  return day >= 1 and day <= 3
end

local function findWindow(rest, atMs, rules)
  if rest[PREMIUM_UNTIL] > atMs then
    return rules.premium
  end
  return isWeekend(atMs) and rules.weekend or rules.standard
end

-- Time of the newest of `votes` (time, flag, time, flag …) from `fromMs` to `toMs` whose voter still has to
-- wait; 0 if there is none.
local function findHoldingSince(votes, fromMs, toMs, releasedBeforeMs)
  local sinceMs = 0
  for index = 1, #votes, 2 do
    local atMs, flag = votes[index], votes[index + 1]
    local holds = flag == PINNED or (flag == CAST and atMs >= releasedBeforeMs)
    if holds and atMs > sinceMs and atMs >= fromMs and atMs <= toMs then
      sinceMs = atMs
    end
  end
  return sinceMs
end
