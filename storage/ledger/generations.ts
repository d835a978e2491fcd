/**
 * What SQL knows of the hot store's history: generations issued, and how far each shard was flushed.
 *
 * A shard's row is also the fence between a flush and a new generation. A flush locks the rows of its shards
 * until it commits, so its data is in SQL before the next generation is issued, or the flush is refused. An
 * entity that is initialised under that generation therefore reads rows that agree with each other. A
 * *timeline* (table `lineage`) begins when SQL was restored from an older copy.
 */
import { isBefore } from '../../engine/entity/history.ts';
import type { ShardPosition } from '../../engine/entity/items.ts';
import { createNotAppliedError } from '../../engine/errors.ts';
import { type Shard, shardsTotal } from '../../engine/ids.ts';
import type { DirtyEntity } from '../../engine/ports.ts';
import { formatNumbers, type Sql, type Transaction } from '../sql/client.ts';
import { locks } from '../sql/locks.ts';
import { readColumn, readFlag, readNumber } from '../sql/rows.ts';
import { buildTotalsUpdate, formatTotals } from './totals.ts';

/**
 * Skipped when an older SQL is restored: the hot store may know incarnations issued after that copy was made.
 */
const incarnationsSkipped = 1_000_000;

/** Finds the newest position of each shard, in the order in which every flush locks the shards' rows. */
const findNewest = (entities: readonly DirtyEntity[]): Map<Shard, ShardPosition> => {
  const newest = new Map<Shard, ShardPosition>();
  for (const { ref, generation, state } of entities) {
    const position = { generation, version: state.version };
    const earlier = newest.get(ref.shard);
    if (earlier === undefined || isBefore(earlier, position)) newest.set(ref.shard, position);
  }
  return new Map([...newest].sort(([left], [right]) => left - right));
};

/** Formats three arrays for `unnest`: shards, generations, versions. */
const formatPositions = (newest: ReadonlyMap<Shard, ShardPosition>): [string, string, string] => [
  formatNumbers([...newest.keys()]),
  formatNumbers([...newest.values()].map(({ generation }) => generation)),
  formatNumbers([...newest.values()].map(({ version }) => version)),
];

/**
 * Writes a round only if `locked` has all its shards: SQL must know each of them, and must have issued no
 * newer generation for any.
 */
const roundStatement = `
  with reached as (
    select * from unnest((select $1::smallint[]), (select $2::bigint[]), (select $3::bigint[]))
      as reached (shard, generation, version)
  ), locked as (
    select known.shard from generations as known join reached using (shard)
    where known.generation <= reached.generation
    order by known.shard for no key update of known
  ), allowed as (
    select count(*) = cardinality($1) as all from locked
  ), recorded as (
    update generations as known set generation = reached.generation,
      flushed_generation = reached.generation,
      flushed_version = case when known.flushed_generation < reached.generation then reached.version
        else greatest(known.flushed_version, reached.version) end
    from reached
    where known.shard = reached.shard and (select allowed.all from allowed)
  ), written as (${buildTotalsUpdate(4, false)} and (select allowed.all from allowed)
  )
  select allowed.all as done from allowed`;

/**
 * Writes a round without votes by one statement, which is a transaction of its own. The rows of the shards
 * order flushes, so totals need no lock before they are written. Resolves to false, with nothing written,
 * if SQL does not know one of the shards or has issued a newer generation for it.
 */
export const writeRound = (sql: Sql, entities: readonly DirtyEntity[]): Promise<boolean> => {
  const args = [...formatPositions(findNewest(entities)), ...formatTotals(entities)];
  return readFlag(sql.unsafe(roundStatement, args, { prepare: true }));
};

/**
 * Records the newest position of each shard in a flush, and locks the shards' rows. Throws `outdated` when
 * SQL has issued a newer generation for one of them.
 */
