/**
 * The ledger over SQL: totals, votes, generations, adjustments; the `Ledger` port of the engine.
 *
 * Owns the statements that carry counted facts, and nothing that people edit. Totals are only ever updated,
 * never inserted, under the guard that (generation, version) grows: a repeated, late or reordered round
 * changes nothing, and what was deleted stays deleted. Everything thrown is a `StorageError`.
 * Called by the engine; past votes are changed by storage/ledger/adjust.ts.
 */
import type { EntityKind, Shard } from '../engine/ids.ts';
import { shardCount } from '../engine/ids.ts';
import type { FlushRound, Ledger, LedgerEntity } from '../engine/ports.ts';
import { openAdjustments, settleAdjustments } from './ledger/adjustments.ts';
import { buryRow } from './ledger/bury.ts';
import { remindOfVotes } from './ledger/due-reminders.ts';
import { adjustLateVotes, insertVotes, updateTotals } from './ledger/flush.ts';
import { locks } from './ledger/locks.ts';
import { createPartitions, type Partitions } from './ledger/partitions.ts';
import { entityOf, selectEntities } from './ledger/rows.ts';
import type { Sql, Transaction } from './sql/client.ts';
import { asStorage } from './sql/errors.ts';
import { repeated } from './sql/retry.ts';

interface State {
  readonly sql: Sql;
  readonly partitions: Partitions;
  /** What the generations table holds at least, so that a round need not write it again. */
  readonly recorded: number[];
}

/** The ledger on an open, migrated database. Holds no connection of its own and needs no closing. */
export const createLedger = (sql: Sql): Ledger => {
  const state: State = {
    sql,
    partitions: createPartitions(sql),
    recorded: Array.from({ length: shardCount }, () => 0),
  };
  return {
    find: (targets) => asStorage('ledger.find', () => find(state, targets)),
    flush: (round) => asStorage('ledger.flush', () => flush(state, round)),
    bury: (row) => asStorage('ledger.bury', () => buryRow(sql, row)),
    generations: () => asStorage('ledger.generations', () => generations(state)),
    nextGeneration: (shards, atLeast) =>
      asStorage('ledger.nextGeneration', () => nextGeneration(state, shards, atLeast)),
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
  await repeated(() => state.sql.begin((transaction) => writeRound(state, transaction, round)));
  for (const { ref, generation } of round.entities) {
    state.recorded[ref.shard] = Math.max(state.recorded[ref.shard] ?? 0, generation);
  }
};

const writeRound = async (state: State, transaction: Transaction, round: FlushRound): Promise<void> => {
  if (round.votes.length > 0) await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
  await raiseGenerations(state, transaction, round);
  if (round.entities.length > 0) await updateTotals(transaction, round.entities);
  if (round.votes.length === 0) return;
  const late = await insertVotes(transaction, round.votes);
  await remindOfVotes(transaction, round.votes);
  if (late.length > 0) await adjustLateVotes(transaction, late);
};

/** Records generations that this process has not seen recorded: once per shard and generation. */
const raiseGenerations = async (
  { recorded }: State,
  transaction: Transaction,
  round: FlushRound,
): Promise<void> => {
  const higher = new Map<Shard, number>();
  for (const { ref, generation } of round.entities) {
    const known = higher.get(ref.shard) ?? recorded[ref.shard] ?? 0;
    if (generation > known) higher.set(ref.shard, generation);
  }
  for (const [shard, generation] of [...higher].sort(([left], [right]) => left - right)) {
    await transaction`
      insert into generations (shard, generation) values (${shard}, ${generation})
      on conflict (shard) do update set generation = greatest(generations.generation, excluded.generation)`;
  }
};

const generations = async (state: State): Promise<readonly number[]> => {
  const known = Array.from({ length: shardCount }, () => 0);
  const rows = await state.sql<{ shard: number; generation: number }[]>`
    select shard, generation from generations`;
  for (const { shard, generation } of rows) known[shard] = generation;
  return known;
};

const nextGeneration = (state: State, shards: readonly Shard[], atLeast: number): Promise<number> =>
  state.sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.generations})`;
    const [row] = await transaction<{ generation: number }[]>`
      select greatest(max(generation), ${atLeast}::bigint, 0) + 1 as generation from generations`;
    const generation = row?.generation ?? atLeast + 1;
    await transaction`
      insert into generations (shard, generation)
      select shard, ${generation}::bigint from unnest(${[...shards]}::smallint[]) as shard
      on conflict (shard) do update set generation = excluded.generation`;
    return generation;
  });
