/**
 * Guards of the two hot stores, each with its patch.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts. Called by patches.ts.
 */
import type { Mutant } from './mutant.ts';

const commit = 'storage/hot/lmdb/commit.ts';
const backlog = 'storage/hot/lmdb/backlog.ts';
const hotTest = 'test/storage/hot/lmdb.sized.test.ts';
const damageTest = 'test/storage/hot/lmdb-damage.test.ts';
const redisTest = 'test/storage/hot/redis.sized.test.ts';

export const hotMutants: readonly Mutant[] = [
  {
    name: 'a checksum in LMDB is not compared',
    file: 'storage/hot/lmdb/checked-encoder.ts',
    find: 'isIntact ? packr.unpack(bytes.subarray(headBytes)) : null',
    replace: 'packr.unpack(bytes.subarray(headBytes))',
    killers: [damageTest],
    why: 'a flipped bit would become a wrong total, or a vote that never was',
  },
  {
    name: 'a damaged record of votes counts as none',
    file: commit,
    find: 'if (stored === null) throw new DamagedVotes(key);',
    replace: '',
    killers: [damageTest],
    why: 'every user whose vote is in a damaged page could vote again (I5)',
  },
  {
    name: 'a batch applies twice',
    file: commit,
    find: `  if (batch.sequence <= last) {
    const stored =
      batch.sequence === last ? readDecisions(overlay.tables, batch.shard, batch.producer) : undefined;
    return reply('duplicate', stored === undefined ? null : unpackDecisions(stored));
  }
  if (batch.sequence !== last + 1) return reply('gap', null);\n`,
    replace: `  if (batch.sequence > last + 1) return reply('gap', null);\n`,
    killers: [hotTest],
    why: 'a batch sent again would count again (I3)',
  },
  {
    name: 'changes are listed for another history',
    file: 'storage/hot/redis/functions/4-changes.lua',
    find: ` and unpackFixed('<d', oldest) == tonumber(arguments[index + 3])`,
    replace: '',
    killers: [redisTest],
    why: 'a node would keep states that the store has lost (I9)',
  },
  {
    name: 'a node of another version goes unnoticed',
    file: 'storage/hot/redis/store.ts',
    find: `setTrusted([...keep].every((used) => used === version));`,
    replace: `setTrusted(keep.size >= 0);`,
    killers: [redisTest],
    why: 'changes that leave no trace in `moved` would stay invisible (I9)',
  },
  {
    name: 'a flush leaves no trace',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: ` receipt[2] * 5)\n  end\n  moves.record(keys, arguments[1])\n`,
    replace: ` receipt[2] * 5)\n  end\n`,
    killers: [redisTest],
    why: 'a node would count a backlog that is flushed',
  },
  {
    name: 'a flush between two steps of a publish is clean',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: `    generation = not raising and tonumber(generation or 0)\n`,
    replace: `    generation = tonumber(generation or 0)\n`,
    killers: [redisTest],
    why: 'an entity would be clean under the new generation that was never flushed under it (I10)',
  },
  {
    name: 'a cursor of another server is used',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: `raising[2] == moves.nameServer() and raising[3] or '0'`,
    replace: `raising[3]`,
    killers: [redisTest],
    why: 'after a failover entities would be left out of the new generation (I10)',
  },
  {
    name: 'a post counts as a change of counters alone',
    file: 'storage/hot/redis/functions/3-items.lua',
    find: `slot[CHANGED], work.changed = changed or true, true`,
    replace: `slot[CHANGED], work.changed = changed or slot[CHANGED] or COUNTERS, true`,
    killers: [redisTest],
    why: 'what was posted would not be stored (I1)',
  },
  {
    name: 'counters after a post in one batch count as the only change',
    file: 'storage/hot/redis/functions/3-items.lua',
    find: `  rest[CLICKS] = clicks + 1\n  touch(work, slot, slot[CHANGED] or COUNTERS)`,
    replace: `  rest[CLICKS] = clicks + 1\n  touch(work, slot, COUNTERS)`,
    killers: [redisTest],
    why: 'what was posted would not be stored (I1)',
  },
  {
    name: 'a record of an earlier library is changed by byte positions',
    file: 'storage/hot/redis/functions/1-slots.lua',
    find: ` and byte(stored, 2) == DOUBLE then`,
    replace: ` then`,
    killers: [redisTest],
    why: 'the first change after an update would write a record that cannot be read (I1)',
  },
  {
    name: 'a flush marks every mention of an address on the record as it was stored',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: `slots[address] or openSlot(`,
    replace: `openSlot(`,
    killers: [redisTest],
    why: 'the later of two mentions would undo the earlier, and an entity would stay dirty outside the index',
  },
  {
    name: 'a vote counts as flushed whose id begins with that of a flushed one',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: ` and byte(vote, #itag + 1) == 0`,
    replace: '',
    killers: [redisTest],
    why: 'an accepted vote would have no row (I11)',
  },
  {
    name: 'a flush writes the flushed votes only of records that are open',
    file: 'storage/hot/redis/functions/6-upkeep.lua',
    find: `slot[REST] or storedVotes ~= flushedVotes`,
    replace: `slot[REST]`,
    killers: [redisTest],
    why: 'nodes would take votes for unflushed that are in SQL',
  },
  {
    name: 'a hot store of another number of shards is used',
    file: 'storage/shards.ts',
    find: `  if (other !== undefined) throw new Error(describeOtherCount(count, other));\n`,
    replace: '',
    killers: ['test/storage/shards.test.ts'],
    why: 'every entity would begin at the numbers in SQL, under other keys (I14)',
  },
  {
    name: 'a directory that was used gets fewer shards',
    file: 'storage/sql/migrations/024.do.number-of-shards.sql',
    find: `case when used then 128 else 16 end`,
    replace: `16`,
    killers: ['test/storage/shards.test.ts'],
    why: 'the hot store of an earlier version would not be found any more (I14)',
  },
  {
    name: 'a gap is skipped',
    file: commit,
    find: `  if (batch.sequence !== last + 1) return reply('gap', null);\n`,
    replace: '',
    killers: [hotTest],
    why: 'a store that lost its tail would hide the loss (I3)',
  },
  {
    name: 'a store without a generation counts',
    file: commit,
    find: `  if (generation === 0) return reply('uninitialised', null);\n`,
    replace: '',
    killers: [hotTest],
    why: 'an emptied store would count from zero (I14)',
  },
  {
    name: 'later items of a call do not see earlier ones',
    file: commit,
    find: `if (existing !== undefined) return existing;`,
    replace: '',
    killers: [hotTest],
    why: 'two votes in one batch would both pass (I5)',
  },
  {
    name: 'a flush acknowledgement clears a newer version',
    file: backlog,
    find: `const unchanged = state.version === version &&`,
    replace: `const unchanged = state.version > 0 &&`,
    killers: [hotTest],
    why: 'what was counted during a flush would never reach SQL (I10)',
  },
  {
    name: 'publish keeps old entries in memory',
    file: backlog,
    find: `  writer.recent.slots.clear();\n  let start`,
    replace: `  let start`,
    killers: [hotTest],
    why: 'an entity that publish marked dirty would be marked twice and cleared once (I10)',
  },
  {
    name: 'a flush acknowledgement of another generation clears entities',
    file: backlog,
    find: ` && writer.mirror[ref.shard]?.generation === generation;`,
    replace: `;`,
    killers: [hotTest],
    why: 'a version may be given twice, and SQL would keep what was lost (I10)',
  },
  {
    name: 'a flush acknowledgement clears a later listing',
    file: backlog,
    find: `slot.state === null || slot.incarnation !== ref.incarnation || since === 0`,
    replace: `slot.state === null || since === 0`,
    killers: [hotTest],
    why: 'the flush of a deleted listing would mark the next one as flushed (I12)',
  },
  {
    name: 'a generation falls',
    file: backlog,
    find: `  if (generation <= current.generation) return;\n`,
    replace: '',
    killers: [hotTest],
    why: 'two nodes that recover at once could publish the older one last (I10)',
  },
];