export const recordFlushedPositions = async (transaction: Transaction, entities: readonly DirtyEntity[]) => {
  const newest = findNewest(entities);
  if (newest.size === 0) return;
  const [shards, generations, versions] = formatPositions(newest);
  const current = await transaction<{ shard: Shard; generation: number }[]>`
    insert into generations as known (shard, generation, flushed_generation, flushed_version)
    select shard, generation, generation, version
    from unnest((select ${shards}::smallint[]), (select ${generations}::bigint[]),
      (select ${versions}::bigint[]))
      as new (shard, generation, version)
    order by shard
    on conflict (shard) do update set
      generation = greatest(known.generation, excluded.generation),
      flushed_generation = greatest(known.flushed_generation, excluded.flushed_generation),
      flushed_version = case
        when excluded.flushed_generation > known.flushed_generation then excluded.flushed_version
        when excluded.flushed_generation < known.flushed_generation then known.flushed_version
        else greatest(known.flushed_version, excluded.flushed_version) end
    returning shard, generation`;
  const newer = current.find(({ shard, generation }) => generation > (newest.get(shard)?.generation ?? 0));
  if (newer === undefined) return;
  const detail = `shard ${newer.shard} now has generation ${newer.generation}`;
  throw createNotAppliedError('ledger.flush', 'outdated', detail);
};

/** Reads the highest generation issued or flushed, per shard; 0 if none. */
export const readGenerations = (sql: Sql): Promise<readonly number[]> =>
  readColumn<number>(sql`
    select coalesce(generation, 0) as generation
    from generate_series(0, ${shardsTotal - 1}::int) as shard
    left join generations using (shard) order by shard`);

/** Reads the newest flushed position, per shard. */
export const readFlushedPositions = async (sql: Sql): Promise<readonly ShardPosition[]> => sql<
  ShardPosition[]
>`
  select coalesce(flushed_generation, 0) as generation, coalesce(flushed_version, 0) as version
  from generate_series(0, ${shardsTotal - 1}::int) as shard
  left join generations using (shard) order by shard`;

/**
 * Issues a generation for the shards, greater than `atLeast` and every generation in SQL. *Ledger* when it
 * resolves.
 */
export const issueGeneration = (sql: Sql, shards: readonly Shard[], atLeast: number): Promise<number> =>
  sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.generations})`;
    const known = await readNumber(transaction`select max(generation) as known from generations`);
    // The hot store has a generation that this SQL never issued: SQL is an older copy.
    if (atLeast > known) await beginTimeline(transaction);
    const generation = Math.max(known, atLeast) + 1;
    await transaction`
      insert into generations (shard, generation)
      select shard, ${generation}::bigint
      from unnest((select ${[...shards]}::smallint[])) as shard order by shard
      on conflict (shard) do update set generation = excluded.generation`;
    return generation;
  });

/** Revisions of rows stay below this, so that revisions of a timeline exceed all of the timeline before. */
const timelineRevisions = 2 ** 20;

/**
 * Begins a timeline, for an SQL that is older than the hot store: new listings then get incarnations, and
 * facts get revisions, that the hot store has not seen. *Ledger* when it resolves.
 */
export const beginTimeline = async (sql: Sql | Transaction): Promise<void> => {
  await sql`
    select setval('incarnations', (select last_value from incarnations) + ${incarnationsSkipped}::bigint)`;
  // Derived from the clock, so that the same old copy begins another timeline each time it is restored.
  await sql`
    update lineage set revisions = greatest(revisions + ${timelineRevisions}::bigint,
      extract(epoch from now())::bigint * ${timelineRevisions}::bigint)`;
};

/** Reads the current timeline: the number added to the revisions of rows. */
export const readTimeline = (sql: Sql): Promise<number> => readNumber(sql`select revisions from lineage`);

const isOlder = ({ state }: DirtyEntity, timeline: number): boolean => state.facts.revision < timeline;

/** Whether some facts are from an earlier timeline; only then `noteOlderFacts` is needed. */
export const hasOlderFacts = (entities: readonly DirtyEntity[], timeline: number): boolean =>
  entities.some((entity) => isOlder(entity, timeline));

/**
 * Records that facts must be sent again if those in the hot store are from an earlier timeline: they may be
 * the result of edits that this SQL has lost.
 */
export const noteOlderFacts = async (
  transaction: Transaction,
  entities: readonly DirtyEntity[],
  timeline: number,
): Promise<void> => {
  const older = entities.filter((entity) => isOlder(entity, timeline));
  if (older.length === 0) return;
  const incarnations = older.map(({ ref }) => ref.incarnation).sort((left, right) => left - right);
  await transaction`
    insert into edited (incarnation, revision)
    select incarnation, revision - ${timeline}::bigint from facts
    where incarnation = any(${formatNumbers(incarnations)}::bigint[]) order by incarnation
    on conflict do nothing`;
};
