/**
 * The ledger as plain maps: the reference for the SQL ledger, and the ledger of simulations.
 *
 * Every call is one transaction in SQL, so here it is one synchronous function behind the port. Besides the
 * port it has what people do to a directory: list, remove, edit, void, reset. All state is public for tests
 * to inspect. Invariant: a totals row exists exactly as long as its listing. It is as durable as the process.
 */

import type { AdjustItem, CastVote, ShardPosition } from '../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type Facts, type Totals } from '../../engine/entity/state.ts';
import { StorageError } from '../../engine/errors.ts';
import type { EntityAddress, EntityKind, EntityRef, Incarnation, Shard } from '../../engine/ids.ts';
import { shardsTotal, toAddress } from '../../engine/ids.ts';
import type {
  Adjustment,
  AdjustmentScope,
  Backlog,
  DirtyEntity,
  Edit,
  Ledger,
  LedgerEntity,
  LedgerVote,
  OutboxVote,
} from '../../engine/ports.ts';
import { refOf } from '../support/refs.ts';

export interface ModelVoteRow extends OutboxVote {
  immutable: boolean;
  /** `''` while the vote counts. */
  voidReason: '' | 'operator' | 'redeemed' | 'monthly_reset' | 'deleted';
}
export interface ModelTotalsRow {
  readonly ref: EntityRef;
  totals: Totals;
  generation: number;
  version: number;
}
interface ModelReset {
  readonly scope: 'all' | Incarnation;
  readonly atMs: number;
  readonly reason: 'monthly_reset' | 'operator';
}
type AdjustmentRow = Adjustment & { isDelivered: boolean };

export interface LedgerModelOptions {
  /** Rows that can never be stored as they are. */
  readonly poisoned?: (row: { entity?: DirtyEntity; vote?: OutboxVote }) => boolean;
  /** Called before every call of the port; if it throws, the call rejects and changes nothing. */
  readonly before?: (verb: keyof Ledger) => void;
}

export interface LedgerModel {
  readonly port: Ledger;
  readonly listings: Map<EntityAddress, { readonly ref: EntityRef; facts: Facts }>;
  readonly totals: Map<Incarnation, ModelTotalsRow>;
  readonly votes: Map<string, ModelVoteRow>;
  readonly adjustments: AdjustmentRow[];
  readonly deadLetters: {
    readonly entity?: DirtyEntity;
    readonly vote?: OutboxVote;
    readonly reason: string;
  }[];
  readonly resets: ModelReset[];
  readonly generations: number[];
  readonly places: ShardPosition[];
  readonly edited: Map<Incarnation, Edit>;
  list(kind: EntityKind, id: string, facts?: Partial<Facts>): EntityRef;
  remove(ref: EntityRef): void;
  edit(ref: EntityRef, change: Partial<Facts>): void;
  voidVote(itag: string, reason: 'operator' | 'redeemed'): boolean;
  reset(reset: ModelReset): void;
}

interface State extends Omit<LedgerModel, 'port'> {
  readonly options: LedgerModelOptions;
  incarnations: number;
}

/** Creates an empty ledger. */
export const createLedgerModel = (options: LedgerModelOptions = {}): LedgerModel => {
  const state: State = {
    options,
    incarnations: 0,
    listings: new Map(),
    totals: new Map(),
    votes: new Map(),
    adjustments: [],
    deadLetters: [],
    resets: [],
    generations: Array.from({ length: shardsTotal }, () => 0),
    places: Array.from({ length: shardsTotal }, () => ({
      generation: 0,
      version: 0,
    })),
    edited: new Map(),
    list: (kind, id, facts = {}) => list(state, { kind, id }, facts),
    remove: (ref) => remove(state, ref),
    edit: (ref, change) => edit(state, ref, change),
    voidVote: (itag, reason) => voidVote(state, itag, reason),
    reset: (change) => reset(state, change),
  };
  return { ...state, port: createPort(state) };
};

const createPort = (state: State): Ledger => {
  const run = async <Result>(verb: keyof Ledger, task: () => Result): Promise<Result> => {
    state.options.before?.(verb);
    return task();
  };
  return {
    find: (targets) => run('find', () => targets.map(({ kind, id }) => find(state, kind, id))),
    flush: (round) => run('flush', () => flush(state, round)),
    writeDeadLetter: (row) => run('writeDeadLetter', () => void state.deadLetters.push(row)),
    listVoters: (target, page) => run('listVoters', () => listVoters(state, target, page)),
    listEdits: (limit) => run('listEdits', () => [...state.edited.values()].slice(0, limit)),
    markEditsSent: (edits) => run('markEditsSent', () => forgetEdits(state, edits)),
    readGenerations: () => run('readGenerations', () => [...state.generations]),
    readFlushedPositions: () => run('readFlushedPositions', () => [...state.places]),
    takeGeneration: (shards, atLeast) => run('takeGeneration', () => takeGeneration(state, shards, atLeast)),
    listAdjustments: (limit, scope) => run('listAdjustments', () => listOpen(state, limit, scope)),
    markAdjustmentsDelivered: (ids) => run('markAdjustmentsDelivered', () => markDelivered(state, ids)),
  };
};

