/**
 * The counted segments of the long lists in SQL (migration 003), and counting into them what came and went.
 *
 * Triggers note changes as rows of their own; `recount` is the only one who takes them away, one at a time,
 * in a transaction whose view of everything is one moment: so the segments' counts are exactly those of the
 * rows it sees. Nothing is kept in memory here. Used by list-order.ts and by imports.
 */
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { retrySerializable } from '../../sql/retry.ts';

export type ListName = 'bots' | 'servers' | 'packs';

/** Where a list's rows are. The conditions are those of the triggers. */
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

/** Entries of a segment when it is cut; it is cut again at twice as many. */
export const segmentEntriesUsual = 500;
/** Sweeps after a recount of more changes than this, and each time so many recounts have changed a list. */
const sweepChanges = 500;
/** A recount after a bulk import takes seconds; it is nobody's request that should be cut then. */
const recountMsMax = 120_000;

/** A place in a list. The time is text: a Date would cut microseconds. */
export interface SegmentKey {
  readonly at: string;
  readonly id: string;
}
/** From its key up to the next one's; the newest segment has no upper end. */
export interface Segment extends SegmentKey {
  readonly entries: number;
}
/** What the segments said at one moment, newest first. */
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

/** Rows of the list whose keys lie in the segment at `index`. */
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

/** Its ids, newest first; one more than the layout says when there are more. */
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

/** For each step, the id so many rows above the low end of its segment, in the order of the steps. */
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
    join unnest(${above}::text[]::bigint[]) with ordinality as steps (above, place) using (place)
    cross join lateral (
      select ${sql(id)} as id from ${sql(table)}
      where ${listed(sql)} and (created_at, ${sql(id)}) >= (keys.at, keys.id)
      order by created_at, ${sql(id)} offset steps.above limit 1) as row
    order by place`;
  return rows.map((row) => row.id);
};

/** Counts in what a bulk import has brought, so that the first readers need not wait for it. */
export const recountLists = async (sql: Sql): Promise<void> => {
  const segmentEntries = segmentEntriesUsual;
  for (const list of Object.keys(sources) as ListName[]) await recount({ sql, segmentEntries }, list, []);
};

/**
 * Counts the noted changes into the segments, cuts those that have grown or are named in `doubted`, and joins
 * small neighbours: one transaction whose view of everything begins when nobody else recounts.
 */
export const recount = async (
  counter: SegmentCounter,
  list: ListName,
  doubted: readonly SegmentKey[],
): Promise<Layout> => {
  const { sql, segmentEntries } = counter;
  let changes = 0;
  const counted = await retrySerializable(() =>
    sql.begin('isolation level repeatable read', async (transaction): Promise<Layout> => {
      await transaction`lock table list_heads in share row exclusive mode`;
      await transaction`select set_config('statement_timeout', ${String(recountMsMax)}, true)`;
      changes = await countChanges(transaction, list);
      const layout = await readLayout(transaction, list);
      const cut = await cutSegments(transaction, list, { layout, doubted, segmentEntries });
      const joined = !cut && (await joinSegments(transaction, list, { layout, segmentEntries }));
      return cut || joined ? readLayout(transaction, list) : layout;
    }),
  );
  const layout = counted as Layout;
  if (changes > sweepChanges || layout.version % sweepChanges === 0) await sweep(sql);
  return layout;
};
export interface SegmentCounter {
  readonly sql: Sql;
  readonly segmentEntries: number;
}

/** What was counted leaves dead rows that every look would pass; in the embedded store nobody else sweeps. */
const sweep = async (sql: Sql): Promise<void> => {
  await sql`vacuum (skip_locked) list_changes, list_segments, list_heads`;
};

/** Resolves to how many there were. */
const countChanges = async (transaction: Transaction, list: ListName): Promise<number> => {
  const [counted] = await transaction<{ changes: number }[]>`
    with gone as (delete from list_changes where list = ${list} returning at, id, change),
    sums as (
      select place.low_at, place.low_id, sum(gone.change) as change
      from gone cross join lateral (
        select low_at, low_id from list_segments
        where list = ${list} and (low_at, low_id) <= (gone.at, gone.id)
        order by low_at desc, low_id desc limit 1) as place
      group by place.low_at, place.low_id),
    raised as (
    update list_segments set entries = entries + sums.change from sums
    where list = ${list} and list_segments.low_at = sums.low_at and list_segments.low_id = sums.low_id)
    select count(*) as changes from gone`;
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

/** Cuts what is twice as long as it should be, and counts anew what is doubted. True when something was. */
const cutSegments = async (
  transaction: Transaction,
  list: ListName,
  { layout, doubted, segmentEntries }: SegmentCut & { readonly doubted: readonly SegmentKey[] },
): Promise<boolean> => {
  let changed = false;
  for (const [index, segment] of layout.segments.entries()) {
    const inDoubt = doubted.some(({ at, id }) => at === segment.at && id === segment.id);
    if (segment.entries < 2 * segmentEntries && !inDoubt) continue;
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

/** Joins small segments to older neighbours, so that deletions do not leave crumbs. True when some were. */
const joinSegments = async (
  transaction: Transaction,
  list: ListName,
  { layout, segmentEntries }: SegmentCut,
): Promise<boolean> => {
  const joined = new Map<Segment, number>();
  const gone: Segment[] = [];
  let [base, entries]: [Segment | undefined, number] = [undefined, 0];
  for (const segment of layout.segments.toReversed()) {
    if (base !== undefined && entries + segment.entries <= segmentEntries / 2) {
      entries += segment.entries;
      joined.set(base, entries);
      gone.push(segment);
    } else [base, entries] = [segment, segment.entries];
  }
  if (gone.length === 0) return false;
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
    delete from list_segments using ${buildKeys(transaction, gone)} as keys (at, id, place)
    where list = ${list} and low_at = keys.at and low_id = keys.id`;
  await incrementVersion(transaction, list);
  return true;
};

export const buildKeys = (sql: Queryable, keys: readonly SegmentKey[]) => sql`
  unnest(${keys.map(({ at }) => at)}::text[]::timestamptz[], ${keys.map(({ id }) => id)}::text[])
    with ordinality`;
