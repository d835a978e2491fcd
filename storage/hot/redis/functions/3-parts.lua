-- The parts of bots (their shards, posted one by one): the same rules as in `engine/entity/parts.ts`.
--
-- A table of parts is the hash `b:<listing>:<shard count>`: id → time, servers, users, status, live, cluster.
-- Its sums are in the slot, as one text in the rest (`head` here, while it is open): a bot without parts has
-- none, which the first byte of its rest shows. In a slot with a current table every entry of the list of
-- shards is padded to the same width, so that a post replaces its entries without reading the others. `t` is
-- the index of bots by the time at which their parts must be judged. A table expires when no node has judged
-- it for long.

-- A head is the due time, the replaced shard count, then two tables of nine numbers each; a shard count of 0
-- is no table.
parts.headFormat = '<dddddddddddddddddddd'
parts.headLength = 20
parts.headBytes = 160
parts.DUE = 1
parts.REPLACED = 2
-- Where a table begins, with its shard count; the positions of its other numbers from there.
parts.CURRENT = 3
parts.BUILDING = 12
parts.SINCE = 1
parts.SEEN = 2
parts.SERVERS = 3
parts.USERS = 4
-- Live parts by status begin here: 0 online, 1 idle, 2 dnd, 3 offline.
parts.LIVE = 5
parts.tableLength = 9
parts.statuses = { [0] = 'online', 'idle', 'dnd', 'offline' }
parts.partFormat = '<dddBB'
parts.partLength = 26
-- One entry of a padded list with its comma.
parts.entryLength = 13
parts.entryFormat = '%12.0f'
parts.INCONSISTENT = 6
parts.COMPLETE = 7
parts.TIME = 8
parts.IDLE = 9
parts.ENDED = 11
-- As `formerCountQuietMs` in `engine/limits.ts`.
parts.quietMs = 60000

-- The head of a slot. A stored one stays open until the slot is packed.
function parts.openHead(slot)
  local head = slot.head
  if head then
    return head
  elseif parts.has(slot) then
    slot.head = parts.unpackHead(slot)
    return slot.head
  end
  head = {}
  for index = 1, parts.headLength do
    head[index] = 0
  end
  head[parts.DUE] = counterMax
  return head
end

-- Leaves the rest packed if the head is its end. Longer rests may have other forms.
function parts.unpackHead(slot)
  if not slot[REST] then
    local packed, restAt = slot[PACKED], slot[REST_AT]
    local textAt = #packed - parts.headBytes - 1
    local head, length = byte(packed, textAt, textAt + 1)
    if byte(packed, restAt) == 0x90 + PARTS and head == 0xd9 and length == parts.headBytes then
      return { unpackFixed(parts.headFormat, packed, textAt + 2) }
    end
  end
  return { unpackFixed(parts.headFormat, openRest(slot)[PARTS]) }
end

-- The packed rest of a slot with an open head.
function parts.packRest(slot)
  local rest, packed = slot[REST], packFixed(parts.headFormat, unpack(slot.head, 1, parts.headLength))
  if rest then
    rest[PARTS] = packed
    return pack(rest)
  end
  return sub(slot[PACKED], slot[REST_AT], -parts.headBytes - 1) .. packed
end

function parts.recordDue(work, slot, dueMs)
  work.due = work.due or {}
  work.due[slot[ADDRESS]] = dueMs
end

-- Puts the head into the slot. `storedMs` is its due time before the item.
function parts.closeHead(work, slot, head, storedMs)
  if not parts.has(slot) then
    local rest = openRest(slot)
    rest[BASE_GENERATION], rest[BASE_VERSION] = rest[BASE_GENERATION] or 0, rest[BASE_VERSION] or 0
    -- Until the head is packed.
    rest[PARTS] = true
  end
  slot.head = head
  if head[parts.DUE] ~= storedMs then
    parts.recordDue(work, slot, head[parts.DUE])
  end
  touch(work, slot)
end

function parts.getKey(work, slot, count)
  return work.stem .. 'b:' .. getListing(slot) .. ':' .. digits(count)
end

-- What the call writes to one table: `values` by id, false for a removal; `dropped`: the stored ones are gone.
function parts.getWritten(work, key)
  work.parts = work.parts or {}
  local written = work.parts[key]
  if not written then
    written = { values = {}, dropped = false, expires = false }
    work.parts[key] = written
  end
  return written
end

function parts.dropTable(work, slot, count)
  local written = parts.getWritten(work, parts.getKey(work, slot, count))
  written.values, written.dropped, written.expires = {}, true, true
end

