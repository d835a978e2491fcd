/**
 * Packs batches for the Redis functions, and reads their replies and outbox votes.
 *
 * Owns the order of the arguments, which must match `functions/*.lua`. A batch is one flat MessagePack array,
 * a reply is one buffer of consecutive values; both are written and read without intermediate objects,
 * because every post passes here. Unsigned 64-bit values are text on both sides. Checks that would be slow in
 * Lua run here, before anything is sent. No I/O.
 */
import assert from 'node:assert/strict';
import { compile, postedNames } from '../../../engine/entity/fields.ts';
import type {
  Batch,
  BatchReply,
  CastVote,
  CommitRules,
  Decision,
  FactsItem,
  InitItem,
  Item,
  LostAt,
  PartsItem,
  StatsItem,
  VoteItem,
} from '../../../engine/entity/items.ts';
import { checkFacts, checkTotals } from '../../../engine/entity/snapshot.ts';
import {
  computeVotes,
  type HotState,
  type LazyState,
  presenceStatuses,
} from '../../../engine/entity/state.ts';
import type { EntityAddress, Incarnation } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { toAcceptance, toPlainDecision, toRefusedDecision } from '../lmdb/codec.ts';
import { Packer, packValue, type Value } from './pack.ts';
import { packState, takeLazyState } from './slots.ts';
import type { Tag } from './tags.ts';
import { type ByteCursor, createCursor, isArray, isNumber, skip, takeArray, takeNumber } from './unpack.ts';

const flattenCastVotes = (castVotes: readonly CastVote[]): Value[] =>
  castVotes.flatMap(({ user, atMs }) => [user, atMs]);

const packInit = (packer: Packer, { target, facts, totals, row: sqlRow, readUnder }: InitItem): void => {
  checkTotals(totals);
  checkFacts(facts);
  const state: HotState = { ...totals, facts, flushedVotes: computeVotes(totals), version: 0 };
  const [first, rest] = packState(target.incarnation, state);
  packer.number(sqlRow.generation);
  packer.number(sqlRow.version);
  packer.value(readUnder ?? false);
  packer.value(first);
  // After the state's own values: the SQL row it comes from, which only `isInBaseRow` in Lua reads.
  packer.value([...rest, sqlRow.generation, sqlRow.version]);
};

const packFacts = (packer: Packer, { atMs, facts }: FactsItem): void => {
  checkFacts(facts);
  packer.number(atMs);
  packer.number(facts.revision);
  packer.flag(facts.listed);
  packer.flag(facts.voteBanned);
  packer.number(facts.premiumUntilMs);
  packer.number(facts.listedSinceMs);
};

const packPosted = (packer: Packer, value: string | undefined): void => {
  if (value === undefined) packer.flag(false);
  else packer.text(value);
};

/** `atMs`, then each posted field in the order of the table, false where not posted. */
const packStats = compile<(packer: Packer, item: StatsItem) => void>(
  `(packer, item) => {
    packer.number(item.atMs);
    ${postedNames.map((name) => `packPosted(packer, item.${name});`).join('\n')}
  }`,
  { packPosted },
);

/** Checks what Lua relies on: distinct ids in ascending order, below the shard count. */
const packParts = (packer: Packer, { atMs, shardCount, parts, cluster, orTotals }: PartsItem): void => {
  packer.number(atMs);
  packer.number(shardCount);
  const opened = packer.open();
  let below = -1;
  for (const { id, servers, users, status } of parts) {
    if (id <= below || id >= shardCount) assert.fail(`part ${id} of ${shardCount} follows part ${below}`);
    below = id;
    packer.number(orTotals ? -1 : id);
    packer.value(servers ?? false);
    packer.value(users ?? false);
    packer.value(status === undefined ? false : presenceStatuses.indexOf(status));
  }
  packer.close(opened, parts.length * 4);
  packPosted(packer, cluster);
};

const visitorPattern = /^(0|-?[1-9]\d{0,18})$/;

const checkItags = ({ itags }: VoteItem): readonly string[] => {
  for (const itag of itags)
    if (!/^[^\0]{1,200}$/.test(itag)) assert.fail(`an itag has ${itag.length} characters or contains NUL`);
  return itags;
};

/**
 * Separates a vote's time and its origin in the outbox. A reader of the time alone takes both as one number;
 * these zeros make the origin a fraction that is too small to matter.
 */
const originMark = '.0000';
const originPattern = /^\d{1,64}$/;

/** Begins the source of a vote, behind its origin. */
const sourceMark = '@';

/** Packs what follows the time of a vote. */
const packSource = ({ origin, source }: VoteItem): string => {
  if (origin !== undefined && !originPattern.test(origin))
    assert.fail(`an origin must have 1 to 64 digits, not be ${origin}`);
  if (source?.includes('\0')) assert.fail('a source has no NUL');
  return (
    (origin === undefined ? '' : originMark + origin) + (source === undefined ? '' : sourceMark + source)
  );
};

const packVote = (packer: Packer, item: VoteItem): void => {
  packer.text(item.user);
  packer.flag(item.upvote);
  packer.number(item.atMs);
  packer.number(item.itags.length);
  packer.text(packSource(item));
  for (const itag of checkItags(item)) packer.text(itag);
};