const list = (state: State, target: { kind: EntityKind; id: string }, facts: Partial<Facts>): EntityRef => {
  state.incarnations += 1;
  const ref = refOf(target.kind, target.id, state.incarnations);
  state.listings.set(ref.address, { ref, facts: { ...emptyFacts, revision: 1, listed: true, ...facts } });
  state.totals.set(ref.incarnation, { ref, totals: emptyTotals, generation: 0, version: 0 });
  return ref;
};

const remove = (state: State, ref: EntityRef): void => {
  if (!state.totals.delete(ref.incarnation)) return;
  state.edited.delete(ref.incarnation);
  state.listings.delete(ref.address);
  for (const vote of state.votes.values()) {
    if (vote.ref.incarnation === ref.incarnation && vote.voidReason === '') vote.voidReason = 'deleted';
  }
  const id = state.adjustments.length + 1;
  state.adjustments.push({ id, item: { kind: 'forget', target: ref }, isDelivered: false });
};

const edit = (state: State, ref: EntityRef, change: Partial<Facts>): void => {
  const listing = state.listings.get(ref.address);
  if (!listing) return;
  const revision = listing.facts.revision + 1;
  listing.facts = { ...listing.facts, ...change, revision };
  const { kind, id, incarnation } = ref;
  state.edited.set(incarnation, { target: { kind, id }, incarnation, revision });
};

const forgetEdits = (state: State, edits: readonly Edit[]): void => {
  for (const { incarnation, revision } of edits) {
    if ((state.edited.get(incarnation)?.revision ?? 0) <= revision) state.edited.delete(incarnation);
  }
};

/** One entry per request to vote, as the rows of a request share its time. */
const listVoters = (
  state: State,
  ref: EntityRef,
  { sinceMs, after, limit }: { sinceMs: number; after: CastVote | null; limit: number },
): readonly LedgerVote[] => {
  const holding = votesOf(state, ref.incarnation).filter(
    ({ atMs, voidReason }) => atMs >= sinceMs && (voidReason === '' || voidReason === 'redeemed'),
  );
  const requests = Map.groupBy(holding, ({ atMs, user }) => JSON.stringify([atMs, user]));
  return [...requests.values()]
    .map(([one, ...others]) => {
      const { user, atMs } = one as ModelVoteRow;
      const all = [one as ModelVoteRow, ...others];
      return { user, atMs, pinned: all.some(({ voidReason, immutable }) => voidReason !== '' || immutable) };
    })
    .sort((left, right) => left.atMs - right.atMs || (left.user < right.user ? -1 : 1))
    .filter(({ atMs, user }) => !after || atMs > after.atMs || (atMs === after.atMs && user > after.user))
    .slice(0, limit);
};

const find = (state: State, kind: EntityKind, id: string): LedgerEntity | null => {
  const listing = state.listings.get(toAddress(kind, id));
  const row = listing && state.totals.get(listing.ref.incarnation);
  return listing && row ? { ...row, facts: listing.facts } : null;
};

const adjust = (state: State, ref: EntityRef, change: Partial<AdjustItem>): void => {
  const earlier = state.adjustments.filter(({ item }) => item.target.incarnation === ref.incarnation);
  const sequences = earlier.map(({ item }) => (item.kind === 'adjust' ? item.sequence : 0));
  const flushed = state.totals.get(ref.incarnation)?.totals.adjustment ?? 0;
  const item: AdjustItem = {
    kind: 'adjust',
    target: ref,
    sequence: Math.max(flushed, ...sequences) + 1,
    upvotes: 0,
    downvotes: 0,
    releaseBeforeMs: 0,
    release: [],
    pinned: [],
    ...change,
  };
  state.adjustments.push({ id: state.adjustments.length + 1, item, isDelivered: false });
};

const toCastVote = ({ user, atMs }: OutboxVote): CastVote => ({ user, atMs });
/** A negative count, and 0 rather than -0. */
const minus = (count: number): number => (count === 0 ? 0 : -count);
const negate = (votes: readonly ModelVoteRow[]) => ({
  upvotes: minus(votes.filter(({ upvote }) => upvote).length),
  downvotes: minus(votes.filter(({ upvote }) => !upvote).length),
});
const votesOf = (state: State, incarnation: Incarnation): ModelVoteRow[] =>
  [...state.votes.values()].filter((vote) => vote.ref.incarnation === incarnation);