-- Removes all parts of a slot: a post of totals has the last word, or the listing is deleted. Returns true.
function parts.drop(work, slot)
  local head = parts.openHead(slot)
  for base = parts.CURRENT, parts.BUILDING, parts.tableLength do
    if head[base] > 0 then
      parts.dropTable(work, slot, head[base])
    end
  end
  openRest(slot)[PARTS], slot.head = nil, nil
  slot[SHARD_LIST] = string.gsub(slot[SHARD_LIST], ' ', '')
  parts.recordDue(work, slot, 0)
  return true
end

-- The packed parts with these ids, false where the table has none.
function parts.readMany(work, key, ids)
  local written = work.parts and work.parts[key]
  if #ids == 1 and not written then
    return { call('HGET', key, ids[1]) }
  end
  local values = written and written.dropped and {} or readFields(key, ids)
  for index = 1, written and #ids or 0 do
    local value = written.values[ids[index]]
    if value ~= nil then
      values[index] = value
    end
  end
  return values
end

-- All packed parts of a table by id.
function parts.readAll(work, key)
  local written = work.parts and work.parts[key]
  local values = {}
  local stored = written and written.dropped and {} or call('HGETALL', key)
  for index = 1, #stored, 2 do
    values[tonumber(stored[index])] = stored[index + 1]
  end
  for id, value in pairs(written and written.values or {}) do
    values[id] = value or nil
  end
  return values
end

function parts.countLive(head, base)
  local first = base + parts.LIVE
  return head[first] + head[first + 1] + head[first + 2] + head[first + 3]
end

-- Replaces entries of a padded list; `changes` is id, servers, id, servers … in ascending order of ids.
function parts.replaceEntries(list, changes)
  if #changes == 2 then
    local start = changes[1] * parts.entryLength
    return sub(list, 1, start) .. format(parts.entryFormat, changes[2]) .. sub(list, start + parts.entryLength)
  end
  local pieces, count, from = {}, 0, 1
  for index = 1, #changes, 2 do
    local start = changes[index] * parts.entryLength + 1
    pieces[count + 1] = sub(list, from, start - 1)
    pieces[count + 2] = format(parts.entryFormat, changes[index + 1])
    count, from = count + 2, start + parts.entryLength - 1
  end
  pieces[count + 1] = sub(list, from)
  return concat(pieces)
end

function parts.buildList(work, slot, count)
  local values, entries = parts.readAll(work, parts.getKey(work, slot, count)), {}
  for id = 0, count - 1 do
    local _, servers
    if values[id] then
      _, servers = unpackFixed(parts.partFormat, values[id])
    end
    entries[id + 1] = format(parts.entryFormat, servers or 0)
  end
  return concat(entries, ',')
end

-- Writes the totals of the current table. `changes` of the list: see `replaceEntries`; nil builds it. A sum
-- that no post has named leaves the total as it was.
function parts.writeTotals(work, slot, head, changes, namesServers, namesUsers)
  local base = parts.CURRENT
  local count, servers, users = head[base], head[base + parts.SERVERS], head[base + parts.USERS]
  -- `digits` would keep texts that do not recur.
  if namesServers or servers > 0 then
    slot[SERVERS] = format('%.0f', servers)
  end
  if namesUsers or users > 0 then
    slot[USERS] = format('%.0f', users)
  end
  slot[SHARDS] = digits(count)
  if changes and #slot[SHARD_LIST] == count * parts.entryLength - 1 then
    slot[SHARD_LIST] = #changes > 0 and parts.replaceEntries(slot[SHARD_LIST], changes) or slot[SHARD_LIST]
  else
    slot[SHARD_LIST] = parts.buildList(work, slot, count)
  end
  local status = 0
  while status < 3 and head[base + parts.LIVE + status] == 0 do
    status = status + 1
  end
  slot[STATUS] = parts.statuses[status]
end

-- Live parts of the current table that have not said that they are offline.
function parts.countRunning(head)
  return parts.countLive(head, parts.CURRENT) - head[parts.CURRENT + parts.LIVE + 3]
end

-- Whether the building table waits whatever it has: see `isHeldBack` in `engine/entity/parts.ts`.
function parts.isHeldBack(head)
  local count, current = head[parts.BUILDING], head[parts.CURRENT]
  return parts.countLive(head, parts.BUILDING) == 0 or count * 2 <= current and parts.countRunning(head) * 2 > current
end

