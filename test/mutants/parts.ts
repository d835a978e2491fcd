/**
 * Guards of the parts of bots, each with its patch: the rules in TypeScript, and the same ones in Lua.
 *
 * What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const rules = 'engine/entity/parts.ts';
const lua = 'storage/hot/redis/functions/3-parts.lua';
const rulesTest = 'test/engine/entity/parts.test.ts';
const sumsTest = 'test/engine/entity/parts-sums.test.ts';
const redisTest = 'test/storage/hot/redis.sized.test.ts';
const lmdbTest = 'test/storage/hot/lmdb.sized.test.ts';

const ruleMutants: readonly Mutant[] = [
  {
    name: 'a part counts beside its former value',
    file: rules,
    find: `if (before !== null) addToSums(table, before, -1);`,
    replace: `if (before !== null) {}`,
    why: 'every post would add to the totals (S1)',
  },
  {
    name: 'a building table counts',
    file: rules,
    find: `  if (building.seen === building.shardCount) return 'complete';\n`,
    replace: `  if (building.seen > 0) return 'complete';\n`,
    why: 'the totals would fall to those of the first part (S3)',
  },
  {
    name: 'an older part is accepted',
    file: rules,
    find: `  if (before !== null && atMs < before.atMs) return false;\n`,
    replace: '',
    why: 'a post that was late would replace a newer one (S2)',
  },
  {
    name: 'a part without its id is always the totals',
    file: rules,
    find: `table?.shardCount === shardCount && table.seen > 0`,
    replace: `table?.shardCount === shardCount && table.seen < 0`,
    why: 'shard 0 of BLAPI would replace the totals of all shards by its own',
  },
  {
    name: 'a stale part is gone at once',
    file: rules,
    find: `    const part = ageMs > rules.goneMs ? null`,
    replace: `    const part = ageMs > rules.staleMs ? null`,
    why: 'the totals would fall with every restart',
  },
  {
    name: 'a part that came back is never stale again',
    file: rules,
    find: `  work.dueMs = Math.min(work.dueMs, atMs + context.rules.staleMs + 1);\n`,
    replace: '',
    why: 'a dead shard would look alive for a day (S5)',
  },
  {
    name: 'a replaced table begins again',
    file: rules,
    find: `shardCount === work.replaced && isInUse`,
    replace: `shardCount < 0 && isInUse`,
    why: 'forgotten processes would take the totals back every few minutes',
  },
  {
    name: 'some forgotten processes come back into force',
    file: rules,
    find: `  if (!isFormer && context`,
    replace: `  if (context`,
    why: 'a fifth of the bot would replace all of it',
  },
  {
    name: 'a table waits from its first part on',
    file: rules,
    find: `  else table.sinceMs = Math.max(table.sinceMs, atMs);\n`,
    replace: '',
    killers: [rulesTest],
    why: 'a slow reshard would cut the totals and stop the old processes',
  },
  {
    name: 'one process of a small shard count replaces a fleet',
    file: rules,
    find: `(building.shardCount * 2 <= current.shardCount && `,
    replace: `(building.shardCount < 0 && `,
    killers: [rulesTest],
    why: 'a developer would take a bot over with one post',
  },
  {
    name: 'numbers that no part has become 0',
    file: rules,
    find: `if (named.users || current.users > 0) shown`,
    replace: `shown`,
    killers: [rulesTest],
    why: 'a bot that posts no users per shard would lose them',
  },
  {
    name: 'a wrong clock makes a post old',
    file: rules,
    find: `lost ? atMs : Math.max(atMs, nowMs - limits.clockBehindMaxMs)`,
    replace: `lost ? atMs : atMs`,
    why: 'posts through a node whose clock is behind would not count',
  },
  {
    name: 'parts stay when totals are posted',
    file: 'engine/entity/apply.ts',
    find: `  if (merged.parts === undefined || !hasTotals(item))\n`,
    replace: `  if (merged.parts === undefined || item.atMs > 0)\n`,
    killers: [rulesTest],
    why: 'the next part would replace totals that were posted last',
  },
  {
    name: 'a stale part does not show in the status',
    file: rules,
    find: `const live = stored.live && ageMs <= rules.staleMs;`,
    replace: `const live = stored.live;`,
    killers: [rulesTest, sumsTest],
    why: 'a bot that is down would stay online (S5)',
  },
  {
    name: 'deleted bots leave their parts behind',
    file: 'storage/hot/lmdb/commit.ts',
    find: `    dropListing(overlay, deleted);\n`,
    replace: '',
    killers: [lmdbTest],
    why: 'the store would grow with every bot that is deleted (I15)',
  },
];

const luaMutants: readonly Mutant[] = [
  {
    name: 'in Redis a part counts beside its former value',
    file: lua,
    find: `head[base + parts.SERVERS] + servers - oldServers`,
    replace: `head[base + parts.SERVERS] + servers`,
    killers: [redisTest],
    why: 'every post would add to the totals (S1)',
  },
  {
    name: 'in Redis an older part is accepted',
    file: lua,
    find: `    if atMs < oldMs then\n      return nil\n    end\n`,
    replace: '',
    killers: [redisTest],
    why: 'a post that was late would replace a newer one (S2)',
  },
  {
    name: 'in Redis a table begins with parts of an earlier one',
    file: lua,
    find: `  parts.dropTable(work, slot, count)\n  parts.clearTable`,
    replace: `  parts.clearTable`,
    killers: [redisTest],
    why: 'a store that lost its sums would count old parts (S1)',
  },
  {
    name: 'in Redis a much smaller table comes into force',
    file: lua,
    find: `  return parts.countLive(head, parts.BUILDING) == 0 or count * 2 <= current and`,
    replace: `  return parts.countLive(head, parts.BUILDING) == 0 or count < 0 and`,
    killers: [redisTest],
    why: 'a developer would take a bot over with one post',
  },
  {
    name: 'in Redis numbers that no part has become 0',
    file: lua,
    find: `  if namesUsers or users > 0 then\n`,
    replace: `  if users >= 0 then\n`,
    killers: [redisTest],
    why: 'a bot that posts no users per shard would lose them',
  },
  {
    name: 'in Redis a bot with parts keeps a padded list',
    file: lua,
    find: `  slot[SHARD_LIST] = string.gsub(slot[SHARD_LIST], ' ', '')\n`,
    replace: '',
    killers: [redisTest],
    why: 'two nodes would show two texts of one list (I13)',
  },
];

export const partsMutants: readonly Mutant[] = [...ruleMutants, ...luaMutants];
