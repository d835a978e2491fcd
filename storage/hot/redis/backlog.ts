/**
 * What waits for the ledger, seen through the functions: heads, peek, settled.
 *
 * Owns how much is asked of Redis in one call, because a call holds up everybody. Peeking first asks how much
 * there is, then for that much of each shard and a little more, in the order given. All of it may be
 * repeated. Called by the adapter.
 */
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import { parseEntityRef } from '../../../engine/ids.ts';
import type { Backlog, DirtyEntity, FlushReceipt, OutboxVote } from '../../../engine/ports.ts';
import { keepConsistent } from '../consistent-backlog.ts';
import { createVoteReader } from './codec.ts';
import type { Link } from './link.ts';
import { packValue } from './pack.ts';
import { takeSlot } from './slots.ts';
import { type ByteCursor, createCursor, takeNumber, takeRow, takeText } from './unpack.ts';

/** Entities and votes handled in one call. */
const stepEntries = 1_000;
/** What may come in between the two looks at a shard, and is read with the rest. */
const lateEntries = 100;

export interface ShardHead {
  readonly generation: number;
  readonly version: number;
  readonly mark: number;
  readonly entities: number;
  readonly votes: number;
}

/** Heads in the order of the shards asked for. */
export const readHeads = async (link: Link, shards: readonly Shard[]): Promise<readonly ShardHead[]> => {
  const parts = await Promise.all(link.groupShards(shards).map((group) => link.call('heads', group, group)));
  return parts.flatMap((part) => takeHeads(createCursor(part)));
};

const takeHeads = (cursor: ByteCursor): readonly ShardHead[] => {
  const heads: ShardHead[] = [];
  for (let left = takeRow(cursor); left > 0; left -= 5) {
    heads.push({
      generation: takeNumber(cursor),
      version: takeNumber(cursor),
      mark: takeNumber(cursor),
      entities: takeNumber(cursor),
      votes: takeNumber(cursor),
    });
  }
  return heads;
};

/** Of all shards together; none of a kind that is not wanted. */
interface PeekLimit {
  readonly entities: number;
  readonly votes: number;
}

interface ShardRequest {
  readonly shard: Shard;
  readonly entities: number;
  readonly votes: number;
  /** How much there was of both when it was asked. */
  readonly known: number;
}

const addLateEntries = (count = 0): number => count + lateEntries;

/**
 * How many of each shard, when they are taken in order until there is no more room. What comes late is beyond
 * the room, by a little.
 */
const shareRoom = (
  shards: readonly Shard[],
  heads: readonly ShardHead[],
  limit: PeekLimit,
): readonly ShardRequest[] => {
  let { entities, votes } = limit;
  const wanted: ShardRequest[] = [];
  for (const [index, shard] of shards.entries()) {
    const head = heads[index];
    const part = {
      shard,
      entities: Math.min(entities, addLateEntries(head?.entities)),
      votes: Math.min(votes, addLateEntries(head?.votes)),
      known: (head?.entities ?? 0) + (head?.votes ?? 0),
    };
    if (part.known === 0) continue;
    entities -= Math.min(entities, head?.entities ?? 0);
    votes -= Math.min(votes, head?.votes ?? 0);
    if (part.entities + part.votes > 0) wanted.push(part);
  }
  return wanted;
};

const takeEntity = (cursor: ByteCursor): DirtyEntity | null => {
  const address = takeText(cursor) as EntityAddress;
  const generation = takeNumber(cursor);
  const slot = takeSlot(cursor);
  return slot?.state
    ? { ref: parseEntityRef(address, slot.incarnation), generation, state: slot.state }
    : null;
};

/** As much of a shard as was wanted is taken for a part of it: the next round sees the rest. */
const readShard = (
  cursor: ByteCursor,
  wanted: ShardRequest,
  { limit, readVote }: { readonly limit: PeekLimit; readonly readVote: (text: string) => OutboxVote },
): Backlog => {
  const entities: DirtyEntity[] = [];
  const votes: OutboxVote[] = [];
  const addresses = takeNumber(cursor);
  for (let rest = addresses; rest > 0; rest--) {
    const entity = takeEntity(cursor);
    if (entity) entities.push(entity);
  }
  for (let rest = takeNumber(cursor); rest > 0; rest--) votes.push(readVote(takeText(cursor)));
  const moreEntities = addresses > wanted.entities;
  const moreVotes = votes.length > wanted.votes;
  entities.length = Math.min(entities.length, wanted.entities);
  votes.length = Math.min(votes.length, wanted.votes);
  return keepConsistent({ entities, votes, moreEntities, moreVotes }, limit);
};

