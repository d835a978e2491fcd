/**
 * The counted segments of the long lists in SQL (migration 003), and the recount that keeps them up to date.
 *
 * Triggers record changes as rows of their own. Only `recount` consumes them, one at a time, in a transaction
 * with one snapshot of the database: so the counts of the segments are exactly those of the rows it sees.
 * Nothing is held in memory here.
 */
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { retrySerializable } from '../../sql/retry.ts';

export type ListName = 'bots' | 'servers' | 'packs';

/** The table, key and condition of a list. The conditions equal those of the triggers. */
interface ListSource {
  readonly table: string;
  readonly id: string;
  readonly listed: (sql: Queryable) => ReturnType<Queryable>;
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
/** Vacuums after a recount of more changes than this, and after each so many recounts that changed a list. */
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
  const rows = await sql<{ id: string }[]>`
    select ${sql(id)} as id from ${buildSegmentCondition(sql, list, position)}
    order by created_at desc, ${sql(id)} desc limit ${rowsMax}`;
  return rows.map((row) => row.id);
};

/** Reads for each step the id that is `above` rows above the low end of its segment, in the order given. */
export const readSteps = async (
  sql: Queryable,
  list: ListName,
  steps: readonly { readonly from: SegmentKey; readonly above: number }[],
): Promise<readonly string[]> => {
  const { table, id, listed } = sources[list];
  const above = steps.map((step) => String(step.above));
  const rows = await sql<{ id: string }[]>`
    select row.id from ${buildKeys(
      sql,
      steps.map((step) => step.from),
    )} as keys (at, id, place)
    join unnest((select ${above}::text[]::bigint[])) with ordinality as steps (above, place) using (place)
    cross join lateral (
      select ${sql(id)} as id from ${sql(table)}
      where ${listed(sql)} and (created_at, ${sql(id)}) >= (keys.at, keys.id)
      order by created_at, ${sql(id)} offset steps.above limit 1) as row
    order by place`;
  return rows.map((row) => row.id);
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
  counter: SegmentCounter,
  list: ListName,
  outdated: readonly SegmentKey[],
): Promise<Layout> => {
  const { sql, segmentEntries } = counter;
  let changes = 0;
  const counted = await retrySerializable(() =>
    sql.begin('isolation level repeatable read', async (transaction): Promise<Layout> => {
      await transaction`lock table list_heads in share row exclusive mode`;
      await transaction`select set_config('statement_timeout', ${String(recountMsMax)}, true)`;
      changes = await countChanges(transaction, list);
      const layout = await readLayout(transaction, list);
      const cut = await cutSegments(transaction, list, { layout, outdated, segmentEntries });
      const joined = !cut && (await joinSegments(transaction, list, { layout, segmentEntries }));
      return cut || joined ? readLayout(transaction, list) : layout;
    }),
  );
  const layout = counted as Layout;
  if (changes > vacuumChanges || layout.version % vacuumChanges === 0) await vacuum(sql);
  return layout;
};
export interface SegmentCounter {
  readonly sql: Sql;
  readonly segmentEntries: number;
}

/** Removes the dead rows of counted changes, which slow reads down. The embedded store has no autovacuum. */
const vacuum = async (sql: Sql): Promise<void> => {
  await sql`vacuum (skip_locked) list_changes, list_segments, list_heads`;
};

/** Counts the recorded changes into the segments and deletes them. Resolves to their number. */
const countChanges = async (transaction: Transaction, list: ListName): Promise<number> => {
  const [counted] = await transaction<{ changes: number }[]>`
    with named as (select ${list}::text as list),
    removed as (delete from list_changes where list = (select list from named) returning at, id, change),
    sums as (
      select segment.low_at, segment.low_id, sum(removed.change) as change
      from removed cross join lateral (
        select low_at, low_id from list_segments
        where list = (select list from named) and (low_at, low_id) <= (removed.at, removed.id)
        order by low_at desc, low_id desc limit 1) as segment
      group by segment.low_at, segment.low_id),
    raised as (
    update list_segments set entries = entries + sums.change from sums
    where list = (select list from named)
      and list_segments.low_at = sums.low_at and list_segments.low_id = sums.low_id)
    select count(*) as changes from removed`;
  const changes = counted?.changes ?? 0;
  if (changes > 0) await incrementVersion(transaction, list);
  return changes;
};

