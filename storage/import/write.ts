/**
 * Writes one batch of records in the caller's transaction.
 *
 * Writes the tables in the order of their references: one statement per table, with one array per column,
 * which `unnest` expands. SQL may refuse a row for a reason that the plan could not see (an itag in use, a
 * concurrent writer): then the batch is halved until the line is found, and the line gets the reason. Votes
 * get their numbers in the statement that inserts them, after those that the listing has: a client that waits
 * for new votes sees no old one later. They are no events and are not sent to webhooks.
 * Writes SQL only; the engine reads an entity on first use.
 */
import { computeShard, type EntityKind, toAddress } from '../../engine/ids.ts';
import { findUnfitFields } from '../../engine/rules/listings.ts';
import { buildRows, escapeText, type Transaction } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { memberFields, totalsFields } from './directory.ts';
import { type AnyRecord, type Cell, getValue, type RecordField, type RecordFields } from './fields.ts';
import { type KindName, kindNames, type RecordKind, recordKinds } from './kinds.ts';
import {
  type Entry,
  type Fault,
  listListings,
  listNamed,
  type NumberedRecord,
  type Plan,
  type PlanContext,
  planBatch,
} from './plan.ts';
import { getCreation } from './spec.ts';

export type Counts = Record<KindName, number>;
export const createZeroCounts = (): Counts =>
  Object.fromEntries(kindNames.map((kind) => [kind, 0])) as Counts;

export interface Written {
  /** Records added, by kind. */
  readonly added: Counts;
  /** Records whose id or key was already in the store. */
  skipped: number;
  readonly toMend: Record<string, number>;
  readonly faults: Fault[];
}

export interface WriteContext extends PlanContext {
  /** A trial is rolled back. It inserts no votes, so that it locks no listing that counts meanwhile. */
  readonly isTrial: boolean;
}

/** Inserts the new records. */
export const writeBatch = async (
  sql: Transaction,
  records: readonly NumberedRecord[],
  context: WriteContext,
): Promise<Written> => {
  const written: Written = { added: createZeroCounts(), skipped: 0, toMend: {}, faults: [] };
  if (!context.isTrial) await lockVoteTargets(sql, records);
  const open: (readonly NumberedRecord[])[] = records.length > 0 ? [records] : [];
  for (let part = open.pop(); part; part = open.pop()) {
    const refusal = await tryPart(sql, { part, context, written });
    if (refusal === null) continue;
    const half = part.length >> 1;
    if (half === 0) written.faults.push({ line: part[0]?.line ?? 0, reason: refusal });
    else open.push(part.slice(half), part.slice(0, half));
  }
  written.faults.sort((a, b) => a.line - b.line);
  return written;
};

/**
 * Locks the listings whose votes are imported, in the order of every writer of votes (ledger/vote-log.ts).
 * All at once and before the first savepoint: parts of a batch would lock them in another order.
 */
const lockVoteTargets = async (sql: Transaction, records: readonly NumberedRecord[]): Promise<void> => {
  const votes = records.flatMap(({ record }) => (record.kind === 'vote' ? [record] : []));
  if (votes.length === 0) return;
  await sql`
    select from totals where (kind, entity_id) in (
      select * from ${buildRows(sql, votes, { target_type: 'text', target_id: 'text' })}
    ) order by incarnation for no key update`;
};

interface Part {
  readonly part: readonly NumberedRecord[];
  readonly context: WriteContext;
  readonly written: Written;
}

/** Writes a whole part and returns `null`; or writes nothing and returns why SQL refused a row. */
const tryPart = async (sql: Transaction, { part, context, written }: Part): Promise<string | null> => {
  try {
    const { plan, added } = await sql.savepoint(async (inner) => {
      const plan = await planBatch(inner, part, context);
      return { plan, added: await writePlan(inner, plan, context) };
    });
    for (const kind of kindNames) {
      written.added[kind] += added[kind];
      written.skipped += plan.entries[kind].length - added[kind];
    }
    written.skipped += plan.skipped;
    for (const { kind, record, missesCode } of listListings(plan)) {
      for (const field of [...findUnfitFields(kind, record), ...(missesCode ? ['vanity'] : [])]) {
        const name = `${kind}.${field}`;
        written.toMend[name] = (written.toMend[name] ?? 0) + 1;
      }
    }
    written.faults.push(...plan.faults);
    return null;
  } catch (error) {
    const failure = toStorageError('import', error);
    if (failure.reason !== 'row') throw failure;
    return `refused by the database: ${(error as { detail?: string }).detail ?? (error as Error).message}`;
  }
};

const writePlan = async (sql: Transaction, plan: Plan, { now, isTrial }: WriteContext): Promise<Counts> => {
  const added = createZeroCounts();
  const insert = async ({ columns, statement }: Table, rows: readonly Row[]): Promise<number> => {
    if (rows.length === 0) return 0;
    const cells = columns.map((column) => formatColumn(column, rows, now));
    return (await sql.unsafe(statement, cells, { prepare: true })).count;
  };
  const insertKind = async (kind: KindName): Promise<void> => {
    const entries = plan.entries[kind];
    added[kind] = isTrial && kind === 'vote' ? entries.length : await insert(kindTables[kind], entries);
  };
  const listings = listListings(plan);
  const members = plan.entries.team.flatMap(({ id, record }) =>
    (record.members as AnyRecord[]).map((member) => ({
      id,
      record: { created_at: record.created_at, ...member },
    })),
  );
  const { user, team, ...others } = recordKinds;
  // All statements are sent at once: a transaction has one connection, which runs them in this order.
  await Promise.all([
    insertKind(user.name),
    insert(totalsTable, listings),
    insert(vanityTable, listNamed(plan)),
    insertKind(team.name),
    insert(memberTable, members),
    ...Object.values(others).map(({ name }) => insertKind(name)),
  ]);
  return added;
};