-- Why the building table comes into force now, or nil.
function parts.findSwitch(head)
  local base, current = parts.BUILDING, head[parts.CURRENT]
  if head[base] == 0 or current > 0 and parts.isHeldBack(head) then
    return nil
  elseif head[base + parts.SEEN] == head[base] then
    return parts.COMPLETE
  end
  local isFormer = current > 0 and head[base] == head[parts.REPLACED] and parts.countRunning(head) > 0
  if not isFormer and nowMs - head[base + parts.SINCE] >= rules.switchMs then
    return parts.TIME
  end
  return current > 0 and parts.countLive(head, parts.CURRENT) == 0 and parts.IDLE or nil
end

-- Lets the building table come into force if it is time. Returns why, or nil.
function parts.switchTables(work, slot, head)
  local base, current, reason = parts.BUILDING, head[parts.CURRENT], parts.findSwitch(head)
  if not reason then
    return nil
  end
  if current > 0 then
    parts.dropTable(work, slot, current)
  end
  head[parts.REPLACED] = current
  for index = 0, parts.tableLength - 1 do
    head[parts.CURRENT + index], head[base + index] = head[base + index], 0
  end
  return reason
end

-- A table that waits longer waits for a part to become stale, or for a post.
function parts.waitForSwitch(head)
  local switchAtMs = head[parts.BUILDING + parts.SINCE] + rules.switchMs
  if head[parts.BUILDING] > 0 and switchAtMs > nowMs then
    head[parts.DUE] = min(head[parts.DUE], switchAtMs)
  end
end

-- Judges one part. Returns its packed value from now on (false: gone), then the numbers of the sums, if any.
function parts.judgePart(packed)
  local atMs, servers, users, status, live = unpackFixed(parts.partFormat, packed)
  local ageMs = nowMs - atMs
  if ageMs > rules.goneMs then
    return false
  elseif live == 1 and ageMs > rules.staleMs then
    live = 0
    packed = packFixed(parts.partFormat, atMs, servers, users, status, live) .. sub(packed, parts.partLength + 1)
  end
  return packed, servers, users, status, live, atMs + (live == 1 and rules.staleMs or rules.goneMs) + 1
end

-- Judges all parts of a table and sums it up again. Returns whether a part changed.
function parts.judgeTable(work, slot, head, base)
  if head[base] == 0 then
    return false
  end
  local key = parts.getKey(work, slot, head[base])
  local values, written, changed = parts.readAll(work, key), parts.getWritten(work, key), false
  written.expires = true
  for index = parts.SEEN, parts.tableLength - 1 do
    head[base + index] = 0
  end
  for id, before in pairs(values) do
    local packed, servers, users, status, live, dueMs = parts.judgePart(before)
    if packed ~= before then
      written.values[id], changed = packed, true
    end
    if packed then
      head[base + parts.SEEN] = head[base + parts.SEEN] + 1
      head[base + parts.SERVERS] = head[base + parts.SERVERS] + servers
      head[base + parts.USERS] = head[base + parts.USERS] + users
      head[base + parts.LIVE + status] = head[base + parts.LIVE + status] + live
      head[parts.DUE] = min(head[parts.DUE], dueMs)
    end
  end
  return changed
end

-- Judges both tables. Returns why another one came into force, or nil. Uptime must be folded before.
function parts.judge(work, slot, head)
  local storedMs = head[parts.DUE]
  head[parts.DUE] = counterMax
  local base = parts.CURRENT
  local seen, servers, users = head[base + parts.SEEN], head[base + parts.SERVERS], head[base + parts.USERS]
  local changed = parts.judgeTable(work, slot, head, base)
  parts.judgeTable(work, slot, head, parts.BUILDING)
  if head[parts.BUILDING] > 0 and head[parts.BUILDING + parts.SEEN] == 0 then
    parts.dropTable(work, slot, head[parts.BUILDING])
    parts.clearTable(head, parts.BUILDING)
  end
  local reason = parts.switchTables(work, slot, head)
  parts.waitForSwitch(head)
  if changed or reason or head[base + parts.SEEN] ~= seen then
    parts.writeTotals(work, slot, head, nil, not reason and servers > 0, not reason and users > 0)
  end
  parts.closeHead(work, slot, head, storedMs)
  return reason
end

-- No arguments.
function parts.applyLiveness(work, slot)
  if not parts.has(slot) then
    return APPLIED
  end
  local head = parts.openHead(slot)
  if head[parts.DUE] > nowMs then
    return APPLIED
  end
  foldIfBot(slot, nowMs)
  return parts.judge(work, slot, head) or APPLIED
end

function parts.clearTable(head, base)
  for index = 0, parts.tableLength - 1 do
    head[base + index] = 0
  end
end

