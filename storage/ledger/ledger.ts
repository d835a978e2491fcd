/**
 * The ledger in SQL: implements the engine's `Ledger` port over totals, votes, generations and adjustments.
 *
 * Owns the statements for counted data; the catalogue owns what people edit. Totals are updated and never
 * inserted, and only where (generation, version) grows: a repeated, late or reordered flush changes nothing,
 * and a deleted listing stays deleted. A flush of an outdated generation is refused. Every rejection is a
 * `StorageError`. The counted columns are those of totals.ts.
 */
import { createEntityRef, type EntityKind, type Incarnation, type Shard } from '../../engine/ids.ts';
import type { AdjustmentScope, Backlog, Edit, Ledger, LedgerEntity, OutboxVote } from '../../engine/ports.ts';
import { createBatchLoader } from '../../engine/tools/batch-loader.ts';
import { formatTexts, type Queryable, retrySerializable, type Sql, type Transaction } from '../sql/client.ts';
import { asStorage, bindStorage } from '../sql/errors.ts';
import { locks } from '../sql/locks.ts';
import { markAdjustmentsDelivered, selectOpenAdjustments } from './adjustments.ts';
import { insertDeadLetter } from './dead-letters.ts';
import { markDueByVotes } from './due-reminders.ts';
import { adjustLateVotes, countVotes, insertVotes, updateTotals, type VoteRules } from './flush.ts';
import {
  hasOlderFacts,
  issueGeneration,
  noteOlderFacts,
  readFlushedPositions,
  readGenerations,
  readTimeline,
  recordFlushedPositions,
  writeRound,
} from './generations.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { lockTotals, readTotals, type TotalsColumns } from './totals.ts';
import { deleteEdits, selectEdits, selectVoters } from './voters.ts';

type Target = Parameters<Ledger['find']>[0][number];

interface EntityRow extends TotalsColumns {
  /** Position in `targets`, from 1. */
  readonly position: number;
  readonly incarnation: Incarnation;
  readonly kind: EntityKind;
  readonly entity_id: string;
  readonly shard: Shard;
  readonly generation: number;
  readonly version: number;
  readonly revision: number;
  readonly listed: boolean;
  readonly vote_banned: boolean;
  readonly premium_until_ms: number;
  readonly listed_since_ms: number;
}

/**
 * Reads the existing listings among `targets`, each through an index. `offset 0` keeps the planner from a
 * scan of the table, which finds no rows in an emptied file where the index reports the damage.
 */
const selectEntities = (sql: Queryable, targets: readonly Target[]): Promise<readonly EntityRow[]> => sql<
  EntityRow[]
>`
  select requested.position, totals.*, facts.revision, facts.listed, facts.vote_banned,
    coalesce(extract(epoch from facts.premium_until) * 1000, 0)::bigint as premium_until_ms,
    case when facts.listed then coalesce(extract(epoch from facts.listed_since) * 1000, 0) else 0 end::bigint
      as listed_since_ms
  from unnest(
    (select ${formatTexts(targets.map(({ kind }) => kind))}::text[]),
    (select ${formatTexts(targets.map(({ id }) => id))}::text[])
  ) with ordinality as requested (kind, id, position)
  cross join lateral (
    select * from totals where kind = requested.kind and entity_id = requested.id offset 0
  ) as totals
  join facts on facts.incarnation = totals.incarnation`;

const toLedgerEntity = (row: EntityRow): LedgerEntity => ({
  ref: createEntityRef({ kind: row.kind, id: row.entity_id, incarnation: row.incarnation, shard: row.shard }),
  facts: {
    revision: row.revision,
    listed: row.listed,
    voteBanned: row.vote_banned,
    premiumUntilMs: row.premium_until_ms,
    listedSinceMs: row.listed_since_ms,
  },
  totals: readTotals(row),
  generation: row.generation,
  version: row.version,
});

/** What one flush wrote, for those who wait for votes. */
export interface FlushedVotes {
  readonly incarnations: ReadonlySet<number>;
  /** All votes of the flush, including those that SQL already had. */
  readonly votes: readonly OutboxVote[];
  /** How many votes got a number. */
  readonly logged: number;
  /** How many webhook deliveries were written. */
  readonly deliveries: number;
}

export interface LedgerOptions {
  /** Called after a flush with votes has committed. Must not throw. */
  readonly onVotes?: (votes: FlushedVotes) => void;
  /** False while webhooks are switched off. Default: true. */
  readonly writesDeliveries?: boolean;
  /** Whether too many webhook deliveries wait; see `DeliveryRules`. */
  readonly isWebhookBacklogFull?: () => boolean;
}

interface LedgerState extends LedgerOptions {
  readonly sql: Sql;
  readonly partitions: Partitions;
  /** `null` until read. A running node begins a timeline only with a new generation, which clears this. */
  timeline: number | null;
  /** The look-up that callers of the same moment share; see `lookUpDeliveries`. */
  deliveries: Promise<Deliveries> | null;
}

/** Which deliveries are open. */
interface Deliveries {
  readonly edits: boolean;
  readonly adjustments: boolean;
}

