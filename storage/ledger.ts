/**
 * The ledger over SQL: totals, votes, generations, adjustments; the `Ledger` port of the engine.
 *
 * Owns the statements that carry counted facts, and nothing that people edit. Totals are only ever updated,
 * never inserted, under the guard that (generation, version) grows: a repeated, late or reordered round
 * changes nothing, and what was deleted stays deleted. A round of a generation that is over is refused.
 * Everything thrown is a `StorageError`. Called by the engine; storage/ledger/adjust.ts changes past votes.
 */
import type { EntityKind } from '../engine/ids.ts';
import type { FlushRound, Ledger, LedgerEntity } from '../engine/ports.ts';
import { openAdjustments, settleAdjustments } from './ledger/adjustments.ts';
import { buryRow } from './ledger/bury.ts';
import { remindOfVotes } from './ledger/due-reminders.ts';
import { adjustLateVotes, insertVotes, updateTotals } from './ledger/flush.ts';
import {
  enterPlaces,
  giveGeneration,
  noteOlderFacts,
  readFlushedPlaces,
  readGenerations,
  readLineage,
} from './ledger/generations.ts';
import { locks } from './ledger/locks.ts';
import { createPartitions, type Partitions } from './ledger/partitions.ts';
import { entityOf, selectEntities } from './ledger/rows.ts';
import { deleteEdits, selectEdits, selectVoters } from './ledger/voters.ts';
import type { Sql, Transaction } from './sql/client.ts';
import { asStorage } from './sql/errors.ts';
import { repeated } from './sql/retry.ts';

interface State {
  readonly sql: Sql;
  readonly partitions: Partitions;
  /** `null` until it is read: a lineage begins with a new generation, and else while no node runs. */
  lineage: number | null;
}

/** The ledger on an open, migrated database. Holds no connection of its own and needs no closing. */
export const createLedger = (sql: Sql): Ledger => {
  const state: State = { sql, partitions: createPartitions(sql), lineage: null };
  return {
    find: (targets) => asStorage('ledger.find', () => find(state, targets)),
    flush: (round) => asStorage('ledger.flush', () => flush(state, round)),
    bury: (row) => asStorage('ledger.bury', () => buryRow(sql, row)),
    voters: (target, page) => asStorage('ledger.voters', () => selectVoters(sql, target, page)),
    edits: (limit) => asStorage('ledger.edits', () => selectEdits(sql, limit)),
    editsTold: (edits) => asStorage('ledger.editsTold', () => deleteEdits(sql, edits)),
    generations: () => asStorage('ledger.generations', () => readGenerations(sql)),
    flushedPlaces: () => asStorage('ledger.flushedPlaces', () => readFlushedPlaces(sql)),
    nextGeneration: (shards, atLeast) => {
      state.lineage = null;
      return asStorage('ledger.nextGeneration', () => giveGeneration(sql, shards, atLeast));
    },
    adjustments: (limit, target) =>
      asStorage('ledger.adjustments', () => openAdjustments(sql, limit, target)),
    adjustmentsSettled: (ids) => asStorage('ledger.adjustmentsSettled', () => settleAdjustments(sql, ids)),
  };
};

const find = async (
  state: State,
  targets: readonly { readonly kind: EntityKind; readonly id: string }[],
): Promise<readonly (LedgerEntity | null)[]> => {
  const found: (LedgerEntity | null)[] = targets.map(() => null);
  if (targets.length === 0) return found;
  for (const row of await selectEntities(state.sql, targets)) found[row.position - 1] = entityOf(row);
  return found;
};

const flush = async (state: State, round: FlushRound): Promise<void> => {
  if (round.votes.length > 0) await state.partitions.prepare(round.votes);
  const lineage = state.lineage ?? (await readLineage(state.sql));
  await repeated(() => state.sql.begin((transaction) => writeRound(transaction, round, lineage)));
  state.lineage = lineage;
};

const writeRound = async (transaction: Transaction, round: FlushRound, lineage: number): Promise<void> => {
  if (round.votes.length > 0) await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
  await enterPlaces(transaction, round.entities);
  if (round.entities.length > 0) await updateTotals(transaction, round.entities);
  await noteOlderFacts(transaction, round.entities, lineage);
  if (round.votes.length === 0) return;
  const late = await insertVotes(transaction, round.votes);
  await remindOfVotes(transaction, round.votes);
  if (late.length > 0) await adjustLateVotes(transaction, late);
};
