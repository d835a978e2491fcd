/**
 * How batches, slots and outbox votes cross to the functions and back.
 *
 * Owns the order of the arguments, the counterpart of `functions/*.lua`. A batch is one flat MessagePack
 * array, a reply one buffer of values in a row; both are written and read in place, for every post passes
 * here. Unsigned 64-bit values are text on both sides. What Lua cannot check cheaply is checked here, before
 * anything is sent. No I/O.
 */
import assert from 'node:assert/strict';
import type {
  Batch,
  BatchReply,
  CastVote,
  CommitRules,
  Decision,
  FactsItem,
  InitItem,
  Item,
  StatsItem,
  VoteItem,
} from '../../../engine/entity/items.ts';
import type { LazyState } from '../../../engine/entity/lazy-state.ts';
import { checkFacts, checkTotals } from '../../../engine/entity/snapshot.ts';
import type { HotState } from '../../../engine/entity/state.ts';
import type { EntityAddress, EntityRef, Incarnation } from '../../../engine/ids.ts';
import { parseEntityRef } from '../../../engine/ids.ts';
import type { OutboxVote } from '../../../engine/ports.ts';
import { toPlainDecision, toRefusedDecision } from '../lmdb/codec.ts';
import { Packer, packValue, type Value } from './pack.ts';
import { packState, takeLazyState } from './slots.ts';
import { type ByteCursor, createCursor, isNumber, isRow, skip, takeNumber, takeRow } from './unpack.ts';

const flattenCastVotes = (castVotes: readonly CastVote[]): Value[] =>
  castVotes.flatMap(({ user, atMs }) => [user, atMs]);

