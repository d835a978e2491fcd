/**
 * Reads all records of a Redis store for a move, and writes those of another store.
 *
 * Finds keys by SCAN on each primary: the database is Rollcall's alone. The forms of slots, votes and parts
 * are those of `functions/`, where arrays of any width are valid.
 */
import type { Redis } from 'ioredis';
import { type PartsState, type PartsTable, presenceStatuses } from '../../../engine/entity/state.ts';
import { lastVoteFlags } from '../../../engine/entity/votes.ts';
import { computeShard, type EntityAddress, type Incarnation, listAllShards } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotRecord, HotTransfer } from '../../move/records.ts';
import { heartbeatLifeMs, nodesSeenKey } from '../../nodes/heartbeats.ts';
import { formatField, redisFormat } from './format.ts';
import type { Link } from './link.ts';
import { packShortArray, packValue } from './pack.ts';
import { readPart } from './parts.ts';
import { packState, takeSlot } from './slots.ts';
import { toTag } from './tags.ts';
import { createCursor, takeArray, takeNumber } from './unpack.ts';

/** `WHOLE` of functions/3-items.lua. */
const wholeSet = '-7240515287105437413';
/** Entries that one SCAN looks at. */
const count = 1_000;

export const createTransfer = (link: Link): HotTransfer => ({
  isEmpty: async () => (await countKeys(link)) === 0,
  hasNodes: () => hasNodes(link),
  removeAll: async () => {
    for (const primary of link.listPrimaries()) await primary.flushdb();
  },
  countEntries: () => countKeys(link),
  readRecords: async function* (onEntries) {
    for (const primary of link.listPrimaries()) yield* readPrimary(primary, link.prefix, onEntries);
  },
  writeRecords: async (records) => {
    const commands = mergeCommands(records.flatMap((record) => listCommands(link, record)));
    await Promise.all(commands.map(([name, ...args]) => link.send(name, args)));
  },
  findNewestMs: async () => Math.max(0, ...(await listProducers(link)).map(({ seenMs }) => seenMs)),
  removeAhead: async (nowMs) => {
    for (const { key, field, seenMs } of await listProducers(link)) {
      if (seenMs <= nowMs) continue;
      await link.send('HDEL', [`${key}e`, field]);
      await link.send('SREM', [`${key}p`, field]);
    }
    for (const primary of link.listPrimaries()) await dropLasting(primary, link.prefix);
  },
  writeHeads: async (heads) => {
    for (const { shard, generation, version, chainHash } of heads) {
      const position = packDoubles([version, chainHash]);
      const key = `${link.prefix}{s${toTag(shard)}}:e`;
      await link.send('HSET', [key, '!g', String(generation), '!v', position, formatField, redisFormat]);
    }
  },
});

/** By the clock of Redis: one that was set back leaves marks that lie ahead of it. */
const hasNodes = async (link: Link): Promise<boolean> => {
  const [seconds = 0] = (await link.listPrimaries()[0]?.time()) ?? [];
  const nowMs = Number(seconds) * 1_000;
  const range = [nowMs - heartbeatLifeMs, nowMs + heartbeatLifeMs];
  return ((await link.send('ZRANGEBYSCORE', [nodesSeenKey, ...range])) as unknown[]).length > 0;
};

/** Lists the last batch of each producer (`packNewest` in functions/1-slots.lua). */
const listProducers = async (link: Link) => {
  const producers: { key: string; field: Buffer; seenMs: number }[] = [];
  for (const shard of listAllShards()) {
    const key = `${link.prefix}{s${toTag(shard)}}:`;
    for (const field of (await link.send('SMEMBERS', [`${key}p`])) as Buffer[]) {
      const newest = (await link.send('HGET', [`${key}e`, field])) as Buffer | null;
      if (newest === null) continue;
      const seenMs = newest[0] === 0x93 ? newest.readDoubleBE(11) : newest.readDoubleLE(9);
      producers.push({ key, field, seenMs });
    }
  }
  return producers;
};

/** Longer than the life of any key but those of parts: it was set by a clock that was ahead. */
const lifeMsMax = 3 * 86_400_000;

