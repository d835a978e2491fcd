-- The rules of uptime and voting, as in `engine/entity/uptime.ts` and `votes.ts`: the conformance suite holds both
-- against the same model. A change here is a change there. Pure: no inner calls.

local WAIT, NOT_LISTED, VOTE_BANNED, CLOCK_AHEAD, CLOCK_BEHIND = 0, 1, 2, 3, 4
local CAST, RELEASED_FLAG, HELD = 0, 1, 2
local dayMs = 86400000

-- The rules come as one packed value; they hardly ever change, so the last ones are kept.
local rulesText, rulesKept

-- Positions: 1 check, 2 fresh, 3 visitors, 4–5 standard, 6–7 premium, 8–9 weekend, 10 keeping, 11 outages.
local function rulesOf(text)
  if text ~= rulesText then
    local row = unpackValue(text)
    rulesKept = {
      checkMs = row[1],
      freshMs = row[2],
      visitorsMax = row[3],
      standard = { row[4], row[5] },
      premium = { row[6], row[7] },
      weekend = { row[8], row[9] },
      longestWaitMs = max(row[4], row[6], row[8]),
      keptMs = row[10],
      outages = row[11],
    }
    rulesText = text
  end
  return rulesKept
end

local function checksBetween(fromMs, toMs, checkMs)
  if toMs <= fromMs then
    return 0
  end
  return floor(toMs / checkMs) - floor(fromMs / checkMs)
end

-- Checks in (fromMs, toMs] outside outages, which are from, to, from, to, oldest first.
local function countedBetween(fromMs, toMs, rules)
  local outages = rules.outages
  local count = checksBetween(fromMs, toMs, rules.checkMs)
  local index = #outages
  while index > 1 and count > 0 and outages[index] > fromMs do
    local lostFromMs = max(fromMs, outages[index - 1] - 1)
    count = count - checksBetween(lostFromMs, min(toMs, outages[index] - 1), rules.checkMs)
    index = index - 2
  end
  return count
end

-- Folds all checks up to `nowMs` into the slot. Before any change of facts, status or last post.
local function foldUptime(slot, nowMs, rules)
  local checkMs = rules.checkMs
  local lastCheckMs = nowMs - nowMs % checkMs
  if not slot[LISTED] or lastCheckMs <= slot[CHECKED] then
    return
  end
  local sinceMs = max(slot[CHECKED], slot[LISTED_SINCE])
  if lastCheckMs <= sinceMs then
    return
  end
  slot[CHECKED] = lastCheckMs
  if sinceMs == 0 then
    return
  end
  slot[TOTAL_UPTIME] = slot[TOTAL_UPTIME] + countedBetween(sinceMs, lastCheckMs, rules)
  if slot[LAST_POST] > 0 and slot[STATUS] ~= 'offline' then
    local freshUntilMs = slot[LAST_POST] + rules.freshMs
    slot[UPTIME] = slot[UPTIME] + countedBetween(sinceMs, min(lastCheckMs, freshUntilMs), rules)
  end
end

local function isWeekend(atMs)
  local day = floor(atMs / dayMs) % 7
  return day >= 1 and day <= 3
end

local function windowInForce(rest, atMs, rules)
  if rest[PREMIUM_UNTIL] > atMs then
    return rules.premium
  end
  return isWeekend(atMs) and rules.weekend or rules.standard
end

-- Time of the newest of `votes` (time, flag, time, flag …) in [fromMs, toMs] that holds its voter back.
local function holdingSince(votes, range, releasedBeforeMs)
  local sinceMs = 0
  for index = 1, #votes, 2 do
    local atMs, flag = votes[index], votes[index + 1]
    local holds = flag == HELD or (flag == CAST and atMs >= releasedBeforeMs)
    if holds and atMs > sinceMs and atMs >= range.fromMs and atMs <= range.toMs then
      sinceMs = atMs
    end
  end
  return sinceMs
end
