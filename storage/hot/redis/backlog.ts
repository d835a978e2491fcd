/**
 * What waits for the ledger, seen through the functions: heads, peek, settled.
 *
 * Owns how much is asked of Redis in one call, because a call holds up everybody. Peeking first asks how much
 * there is, then for exactly that much of each shard, in the order given. All of it may be repeated. Called
 * by the adapter.
 */
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import { refAt } from '../../../engine/ids.ts';
import type { Backlog, DirtyEntity, OutboxVote, Settlement } from '../../../engine/ports.ts';
import { unpackVote } from './codec.ts';
import type { Link } from './link.ts';
import { packValue } from './pack.ts';
import { takeSlot } from './slots.ts';
import { type Cursor, cursorOf, takeNumber, takeRow, takeText } from './unpack.ts';

/** Entities and votes handled in one call. */
const stepEntries = 1_000;

export interface ShardHead {
  readonly generation: number;
  readonly version: number;
  readonly mark: number;
  readonly entities: number;
  readonly votes: number;
}

/** Heads in the order of the shards asked for. */
export const readHeads = async (link: Link, shards: readonly Shard[]): Promise<readonly ShardHead[]> => {
  const parts = await Promise.all(link.groups(shards).map((group) => link.call('heads', group, group)));
  return parts.flatMap((part) => takeHeads(cursorOf(part)));
};

const takeHeads = (cursor: Cursor): readonly ShardHead[] => {
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

interface Wanted {
  readonly shard: Shard;
  readonly entities: number;
  readonly votes: number;
}

/** How many of each shard, when they are taken in order until there is no more room. */
const shareRoom = (
  shards: readonly Shard[],
  heads: readonly ShardHead[],
  limit: { readonly entities: number; readonly votes: number },
): readonly Wanted[] => {
  let { entities, votes } = limit;
  const wanted: Wanted[] = [];
  for (const [index, shard] of shards.entries()) {
    const head = heads[index];
    const part = {
      shard,
      entities: Math.min(entities, head?.entities ?? 0),
      votes: Math.min(votes, head?.votes ?? 0),
    };
    entities -= part.entities;
    votes -= part.votes;
    if (part.entities + part.votes > 0) wanted.push(part);
  }
  return wanted;
};

const takeEntity = (cursor: Cursor): DirtyEntity | null => {
  const address = takeText(cursor) as EntityAddress;
  const generation = takeNumber(cursor);
  const slot = takeSlot(cursor);
  return slot?.state ? { ref: refAt(address, slot.incarnation), generation, state: slot.state } : null;
};

const readPart = (buffer: Buffer, shards: number): { entities: DirtyEntity[]; votes: OutboxVote[] } => {
  const cursor = cursorOf(buffer);
  const entities: DirtyEntity[] = [];
  const votes: OutboxVote[] = [];
  for (let shard = 0; shard < shards; shard++) {
    for (let rest = takeNumber(cursor); rest > 0; rest--) {
      const entity = takeEntity(cursor);
      if (entity) entities.push(entity);
    }
    for (let rest = takeNumber(cursor); rest > 0; rest--) votes.push(unpackVote(takeText(cursor)));
  }
  return { entities, votes };
};

/** Cuts what is wanted into calls: of one group each, and none much larger than a step. */
const callsOf = (link: Link, wanted: readonly Wanted[]): readonly (readonly Wanted[])[] => {
  const byShard = new Map(wanted.map((part) => [part.shard, part]));
  const calls: Wanted[][] = [];
  for (const group of link.groups(wanted.map(({ shard }) => shard))) {
    let call: Wanted[] = [];
    let entries = 0;
    for (const shard of group) {
      const part = byShard.get(shard);
      if (!part) continue;
      call.push(part);
      entries += part.entities + part.votes;
      if (entries < stepEntries) continue;
      calls.push(call);
      call = [];
      entries = 0;
    }
    if (call.length > 0) calls.push(call);
  }
  return calls;
};

/** Oldest first within each shard, shards in the order given. */
export const peek = async (
  link: Link,
  limit: { readonly entities: number; readonly votes: number; readonly shards: readonly Shard[] },
): Promise<Backlog> => {
  const wanted = shareRoom(limit.shards, await readHeads(link, limit.shards), limit);
  const parts = await Promise.all(
    callsOf(link, wanted).map(async (call) => {
      const shards = call.map(({ shard }) => shard);
      const words = call.flatMap(({ shard, entities, votes }) => [shard, entities, votes]);
      return readPart(await link.call('peek', shards, words), call.length);
    }),
  );
  return { entities: parts.flatMap(({ entities }) => entities), votes: parts.flatMap(({ votes }) => votes) };
};

type SettledRow = (string | number)[];
interface Settling {
  readonly entities: SettledRow[];
  readonly itags: string[];
}

const byShard = (settlement: Settlement): Map<Shard, Settling> => {
  const settling = new Map<Shard, Settling>();
  const at = (shard: Shard): Settling => {
    const known = settling.get(shard);
    if (known) return known;
    const opened: Settling = { entities: [], itags: [] };
    settling.set(shard, opened);
    return opened;
  };
  for (const { ref, generation, version, flushedVotes } of settlement.entities) {
    at(ref.shard).entities.push([ref.address, ref.incarnation, version, flushedVotes, generation]);
  }
  for (const { itag, shard } of settlement.votes) at(shard).itags.push(itag);
  return settling;
};

/** Rows for `settled`, none larger than a step. */
const settledRows = (shard: Shard, { entities, itags }: Settling): { row: Buffer; entries: number }[] => {
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
export const settle = async (link: Link, settlement: Settlement): Promise<void> => {
  const settling = byShard(settlement);
  const settleGroup = async (group: readonly Shard[]): Promise<void> => {
    let rows: Buffer[] = [];
    let entries = 0;
    const send = async (): Promise<void> => {
      if (rows.length > 0) await link.call('settled', group, rows);
      rows = [];
      entries = 0;
    };
    for (const shard of group) {
      for (const step of settledRows(shard, settling.get(shard) ?? { entities: [], itags: [] })) {
        if (entries > 0 && entries + step.entries > stepEntries) await send();
        rows.push(step.row);
        entries += step.entries;
      }
    }
    await send();
  };
  await Promise.all(link.groups([...settling.keys()]).map(settleGroup));
};
