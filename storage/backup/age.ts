/**
 * Which of the two stores is the older one, and what puts SQL right when it is.
 *
 * A row in SQL names the (generation, version) of the hot store it was flushed from. A shard of the hot store
 * that has not come so far has lost something. The other way round proves nothing by itself: SQL is always a
 * flush behind. So who puts an older SQL in place says so, and all totals are written anew. Called by
 * storage/backup/servers.ts and the command line.
 */
import { isBefore } from '../../engine/entity/history.ts';
import { allShards } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import type { Sql } from '../sql/client.ts';

/** The newest a store knows of a shard. */
export interface NumberedShardPosition {
  readonly shard: number;
  readonly generation: number;
  readonly version: number;
}

/** The newest row of every shard that has one. Reads all totals once. */
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

/** Shards that the hot store holds at an older place than these. One never published is empty, not older. */
export const listShardsBehind = async (
  hot: HotStore,
  places: readonly NumberedShardPosition[],
): Promise<readonly number[]> => {
  const known = await hot.readVersions(allShards);
  return places
    .filter((wanted) => {
      const place = known[wanted.shard];
      return place !== undefined && place.generation > 0 && isBefore(place, wanted);
    })
    .map(({ shard }) => shard);
};

/** Whether the hot store was ever published to: it may hold counters. */
export const hasAnyShard = async (hot: HotStore): Promise<boolean> =>
  (await hot.readGenerations()).some((generation) => generation > 0);

/**
 * Gives the hot store a generation that no SQL has seen: whichever database is there at the next start is
 * another one, and gets all totals anew. Hot when it resolves.
 */
export const raiseGenerationsPastSql = async (
  hot: HotStore,
  places: readonly NumberedShardPosition[],
): Promise<void> => {
  const known = [...(await hot.readGenerations()), ...places.map(({ generation }) => generation)];
  const generation = Math.max(0, ...known) + 1;
  await hot.publish(allShards.map((shard) => ({ shard, generation })));
};