const packInit = (packer: Packer, { target, facts, totals, row: known, readUnder }: InitItem): void => {
  checkTotals(totals);
  checkFacts(facts);
  const flushedVotes = totals.upvotes - totals.downvotes;
  const state: HotState = { ...totals, facts, flushedVotes, version: 0 };
  const [first, rest] = packState(target.incarnation, state);
  packer.number(known.generation);
  packer.number(known.version);
  packer.value(readUnder ?? false);
  packer.value(first);
  // After the state's own values, where nothing but `isInRow` looks: the row it comes from.
  packer.value([...rest, known.generation, known.version]);
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

const packStats = (packer: Packer, item: StatsItem): void => {
  packer.number(item.atMs);
  packPosted(packer, item.servers);
  packPosted(packer, item.shards);
  packPosted(packer, item.users);
  packPosted(packer, item.shardList);
  packPosted(packer, item.status);
};

const visitorPattern = /^(0|-?[1-9]\d{0,18})$/;

const checkItags = ({ itags }: VoteItem): readonly string[] => {
  for (const itag of itags)
    if (!/^[^\0]{1,200}$/.test(itag)) assert.fail(`an itag of ${itag.length} characters`);
  return itags;
};

const packVote = (packer: Packer, item: VoteItem): void => {
  packer.text(item.user);
  packer.flag(item.upvote);
  packer.number(item.atMs);
  packer.value(checkItags(item));
};

/** The number of each kind in `3-items.lua`, and how many arguments it has there. */
const kinds = {
  init: { number: 1, arguments: 5 },
  stats: { number: 2, arguments: 6 },
  click: { number: 3, arguments: 1 },
  invite: { number: 4, arguments: 0 },
  vote: { number: 5, arguments: 4 },
  adjust: { number: 6, arguments: 6 },
  facts: { number: 7, arguments: 6 },
  forget: { number: 8, arguments: 0 },
  remember: { number: 10, arguments: 3 },
} as const;

/** Stands before an item that was lost, with the place where it was applied. */
const lostNumber = 9;

const packArguments = (packer: Packer, item: Item): void => {
  if (item.kind === 'stats') packStats(packer, item);
  else if (item.kind === 'click') {
    // The words are built only for what is wrong, here and below.
    if (!visitorPattern.test(item.visitor)) assert.fail(`a visitor is ${item.visitor}`);
    packer.text(item.visitor);
  } else if (item.kind === 'vote') packVote(packer, item);
  else if (item.kind === 'adjust') {
    packer.number(item.sequence);
    packer.number(item.upvotes);
    packer.number(item.downvotes);
    packer.number(item.releaseBeforeMs);
    packer.value(flattenCastVotes(item.release));
    packer.value(flattenCastVotes(item.hold));
  } else if (item.kind === 'init') packInit(packer, item);
  else if (item.kind === 'facts') packFacts(packer, item);
  else if (item.kind === 'remember') {
    packer.number(item.readUnder);
    packer.value(flattenCastVotes(item.cast));
    packer.value(flattenCastVotes(item.hold));
  }
};

/** Packs an item; returns the number of values. */
const packItem = (packer: Packer, item: Item, place: number): number => {
  const { lostAt } = item;
  if (lostAt !== undefined) {
    packer.number(lostNumber);
    packer.number(lostAt.generation);
    packer.number(lostAt.version);
  }
  const kind = kinds[item.kind];
  packer.number(kind.number);
  packer.number(place);
  packer.number(item.target.incarnation);
  packArguments(packer, item);
  return (lostAt === undefined ? 3 : 6) + kind.arguments;
};

const keyCharactersMax = 1_024;

/** Addresses of one batch: they are one inner call's arguments, and Lua's stack ends near 8,000. */
const addressesMax = 4_000;

/** Nearly every batch names a few addresses, and so many are found sooner one by one than in a map. */
const scannedMax = 16;

/** The addresses of the batch being packed, in the order of their first mention. One for all batches. */
class Addresses {
  readonly list: EntityAddress[] = [];
  count = 0;
  private readonly places = new Map<EntityAddress, number>();

  clear(): void {
    if (this.count > scannedMax) this.places.clear();
    this.count = 0;
  }

  /** The place of an address, from 1, which it gets when it has none. */
  placeOf(address: EntityAddress): number {
    const known = this.count > scannedMax ? (this.places.get(address) ?? 0) : this.scan(address);
    return known > 0 ? known : this.add(address);
  }

  private scan(address: EntityAddress): number {
    let place = this.count;
    while (place > 0 && this.list[place - 1] !== address) place -= 1;
    return place;
  }

  private add(address: EntityAddress): number {
    assert(address.length <= keyCharactersMax, 'an address is too long');
    assert(this.count < addressesMax, 'too many addresses in a batch');
    this.list[this.count++] = address;
    if (this.count === scannedMax + 1)
      for (let place = 1; place < this.count; place++)
        this.places.set(this.list[place - 1] as EntityAddress, place);
    if (this.count > scannedMax) this.places.set(address, this.count);
    return this.count;
  }
}

const addresses = new Addresses();

/** The batches of a call as they are sent, and what reading the reply needs to know of them. */
export interface PackedCall {
  readonly batches: readonly Batch[];
  readonly packed: Buffer;
  /** Of every item of every batch, in order, the place of its address in its batch, from 1. */
  readonly places: readonly number[];
}

/** See the head of `4-commit.lua`. Adds the places of the batch's items to `places`. */
const packBatch = (packer: Packer, batch: Batch, places: number[]): void => {
  const { shard, producer, sequence, items } = batch;
  assert(producer.length <= keyCharactersMax, 'a producer name is too long');
  const before = places.length;
  addresses.clear();
  for (let index = 0; index < items.length; index++) {
    const { target } = items[index] as Item;
    if (target.shard !== shard) assert.fail('an item of another shard');
    places.push(addresses.placeOf(target.address));
  }
  const opened = packer.open();
  packer.number(shard);
  packer.text(producer);
  packer.number(sequence);
  packer.number(addresses.count);
  for (let index = 0; index < addresses.count; index++) packer.text(addresses.list[index] as EntityAddress);
  let count = 4 + addresses.count;
  for (let index = 0; index < items.length; index++)
    count += packItem(packer, items[index] as Item, places[before + index] as number);
  packer.close(opened, count);
};

const batchPacker = new Packer();

/** Throws on a bug in an item: then nothing was sent. */
export const packCall = (batches: readonly Batch[]): PackedCall => {
  const places: number[] = [];
  batchPacker.reset();
  for (const batch of batches) packBatch(batchPacker, batch, places);
  return { batches, packed: batchPacker.finish(), places };
};

/** Positions as in `rulesOf` of `2-rules.lua`. */
export const packRules = ({ windows, uptime, visitorsMax }: CommitRules, voteWaitMaxMs: number): Buffer => {
  const { standard, premium, weekend } = windows;
  return packValue([
    uptime.checkMs,
    uptime.freshMs,
    visitorsMax,
    ...[standard, premium, weekend].flatMap(({ waitMs, perUser }) => [waitMs, perUser]),
    voteWaitMaxMs,
    uptime.downtimes.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
  ]);
};

const outcomes = ['applied', 'duplicate', 'gap', 'uninitialised'] as const;

/** A count of plain decisions, a row of any, or false for those that are not known. */
const takeDecisions = (cursor: ByteCursor): readonly Decision[] | null => {
  if (isNumber(cursor)) return new Array<Decision>(takeNumber(cursor)).fill(toPlainDecision(0));
  if (!isRow(cursor)) {
    skip(cursor, 1);
    return null;
  }
  const decisions: Decision[] = [];
  for (let left = takeRow(cursor); left > 0; left--) {
    if (isNumber(cursor)) decisions.push(toPlainDecision(takeNumber(cursor)));
    else if (takeRow(cursor) === 1) decisions.push({ kind: 'voted', count: takeNumber(cursor) });
    else decisions.push(toRefusedDecision(takeNumber(cursor), takeNumber(cursor)));
  }
  return decisions;
};

/** For each place the newest listing that the batch being read names there, and its state. Used again. */
const newest: Incarnation[] = [];
const found: (LazyState | null)[] = [];

/** For each item of a batch the state of the newest listing named at its address. */
const takeStates = (
  cursor: ByteCursor,
  { items }: Batch,
  { places, first }: { readonly places: readonly number[]; readonly first: number },
): readonly (LazyState | null)[] => {
  let count = 0;
  for (let index = 0; index < items.length; index++) {
    const { incarnation } = (items[index] as Item).target;
    const place = places[first + index] as number;
    if (place > count) {
      count = place;
      newest[place] = incarnation;
    } else if ((newest[place] as number) < incarnation) newest[place] = incarnation;
  }
  for (let place = 1; place <= count; place++)
    found[place] = takeLazyState(cursor, newest[place] as Incarnation);
  return items.map((_, index) => found[places[first + index] as number] as LazyState | null);
};

/** The replies to a call, batch by batch. */
export const takeReplies = (reply: Buffer, { batches, places }: PackedCall): readonly BatchReply[] => {
  const cursor = createCursor(reply);
  let first = 0;
  const replies = batches.map((batch): BatchReply => {
    takeRow(cursor);
    const outcome = outcomes[takeNumber(cursor)] as BatchReply['outcome'];
    const lastSequence = takeNumber(cursor);
    const version = takeNumber(cursor);
    const chainHash = takeNumber(cursor);
    const generation = takeNumber(cursor);
    const decisions = takeDecisions(cursor);
    const states = takeStates(cursor, batch, { places, first });
    first += batch.items.length;
    return { outcome, lastSequence, version, chainHash, generation, decisions, states };
  });
  found.length = 0;
  return replies;
};

/**
 * Reads votes of the outbox. The user comes last, because only there any character may stand. A listing is
 * named by many votes, and its reference made once.
 */
export const createVoteReader = (): ((text: string) => OutboxVote) => {
  const refs = new Map<string, EntityRef>();
  const refOf = (listing: string): EntityRef => {
    const known = refs.get(listing);
    if (known !== undefined) return known;
    const [address = '', incarnation] = listing.split('\0');
    const ref = parseEntityRef(address as EntityAddress, Number(incarnation) as Incarnation);
    refs.set(listing, ref);
    return ref;
  };
  return (text) => {
    const itagEnd = text.indexOf('\0');
    const listingEnd = text.indexOf('\0', text.indexOf('\0', itagEnd + 1) + 1);
    const atEnd = text.indexOf('\0', listingEnd + 3);
    const numberEnd = text.indexOf('\0', atEnd + 1);
    return {
      itag: text.slice(0, itagEnd),
      ref: refOf(text.slice(itagEnd + 1, listingEnd)),
      user: text.slice(numberEnd + 1),
      upvote: text[listingEnd + 1] === '1',
      atMs: Number(text.slice(listingEnd + 3, atEnd)),
      voteNumber: Number(text.slice(atEnd + 1, numberEnd)),
    };
  };
};