/**
 * The number of each item kind in `3-items.lua` and `3-parts.lua`, and its number of arguments there; a vote
 * has its itags beside them.
 */
const kinds = {
  init: { number: 1, arguments: 5 },
  stats: { number: 2, arguments: 1 + postedNames.length },
  click: { number: 3, arguments: 1 },
  invite: { number: 4, arguments: 0 },
  vote: { number: 5, arguments: 5 },
  adjust: { number: 6, arguments: 6 },
  facts: { number: 7, arguments: 6 },
  forget: { number: 8, arguments: 0 },
  remember: { number: 10, arguments: 3 },
  parts: { number: 11, arguments: 4 },
  liveness: { number: 12, arguments: 0 },
} as const;

/** Precedes an item that the store lost; the positions where it counted, and its earlier batches, follow. */
const lostNumber = 9;

const packLost = (packer: Packer, { generation, version, recounted, copies }: LostAt): void => {
  packer.number(lostNumber);
  const positions = [{ generation, version }, ...(recounted ?? [])];
  packer.value(positions.flatMap((position) => [position.generation, position.version]));
  packer.value((copies ?? []).flatMap(({ producer, sequence }) => [producer, sequence]));
};

const packArguments = (packer: Packer, item: Item): void => {
  if (item.kind === 'stats') packStats(packer, item);
  else if (item.kind === 'click') {
    // The message is built only on failure, here and below.
    if (!visitorPattern.test(item.visitor))
      assert.fail(`a visitor must be a signed 64-bit number, not ${item.visitor}`);
    packer.text(item.visitor);
  } else if (item.kind === 'vote') packVote(packer, item);
  else if (item.kind === 'adjust') {
    packer.number(item.sequence);
    packer.number(item.upvotes);
    packer.number(item.downvotes);
    packer.number(item.releaseBeforeMs);
    packer.value(flattenCastVotes(item.release));
    packer.value(flattenCastVotes(item.pinned));
  } else if (item.kind === 'init') packInit(packer, item);
  else if (item.kind === 'parts') packParts(packer, item);
  else if (item.kind === 'facts') packFacts(packer, item);
  else if (item.kind === 'remember') {
    packer.number(item.readUnder);
    packer.value(flattenCastVotes(item.cast));
    packer.value(flattenCastVotes(item.pinned));
  }
};

/**
 * Packs an item; returns the number of values written. `addressNumber` is the number of its address, from 1.
 */
const packItem = (packer: Packer, item: Item, addressNumber: number): number => {
  const { lostAt } = item;
  if (lostAt !== undefined) packLost(packer, lostAt);
  const kind = kinds[item.kind];
  packer.number(kind.number);
  packer.number(addressNumber);
  packer.number(item.target.incarnation);
  packArguments(packer, item);
  const itags = item.kind === 'vote' ? item.itags.length : 0;
  return (lostAt === undefined ? 3 : 6) + kind.arguments + itags;
};

const keyCharactersMax = 1_024;

/** Addresses of one batch: they are arguments of one `redis.call`, and Lua's stack holds about 8,000. */
const addressesMax = 4_000;

/** Nearly every batch names few addresses. Up to this many, a scan is faster than a map. */
const scannedMax = 16;

/**
 * The addresses of the batch being packed, in the order of their first use. One instance serves all batches.
 */
class Addresses {
  readonly list: EntityAddress[] = [];
  count = 0;
  private readonly numbers = new Map<EntityAddress, number>();

  clear(): void {
    if (this.count > scannedMax) this.numbers.clear();
    this.count = 0;
  }

  /** Returns the number of an address, from 1; adds the address if it is new. */
  getNumber(address: EntityAddress): number {
    const known = this.count > scannedMax ? (this.numbers.get(address) ?? 0) : this.scan(address);
    return known > 0 ? known : this.add(address);
  }

  private scan(address: EntityAddress): number {
    let addressNumber = this.count;
    while (addressNumber > 0 && this.list[addressNumber - 1] !== address) addressNumber -= 1;
    return addressNumber;
  }

  private add(address: EntityAddress): number {
    assert(address.length <= keyCharactersMax, 'an address is too long');
    assert(this.count < addressesMax, 'too many addresses in a batch');
    this.list[this.count++] = address;
    if (this.count === scannedMax + 1)
      for (let addressNumber = 1; addressNumber < this.count; addressNumber++)
        this.numbers.set(this.list[addressNumber - 1] as EntityAddress, addressNumber);
    if (this.count > scannedMax) this.numbers.set(address, this.count);
    return this.count;
  }
}

const addresses = new Addresses();

/** The packed batches of a call, and what reading the reply needs. */
export interface PackedCall {
  readonly batches: readonly Batch[];
  readonly packed: Buffer;
  /** For every item of every batch, in order: the number of its address within its batch, from 1. */
  readonly addressNumbers: readonly number[];
}

/** Where a batch goes, and the address numbers of its call so far. */
interface BatchPlace {
  readonly tag: Tag;
  readonly addressNumbers: number[];
}

