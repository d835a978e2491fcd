/**
 * The ledger over SQL: totals, votes, generations, adjustments; the `Ledger` port of the engine.
 *
 * Owns the statements that carry counted facts, and nothing that people edit. Totals are only ever updated,
 * never inserted, under the guard that (generation, version) grows: a repeated, late or reordered round
 * changes nothing, and what was deleted stays deleted. A round of a generation that is over is refused.
 * Everything thrown is a `StorageError`. Called by the engine; storage/ledger/adjust.ts changes past votes.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { FlushRound, Ledger, LedgerEntity } from '../../engine/ports.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { retrySerializable } from '../sql/retry.ts';
import { markAdjustmentsDelivered, selectOpenAdjustments } from './adjustments.ts';
import { insertDeadLetter } from './dead-letters.ts';
import { markDueByVotes } from './due-reminders.ts';
import { adjustLateVotes, insertVotes, updateTotals } from './flush.ts';
import {
  issueGeneration,
  noteOlderFacts,
  readFlushedPositions,
  readGenerations,
  readTimeline,
  recordFlushedPositions,
} from './generations.ts';
import { locks } from './locks.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { selectEntities, toLedgerEntity } from './rows.ts';
import { deleteEdits, selectEdits, selectVoters } from './voters.ts';

interface LedgerState {
  readonly sql: Sql;
  readonly partitions: Partitions;
  /** `null` until it is read: a lineage begins with a new generation, and else while no node runs. */
  timeline: number | null;
}

/** The ledger on an open, migrated database. Holds no connection of its own and needs no closing. */
export const createLedger = (sql: Sql): Ledger => {
  const state: LedgerState = { sql, partitions: createPartitions(sql), timeline: null };
  return {
    find: (targets) => asStorage('ledger.find', () => find(state, targets)),
    flush: (round) => asStorage('ledger.flush', () => flush(state, round)),
    writeDeadLetter: (row) => asStorage('ledger.bury', () => insertDeadLetter(sql, row)),
    listVoters: (target, page) => asStorage('ledger.voters', () => selectVoters(sql, target, page)),
    listEdits: (limit) => asStorage('ledger.edits', () => selectEdits(sql, limit)),
    markEditsSent: (edits) => asStorage('ledger.editsTold', () => deleteEdits(sql, edits)),
    readGenerations: () => asStorage('ledger.generations', () => readGenerations(sql)),
    readFlushedPositions: () => asStorage('ledger.flushedPlaces', () => readFlushedPositions(sql)),
    takeGeneration: (shards, atLeast) => {
      state.timeline = null;
      return asStorage('ledger.nextGeneration', () => issueGeneration(sql, shards, atLeast));
    },
    listAdjustments: (limit, target) =>
      asStorage('ledger.adjustments', () => selectOpenAdjustments(sql, limit, target)),
    markAdjustmentsDelivered: (ids) =>
      asStorage('ledger.adjustmentsSettled', () => markAdjustmentsDelivered(sql, ids)),
  };
};

const find = async (
  state: LedgerState,
  targets: readonly { readonly kind: EntityKind; readonly id: string }[],
): Promise<readonly (LedgerEntity | null)[]> => {
  const found: (LedgerEntity | null)[] = targets.map(() => null);
  if (targets.length === 0) return found;
  for (const row of await selectEntities(state.sql, targets)) found[row.position - 1] = toLedgerEntity(row);
  return found;
};

const flush = async (state: LedgerState, round: FlushRound): Promise<void> => {
  if (round.votes.length > 0) await state.partitions.prepare(round.votes);
  const lineage = state.timeline ?? (await readTimeline(state.sql));
  await retrySerializable(() => state.sql.begin((transaction) => writeRound(transaction, round, lineage)));
  state.timeline = lineage;
};

const writeRound = async (transaction: Transaction, round: FlushRound, lineage: number): Promise<void> => {
  if (round.votes.length > 0) await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
  await recordFlushedPositions(transaction, round.entities);
  if (round.entities.length > 0) await updateTotals(transaction, round.entities);
  await noteOlderFacts(transaction, round.entities, lineage);
  if (round.votes.length === 0) return;
  const late = await insertVotes(transaction, round.votes);
  await markDueByVotes(transaction, round.votes);
  if (late.length > 0) await adjustLateVotes(transaction, late);
};
