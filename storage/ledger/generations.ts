/**
 * What SQL knows of the hot store's history: generations given out, and how far each shard was flushed.
 *
 * The row of a shard is also the fence between a flush and a new generation: a flush holds the rows of its
 * shards until it commits, so what it brings is in SQL before the next generation is given out, or refused.
 * Whoever initialises an entity under that generation therefore reads rows that agree with each other.
 * Called by storage/ledger/ledger.ts.
 */
import { isBefore } from '../../engine/entity/history.ts';
import type { ShardPosition } from '../../engine/entity/items.ts';
import { StorageError } from '../../engine/errors.ts';
import { type Shard, shardCount } from '../../engine/ids.ts';
import type { DirtyEntity } from '../../engine/ports.ts';
import { formatNumbers } from '../sql/arrays.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { locks } from './locks.ts';

/** Listings made after an older SQL was copied are known to the hot store, and so are their numbers. */
const incarnationsSkipped = 1_000_000;

/**
 * Records how far the shards of a round have come, and locks their rows. Throws `outdated` when one of them
 * has a newer generation than the round.
 */
export const recordFlushedPositions = async (
  transaction: Transaction,
  entities: readonly DirtyEntity[],
): Promise<void> => {
  const newest = new Map<Shard, ShardPosition>();
  for (const { ref, generation, state } of entities) {
    const place = { generation, version: state.version };
    const known = newest.get(ref.shard);
    if (known === undefined || isBefore(known, place)) newest.set(ref.shard, place);
  }
  if (newest.size === 0) return;
  // Rows are locked in one order, as everywhere.
  const places = [...newest].sort(([left], [right]) => left - right);
  const column = (pick: (place: (typeof places)[number]) => number) => formatNumbers(places.map(pick));
  const known = await transaction<{ shard: Shard; generation: number }[]>`
    insert into generations as known (shard, generation, flushed_generation, flushed_version)
    select shard, generation, generation, version
    from unnest(${column(([shard]) => shard)}::smallint[],
      ${column(([, { generation }]) => generation)}::bigint[],
      ${column(([, { version }]) => version)}::bigint[]) as new (shard, generation, version)
    order by shard
    on conflict (shard) do update set
      generation = greatest(known.generation, excluded.generation),
      flushed_generation = greatest(known.flushed_generation, excluded.flushed_generation),
      flushed_version = case
        when excluded.flushed_generation > known.flushed_generation then excluded.flushed_version
        when excluded.flushed_generation < known.flushed_generation then known.flushed_version
        else greatest(known.flushed_version, excluded.flushed_version) end
    returning shard, generation`;
  const over = known.find(({ shard, generation }) => generation > (newest.get(shard)?.generation ?? 0));
  if (over === undefined) return;
  throw new StorageError('ledger.flush', {
    outcome: 'not_applied',
    reason: 'outdated',
    detail: `shard ${over.shard} has generation ${over.generation} by now`,
  });
};

/** Highest generation seen or given out, per shard; 0 where none. */
export const readGenerations = async (sql: Sql): Promise<readonly number[]> => {
  const known = Array.from({ length: shardCount }, () => 0);
  const rows = await sql<{ shard: number; generation: number }[]>`
    select shard, generation from generations`;
  for (const { shard, generation } of rows) known[shard] = generation;
  return known;
};

/** The newest place flushed, per shard. */
export const readFlushedPositions = async (sql: Sql): Promise<readonly ShardPosition[]> => {
  const positions: ShardPosition[] = Array.from({ length: shardCount }, () => ({
    generation: 0,
    version: 0,
  }));
  const rows = await sql<(ShardPosition & { shard: number })[]>`
    select shard, flushed_generation as generation, flushed_version as version from generations`;
  for (const { shard, generation, version } of rows) positions[shard] = { generation, version };
  return positions;
};

/** Gives out a generation greater than any known here and than `atLeast`. Ledger when it resolves. */
export const issueGeneration = (sql: Sql, shards: readonly Shard[], atLeast: number): Promise<number> =>
  sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.generations})`;
    const [row] = await transaction<{ known: number }[]>`
      select coalesce(max(generation), 0) as known from generations`;
    const known = row?.known ?? 0;
    // The hot store has seen a generation that was never given out here: this is an older SQL.
    if (atLeast > known) await beginTimeline(transaction);
    const generation = Math.max(known, atLeast) + 1;
    await transaction`
      insert into generations (shard, generation)
      select shard, ${generation}::bigint from unnest(${[...shards]}::smallint[]) as shard order by shard
      on conflict (shard) do update set generation = excluded.generation`;
    return generation;
  });

/** Revisions of rows stay below this, so that those of a lineage outrank all of the one before. */
const lineageRevisions = 2 ** 20;

/**
 * For an SQL that is older than the hot store: listings made from now on get incarnations, and facts
 * revisions, that the hot store has not seen. Ledger.
 */
export const beginTimeline = async (sql: Sql | Transaction): Promise<void> => {
  await sql`
    select setval('incarnations', (select last_value from incarnations) + ${incarnationsSkipped}::bigint)`;
  // A schema of an earlier version gets its first lineage from the migration.
  const [found] = await sql`select to_regclass('lineage') is not null as made`;
  if (!found?.made) return;
  // By the time of day, so that the same old copy begins another one each time it is brought back.
  await sql`
    update lineage set revisions = greatest(revisions + ${lineageRevisions}::bigint,
      extract(epoch from now())::bigint * ${lineageRevisions}::bigint)`;
};

/** What is added to the revisions of rows. */
export const readTimeline = async (sql: Sql): Promise<number> => {
  const [row] = await sql<{ revisions: number }[]>`select revisions from lineage`;
  return row?.revisions ?? 0;
};

/**
 * Has facts told again that the hot store knows of an earlier lineage: they may be of edits that are lost
 * here.
 */
export const noteOlderFacts = async (
  transaction: Transaction,
  entities: readonly DirtyEntity[],
  lineage: number,
): Promise<void> => {
  const older = entities.filter(({ state }) => state.facts.revision < lineage);
  if (older.length === 0) return;
  const incarnations = older.map(({ ref }) => ref.incarnation).sort((left, right) => left - right);
  await transaction`
    insert into edited (incarnation, revision)
    select incarnation, revision - ${lineage}::bigint from facts
    where incarnation = any(${formatNumbers(incarnations)}::bigint[]) order by incarnation
    on conflict do nothing`;
};