const readPart = (buffer: Buffer, wanted: readonly ShardRequest[], limit: PeekLimit): Backlog => {
  const cursor = createCursor(buffer);
  const how = { limit, readVote: createVoteReader() };
  const parts = wanted.map((one) => readShard(cursor, one, how));
  return { entities: parts.flatMap(({ entities }) => entities), votes: parts.flatMap(({ votes }) => votes) };
};

/** Cuts what is wanted into calls: of one group each, and none much larger than a step. */
const groupIntoCalls = (
  link: Link,
  wanted: readonly ShardRequest[],
): readonly (readonly ShardRequest[])[] => {
  const byShard = new Map(wanted.map((part) => [part.shard, part]));
  const calls: ShardRequest[][] = [];
  for (const group of link.groupShards(wanted.map(({ shard }) => shard))) {
    let call: ShardRequest[] = [];
    let entries = 0;
    for (const shard of group) {
      const part = byShard.get(shard);
      if (!part) continue;
      call.push(part);
      entries += part.known;
      if (entries < stepEntries) continue;
      calls.push(call);
      call = [];
      entries = 0;
    }
    if (call.length > 0) calls.push(call);
  }
  return calls;
};

const addOneMore = (count: number, limit: number): number => (limit === 0 ? 0 : count + 1);

/** Oldest first within each shard, shards in the order given. */
export const peek = async (
  link: Link,
  limit: PeekLimit & { readonly shards: readonly Shard[] },
): Promise<Backlog> => {
  const wanted = shareRoom(limit.shards, await readHeads(link, limit.shards), limit);
  const parts = await Promise.all(
    groupIntoCalls(link, wanted).map(async (call) => {
      const shards = call.map(({ shard }) => shard);
      // One more than wanted: if it comes, there is more.
      const words = call.flatMap(({ shard, entities, votes }) => [
        shard,
        addOneMore(entities, limit.entities),
        addOneMore(votes, limit.votes),
      ]);
      return readPart(await link.call('peek', shards, words), call, limit);
    }),
  );
  return { entities: parts.flatMap(({ entities }) => entities), votes: parts.flatMap(({ votes }) => votes) };
};

type FlushedArray = (string | number)[];
interface FlushedShard {
  readonly entities: FlushedArray[];
  readonly itags: string[];
}

const groupByShard = (receipt: FlushReceipt): Map<Shard, FlushedShard> => {
  const settling = new Map<Shard, FlushedShard>();
  const at = (shard: Shard): FlushedShard => {
    const known = settling.get(shard);
    if (known) return known;
    const opened: FlushedShard = { entities: [], itags: [] };
    settling.set(shard, opened);
    return opened;
  };
  for (const { ref, generation, version, flushedVotes } of receipt.entities) {
    at(ref.shard).entities.push([ref.address, ref.incarnation, version, flushedVotes, generation]);
  }
  for (const { itag, shard } of receipt.votes) at(shard).itags.push(itag);
  return settling;
};

/** Rows for `settled`, none larger than a step. */
const packFlushed = (shard: Shard, { entities, itags }: FlushedShard): { row: Buffer; entries: number }[] => {
  const rows: { row: Buffer; entries: number }[] = [];
  for (let first = 0; first < Math.max(entities.length, itags.length); first += stepEntries) {
    const these = entities.slice(first, first + stepEntries);
    const tags = itags.slice(first, first + stepEntries);
    const row = packValue([shard, these.length, ...these.flat(), ...tags]);
    rows.push({ row, entries: these.length + tags.length });
  }
  return rows;
};

/** Records what was flushed. The steps of a shard go in order, one after the other. */
export const markFlushed = async (link: Link, receipt: FlushReceipt): Promise<void> => {
  const settling = groupByShard(receipt);
  const settleGroup = async (group: readonly Shard[]): Promise<void> => {
    let rows: Buffer[] = [];
    let entries = 0;
    const send = async (): Promise<void> => {
      if (rows.length > 0) await link.call('settled', group, rows);
      rows = [];
      entries = 0;
    };
    for (const shard of group) {
      for (const step of packFlushed(shard, settling.get(shard) ?? { entities: [], itags: [] })) {
        if (entries > 0 && entries + step.entries > stepEntries) await send();
        rows.push(step.row);
        entries += step.entries;
      }
    }
    await send();
  };
  await Promise.all(link.groupShards([...settling.keys()]).map(settleGroup));
};
