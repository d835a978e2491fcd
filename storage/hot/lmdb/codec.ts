/**
 * The form of slots, decisions and outbox votes in LMDB: flat arrays, packed by lmdb's own MessagePack.
 *
 * The order of the totals is that of `engine/entity/fields.ts`. Unsigned 64-bit values are text and stay
 * text. New fields go to the end and get a default on reading; any other change needs a new format number
 * (see `tables.ts`). No I/O.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import { compile, emptyTotals, fields } from '../../../engine/entity/fields.ts';
import type { Decision, ShardVersion, VoteRefusal } from '../../../engine/entity/items.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import {
  type HotState,
  type Part,
  type PartsState,
  type PartsTable,
  type PresenceStatus,
  presenceStatuses,
} from '../../../engine/entity/state.ts';
import { type EntityAddress, type Incarnation, parseEntityRef, type Shard } from '../../../engine/ids.ts';
import type { OutboxVote } from '../../../engine/ports.ts';

/** A slot, and the version under which the dirty index lists it; 0 when it is clean. */
export interface StoredSlot {
  readonly slot: Slot;
  readonly since: number;
}

/**
 * 0 incarnation, 1 since, 2 version, 3 flushedVotes, 4–8 facts, 9–24 totals, 25 parts if there are any, then
 * the totals that are newer than parts. A tombstone ends after 0.
 */
export type SlotArray = readonly (number | string | boolean | PartsStateArray)[];

type TableArray = readonly number[];
/** Due time, replaced shard count, current and building table; an empty array for no table. */
type PartsStateArray = readonly [dueMs: number, replaced: number, current: TableArray, building: TableArray];

const packTable = (table: PartsTable | null): TableArray =>
  table === null
    ? []
    : [table.shardCount, table.sinceMs, table.seen, table.servers, table.users, ...table.live];

const unpackTable = (array: TableArray): PartsTable | null => {
  if (array.length === 0) return null;
  const [shardCount = 0, sinceMs = 0, seen = 0, servers = 0, users = 0, ...live] = array;
  return { shardCount, sinceMs, seen, servers, users, live };
};

const packPartsState = ({ dueMs, replaced, current, building }: PartsState): PartsStateArray => [
  dueMs,
  replaced,
  packTable(current),
  packTable(building),
];

const unpackPartsState = ([dueMs, replaced, current, building]: PartsStateArray): PartsState => ({
  current: unpackTable(current),
  building: unpackTable(building),
  replaced,
  dueMs,
});

export type PartArray = readonly [
  atMs: number,
  servers: number,
  users: number,
  status: number,
  live: boolean,
  cluster: string,
];

export const packPart = ({ atMs, servers, users, status, live, cluster }: Part): PartArray => [
  atMs,
  servers,
  users,
  presenceStatuses.indexOf(status),
  live,
  cluster,
];

export const unpackPart = ([atMs, servers, users, status, live, cluster]: PartArray): Part => ({
  atMs,
  servers,
  users,
  status: presenceStatuses[status] as PresenceStatus,
  live,
  cluster,
});

/** Fields of the first form come before the parts; later ones follow them. */
const fieldsBeforeParts = 16;
const [early, late] = [fields.slice(0, fieldsBeforeParts), fields.slice(fieldsBeforeParts)];
const firstFieldAt = 9;
const partsAt = firstFieldAt + fieldsBeforeParts;
const noParts: PartsStateArray = [0, 0, [], []];

const packState = compile<(incarnation: Incarnation, since: number, state: HotState) => SlotArray>(
  `(incarnation, since, state) => [incarnation, since, state.version, state.flushedVotes,
    state.facts.revision, state.facts.listed, state.facts.voteBanned, state.facts.premiumUntilMs,
    state.facts.listedSinceMs, ${early.map(({ name }) => `state.${name}`).join()}]`,
);

export const packSlot = ({ slot, since }: StoredSlot): SlotArray => {
  const { incarnation, state } = slot;
  if (state === null) return [incarnation];
  const array = packState(incarnation, since, state);
  if (state.parts === undefined && late.length === 0) return array;
  const parts = state.parts === undefined ? noParts : packPartsState(state.parts);
  return [...array, parts, ...late.map(({ name }) => state[name])];
};

/** Fields that a record of an earlier form lacks are empty. */
const unpackFields = [
  ...early.map(({ name }, index) => `${name}: array[${firstFieldAt + index}]`),
  ...late.map(({ name }, index) => `${name}: array[${partsAt + 1 + index}] ?? empty.${name}`),
].join();
const unpackState = compile<(array: SlotArray) => HotState>(
  `(array) => ({ ${unpackFields},
    facts: { revision: array[4], listed: array[5], voteBanned: array[6], premiumUntilMs: array[7],
      listedSinceMs: array[8] },
    flushedVotes: array[3], version: array[2] })`,
  { empty: emptyTotals },
);

/** Records without parts end before them; later ones have the parts and newer totals. */
const lengthMax = partsAt + 1 + late.length;