const incrementVersion = async (transaction: Transaction, list: ListName): Promise<void> => {
  await transaction`update list_heads set version = version + 1 where list = ${list}`;
};

const readLayout = async (transaction: Transaction, list: ListName): Promise<Layout> => {
  const [head] = await transaction<{ version: number }[]>`
    select version from list_heads where list = ${list}`;
  const segments = await transaction<Segment[]>`
    select low_at::text as at, low_id as id, entries from list_segments where list = ${list}
    order by low_at desc, low_id desc`;
  return { version: head?.version ?? 0, segments };
};

interface SegmentCut {
  readonly layout: Layout;
  readonly segmentEntries: number;
}

/** Cuts segments that are too long and recounts outdated ones. Resolves to whether any segment changed. */
const cutSegments = async (
  transaction: Transaction,
  list: ListName,
  { layout, outdated, segmentEntries }: SegmentCut & { readonly outdated: readonly SegmentKey[] },
): Promise<boolean> => {
  let changed = false;
  for (const [index, segment] of layout.segments.entries()) {
    const isOutdated = outdated.some(({ at, id }) => at === segment.at && id === segment.id);
    if (segment.entries < 2 * segmentEntries && !isOutdated) continue;
    await cutSegment(transaction, list, { layout, index, segmentEntries });
    changed = true;
  }
  if (changed) await incrementVersion(transaction, list);
  return changed;
};

const cutSegment = async (
  transaction: Transaction,
  list: ListName,
  { layout, index, segmentEntries }: SegmentCut & { readonly index: number },
): Promise<void> => {
  const segment = layout.segments[index] as Segment;
  const { id } = sources[list];
  await transaction`
    with numbered as materialized (
      select created_at, ${transaction(id)} as id,
        row_number() over (order by created_at, ${transaction(id)}) - 1 as place
      from ${buildSegmentCondition(transaction, list, { layout, index })}),
    total as (select count(*) as entries from numbered),
    first as (
      update list_segments set entries = least(total.entries, ${segmentEntries}::int) from total
      where list = ${list} and (low_at, low_id) = ${buildKey(transaction, segment)})
    insert into list_segments (list, low_at, low_id, entries)
    select ${list}, created_at, id, least(${segmentEntries}::int, total.entries - place) from numbered, total
    where place > 0 and place % ${segmentEntries}::int = 0`;
};

/** Joins small segments to their older neighbours. Resolves to whether any segment changed. */
const joinSegments = async (
  transaction: Transaction,
  list: ListName,
  { layout, segmentEntries }: SegmentCut,
): Promise<boolean> => {
  const joined = new Map<Segment, number>();
  const removed: Segment[] = [];
  let [base, entries]: [Segment | undefined, number] = [undefined, 0];
  for (const segment of layout.segments.toReversed()) {
    if (base !== undefined && entries + segment.entries <= segmentEntries / 2) {
      entries += segment.entries;
      joined.set(base, entries);
      removed.push(segment);
    } else [base, entries] = [segment, segment.entries];
  }
  if (removed.length === 0) return false;
  const grown = [...joined];
  await transaction`
    update list_segments set entries = grown.entries
    from ${buildKeys(
      transaction,
      grown.map(([key]) => key),
    )} as keys (at, id, place)
    join unnest(${grown.map(([, count]) => String(count))}::text[]::bigint[]) with ordinality
      as grown (entries, place) using (place)
    where list = ${list} and low_at = keys.at and low_id = keys.id`;
  await transaction`
    delete from list_segments using ${buildKeys(transaction, removed)} as keys (at, id, place)
    where list = ${list} and low_at = keys.at and low_id = keys.id`;
  await incrementVersion(transaction, list);
  return true;
};

/** Builds a table of the keys, numbered from 1 in their order; its columns are `at`, `id` and `place`. */
export const buildKeys = (sql: Queryable, keys: readonly SegmentKey[]) => sql`
  unnest(${keys.map(({ at }) => at)}::text[]::timestamptz[], ${keys.map(({ id }) => id)}::text[])
    with ordinality`;
