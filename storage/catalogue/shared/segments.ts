/**
 * Counted segments of an order in SQL. Each has the key of its low end and the number of its rows: adding
 * these numbers finds any position without reading all rows. The caller keeps other writers out.
 */
import type { Fragment, Queryable, Transaction } from '../../sql/client.ts';

export interface Segments {
  readonly table: 'list_segments' | 'voter_segments';
  /** The column that says which order a segment is of, and what it is for this order. */
  readonly owner: 'list' | 'incarnation';
  readonly order: string | number;
  /** The column of the low end that sorts segments with one `low_at`. */
  readonly low: 'low_id' | 'low_itag';
  /** Builds the query of all rows in the order: `at` and `id`. */
  readonly rows: (sql: Queryable) => Fragment;
  /** Rows of a new segment; one with twice as many is cut. */
  readonly size: number;
}

/**
 * Builds parts of a statement that count the part `steps` into the segments: its columns are `at`, `id` and
 * `step`, by how much the segment of this key grows.
 */
export const countSteps = (sql: Queryable, { table, owner, order, low }: Segments) => sql`
    sums as (
      select found.low_at, found.low, sum(step) as step
      from steps cross join lateral (
        select low_at, ${sql(low)} as low from ${sql(table)}
        where ${sql(owner)} = ${order} and (low_at, ${sql(low)}) <= (steps.at, steps.id)
        order by low_at desc, ${sql(low)} desc limit 1) as found
      group by found.low_at, found.low),
    counted as (
      update ${sql(table)} as segment set entries = entries + sums.step from sums
      where ${sql(owner)} = ${order} and segment.low_at = sums.low_at and segment.${sql(low)} = sums.low
        and sums.step <> 0)`;

/** Cuts segments that are too long, and joins small ones when there are many. True if any changed. */
export const balanceSegments = async (transaction: Transaction, segments: Segments): Promise<boolean> => {
  const { table, owner, order, size } = segments;
  const [sizes] = await transaction<{ long: number; count: number; rows: string }[]>`
    select count(*) filter (where entries >= ${2 * size}::bigint) as long, count(*) as count,
      coalesce(sum(entries), 0)::text as rows
    from ${transaction(table)} where ${transaction(owner)} = ${order}`;
  const { long = 0, count = 0, rows = '0' } = sizes ?? {};
  if (long > 0) await cutLong(transaction, segments);
  const hasManySmall = count > (4 * Number(rows)) / size + 2;
  if (hasManySmall) {
    await joinPairs(transaction, segments);
    await balanceSegments(transaction, segments);
  }
  return long > 0 || hasManySmall;
};

/** Counts the rows of the segments that are too long, and cuts these. */
const cutLong = (
  sql: Transaction,
  { table, owner, order, low, rows, size }: Segments,
): Promise<unknown> => sql`
  with bounded as (
    select ${sql(owner)} as owner, low_at, ${sql(low)} as low, entries,
      coalesce(lead(low_at) over oldest_first, 'infinity') as high_at,
      coalesce(lead(${sql(low)}) over oldest_first, ${sql(low)}) as high
    from ${sql(table)} where ${sql(owner)} = ${order}
    window oldest_first as (order by low_at, ${sql(low)})),
  numbered as materialized (
    select owner, low_at, low, place.at, place.id,
      row_number() over (partition by low_at, low order by place.at, place.id) - 1 as number,
      count(place.at) over (partition by low_at, low) as total
    from bounded left join lateral (
      select at, id from (${rows(sql)}) as ordered
      where (at, id) >= (bounded.low_at, bounded.low) and (at, id) < (bounded.high_at, bounded.high)
    ) as place on true
    where entries >= ${2 * size}::bigint),
  shortened as (
    update ${sql(table)} as segment set entries = least(${size}::bigint, total) from numbered
    where ${sql(owner)} = ${order} and number = 0 and segment.low_at = numbered.low_at
      and segment.${sql(low)} = numbered.low)
  insert into ${sql(table)} (${sql(owner)}, low_at, ${sql(low)}, entries)
  select owner, at, id, least(${size}::bigint, total - number) from numbered
  where number > 0 and number % ${size}::bigint = 0`;

/** Joins neighbours in pairs; a pair stays apart if it has more rows than one segment. */
const joinPairs = (sql: Transaction, { table, owner, order, low, size }: Segments): Promise<unknown> => sql`
  with numbered as (
    select low_at, ${sql(low)} as low, entries, row_number() over (order by low_at, ${sql(low)}) as number
    from ${sql(table)} where ${sql(owner)} = ${order}),
  pairs as materialized (
    select older.low_at, older.low, newer.low_at as gone_at, newer.low as gone,
      older.entries + newer.entries as entries
    from numbered as older join numbered as newer on newer.number = older.number + 1
    where older.number % 2 = 1 and older.entries + newer.entries <= ${size}::bigint),
  gone as (
    delete from ${sql(table)} as segment using pairs
    where ${sql(owner)} = ${order} and segment.low_at = pairs.gone_at and segment.${sql(low)} = pairs.gone)
  update ${sql(table)} as segment set entries = pairs.entries from pairs
  where ${sql(owner)} = ${order} and segment.low_at = pairs.low_at and segment.${sql(low)} = pairs.low`;
