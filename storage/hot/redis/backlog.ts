/**
 * Reads the backlog for the ledger and marks it flushed, through the functions peek and settled.
 *
 * Owns how much one call handles, because Redis serves nothing else during a call. `peek` first reads how
 * much each shard has, then reads that much and a little more, in the order given. Every operation is safe to
 * repeat.
 */
import {
  createEntityRef,
  type EntityAddress,
  type EntityRef,
  type Incarnation,
  parseEntityRef,
  type Shard,
  toIncarnation,
} from '../../../engine/ids.ts';
import type { Backlog, BacklogSize, DirtyEntity, FlushReceipt, OutboxVote } from '../../../engine/ports.ts';
import { keepConsistent } from '../consistent-backlog.ts';
import type { DamageNotes } from './damage.ts';
import type { HeadsReader, ShardHead } from './heads.ts';
import type { Link } from './link.ts';
import { packValue } from './pack.ts';
import { takeSlotText } from './slots.ts';
import { type Tag, toTag, toTags } from './tags.ts';
import { type ByteCursor, createCursor, takeBytes, takeNumber, takeText } from './unpack.ts';

/** Entities and votes that one call handles. */
const stepEntries = 1_000;
/** Entries that may arrive between the two reads of a shard, and are read with the rest. */
const lateEntries = 100;

interface ShardRequest extends BacklogSize {
  readonly shard: Shard;
  /** Entities and votes the shard had at the first read. */
  readonly available: number;
}

const addLateEntries = (count = 0): number => count + lateEntries;

/**
 * Divides the limit among the shards in order, until it is used up. Allowance for late entries may exceed the
 * limit a little.
 */
const divideLimit = (shards: readonly Shard[], heads: readonly ShardHead[], limit: BacklogSize) => {
  let { entities, votes } = limit;
  const requests: ShardRequest[] = [];
  for (const [index, shard] of shards.entries()) {
    const head = heads[index];
    const part = {
      shard,
      entities: Math.min(entities, addLateEntries(head?.entities)),
      votes: Math.min(votes, addLateEntries(head?.votes)),
      available: (head?.entities ?? 0) + (head?.votes ?? 0),
    };
    if (part.available === 0) continue;
    entities -= Math.min(entities, head?.entities ?? 0);
    votes -= Math.min(votes, head?.votes ?? 0);
    if (part.entities + part.votes > 0) requests.push(part);
  }
  return requests;
};

/** Reads a dirty entity; `null` for one that is deleted or has an unknown form, or cannot be read. */
const takeEntity = (cursor: ByteCursor, shard: Shard, damage: DamageNotes): DirtyEntity | null => {
  const address = takeText(cursor) as EntityAddress;
  const generation = takeNumber(cursor);
  const slot = takeSlotText(cursor, (kind) => damage.record(kind, address));
  if (slot === null || slot === 'damaged' || !slot.state) return null;
  try {
    return { ref: parseEntityRef(address, slot.incarnation, shard), generation, state: slot.state };
  } catch {
    damage.record('unreadable', address);
    return null;
  }
};

/** Reads a packed vote of the outbox of a shard. */
type VoteReader = (packed: Buffer, shard: Shard) => OutboxVote;

/**
 * A packed vote: itag, address, incarnation, direction, time with origin and source, number, user. The user
 * is the last field because it may contain any character. The zeros before the origin are `originMark` in
 * codec.ts, the sign before the source `sourceMark`.
 */
const packedVote =
  /^([^\0\ufffd]+)\0([^\0]+)\0(\d+)\0([01])\0(\d+)(?:\.0000(\d{1,64}))?(?:@([^\0]+))?\0(\d+)\0(.*)$/s;

/**
 * Begins the itag of a vote that cannot be read, before all its bytes. SQL refuses such an itag, so the vote
 * becomes a dead letter and leaves the outbox.
 */
const unreadableMark = 'unreadable vote: ';

const toUnreadableVote = (packed: Buffer, shard: Shard): OutboxVote => ({
  itag: `${unreadableMark}${packed.toString('latin1')}`,
  ref: createEntityRef({ kind: 'bot', id: '', incarnation: toIncarnation(0), shard }),
  user: '',
  upvote: false,
  atMs: 0,
  voteNumber: 0,
});

/** What a receipt names a vote by in the outbox: its itag, or all its bytes if it could not be read. */
const toOutboxName = (itag: string): string | Buffer =>
  itag.startsWith(unreadableMark) ? Buffer.from(itag.slice(unreadableMark.length), 'latin1') : itag;

/** Creates a reader of packed outbox votes. Many votes name one listing: its reference is created once. */
const createVoteReader = (): VoteReader => {
  const refs = new Map<string, EntityRef>();
  const getRef = (address: string, incarnation: string, shard: Shard): EntityRef => {
    const listing = `${address}\0${incarnation}`;
    const known = refs.get(listing);
    if (known !== undefined) return known;
    const ref = parseEntityRef(address as EntityAddress, Number(incarnation) as Incarnation, shard);
    refs.set(listing, ref);
    return ref;
  };
  const readVote = (packed: Buffer, shard: Shard): OutboxVote => {
    const fields = packedVote.exec(packed.toString());
    if (fields === null) throw new Error('not a packed vote');
    const [, itag = '', address = '', incarnation = '', upvote, at, origin, source, number, user = ''] =
      fields;
    const ref = getRef(address, incarnation, shard);
    const vote = { itag, ref, user, upvote: upvote === '1', atMs: Number(at), voteNumber: Number(number) };
    return { ...vote, ...(origin !== undefined && { origin }), ...(source !== undefined && { source }) };
  };
  return (packed, shard) => {
    try {
      return readVote(packed, shard);
    } catch {
      return toUnreadableVote(packed, shard);
    }
  };
};