/* ------------------------------------------------------------------- tables */

type Row = Pick<Entry, 'id' | 'record'> & Partial<Entry>;
interface Column {
  readonly name: string;
  readonly type: RecordField['type'];
  readonly cast?: RecordField['cast'];
  /** What SQL makes of the value. Default: the value itself. */
  readonly expression?: string;
  readonly value: (row: Row, now: string) => Cell;
}
interface Table {
  readonly columns: readonly Column[];
  readonly statement: string;
}

interface Rows {
  readonly names: string;
  /** Selects them as the table has them. */
  readonly select: string;
}
const insertAll = ({ names, select }: Rows, name: string) => `insert into ${name} (${names}) ${select}`;
const insertMissing = (rows: Rows, name: string) => `${insertAll(rows, name)} on conflict do nothing`;

/** Builds the statement that inserts many rows; its text never changes, so it is prepared once. */
const createTable = (name: string, columns: readonly Column[], buildInsert = insertAll): Table => {
  const names = columns.map((column) => column.name).join(', ');
  const unfolded = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ');
  const selected = columns.map(({ name, cast, expression = cast ? `${name}::${cast}` : name }) => expression);
  const select = `select ${selected.join(', ')} from unnest(${unfolded}) as n (${names})`;
  return { columns, statement: buildInsert({ names, select }, name) };
};

/**
 * Votes that SQL has are skipped. Numbers are taken for exactly those that are inserted, so none is left out;
 * votes of former listings get none. The caller has locked the listings. With `offset 0` each is looked up in
 * the index of its month; without, a join may read all votes there are for each batch.
 */
const insertNumbered = ({ names, select }: Rows): string => `
  with sent as (${select}), fresh as (
    select distinct on (itag, created_at) * from sent where not exists (
      select from votes where votes.itag = sent.itag and votes.created_at = sent.created_at offset 0)
  ), counted as (
    update totals set votes_logged = votes_logged + added
    from (select incarnation, count(*) as added from fresh group by incarnation) as sums
    where totals.incarnation = sums.incarnation
    returning totals.incarnation, votes_logged - added as before
  )
  insert into votes (${names}, log_number)
  select ${names}, before + row_number() over (partition by incarnation order by created_at, itag)
  from fresh left join counted using (incarnation)`;

const toColumn = (named: [string, RecordField]): Column => {
  const [name, { column, type, cast, toCell }] = named;
  const convert = toCell as ((value: unknown) => Cell) | undefined;
  return {
    name: column ?? name,
    type,
    cast,
    value: ({ record }, now) => {
      const value = getValue(record, named, now);
      return convert && value !== null && value !== undefined ? convert(value) : (value as Cell);
    },
  };
};
const toColumns = (fields: RecordFields, table?: RecordField['table']): Column[] =>
  Object.entries(fields)
    .filter(([, field]) => field.table === table)
    .map(toColumn);

const incarnation: Column = { name: 'incarnation', type: 'bigint', value: (row) => row.incarnation };
const createKindTable = ({ name, table, fields, listing, ignoreConflicts }: RecordKind): Table => {
  const columns = toColumns(fields);
  if (name === 'vote') return createTable(table, [incarnation, ...columns], insertNumbered);
  const buildInsert = ignoreConflicts ? insertMissing : insertAll;
  return createTable(table, listing ? [incarnation, ...columns] : columns, buildInsert);
};
const kindTables = Object.fromEntries(
  Object.values(recordKinds).map((kind) => [kind.name, createKindTable(kind)]),
) as Record<KindName, Table>;

const totalsTable = createTable('totals', [
  incarnation,
  { name: 'kind', type: 'text', value: ({ kind }) => kind },
  { name: 'entity_id', type: 'text', value: ({ id }) => id },
  {
    name: 'shard',
    type: 'bigint',
    value: ({ kind, id }) => computeShard(toAddress(kind as EntityKind, id)),
  },
  ...toColumns(totalsFields, 'totals'),
]);
const vanityTable = createTable('vanity', [
  { name: 'itag', type: 'uuid', value: ({ record }) => record.vanity_ref as string },
  { name: 'code', type: 'text', value: ({ record }) => record.vanity as string },
  { name: 'target_type', type: 'text', value: ({ kind }) => kind },
  { name: 'target_id', type: 'text', value: ({ id }) => id },
  { name: 'created_at', type: 'timestamptz', value: ({ record }, now) => getCreation(record, now) as string },
]);
const memberTable = createTable('team_members', [
  { name: 'team_id', type: 'text', value: ({ id }) => id },
  ...toColumns(memberFields),
]);

const formatColumn = ({ type, value }: Column, rows: readonly Row[], now: string): string => {
  const isText = type === 'text';
  const cells = rows.map((row) => {
    const cell = value(row, now);
    if (cell === null || cell === undefined) return 'null';
    return isText ? `"${escapeText(String(cell))}"` : String(cell);
  });
  return `{${cells.join(',')}}`;
};
