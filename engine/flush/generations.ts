/**
 * Generations: how the stores agree on which totals are newer.
 *
 * SQL guards totals by (generation, version). The hot store counts versions and starts again when it loses
 * data. So whenever versions may have gone backwards, a new generation is first taken in SQL and then
 * published in the hot store; SQL refuses flushes of older generations from the first step on (I10, I14).
 */
import assert from 'node:assert/strict';
import { isBefore } from '../entity/history.ts';
import type { ShardPosition } from '../entity/items.ts';
import { listAllShards, type Shard } from '../ids.ts';
import type { GenerationLedger, GenerationStore, HotReader } from '../ports.ts';

/** A hot store whose generations and versions can be compared with the flushed positions. */
type PositionedStore = GenerationStore & Pick<HotReader, 'readVersions'>;

/** The stores contradict each other and the operator must decide; the message is for them. */
export class StoresDisagree extends Error {}

/**
 * Gives the shards a generation greater than any that the ledger or the hot store has seen; resolves to it.
 * Hot.
 */
export const renewGenerations = async (
  hot: GenerationStore,
  ledger: GenerationLedger,
  shards: readonly Shard[],
): Promise<number> => {
  const known = await hot.readGenerations();
  const atLeast = shards.reduce((most, shard) => Math.max(most, known[shard] ?? 0), 0);
  const generation = await ledger.takeGeneration(shards, atLeast);
  assert(generation > atLeast, 'a new generation is greater than any before');
  await hot.publish(shards.map((shard) => ({ shard, generation })));
  return generation;
};

/**
 * Empties the shards of the hot store that are behind their flushed position: an older copy was restored, or
 * they lost their tail while no node was running. A flush is a consistent snapshot of a shard, so SQL has
 * everything that such a shard has, and its entities are initialised again from their rows. Resolves to the
 * emptied shards.
 */
export const emptyOlder = async (
  hot: PositionedStore,
  ledger: GenerationLedger,
): Promise<readonly Shard[]> => {
  // In this order, because a change is in the hot store before it is flushed.
  const flushed = await ledger.readFlushedPositions();
  const shards = listAllShards();
  const known = await hot.readVersions(shards);
  const older = shards.flatMap((shard) => {
    const { generation, version } = known[shard] as ShardPosition;
    const isOlder = generation > 0 && isBefore({ generation, version }, flushed[shard] as ShardPosition);
    return isOlder ? [{ shard, generation, version }] : [];
  });
  if (older.length > 0) await hot.clear(older);
  return older.map(({ shard }) => shard);
};

/**
 * Renews the shards whose newest generation the ledger issued but no node published. For a running node; at
 * start `reconcileGenerations` does it.
 */
export const renewUnpublished = async (hot: GenerationStore, ledger: GenerationLedger): Promise<void> => {
  const hotGenerations = await hot.readGenerations();
  const ledgerGenerations = await ledger.readGenerations();
  const isBehind = (shard: Shard): boolean => (hotGenerations[shard] ?? 0) < (ledgerGenerations[shard] ?? 0);
  const behind = listAllShards().filter(isBehind);
  if (behind.length > 0) await renewGenerations(hot, ledger, behind);
};

/**
 * Compares both stores at start and renews the shards that need it: never published, behind the ledger (an
 * emptied or older hot store), ahead of it (an older ledger). Empties shards that are older than their rows
 * first. Resolves to the renewed shards; throws `StoresDisagree`.
 */
export const reconcileGenerations = async (
  hot: PositionedStore,
  ledger: GenerationLedger,
): Promise<readonly Shard[]> => {
  // The hot store must be read first. A node that starts at the same time writes a generation to the ledger
  // and then publishes it. So whatever generation is read here, the ledger, which is read later, has it too.
  const hotGenerations = await hot.readGenerations();
  const ledgerGenerations = await ledger.readGenerations();
  const ledgerEmpty = ledgerGenerations.every((generation) => generation === 0);
  if (ledgerEmpty && hotGenerations.some((generation) => generation > 0))
    throw new StoresDisagree(ledgerLost);
  const emptied = new Set(ledgerEmpty ? [] : await emptyOlder(hot, ledger));
  const isStale = (shard: Shard): boolean =>
    hotGenerations[shard] === 0 || hotGenerations[shard] !== ledgerGenerations[shard];
  const stale = listAllShards().filter((shard) => emptied.has(shard) || isStale(shard));
  if (stale.length > 0) await renewGenerations(hot, ledger, stale);
  return stale;
};

const ledgerLost =
  'The hot store holds counters, but the SQL database has never seen a directory that they belong to: it ' +
  'is new, or a copy from before the directory was there, or one of the two belongs to another directory. ' +
  'Nothing was changed, and the counters (totals of stats, clicks and votes) are still in the hot store. ' +
  'If the database was lost, restore its backup and run "rollcall ops reflush"; without a backup, import ' +
  'the directory into a new database with an empty hot store (a new DATA_DIR). If the hot store belongs to ' +
  'another directory, point to an empty one.';
