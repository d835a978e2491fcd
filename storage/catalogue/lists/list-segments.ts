/**
 * The counted segments of the long lists in SQL (migration 003), and the recount that keeps them up to date.
 *
 * Triggers record changes as rows of their own. Only `recount` consumes them, one at a time, in a transaction
 * with one snapshot of the database: so the counts of the segments are exactly those of the rows it sees.
 * This file stores nothing in memory.
 */
import {
  buildRows,
  type Fragment,
  type Queryable,
  retrySerializable,
  type Sql,
  type Transaction,
} from '../../sql/client.ts';
import { readColumn, readNumber } from '../../sql/rows.ts';
import { balanceSegments, countSteps, type Segments } from '../shared/segments.ts';

export type ListName = 'bots' | 'servers' | 'packs';

/** The table, key and condition of a list. The conditions equal those of the triggers. */
interface ListSource {
  readonly table: string;
  readonly id: string;
  readonly listed: (sql: Queryable) => Fragment;
}
const sources: Readonly<Record<ListName, ListSource>> = {
  bots: { table: 'bots', id: 'bot_id', listed: (sql) => sql`type in ('approved', 'certified')` },
  servers: {
    table: 'servers',
    id: 'server_id',
    listed: (sql) => sql`type in ('approved', 'certified') and state = 'public'`,
  },
  packs: { table: 'packs', id: 'url', listed: (sql) => sql`true` },
};

/** Entries of a new segment; a segment with twice as many is cut. */
export const segmentEntriesUsual = 500;
/** A vacuum follows a recount of more changes than this, and every so many versions of a list. */
const vacuumChanges = 500;
/** Statement timeout of a recount: after a bulk import it takes seconds. */
const recountMsMax = 120_000;

/** The sort key of a list entry. The time is text: a Date would cut off microseconds. */
export interface SegmentKey {
  readonly at: string;
  readonly id: string;
}
/** The entries from this key up to the next segment's key; the newest segment has no upper end. */
export interface Segment extends SegmentKey {
  readonly entries: number;
}
/** The segments in one snapshot, newest first. */
export interface Layout {
  readonly version: number;
  readonly segments: readonly Segment[];
}

const buildKey = (sql: Queryable, { at, id }: SegmentKey) => sql`(${at}::text::timestamptz, ${id}::text)`;

/** One segment of a layout. */
interface SegmentPosition {
  readonly layout: Layout;
  readonly index: number;
}

/** Builds the table and condition for the rows of the segment at `index`. */
const buildSegmentCondition = (
  sql: Queryable,
  list: ListName,
  { layout: { segments }, index }: SegmentPosition,
) => {
  const { table, id, listed } = sources[list];
  const upper = segments[index - 1];
  return sql`
    ${sql(table)} where ${listed(sql)}
    and (created_at, ${sql(id)}) >= ${buildKey(sql, segments[index] as Segment)}
    ${upper === undefined ? sql`` : sql`and (created_at, ${sql(id)}) < ${buildKey(sql, upper)}`}`;
};

/** Reads the ids of a segment, newest first; one more than the layout counts when there are more. */
export const readSegment = async (
  sql: Queryable,
  list: ListName,
  position: SegmentPosition,
): Promise<readonly string[]> => {
  const { id } = sources[list];
  const rowsMax = (position.layout.segments[position.index]?.entries ?? 0) + 1;
  return readColumn<string>(sql`
    select ${sql(id)} as id from ${buildSegmentCondition(sql, list, position)}
    order by created_at desc, ${sql(id)} desc limit ${rowsMax}`);
};