const dropLasting = async (primary: Redis, prefix: string): Promise<void> => {
  const found: AsyncIterable<string[]> = primary.scanStream({ match: `${prefix}*`, count });
  for await (const keys of found) {
    const others = keys.filter((key) => !key.includes('}:b:'));
    const lives = await Promise.all(others.map((key) => primary.pttl(key)));
    const lasting = others.filter((_, index) => (lives[index] ?? 0) > lifeMsMax);
    await Promise.all(lasting.map((key) => primary.unlink(key)));
  }
};

const countKeys = async (link: Link): Promise<number> => {
  const sizes = await Promise.all(link.listPrimaries().map((primary) => primary.dbsize()));
  return sizes.reduce((sum, size) => sum + size, 0);
};

const packDoubles = (values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, index * 8);
  return bytes;
};

/* ---------------------------------------------------------------- reading */

async function* readPrimary(
  primary: Redis,
  prefix: string,
  onEntries: (count: number) => void,
): AsyncGenerator<readonly HotRecord[]> {
  const found: AsyncIterable<string[]> = primary.scanStream({ match: `${prefix}{s*}:*`, count });
  for await (const keys of found) {
    const chunks = await Promise.all(keys.map((key) => readKey(primary, key.slice(prefix.length), key)));
    onEntries(keys.length);
    yield chunks.flat();
  }
}

/** Reads the address, the incarnation and what follows from `b:12:345:6`. */
const parseListing = (text: string, parts: number): [EntityAddress, Incarnation, number] => {
  const texts = text.split(':');
  const numbers = texts.splice(-parts).map(Number);
  return [texts.join(':') as EntityAddress, numbers[0] as Incarnation, numbers[1] ?? 0];
};

const readKey = async (primary: Redis, name: string, key: string): Promise<readonly HotRecord[]> => {
  const at = name.indexOf('}:') + 2;
  const rest = name.slice(at + 2);
  switch (name[at]) {
    case 'e':
      return readStates(await readHash(primary, key));
    case 'u': {
      const [address, incarnation] = parseListing(rest, 1);
      const visitors: string[][] = await primary.sscanStream(key, { count }).toArray();
      return visitors
        .map((some) => some.filter((visitor) => visitor !== wholeSet))
        .filter((some) => some.length > 0)
        .map((some) => ({ kind: 'visitors', address, incarnation, visitors: some }));
    }
    case 'v': {
      const [address, incarnation] = parseListing(rest, 2);
      return (await readHash(primary, key)).map(([user, packed]) => {
        const votes = unpackVotes(packed);
        return { kind: 'votes', address, incarnation, user: user.toString(), votes };
      });
    }
    case 'b': {
      const [address, incarnation, shardCount] = parseListing(rest, 2);
      return (await readHash(primary, key)).map(([id, packed]) => {
        const part = readPart(packed);
        return { kind: 'part', address, incarnation, shardCount, id: Number(id.toString()), part };
      });
    }
    default:
      return [];
  }
};

type Field = [name: Buffer, value: Buffer];

const readHash = async (primary: Redis, key: string): Promise<Field[]> => {
  const fields: Field[] = [];
  const found: AsyncIterable<Buffer[]> = primary.hscanBufferStream(key, { count });
  for await (const flat of found) {
    for (let index = 0; index < flat.length; index += 2)
      fields.push([flat[index] as Buffer, flat[index + 1] as Buffer]);
  }
  return fields;
};

/** Fields that begin with `!` belong to the shard. */
const readStates = (fields: readonly Field[]): readonly HotRecord[] =>
  fields.flatMap(([name, packed]) => {
    const address = name.toString() as EntityAddress;
    if (address.startsWith('!')) return [];
    const slot = takeSlot(createCursor(packed));
    if (slot === 'damaged') throw new Error(`The state of ${address} is damaged: nothing was moved.`);
    return slot === null ? [] : [{ kind: 'state', address, ...slot }];
  });