/** Creates the ledger on an open, migrated database. It has no connection of its own and needs no closing. */
export const createLedger = (sql: Sql, options: LedgerOptions = {}): Ledger => {
  const state: LedgerState = {
    ...options,
    sql,
    partitions: createPartitions(sql),
    timeline: null,
    deliveries: null,
  };
  const findOne = createFinder(sql);
  return {
    find: (targets) => Promise.all(targets.map(findOne)),
    ...bindStorage('ledger', state, { flush, listEdits, listAdjustments, takeGeneration }),
    ...bindStorage('ledger', sql, {
      writeDeadLetter: insertDeadLetter,
      listVoters: selectVoters,
      markEditsSent: deleteEdits,
      readGenerations,
      readFlushedPositions,
      markAdjustmentsDelivered,
    }),
  };
};

const takeGeneration = (state: LedgerState, shards: readonly Shard[], atLeast: number): Promise<number> => {
  state.timeline = null;
  return issueGeneration(state.sql, shards, atLeast);
};

/**
 * Reads whether any edit or adjustment is still to be delivered. Callers of the same moment share one
 * statement: the flusher lists both kinds at once, and so sends an idle SQL one statement instead of two. A
 * later caller gets a new look-up, because its own change may have been committed in between.
 */
const lookUpDeliveries = (state: LedgerState): Promise<Deliveries> => {
  if (state.deliveries === null) {
    state.deliveries = readDeliveries(state.sql);
    queueMicrotask(() => {
      state.deliveries = null;
    });
  }
  return state.deliveries;
};

const readDeliveries = async (sql: Sql): Promise<Deliveries> => {
  const [row] = await sql<Deliveries[]>`
    select exists (select from edited where at <= now()) as edits,
      exists (select from adjustments where settled_at is null) as adjustments`;
  return row ?? { edits: true, adjustments: true };
};

const listEdits = async (state: LedgerState, limit: number): Promise<readonly Edit[]> =>
  (await lookUpDeliveries(state)).edits ? selectEdits(state.sql, limit) : [];

const listAdjustments = async (state: LedgerState, limit: number, scope: AdjustmentScope = {}) => {
  const isFirstOfAll = scope.id === undefined && !scope.afterId;
  if (isFirstOfAll && !(await lookUpDeliveries(state)).adjustments) return [];
  return selectOpenAdjustments(state.sql, limit, scope);
};

const targetsPerStatement = 500;

/**
 * Finds listings by at most two statements at a time; requests that arrive meanwhile share the next one. So a
 * flood of unknown ids keeps no other work from SQL.
 */
const createFinder = (sql: Sql): ((target: Target) => Promise<LedgerEntity | null>) =>
  createBatchLoader({
    loadMany: (targets) => asStorage('ledger.find', () => findMany(sql, targets)),
    keysMax: targetsPerStatement,
    schedule: queueMicrotask,
  });

const findMany = async (sql: Sql, targets: readonly Target[]): Promise<readonly (LedgerEntity | null)[]> => {
  const entities: (LedgerEntity | null)[] = targets.map(() => null);
  for (const row of await selectEntities(sql, targets)) entities[row.position - 1] = toLedgerEntity(row);
  return entities;
};

const flush = async (state: LedgerState, round: Backlog): Promise<void> => {
  if (round.votes.length > 0) await state.partitions.prepare(round.votes);
  const timeline = state.timeline ?? (await readTimeline(state.sql));
  const isPlain = round.votes.length === 0 && !hasOlderFacts(round.entities, timeline);
  if (isPlain && (await retrySerializable(() => writeRound(state.sql, round.entities)))) {
    state.timeline = timeline;
    return;
  }
  const deliveries =
    state.writesDeliveries === false ? null : { isBacklogFull: state.isWebhookBacklogFull?.() ?? false };
  const written = await retrySerializable((attempt) => {
    const rules = { deliveries, skipsExisting: attempt > 1 };
    return state.sql.begin((transaction) => writeFlush(transaction, round, { timeline, rules }));
  });
  state.timeline = timeline;
  if (written === null) return;
  const incarnations = new Set(round.votes.map(({ ref }) => ref.incarnation));
  state.onVotes?.({ incarnations, votes: round.votes, ...written });
};

interface FlushContext {
  readonly timeline: number;
  readonly rules: VoteRules;
}

/**
 * Writes any round, step by step. Resolves to what was written of votes, or to `null` for a round without
 * votes. Such a round comes here only with facts of an earlier timeline, or if `writeRound` did not write it.
 */
const writeFlush = async (transaction: Transaction, round: Backlog, { timeline, rules }: FlushContext) => {
  if (round.votes.length > 0) await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
  await recordFlushedPositions(transaction, round.entities);
  const watched = await lockTotals(
    transaction,
    [...round.entities, ...round.votes].map(({ ref }) => ref.incarnation),
  );
  await updateTotals(transaction, round.entities, rules.skipsExisting ? new Map() : countVotes(round.votes));
  await noteOlderFacts(transaction, round.entities, timeline);
  if (round.votes.length === 0) return null;
  const inserted = await insertVotes(
    transaction,
    round.votes,
    watched ? rules : { ...rules, deliveries: null },
  );
  await markDueByVotes(transaction, round.votes);
  if (inserted.late.length > 0) await adjustLateVotes(transaction, inserted.late);
  return inserted;
};