/** Reads for each step the id that is `above` rows above the low end of its segment, in the order given. */
export const readSteps = async (
  sql: Queryable,
  list: ListName,
  steps: readonly (SegmentKey & { readonly above: number })[],
): Promise<readonly string[]> => {
  const { table, id, listed } = sources[list];
  return readColumn<string>(sql`
    select row.id
    from ${buildRows(sql, steps, { at: 'timestamptz', id: 'text', above: 'bigint' })}
      with ordinality as steps (at, id, above, place)
    cross join lateral (
      select ${sql(id)} as id from ${sql(table)}
      where ${listed(sql)} and (created_at, ${sql(id)}) >= (steps.at, steps.id)
      order by created_at, ${sql(id)} offset steps.above limit 1) as row
    order by place`);
};

/** Counts the changes of a bulk import into all lists, so that the first readers need not wait for it. */
export const recountLists = async (sql: Sql): Promise<void> => {
  const segmentEntries = segmentEntriesUsual;
  for (const list of Object.keys(sources) as ListName[]) await recount({ sql, segmentEntries }, list, []);
};

/**
 * Counts the recorded changes into the segments, cuts those that have grown or are `outdated`, and joins
 * small neighbours. One transaction; it takes its snapshot after the lock, so no other recount is in
 * progress.
 */
export const recount = async (
  { sql, segmentEntries }: { readonly sql: Sql; readonly segmentEntries: number },
  list: ListName,
  outdated: readonly SegmentKey[],
): Promise<Layout> => {
  const segments = describeSegments(list, segmentEntries);
  let changes = 0;
  let isChanged = false;
  const layout = (await retrySerializable(() =>
    sql.begin('isolation level repeatable read', async (transaction): Promise<Layout> => {
      await transaction`lock table list_heads in share row exclusive mode`;
      await transaction`select set_config('statement_timeout', ${String(recountMsMax)}, true)`;
      changes = await countChanges(transaction, segments);
      if (outdated.length > 0) await markLong(transaction, segments, outdated);
      const balanced = await balanceSegments(transaction, segments);
      isChanged = changes > 0 || balanced;
      if (isChanged) await transaction`update list_heads set version = version + 1 where list = ${list}`;
      return readLayout(transaction, list);
    }),
  )) as Layout;
  const isDue = isChanged && layout.version % vacuumChanges === 0;
  if (changes > vacuumChanges || isDue) await vacuum(sql);
  return layout;
};

/** Removes the dead rows of counted changes, which slow reads down. The embedded store has no autovacuum. */
const vacuum = (sql: Sql): Promise<unknown> =>
  sql`vacuum (skip_locked) list_changes, list_segments, list_heads`;

const describeSegments = (list: ListName, size: number): Segments => ({
  table: 'list_segments',
  owner: 'list',
  order: list,
  low: 'low_id',
  rows: (sql) => {
    const { table, id, listed } = sources[list];
    return sql`select created_at as at, ${sql(id)} as id from ${sql(table)} where ${listed(sql)}`;
  },
  size,
});

/** Counts the recorded changes into the segments and deletes them. Resolves to their number. */
const countChanges = (transaction: Transaction, segments: Segments): Promise<number> =>
  readNumber(transaction`
    with steps as (
      delete from list_changes where list = (select ${segments.order}::text)
      returning at, id, change as step),
    ${countSteps(transaction, segments)}
    select count(*) as changes from steps`);

/** Lets outdated segments count as too long, so that their rows are counted again. */
const markLong = (
  transaction: Transaction,
  { order, size }: Segments,
  outdated: readonly SegmentKey[],
): Promise<unknown> => transaction`
  update list_segments set entries = ${2 * size}::bigint
  from ${buildRows(transaction, outdated, { at: 'timestamptz', id: 'text' })} as keys (at, id)
  where list = ${order} and low_at = keys.at and low_id = keys.id`;

const readLayout = async (transaction: Transaction, list: ListName): Promise<Layout> => {
  const version = await readNumber(transaction`select version from list_heads where list = ${list}`);
  const segments = await transaction<Segment[]>`
    select low_at::text as at, low_id as id, entries from list_segments where list = ${list}
    order by low_at desc, low_id desc`;
  return { version, segments };
};