const unpackVotes = (packed: Buffer) => {
  const cursor = createCursor(packed);
  const votes = [];
  for (let left = takeArray(cursor); left > 0; left -= 2)
    votes.push({ atMs: takeNumber(cursor), flag: lastVoteFlags[takeNumber(cursor)] ?? 'cast' });
  return votes;
};

/* ---------------------------------------------------------------- writing */

type Command = [name: string, key: string, ...args: (string | number | Buffer)[]];

/** Merges the commands of each key into one; all but PEXPIRE take any number of fields or members. */
const mergeCommands = (commands: readonly Command[]): readonly Command[] => {
  const merged = new Map<string, Command>();
  for (const command of commands) {
    const [name, key, ...args] = command;
    const known = merged.get(`${name} ${key}`);
    if (known === undefined || name === 'PEXPIRE') merged.set(`${name} ${key}`, command);
    else known.push(...args);
  }
  return [...merged.values()];
};

const listCommands = ({ prefix }: Link, record: HotRecord): readonly Command[] => {
  const { address, incarnation } = record;
  const stem = `${prefix}{s${toTag(computeShard(address))}}:`;
  const listing = `${address}:${incarnation}`;
  if (record.kind === 'state') return listStateCommands(stem, record);
  if (record.kind === 'visitors') return [['SADD', `${stem}u:${listing}`, ...record.visitors]];
  if (record.kind === 'part') {
    const { atMs, servers, users, status, live, cluster } = record.part;
    const flags = Buffer.of(presenceStatuses.indexOf(status), live ? 1 : 0);
    const packed = [packDoubles([atMs, servers, users]), flags, Buffer.from(cluster, 'latin1')];
    return [['HSET', `${stem}b:${listing}:${record.shardCount}`, record.id, Buffer.concat(packed)]];
  }
  const bucket = Math.max(0, Math.floor((record.votes[0]?.atMs ?? 0) / limits.voteBucketMs));
  const key = `${stem}v:${listing}:${bucket}`;
  const flat = record.votes.flatMap(({ atMs, flag }) => [atMs, lastVoteFlags.indexOf(flag)]);
  // As `voting.writeVotes` in functions/4-commit.lua.
  const endMs = (bucket + 3) * limits.voteBucketMs;
  const lifeMs = Math.max(limits.voteBucketMs, endMs - Date.now());
  return [
    ['HSET', key, record.user, packValue(flat)],
    ['PEXPIRE', key, Math.round(lifeMs)],
    ['ZADD', `${stem}w`, endMs, `${listing}:${bucket}`],
  ];
};

const listStateCommands = (
  stem: string,
  { address, incarnation, state }: HotRecord & { readonly kind: 'state' },
): readonly Command[] => {
  if (state === null) return [['HSET', `${stem}e`, address, packShortArray([incarnation])]];
  const [first, rest] = packState(incarnation, state);
  const { parts, uniqueClicks } = state;
  const whole: Command[] = uniqueClicks > 0 ? [['SADD', `${stem}u:${address}:${incarnation}`, wholeSet]] : [];
  if (parts === undefined) {
    const slot = Buffer.concat([packShortArray(first), packShortArray(rest)]);
    return [['HSET', `${stem}e`, address, slot], ...whole];
  }
  // Before the parts comes the position of the SQL row. It is 0: no node can still resend work from before.
  const packed = [packShortArray(first), packShortArray([...rest, 0, 0], packHead(parts))];
  return [
    ['HSET', `${stem}e`, address, Buffer.concat(packed)],
    ['ZADD', `${stem}t`, parts.dueMs, address],
    ...whole,
  ];
};

const packTable = (table: PartsTable | null): readonly number[] =>
  table === null
    ? [0, 0, 0, 0, 0, 0, 0, 0, 0]
    : [table.shardCount, table.sinceMs, table.seen, table.servers, table.users, ...table.live];

/** Packs the head of a bot's parts (`functions/3-parts.lua`). */
const packHead = ({ dueMs, replaced, current, building }: PartsState): Buffer =>
  packDoubles([dueMs, replaced, ...packTable(current), ...packTable(building)]);
