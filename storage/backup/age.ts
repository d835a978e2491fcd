/**
 * Finds out which of the two stores is older, and prepares the repair of SQL if it is.
 *
 * A totals row in SQL has the (generation, version) of the hot store it was flushed from. If a shard of the
 * hot store has not reached it, the hot store has lost data. The opposite proves nothing: SQL is always a
 * flush behind. So the restore of an older SQL must call `raiseGenerationsPastSql`, and then all totals are
 * written again.
 */
import { isBefore } from '../../engine/entity/history.ts';
import { listAllShards } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import type { Sql } from '../sql/client.ts';

/** The newest position of one shard in a store. */
export interface NumberedShardPosition {
  readonly shard: number;
  readonly generation: number;
  readonly version: number;
}

/** Reads the newest position of every shard that SQL has rows of. Reads all totals once. */
export const readNewestPositions = (sql: Sql): Promise<readonly NumberedShardPosition[]> =>
  sql.begin('isolation level repeatable read read only', async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    return transaction<NumberedShardPosition[]>`
      select shard, generation, max(version) as version from totals
      join (select shard, max(generation) as generation from totals group by shard) newest
        using (shard, generation)
      where generation > 0
      group by shard, generation order by shard`;
  }) as Promise<readonly NumberedShardPosition[]>;

/**
 * Lists shards whose position in the hot store is before these. A shard never published is empty, not older.
 */
export const listShardsBehind = async (
  hot: HotStore,
  positions: readonly NumberedShardPosition[],
): Promise<readonly number[]> => {
  const hotPositions = await hot.readVersions(listAllShards(hot.countShards()));
  return positions
    .filter((position) => {
      const hotPosition = hotPositions[position.shard];
      return hotPosition !== undefined && hotPosition.generation > 0 && isBefore(hotPosition, position);
    })
    .map(({ shard }) => shard);
};

/** Whether any shard of the hot store was ever published: then it may have counters. */
export const hasAnyShard = async (hot: HotStore): Promise<boolean> =>
  (await hot.readGenerations()).some((generation) => generation > 0);

/**
 * Gives the hot store a generation above all those in SQL, so that the next start treats the database as
 * another one and writes all totals again. Hot when it resolves.
 */
export const raiseGenerationsPastSql = async (hot: HotStore, positions: readonly NumberedShardPosition[]) => {
  const generations = [...(await hot.readGenerations()), ...positions.map(({ generation }) => generation)];
  const generation = Math.max(0, ...generations) + 1;
  await hot.publish(listAllShards(hot.countShards()).map((shard) => ({ shard, generation })));
};