-- Begins a table. It replaces another one that is building.
function parts.beginTable(work, slot, head, count, atMs)
  local base = parts.BUILDING
  if head[base] > 0 then
    parts.dropTable(work, slot, head[base])
  end
  -- There may be parts of an earlier table of this size.
  parts.dropTable(work, slot, count)
  parts.clearTable(head, base)
  head[base], head[base + parts.SINCE] = count, atMs
  parts.waitForSwitch(head)
  return base
end

-- Puts a posted part into the table at `base`. Returns its packed value, and its servers if they changed; nil
-- if the stored one is newer. `posted`: id, servers, users, status, false where not posted, from `at` on.
function parts.merge(head, base, stored, posted, at, atMs, cluster)
  local servers, users, status = posted[at + 1], posted[at + 2], posted[at + 3]
  local oldMs, oldServers, oldUsers, oldStatus, oldLive
  if stored then
    oldMs, oldServers, oldUsers, oldStatus, oldLive = unpackFixed(parts.partFormat, stored)
    if atMs < oldMs then
      return nil
    end
    local live = base + parts.LIVE + oldStatus
    head[live] = head[live] - oldLive
    cluster = cluster or sub(stored, parts.partLength + 1)
  else
    oldServers, oldUsers, oldStatus = 0, 0, 0
    head[base + parts.SEEN] = head[base + parts.SEEN] + 1
    head[base + parts.SINCE] = max(head[base + parts.SINCE], atMs)
  end
  servers, users, status = servers or oldServers, users or oldUsers, status or oldStatus
  local live = base + parts.LIVE + status
  head[live] = head[live] + 1
  head[base + parts.SERVERS] = head[base + parts.SERVERS] + servers - oldServers
  head[base + parts.USERS] = head[base + parts.USERS] + users - oldUsers
  local packed = packFixed(parts.partFormat, atMs, servers, users, status, 1)
  return cluster and packed .. cluster or packed, servers ~= oldServers and servers
end