/** Reads one shard's part of the reply. More entries than requested mean that the shard has more. */
const readShard = (
  cursor: ByteCursor,
  request: ShardRequest,
  { limit, readVote, damage }: { limit: BacklogSize; readVote: VoteReader; damage: DamageNotes },
): Backlog => {
  const entities: DirtyEntity[] = [];
  const votes: OutboxVote[] = [];
  const addresses = takeNumber(cursor);
  for (let rest = addresses; rest > 0; rest--) {
    const entity = takeEntity(cursor, request.shard, damage);
    if (entity) entities.push(entity);
  }
  for (let rest = takeNumber(cursor); rest > 0; rest--)
    votes.push(readVote(takeBytes(cursor), request.shard));
  const moreEntities = addresses > request.entities;
  const moreVotes = votes.length > request.votes;
  entities.length = Math.min(entities.length, request.entities);
  votes.length = Math.min(votes.length, request.votes);
  return keepConsistent({ entities, votes, moreEntities, moreVotes }, limit);
};

const readPart = (
  buffer: Buffer,
  requests: readonly ShardRequest[],
  { limit, damage }: { limit: BacklogSize; damage: DamageNotes },
): Backlog => {
  const cursor = createCursor(buffer);
  const options = { limit, readVote: createVoteReader(), damage };
  return merge(requests.map((request) => readShard(cursor, request, options)));
};

const merge = (parts: readonly Backlog[]): Backlog => ({
  entities: parts.flatMap(({ entities }) => entities),
  votes: parts.flatMap(({ votes }) => votes),
});

/** Splits the requests into calls: each for shards of one group, and none much larger than a step. */
const groupIntoCalls = (link: Link, requests: readonly ShardRequest[]) => {
  const byShard = new Map(requests.map((part) => [part.shard, part]));
  const calls: ShardRequest[][] = [];
  for (const group of link.groupShards(requests.map(({ shard }) => shard))) {
    let call: ShardRequest[] = [];
    let entries = 0;
    for (const shard of group) {
      const part = byShard.get(shard);
      if (!part) continue;
      call.push(part);
      entries += part.available;
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

/**
 * Reads the backlog: oldest first within each shard, shards in the order given. Returns about `limit`
 * entities and votes over all shards, and none of a kind whose limit is 0.
 */
export const peek = async (
  { link, heads, damage }: { link: Link; heads: HeadsReader; damage: DamageNotes },
  limit: BacklogSize & { readonly shards: readonly Shard[] },
): Promise<Backlog> => {
  const requests = divideLimit(limit.shards, await heads.read(limit.shards), limit);
  const parts = await Promise.all(
    groupIntoCalls(link, requests).map(async (call) => {
      const tags = call.map(({ shard }) => toTag(shard));
      // Requests one entry more: if it arrives, the shard has more.
      const args = call.flatMap(({ entities, votes }, index) => [
        tags[index] as Tag,
        addOneMore(entities, limit.entities),
        addOneMore(votes, limit.votes),
      ]);
      return readPart(await link.call('peek', tags, args), call, { limit, damage });
    }),
  );
  return merge(parts);
};

type FlushedArray = (string | number)[];
interface FlushedShard {
  readonly entities: FlushedArray[];
  readonly votes: (string | Buffer)[];
}

const groupByShard = (receipt: FlushReceipt): Map<Shard, FlushedShard> => {
  const receipts = new Map<Shard, FlushedShard>();
  const at = (shard: Shard): FlushedShard => {
    const flushed = receipts.get(shard) ?? { entities: [], votes: [] };
    receipts.set(shard, flushed);
    return flushed;
  };
  for (const { ref, generation, version, flushedVotes } of receipt.entities) {
    at(ref.shard).entities.push([ref.address, ref.incarnation, version, flushedVotes, generation]);
  }
  for (const { itag, shard } of receipt.votes) at(shard).votes.push(toOutboxName(itag));
  return receipts;
};

/** Packs a shard's receipt for the function `settled` of the library, in parts of at most `stepEntries`. */
const packFlushed = (tag: Tag, { entities, votes }: FlushedShard) => {
  const parts: { packed: Buffer; entries: number }[] = [];
  for (let first = 0; first < Math.max(entities.length, votes.length); first += stepEntries) {
    const someEntities = entities.slice(first, first + stepEntries);
    const someVotes = votes.slice(first, first + stepEntries);
    const packed = packValue([tag, someEntities.length, ...someEntities.flat(), ...someVotes]);
    parts.push({ packed, entries: someEntities.length + someVotes.length });
  }
  return parts;
};

/** Records a flush receipt. The steps of a shard run one after the other. *Hot* when it resolves. */
export const markFlushed = async (link: Link, receipt: FlushReceipt): Promise<void> => {
  const receipts = groupByShard(receipt);
  const sendGroup = async (group: readonly Shard[]): Promise<void> => {
    let parts: Buffer[] = [];
    let entries = 0;
    const send = async (): Promise<void> => {
      if (parts.length > 0) await link.call('settled', toTags(group), parts);
      parts = [];
      entries = 0;
    };
    for (const shard of group) {
      const flushed = receipts.get(shard) ?? { entities: [], votes: [] };
      for (const step of packFlushed(toTag(shard), flushed)) {
        if (entries > 0 && entries + step.entries > stepEntries) await send();
        parts.push(step.packed);
        entries += step.entries;
      }
    }
    await send();
  };
  await Promise.all(link.groupShards([...receipts.keys()]).map(sendGroup));
};
