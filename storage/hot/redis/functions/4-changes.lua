-- The list of a shard's newest changes, key letter `c`: one element for each version, oldest first. An element is
-- the chain hash after that version and the addresses that changed; none stand for any.

-- `kept`: elements kept, and twice as many before the list is cut. `namedMax`: a batch of more changes names
-- none. `addresses`: those of one batch; the table is reused by the next.
local changeList = { kept = 512, namedMax = 64, addresses = {} }

-- Lists the slots between two places of `work.values` that this batch changed.
function changeList.record(work, first, last)
  local addresses, count = changeList.addresses, 0
  for place = first, last do
    local slot = work.values[place]
    if slot[CHANGED] and count <= changeList.namedMax then
      count = count + 1
      addresses[count] = slot[ADDRESS]
    end
  end
  local named = count <= changeList.namedMax and concat(addresses, '\0', 1, count) or ''
  local key = work.stem .. 'c'
  call('RPUSH', key, packFixed('<d', work.chainHash) .. named)
  if work.version % changeList.kept == 0 then
    call('LTRIM', key, -changeList.kept, -1)
  end
end

-- For each shard its generation, version and chain hash, then the elements since a known version, or nil if
-- that version is not in the list. Arguments: prefix, then per shard its number and the known generation,
-- version and chain hash.
function changeList.read(keys, arguments)
  local parts = {}
  for index = 2, #arguments, 4 do
    local stem = getStem(arguments[1], tonumber(arguments[index]))
    local meta = call('HMGET', stem .. 'e', GENERATION_FIELD, VERSION_FIELD)
    local generation = tonumber(meta[1] or 0)
    local version, chainHash = unpackVersion(meta[2])
    local behind = version - tonumber(arguments[index + 2])
    local list = none
    if generation == tonumber(arguments[index + 1]) and behind >= 0 and behind < 2 * changeList.kept then
      local elements = call('LRANGE', stem .. 'c', -behind - 1, -1)
      local oldest = elements[1]
      if #elements == behind + 1 and unpackFixed('<d', oldest) == tonumber(arguments[index + 3]) then
        list = {}
        for element = 2, #elements do
          list[element - 1] = sub(elements[element], 9)
        end
        list = pack(list)
      end
    end
    parts[#parts + 1] = pack(generation) .. pack(version) .. pack(chainHash) .. list
  end
  return concat(parts)
end
