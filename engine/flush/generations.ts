/**
 * Generations: how the stores agree on whose numbers are newer.
 *
 * SQL guards totals by (generation, version), where versions belong to the hot store and start again when it
 * loses data. So whenever versions may have run backwards, a new generation is taken in SQL first and
 * published in the hot store second; old flushes are outvoted from the first step on (I10, I14).
 */
import assert from 'node:assert/strict';
import { isBefore } from '../entity/history.ts';
import type { ShardPosition } from '../entity/items.ts';
import { allShards, type Shard } from '../ids.ts';
import type { GenerationLedger, GenerationStore, HotReader } from '../ports.ts';

/** A store whose generations and versions are compared with what was flushed. */
type PositionedStore = GenerationStore & Pick<HotReader, 'readVersions'>;

/** Stores that contradict each other: words for the operator, who must decide. */
export class StoresDisagree extends Error {}

/** Gives the shards a generation greater than any the ledger or the hot store has seen. */
export const renewGenerations = async (
  hot: GenerationStore,
  ledger: GenerationLedger,
  shards: readonly Shard[],
): Promise<void> => {
  const known = await hot.readGenerations();
  const atLeast = shards.reduce((most, shard) => Math.max(most, known[shard] ?? 0), 0);
  const generation = await ledger.takeGeneration(shards, atLeast);
  assert(generation > atLeast, 'a new generation is greater than any before');
  await hot.publish(shards.map((shard) => ({ shard, generation })));
};

/**
 * Empties shards of the hot store that have not come as far as they were flushed: an older copy of them was
 * put in place, or their tail was lost while nobody was there to know it. A flush carries all that waits in a
 * shard at one moment, so SQL holds what such a shard does and more, and its entities come back from their
 * rows.
 */
export const emptyOlder = async (
  hot: PositionedStore,
  ledger: GenerationLedger,
): Promise<readonly Shard[]> => {
  // In this order: what is flushed later is in the hot store earlier.
  const flushed = await ledger.readFlushedPositions();
  const known = await hot.readVersions(allShards);
  const older = allShards.flatMap((shard) => {
    const { generation, version } = known[shard] as ShardPosition;
    const isOlder = generation > 0 && isBefore({ generation, version }, flushed[shard] as ShardPosition);
    return isOlder ? [{ shard, generation, version }] : [];
  });
  if (older.length > 0) await hot.clear(older);
  return older.map(({ shard }) => shard);
};

/**
 * Shards whose newest generation the ledger gave out and nobody published get one that both know. For a
 * running node; at start `reconcileGenerations` does it.
 */
export const renewUnpublished = async (hot: GenerationStore, ledger: GenerationLedger): Promise<void> => {
  const hotGenerations = await hot.readGenerations();
  const ledgerGenerations = await ledger.readGenerations();
  const behind = allShards.filter((shard) => (hotGenerations[shard] ?? 0) < (ledgerGenerations[shard] ?? 0));
  if (behind.length > 0) await renewGenerations(hot, ledger, behind);
};

/**
 * Compares both stores at start and renews the shards that need it: never published, behind the ledger
 * (an emptied or older hot store), ahead of it (an older ledger), or all, when `reflush` is asked for. Shards
 * that are older than their rows are emptied before.
 */
export const reconcileGenerations = async (
  hot: PositionedStore,
  ledger: GenerationLedger,
  reflush: boolean,
): Promise<readonly Shard[]> => {
  // In this order: a generation is in the ledger before it is published, so a node that starts at the same
  // time cannot make the ledger look as if it had never seen one.
  const hotGenerations = await hot.readGenerations();
  const ledgerGenerations = await ledger.readGenerations();
  const ledgerEmpty = ledgerGenerations.every((generation) => generation === 0);
  // An older copy of SQL may be from before the first start, and is known to be of this directory.
  if (ledgerEmpty && !reflush && hotGenerations.some((generation) => generation > 0))
    throw new StoresDisagree(ledgerLost);
  const emptied = new Set(ledgerEmpty ? [] : await emptyOlder(hot, ledger));
  const isStale = (shard: Shard): boolean =>
    hotGenerations[shard] === 0 || hotGenerations[shard] !== ledgerGenerations[shard];
  const stale = allShards.filter((shard) => reflush || emptied.has(shard) || isStale(shard));
  if (stale.length > 0) await renewGenerations(hot, ledger, stale);
  return stale;
};

const ledgerLost =
  'The hot store holds counters, but the SQL database has never seen a directory that they belong to: it ' +
  'is new, or a copy from before the directory was there, or one of the two belongs to another directory. ' +
  'Nothing was changed, and the counters (totals of stats, clicks and votes) are still in the hot store. ' +
  'If the database was lost, restore its backup and run "npm run ops -- reflush"; without a backup, import ' +
  'the directory into a new database with an empty hot store (a new DATA_DIR). If the hot store belongs to ' +
  'another directory, point to an empty one.';
