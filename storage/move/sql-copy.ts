/**
 * Copies all rows, partitions and sequences of one database into another of the same schema.
 *
 * Rows travel as Postgres prints them, so nothing is converted, and triggers do not run: what they would
 * derive is copied, too. The caller runs it in one transaction of the target.
 */
import { writeWhileReading } from '../../engine/tools/write-while-reading.ts';
import { formatTexts, type Queryable, type Sql, type Transaction } from '../sql/client.ts';
import { hasTable, readNumber } from '../sql/rows.ts';

/** Belongs to the stores, not to the directory. */
const ownTables = ['schema_versions', 'hot_store'];
const rowsPerStep = 2_000;

interface Table {
  readonly name: string;
  /** Without generated ones. */
  readonly columns: readonly string[];
  /** All, in order: they must be the same on both sides. */
  readonly layout: string;
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Tables in an order in which each comes after those it refers to. */
const listTables = async (sql: Queryable): Promise<readonly Table[]> => {
  const tables = await sql<(Table & { refers: string[] })[]>`
    select c.relname as name,
      (select json_agg(attname order by attnum) from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
      (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ',' order by attnum)
        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as layout,
      (select coalesce(json_agg(distinct f.relname), '[]') from pg_constraint k join pg_class f
        on f.oid = k.confrelid where k.conrelid = c.oid and k.contype = 'f') as refers
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition and c.relname <> all(${ownTables}) order by c.relname`;
  const ordered: Table[] = [];
  while (ordered.length < tables.length) {
    const before = ordered.length;
    for (const table of tables) {
      const isFree = table.refers.every(
        (name) => name === table.name || ordered.some((t) => t.name === name),
      );
      if (isFree && !ordered.includes(table)) ordered.push(table);
    }
    if (ordered.length === before) throw new Error('The tables refer to each other in a circle.');
  }
  return ordered;
};

/** Counts the rows that a copy has. */
export const countRows = async (sql: Sql): Promise<number> => {
  let rows = 0;
  for (const { name } of await listTables(sql))
    rows += await readNumber(sql.unsafe(`select count(*) as rows from ${quote(name)}`));
  return rows;
};

/**
 * Replaces everything in the target by what the source has; of the generations only where both have as many
 * shards. `onRows` gets the number of rows of each step.
 * Rejects when the schemas differ.
 */
export const writeCopy = async (
  [source, target]: readonly [Sql, Transaction],
  onRows: (rows: number) => void,
): Promise<void> => {
  const tables = await listTables(source);
  const known = new Map((await listTables(target)).map(({ name, layout }) => [name, layout]));
  const other = tables.find(({ name, layout }) => known.get(name) !== layout);
  if (other !== undefined || known.size !== tables.length)
    throw new Error(`The tables of the two databases differ (${other?.name ?? 'one has more'}).`);
  for (const { name } of tables) await target.unsafe(`alter table ${quote(name)} disable trigger user`);
  await target.unsafe(`truncate ${tables.map(({ name }) => quote(name)).join()}`);
  const indexes = await dropIndexes(target);
  await createPartitions(source, target);
  await source.begin('isolation level repeatable read read only', async (reader) => {
    await endTimeLimits(reader);
    for (const table of tables) await copyTable([reader, target], table, onRows);
    await copySequences(reader, target);
  });
  for (const definition of indexes) await target.unsafe(definition);
  for (const { name } of tables) await target.unsafe(`alter table ${quote(name)} enable trigger user`);
};

/**
 * Drops keys, references and indexes, and returns the statements that make them again: building them at the
 * end takes a fraction of the time that adding and checking row by row takes.
 */
const dropIndexes = async (target: Transaction): Promise<readonly string[]> => {
  const constraints = await target<{ of: string; name: string; type: string; definition: string }[]>`
    select c.relname as of, k.conname as name, k.contype as type, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.connamespace = current_schema()::regnamespace and k.contype in ('f', 'p', 'u')
      and k.conparentid = 0 and c.relname <> all(${ownTables})
    order by k.contype = 'f' desc, c.relname, k.conname`;
  for (const { of, name } of constraints)
    await target.unsafe(`alter table ${quote(of)} drop constraint ${quote(name)}`);
  const indexes = await target<{ name: string; definition: string }[]>`
    select c.relname as name, pg_get_indexdef(c.oid) as definition
    from pg_class c join pg_index i on i.indexrelid = c.oid join pg_class t on t.oid = i.indrelid
    where c.relnamespace = current_schema()::regnamespace and not c.relispartition
      and t.relname <> all(${ownTables}) order by c.relname`;
  for (const { name } of indexes) await target.unsafe(`drop index ${quote(name)}`);
  const toAdd = (isReference: boolean): string[] =>
    constraints
      .filter(({ type }) => (type === 'f') === isReference)
      .map(
        ({ of, name, definition }) => `alter table ${quote(of)} add constraint ${quote(name)} ${definition}`,
      );
  // Of a partitioned table the definition says that partitions have none.
  const toCreate = indexes.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
  return [...toAdd(false), ...toCreate, ...toAdd(true)];
};

/** Ends the time limits of the transaction, because a copy may take hours. */
export const endTimeLimits = async (transaction: Transaction): Promise<void> => {
  await transaction`set local statement_timeout = 0`;
  await transaction`set local idle_in_transaction_session_timeout = 0`;
};

const createPartitions = async (source: Queryable, target: Queryable): Promise<void> => {
  const partitions = await source<{ name: string; parent: string; bound: string }[]>`
    select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
    where c.relispartition and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`;
  for (const { name, parent, bound } of partitions) {
    if (await hasTable(target, quote(name))) continue;
    await target.unsafe(`create table ${quote(name)} (like ${quote(parent)} including all)`);
    await target.unsafe(`alter table ${quote(parent)} attach partition ${quote(name)} ${bound}`);
  }
};

const copyTable = async (
  [reader, target]: readonly [Transaction, Transaction],
  { name, columns }: Table,
  onRows: (rows: number) => void,
): Promise<void> => {
  const table = quote(name);
  const insert =
    `insert into ${table} (${columns.map(quote).join()}) overriding system value ` +
    `select ${columns.map((column) => `(r).${quote(column)}`).join()} ` +
    `from (select row::${table} as r from unnest($1::text[]) as row offset 0) as read`;
  const read = reader.unsafe<{ row: string }[]>(`select t::text as row from ${table} as t`);
  await writeWhileReading(read.cursor(rowsPerStep), async (rows) => {
    if (rows.length === 0) return;
    await target.unsafe(insert, [formatTexts(rows.map(({ row }) => row))]);
    onRows(rows.length);
  });
};

const copySequences = async (reader: Transaction, target: Transaction): Promise<void> => {
  const sequences = await reader<{ name: string }[]>`
    select sequencename as name from pg_sequences where schemaname = current_schema()`;
  for (const { name } of sequences) {
    const [state] = await reader.unsafe<{ last: string; called: boolean }[]>(
      `select last_value::text as last, is_called as called from ${quote(name)}`,
    );
    await target`select setval(${quote(name)}, ${state?.last ?? '1'}::bigint, ${state?.called ?? false})`;
  }
};
