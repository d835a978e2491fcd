/**
 * How batches, slots and outbox votes cross to the functions and back.
 *
 * Owns the order of the arguments, the counterpart of `functions/*.lua`. A batch is one flat MessagePack
 * array, a reply one buffer of values in a row. Unsigned 64-bit values are text on both sides. What Lua
 * cannot check cheaply is checked here, before anything is sent. No I/O.
 */
import assert from 'node:assert/strict';
import { Packr } from 'msgpackr';
import { checkFacts, checkTotals } from '../../../engine/entity/snapshot.ts';
import type { HotState } from '../../../engine/entity/state.ts';
import type { EntityAddress, Incarnation } from '../../../engine/ids.ts';
import { refAt } from '../../../engine/ids.ts';
import type {
  Batch,
  BatchReply,
  CommitRules,
  FactsItem,
  InitItem,
  Item,
  OutboxVote,
  StatsItem,
  VoteItem,
  VoteMark,
} from '../../../engine/ports.ts';
import { type DecisionsRow, unpackDecisions } from '../lmdb/codec.ts';
import { type Cursor, packState, take, takeSlot } from './slots.ts';

type Value = string | number | boolean | readonly Value[];

const packr = new Packr({ useRecords: false, int64AsType: 'number', variableMapSize: true });
export const packValue = (value: unknown): Buffer => packr.pack(value);

const flatMarks = (marks: readonly VoteMark[]): Value[] => marks.flatMap(({ user, atMs }) => [user, atMs]);

const pushInit = (row: Value[], { target, facts, totals, row: known, readUnder }: InitItem): void => {
  checkTotals(totals);
  checkFacts(facts);
  const flushedVotes = totals.upvotes - totals.downvotes;
  const state: HotState = { ...totals, facts, flushedVotes, version: 0 };
  const [first, rest] = packState(target.incarnation, state);
  // After the state's own values, where nothing but `inRow` looks: the row it comes from.
  rest.push(known.generation, known.version);
  row.push(known.generation, known.version, readUnder ?? false, first, rest);
};

const pushFacts = (row: Value[], { atMs, facts }: FactsItem): void => {
  checkFacts(facts);
  row.push(atMs, facts.revision, facts.listed, facts.voteBanned, facts.premiumUntilMs, facts.listedSinceMs);
};

const pushStats = (row: Value[], item: StatsItem): void => {
  const { servers = false, shards = false, users = false, shardList = false, status = false } = item;
  row.push(item.atMs, servers, shards, users, shardList, status);
};

const visitorPattern = /^(0|-?[1-9]\d{0,18})$/;

const checkedItags = ({ itags }: VoteItem): readonly string[] => {
  for (const itag of itags) assert(/^[^\0]{1,200}$/.test(itag), `an itag of ${itag.length} characters`);
  return itags;
};

/** The number of each kind in `3-items.lua`. */
const kindNumbers = {
  init: 1,
  stats: 2,
  click: 3,
  invite: 4,
  vote: 5,
  adjust: 6,
  facts: 7,
  forget: 8,
} as const;

/** Stands before an item that was lost, with the place where it was applied. */
const lostNumber = 9;

/** The arguments of an item: as many as `argumentCounts` in `3-items.lua` says of its kind. */
const pushArguments = (row: Value[], item: Item): void => {
  if (item.kind === 'stats') pushStats(row, item);
  else if (item.kind === 'click') {
    assert(visitorPattern.test(item.visitor), `a visitor is ${item.visitor}`);
    row.push(item.visitor);
  } else if (item.kind === 'vote') row.push(item.user, item.upvote, item.atMs, checkedItags(item));
  else if (item.kind === 'adjust') {
    row.push(item.sequence, item.upvotes, item.downvotes, item.releaseBeforeMs);
    row.push(flatMarks(item.release), flatMarks(item.hold));
  } else if (item.kind === 'init') pushInit(row, item);
  else if (item.kind === 'facts') pushFacts(row, item);
};

const keyCharactersMax = 1_024;

/** Addresses of one batch: they are one inner call's arguments, and Lua's stack ends near 8,000. */
const addressesMax = 4_000;

/**
 * Appends the addresses of a batch in the order of their first mention; returns the place of each, from 1.
 */
const pushAddresses = (row: Value[], { items, shard }: Batch): ReadonlyMap<EntityAddress, number> => {
  const places = new Map<EntityAddress, number>();
  for (const { target } of items) {
    if (places.has(target.address)) continue;
    assert(target.shard === shard, 'an item of another shard');
    assert(target.address.length <= keyCharactersMax, 'an address is too long');
    places.set(target.address, places.size + 1);
    row.push(target.address);
  }
  assert(places.size <= addressesMax, 'too many addresses in a batch');
  return places;
};

/**
 * One batch for `commit`: see the head of `4-commit.lua`. Throws on a bug in an item: then nothing was sent.
 */
export const packBatch = (batch: Batch): Buffer => {
  assert(batch.producer.length <= keyCharactersMax, 'a producer name is too long');
  const row: Value[] = [batch.shard, batch.producer, batch.sequence, 0];
  const places = pushAddresses(row, batch);
  row[3] = places.size;
  for (const item of batch.items) {
    if (item.lostAt) row.push(lostNumber, item.lostAt.generation, item.lostAt.version);
    row.push(kindNumbers[item.kind], places.get(item.target.address) ?? 0, item.target.incarnation);
    pushArguments(row, item);
  }
  return packValue(row);
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
    uptime.outages.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
  ]);
};

const outcomes = ['applied', 'duplicate', 'gap', 'uninitialised'] as const;
type Head = readonly [number, number, number, number, number, DecisionsRow | false];

/** The newest listing a batch names at each address, in the order of their first mention. */
const newestNamed = ({ items }: Batch): Map<EntityAddress, Incarnation> => {
  const newest = new Map<EntityAddress, Incarnation>();
  for (const { target } of items) {
    const known = newest.get(target.address);
    if (known === undefined || known < target.incarnation) newest.set(target.address, target.incarnation);
  }
  return newest;
};

export const cursorOf = (buffer: Buffer): Cursor => ({
  values: packr.unpackMultiple(buffer) as unknown[],
  at: 0,
});

/** The next batch's reply. */
export const takeReply = (cursor: Cursor, batch: Batch): BatchReply => {
  const [outcome, lastSequence, version, mark, generation, decisions] = take<Head>(cursor);
  const states = new Map<EntityAddress, HotState | null>();
  for (const [address, incarnation] of newestNamed(batch)) {
    const slot = takeSlot(cursor);
    states.set(address, slot?.incarnation === incarnation ? slot.state : null);
  }
  return {
    outcome: outcomes[outcome] as BatchReply['outcome'],
    lastSequence,
    version,
    mark,
    generation,
    decisions: decisions === false ? null : unpackDecisions(decisions),
    states,
  };
};

/** The user comes last, because only there any character may stand. */
export const unpackVote = (text: string): OutboxVote => {
  const [itag = '', address = '', incarnation, upvote, atMs, voteNumber, ...user] = text.split('\0');
  return {
    itag,
    ref: refAt(address as EntityAddress, Number(incarnation) as Incarnation),
    user: user.join('\0'),
    upvote: upvote === '1',
    atMs: Number(atMs),
    voteNumber: Number(voteNumber),
  };
};