/** Unpacks a slot; `null` for one of a form that this program does not know. Throws on an invalid state. */
export const unpackSlot = (array: SlotArray): StoredSlot | null => {
  const incarnation = array[0] as Incarnation;
  if (array.length === 1) return { slot: { incarnation, state: null }, since: 0 };
  // Also where the value is no array.
  if (!(array.length >= partsAt && array.length <= lengthMax)) return null;
  const counted = unpackState(array);
  const parts = array[partsAt] as PartsStateArray | undefined;
  const state =
    parts === undefined || isNone(parts) ? counted : { ...counted, parts: unpackPartsState(parts) };
  checkState(state);
  return { slot: { incarnation, state }, since: array[1] as number };
};

const isNone = ([dueMs]: PartsStateArray): boolean => dueMs === 0;

const plainDecisions: readonly Decision[] = (
  [
    { kind: 'applied' },
    { kind: 'absent' },
    { kind: 'forgotten' },
    { kind: 'gap' },
    { kind: 'behind' },
    { kind: 'overflow' },
    { kind: 'inconsistent' },
    { kind: 'applied', switched: 'complete' },
    { kind: 'applied', switched: 'time' },
    { kind: 'applied', switched: 'idle' },
    { kind: 'damaged' },
    { kind: 'applied', switched: 'totals' },
    { kind: 'applied', contained: true },
  ] as const
).map((decision) => Object.freeze(decision));
const refusals: readonly VoteRefusal[] = ['wait', 'not_listed', 'vote_banned', 'clock_ahead', 'clock_behind'];

/**
 * Per decision: a number for a plain one, [count] for an accepted vote, [-count] for one that is contained,
 * [reason, retryAtMs] for a refused vote. If all are `applied`, only their count.
 */
export type DecisionsArray = number | readonly (number | readonly number[])[];

export const packDecisions = (decisions: readonly Decision[]): DecisionsArray => {
  if (decisions.every(isPlainlyApplied)) return decisions.length;
  return decisions.map((decision) => {
    if (decision.kind === 'voted') return [decision.contained ? -decision.count : decision.count];
    if (decision.kind === 'refused') return [refusals.indexOf(decision.reason), decision.retryAtMs];
    return plainDecisions.findIndex((plain) => isSamePlain(plain, decision));
  });
};

const isSamePlain = (one: Decision, other: Decision): boolean =>
  one.kind === 'applied' && other.kind === 'applied'
    ? one.switched === other.switched && one.contained === other.contained
    : one.kind === other.kind;

const isPlainlyApplied = (decision: Decision): boolean =>
  decision.kind === 'applied' && decision.switched === undefined && decision.contained === undefined;

/** Returns the plain decision with this number. */
export const toPlainDecision = (code: number): Decision => plainDecisions[code] as Decision;

/** Builds the acceptance of a vote by its count: below 0 for a lost vote that the totals contain already. */
export const toAcceptance = (count: number): Decision =>
  count < 0 ? { kind: 'voted', count: -count, contained: true } : { kind: 'voted', count };

/** Builds the refusal of a vote by the number of its reason. `retryAtMs` 0: waiting does not help. */
export const toRefusedDecision = (code: number, retryAtMs: number): Decision => {
  return { kind: 'refused', reason: refusals[code] as VoteRefusal, retryAtMs };
};

export const unpackDecisions = (array: DecisionsArray): readonly Decision[] => {
  if (typeof array === 'number') return new Array<Decision>(array).fill(toPlainDecision(0));
  return array.map((code): Decision => {
    if (typeof code === 'number') return toPlainDecision(code);
    const [first = 0, retryAtMs] = code;
    return retryAtMs === undefined ? toAcceptance(first) : toRefusedDecision(first, retryAtMs);
  });
};

/** Origin and source are the last, `''` or left out where there is none. */
export type OutboxArray = readonly [
  ...[EntityAddress, Incarnation, user: string, upvote: boolean, atMs: number, voteNumber: number],
  origin?: string,
  source?: string,
];

export const packOutbox = (vote: Omit<OutboxVote, 'itag'>): OutboxArray => {
  const { ref, user, upvote, atMs, voteNumber, origin, source } = vote;
  const array = [ref.address, ref.incarnation, user, upvote, atMs, voteNumber] as const;
  if (source !== undefined) return [...array, origin ?? '', source];
  return origin === undefined ? array : [...array, origin];
};

export const unpackOutbox = (
  { itag, shard }: { readonly itag: string; readonly shard: Shard },
  array: OutboxArray,
): OutboxVote => {
  const [address, incarnation, user, upvote, atMs, voteNumber, origin, source] = array;
  const vote = { itag, ref: parseEntityRef(address, incarnation, shard), user, upvote, atMs, voteNumber };
  return { ...vote, ...(origin && { origin }), ...(source !== undefined && { source }) };
};

/** Packs a visitor's hash into eight bytes, the form of the visitors table. */
export const packVisitor = (visitor: string): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(visitor));
  return bytes;
};

/** Reverses `packVisitor`. */
export const unpackVisitor = (bytes: Buffer): string => bytes.readBigInt64BE(0).toString();

export const packShard = ({ generation, version, chainHash }: ShardVersion): readonly number[] => [
  generation,
  version,
  chainHash,
];