const voidVote = (state: State, itag: string, reason: 'operator' | 'redeemed'): boolean => {
  const vote = state.votes.get(itag);
  const row = vote && state.totals.get(vote.ref.incarnation);
  if (!vote || !row || vote.voidReason !== '') return false;
  vote.voidReason = reason;
  const holding = votesOf(state, vote.ref.incarnation).some(
    (one) =>
      one.user === vote.user &&
      one.atMs === vote.atMs &&
      (one.voidReason === '' || one.voidReason === 'redeemed'),
  );
  const votes = {
    pinned: reason === 'redeemed' ? [toCastVote(vote)] : [],
    release: holding ? [] : [toCastVote(vote)],
  };
  adjust(state, row.ref, { ...negate([vote]), ...votes });
  return true;
};

const reset = (state: State, one: ModelReset): void => {
  if (state.resets.some(({ scope, atMs }) => scope === one.scope && atMs === one.atMs)) return;
  state.resets.push(one);
  for (const { ref } of state.totals.values()) {
    if (one.scope !== 'all' && one.scope !== ref.incarnation) continue;
    const older = votesOf(state, ref.incarnation).filter(({ atMs }) => atMs < one.atMs);
    const hit = older.filter((vote) => vote.voidReason === '' && !vote.immutable);
    if (hit.length === 0) continue;
    for (const vote of hit) vote.voidReason = one.reason;
    const holding = older.filter(({ voidReason }) => voidReason === '' || voidReason === 'redeemed');
    adjust(state, ref, { ...negate(hit), releaseBeforeMs: one.atMs, pinned: holding.map(toCastVote) });
  }
};

const flush = (state: State, round: Backlog): void => {
  const poisoned = state.options.poisoned ?? (() => false);
  if (
    round.entities.some((entity) => poisoned({ entity })) ||
    round.votes.some((vote) => poisoned({ vote }))
  ) {
    throw new StorageError('ledger.flush', { outcome: 'not_applied', reason: 'row' });
  }
  const isOutdated = round.entities.some(
    ({ ref, generation }) => generation < (state.generations[ref.shard] ?? 0),
  );
  if (isOutdated) throw new StorageError('ledger.flush', { outcome: 'not_applied', reason: 'outdated' });
  for (const entity of round.entities) updateTotals(state, entity);
  for (const vote of round.votes) insertVote(state, vote);
};

const updateTotals = (state: State, { ref, generation, state: hot }: DirtyEntity): void => {
  state.generations[ref.shard] = Math.max(state.generations[ref.shard] ?? 0, generation);
  const position = state.places[ref.shard] as ShardPosition;
  const isFurther =
    generation > position.generation ||
    (generation === position.generation && hot.version > position.version);
  if (isFurther) state.places[ref.shard] = { generation, version: hot.version };
  const row = state.totals.get(ref.incarnation);
  if (!row) return;
  const isOlder = row.generation < generation || (row.generation === generation && row.version < hot.version);
  if (!isOlder) return;
  const { facts: _facts, flushedVotes: _flushedVotes, parts: _parts, version, ...totals } = hot;
  Object.assign(row, { totals, generation, version });
};

/** A vote from before a reset that arrives after it is void at once; an adjustment corrects the totals. */
const insertVote = (state: State, vote: OutboxVote): void => {
  if (state.votes.has(vote.itag)) return;
  const row = state.totals.get(vote.ref.incarnation);
  const late = state.resets.find(
    ({ scope, atMs }) => (scope === 'all' || scope === vote.ref.incarnation) && vote.atMs < atMs,
  );
  const voidReason = row ? (late?.reason ?? '') : 'deleted';
  const stored: ModelVoteRow = { ...vote, immutable: false, voidReason };
  state.votes.set(vote.itag, stored);
  if (row && late) adjust(state, row.ref, { ...negate([stored]), release: [toCastVote(vote)] });
};

const takeGeneration = (state: State, shards: readonly Shard[], atLeast: number): number => {
  const generation = Math.max(atLeast, ...state.generations) + 1;
  for (const shard of shards) state.generations[shard] = generation;
  return generation;
};

const isInScope = ({ id, item: { target } }: Adjustment, scope: AdjustmentScope): boolean =>
  id > (scope.afterId ?? 0) &&
  (scope.id === undefined || (target.kind === scope.kind && target.id === scope.id));

const listOpen = (state: State, limit: number, scope: AdjustmentScope = {}): readonly Adjustment[] =>
  state.adjustments
    .filter((row) => !row.isDelivered && isInScope(row, scope))
    .slice(0, limit)
    .map(({ id, item }) => ({ id, item }));

/** Marks adjustments as delivered if the flushed totals contain them; else they are sent again. */
const markDelivered = (state: State, ids: readonly number[]): void => {
  for (const row of state.adjustments) {
    if (!ids.includes(row.id)) continue;
    const flushed = state.totals.get(row.item.target.incarnation)?.totals.adjustment;
    if (row.item.kind === 'forget' || flushed === undefined || flushed >= row.item.sequence)
      row.isDelivered = true;
  }
};