/**
 * Packs one batch as the head of `4-commit.lua` says. Appends the address numbers of its items to
 * `addressNumbers`.
 */
const packBatch = (packer: Packer, batch: Batch, { tag, addressNumbers }: BatchPlace): void => {
  const { shard, producer, sequence, items } = batch;
  assert(producer.length <= keyCharactersMax, 'a producer name is too long');
  const before = addressNumbers.length;
  addresses.clear();
  for (let index = 0; index < items.length; index++) {
    const { target } = items[index] as Item;
    if (target.shard !== shard) assert.fail('an item belongs to another shard');
    addressNumbers.push(addresses.getNumber(target.address));
  }
  const opened = packer.open();
  packer.number(tag);
  packer.text(producer);
  packer.number(sequence);
  packer.number(addresses.count);
  for (let index = 0; index < addresses.count; index++) packer.text(addresses.list[index] as EntityAddress);
  let count = 4 + addresses.count;
  for (let index = 0; index < items.length; index++)
    count += packItem(packer, items[index] as Item, addressNumbers[before + index] as number);
  packer.close(opened, count);
};

const batchPacker = new Packer();

/** Packs the batches of one call, each for its tag. Throws on an invalid item; nothing was sent then. */
export const packCall = (batches: readonly Batch[], tags: readonly Tag[]): PackedCall => {
  const addressNumbers: number[] = [];
  batchPacker.reset();
  for (let index = 0; index < batches.length; index++)
    packBatch(batchPacker, batches[index] as Batch, { tag: tags[index] as Tag, addressNumbers });
  return { batches, packed: batchPacker.finish(), addressNumbers };
};

/** Packs the rules in the order of `unpackRules` of `2-rules.lua`. */
export const packRules = ({ windows, uptime, parts, visitorsMax }: CommitRules): Buffer => {
  const { standard, premium, weekend } = windows;
  return packValue([
    uptime.checkMs,
    uptime.freshMs,
    visitorsMax,
    ...[standard, premium, weekend].flatMap(({ waitMs, perUser }) => [waitMs, perUser]),
    limits.voteBucketMs,
    uptime.downtimes.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
    parts.staleMs,
    parts.goneMs,
    parts.switchMs,
  ]);
};

const outcomes = ['applied', 'duplicate', 'gap', 'uninitialised'] as const;

/**
 * Reads a count of `applied` decisions, an array of any decisions, or false if the store has forgotten them.
 */
const takeDecisions = (cursor: ByteCursor): readonly Decision[] | null => {
  if (isNumber(cursor)) return new Array<Decision>(takeNumber(cursor)).fill(toPlainDecision(0));
  if (!isArray(cursor)) {
    skip(cursor, 1);
    return null;
  }
  const decisions: Decision[] = [];
  for (let remaining = takeArray(cursor); remaining > 0; remaining--) {
    if (isNumber(cursor)) decisions.push(toPlainDecision(takeNumber(cursor)));
    else if (takeArray(cursor) === 1) decisions.push(toAcceptance(takeNumber(cursor)));
    else decisions.push(toRefusedDecision(takeNumber(cursor), takeNumber(cursor)));
  }
  return decisions;
};

/** By address number: the newest listing that the current batch names there, and its state. Reused. */
const newest: Incarnation[] = [];
const newestStates: (LazyState | null)[] = [];

/** Reads, for each item of a batch, the state of the newest listing named at its address. */
const takeStates = (
  cursor: ByteCursor,
  { items }: Batch,
  { addressNumbers, first }: { addressNumbers: readonly number[]; first: number },
): readonly (LazyState | null)[] => {
  let count = 0;
  for (let index = 0; index < items.length; index++) {
    const { incarnation } = (items[index] as Item).target;
    const addressNumber = addressNumbers[first + index] as number;
    if (addressNumber > count) {
      count = addressNumber;
      newest[addressNumber] = incarnation;
    } else if ((newest[addressNumber] as number) < incarnation) newest[addressNumber] = incarnation;
  }
  for (let addressNumber = 1; addressNumber <= count; addressNumber++)
    newestStates[addressNumber] = takeLazyState(cursor, newest[addressNumber] as Incarnation);
  return items.map((_, index) => newestStates[addressNumbers[first + index] as number] as LazyState | null);
};

/** Reads the replies to a call, one per batch. */
export const takeReplies = (
  reply: Buffer,
  { batches, addressNumbers }: PackedCall,
): readonly BatchReply[] => {
  const cursor = createCursor(reply);
  let first = 0;
  const replies = batches.map((batch): BatchReply => {
    takeArray(cursor);
    const outcome = outcomes[takeNumber(cursor)] as BatchReply['outcome'];
    const lastSequence = takeNumber(cursor);
    const version = takeNumber(cursor);
    const chainHash = takeNumber(cursor);
    const generation = takeNumber(cursor);
    const decisions = takeDecisions(cursor);
    const states = takeStates(cursor, batch, { addressNumbers, first });
    first += batch.items.length;
    return { outcome, lastSequence, version, chainHash, generation, decisions, states };
  });
  newestStates.length = 0;
  return replies;
};