-- Merges the posted parts into the table at `base`. Returns whether any changed, the changes of the list, and
-- whether the post names servers and users.
function parts.mergeAll(work, slot, head, base, posted, atMs, cluster)
  local key, ids, changes, merged = parts.getKey(work, slot, head[base]), {}, {}, false
  local namesServers, namesUsers = false, false
  for at = 1, #posted, 4 do
    ids[#ids + 1] = posted[at]
  end
  local stored, values = parts.readMany(work, key, ids), nil
  for index, id in ipairs(ids) do
    local at = index * 4 - 3
    local packed, servers = parts.merge(head, base, stored[index], posted, at, atMs, cluster)
    if packed then
      values = values or parts.getWritten(work, key).values
      values[id], merged = packed, true
      namesServers, namesUsers = namesServers or posted[at + 1], namesUsers or posted[at + 2]
      if servers then
        changes[#changes + 1], changes[#changes + 2] = id, servers
      end
    end
  end
  return merged, changes, namesServers, namesUsers
end

function parts.findTable(head, count)
  if count == head[parts.CURRENT] then
    return parts.CURRENT
  end
  return count == head[parts.BUILDING] and parts.BUILDING or nil
end

-- Whether processes of the current table seem to run: else the bot may go back to its former shard count.
function parts.isInUse(slot, head)
  return head[parts.CURRENT] > 0 and parts.countRunning(head) > 0 and nowMs - slot[LAST_STATS_POST_MS] < parts.quietMs
end

-- A part without its id while the store has none of that shard count: a post of totals, as in `applyStats`.
function parts.applyTotals(work, slot, at)
  local atMs, count, posted = work.items[at], work.items[at + 1], work.items[at + 2]
  if lostPositions and atMs < slot[LAST_STATS_POST_MS] then
    return CONTAINED
  end
  foldIfBot(slot, atMs)
  slot[SERVERS] = posted[2] and format('%.0f', posted[2]) or slot[SERVERS]
  slot[USERS] = posted[3] and format('%.0f', posted[3]) or slot[USERS]
  slot[SHARDS] = digits(count)
  slot[STATUS] = posted[4] and parts.statuses[posted[4]] or slot[STATUS]
  local decision = parts.has(slot) and parts.drop(work, slot) and parts.ENDED or APPLIED
  slot[LAST_STATS_POST_MS] = max(slot[LAST_STATS_POST_MS], min(atMs, nowMs))
  touch(work, slot)
  return decision
end

-- atMs, shard count, parts (id, servers, users, status; false where not posted), cluster or false. An id of -1
-- is part 0, or the totals if the store has no parts of this shard count.
function parts.applyParts(work, slot, at)
  local items, head, reason = work.items, parts.openHead(slot), nil
  local count, posted, cluster = items[at + 1], items[at + 2], items[at + 3]
  if posted[1] < 0 then
    local known = parts.findTable(head, count)
    if not known or head[known + parts.SEEN] == 0 then
      return parts.applyTotals(work, slot, at)
    end
    posted[1] = 0
  end
  local atMs = min(nowMs, lostPositions and items[at] or max(items[at], nowMs - clockBehindMaxMs))
  if head[parts.DUE] <= nowMs then
    foldIfBot(slot, atMs)
    reason = parts.judge(work, slot, head)
  end
  local base, storedMs = parts.findTable(head, count), head[parts.DUE]
  if not base then
    if count == head[parts.REPLACED] and parts.isInUse(slot, head) then
      return parts.INCONSISTENT
    elseif lostPositions and atMs < slot[LAST_STATS_POST_MS] then
      return reason or APPLIED
    end
    base = parts.beginTable(work, slot, head, count, atMs)
  end
  local merged, changes, servers, users = parts.mergeAll(work, slot, head, base, posted, atMs, cluster)
  if not merged then
    return reason or APPLIED
  end
  foldIfBot(slot, atMs)
  head[parts.DUE] = min(head[parts.DUE], atMs + rules.staleMs + 1)
  local switched = parts.switchTables(work, slot, head)
  local inForce = base == (switched and parts.BUILDING or parts.CURRENT)
  if switched or inForce then
    parts.writeTotals(work, slot, head, not switched and changes or nil, inForce and servers, inForce and users)
  end
  slot[LAST_STATS_POST_MS] = max(slot[LAST_STATS_POST_MS], atMs)
  parts.closeHead(work, slot, head, storedMs)
  return switched or reason or APPLIED
end

appliers[11], appliers[12] = parts.applyParts, parts.applyLiveness
argumentCounts[11], argumentCounts[12] = 4, 0

-- Writes the tables that a batch changed.
function parts.write(work)
  for key, written in pairs(work.parts or {}) do
    local fields, removed = {}, {}
    for id, value in pairs(written.values) do
      if value then
        fields[#fields + 1], fields[#fields + 2] = id, value
      else
        removed[#removed + 1] = id
      end
    end
    if written.dropped then
      call('UNLINK', key)
    end
    callChunked('HDEL', key, removed)
    callChunked('HSET', key, fields)
    if written.expires and (#fields > 0 or not written.dropped) then
      call('PEXPIRE', key, 2 * rules.goneMs)
    end
  end
  for address, dueMs in pairs(work.due or {}) do
    if dueMs > 0 then
      call('ZADD', work.stem .. 't', dueMs, address)
    else
      call('ZREM', work.stem .. 't', address)
    end
  end
end

-- A bot's packed slot, then the packed parts of its current table with these ids, nil for missing ones.
-- Arguments: prefix, shard, address, the first id, the number of ids.
function parts.read(keys, arguments)
  local stem, address = getStem(arguments[1], tonumber(arguments[2])), arguments[3]
  local packed = call('HGET', stem .. 'e', address)
  local slot, replies = openSlot(address, packed), { showSlot(packed) }
  local count = slot[EXISTS] and parts.has(slot) and parts.openHead(slot)[parts.CURRENT] or 0
  local ids, first = {}, tonumber(arguments[4])
  for id = first, min(count, first + tonumber(arguments[5])) - 1 do
    ids[#ids + 1] = id
  end
  if #ids > 0 then
    for _, value in ipairs(parts.readMany({}, parts.getKey({ stem = stem }, slot, count), ids)) do
      replies[#replies + 1] = value and pack(value) or none
    end
  end
  return concat(replies)
end

-- The bots whose parts are due: address, incarnation, address, incarnation … Removes from the index bots
-- without parts. Arguments: prefix, clock, the most bots, shards.
function parts.listDue(keys, arguments)
  local due, nowMs, limit = {}, readClock(arguments[2]), tonumber(arguments[3])
  for index = 4, #arguments do
    local stem = getStem(arguments[1], tonumber(arguments[index]))
    local room = limit - #due / 2
    local addresses = room > 0 and call('ZRANGEBYSCORE', stem .. 't', '-inf', nowMs, 'LIMIT', 0, room) or {}
    for _, address in ipairs(addresses) do
      local slot = openSlot(address, call('HGET', stem .. 'e', address))
      if slot[EXISTS] and parts.has(slot) then
        due[#due + 1], due[#due + 2] = address, slot[INCARNATION]
      elseif slot[INCARNATION] ~= UNKNOWN then
        call('ZREM', stem .. 't', address)
      end
    end
  end
  return pack(due)
end
