/**
 * The indexes of names that the operator's searches use, and those of listed entities that boards use.
 *
 * In a large directory an index takes seconds, and an ordinary migration would block writers for that long.
 * So a migration creates them only while their tables are small, and `buildSearchIndexes` creates the missing
 * ones beside the running nodes, one node at a time. Until then a search or board reads its whole table.
 */
import type { ReservedSql } from 'postgres';
import type { Queryable, Sql } from './client.ts';
import { isConnectionLoss, toStorageError } from './errors.ts';
import { locks } from './locks.ts';
import { hasRow, readFlag, readValue } from './rows.ts';

/** Equal to those of the migrations. */
const indexes = [
  { name: 'users_search', on: 'users ((fold_case(username) collate "C"), id)' },
  { name: 'servers_search', on: 'servers ((fold_case(name) collate "C"), server_id)' },
  { name: 'teams_search', on: 'teams ((fold_case(name) collate "C"), id)' },
  { name: 'packs_search', on: 'packs ((fold_case(name) collate "C"), url)' },
  { name: 'search_new', on: 'search_entries (kind, created_at desc, incarnation)' },
  { name: 'search_names', on: 'search_entries (kind, name collate "C", incarnation)' },
  { name: 'search_words', on: 'search_entries using gin (words gin_trgm_ops, tags)' },
  {
    name: 'bots_ranked',
    on: `bots (incarnation) include (listed_since, created_at) where type in ('approved', 'certified')`,
  },
  {
    name: 'servers_ranked',
    on: `servers (incarnation) include (created_at)
      where type in ('approved', 'certified') and state = 'public'`,
  },
] as const;

/** Finds the indexes that are missing, or were left invalid by an interrupted build. */
const findMissing = async (sql: Pick<Sql, 'unsafe'>): Promise<Set<string>> => {
  const rows = await sql.unsafe<{ name: string }[]>(
    `select name from unnest($1::text[]) as named(name) where not exists (
      select from pg_index where indexrelid = to_regclass(name) and indisvalid)`,
    [indexes.map(({ name }) => name) as unknown as string],
  );
  return new Set(rows.map(({ name }) => name));
};

/** Listings of one statement that fills the table of the search. */
const filledAtOnce = 5_000;

/** Writes the rows that triggers have not written since the migration, in ranges of incarnations. */
const fillSearch = async (sql: Queryable): Promise<void> => {
  let after: number | string | null = 0;
  while (after !== null) {
    after = await readValue<number | string>(sql`
      with listing as materialized (
        select incarnation from totals where incarnation > ${after}::bigint order by incarnation
        limit ${filledAtOnce}), filled as (
        insert into search_entries
        select described.* from listing, describe_search(listing.incarnation) as described
        on conflict do nothing)
      select max(incarnation) as last from listing`);
  }
};

/** Whether the extension is there, or can be created by this role. */
const hasTrigrams = async (sql: Queryable): Promise<boolean> => {
  await sql`create extension if not exists pg_trgm`.catch((error: unknown) => {
    if (isConnectionLoss(error)) throw error;
  });
  return hasRow(sql`select from pg_extension where extname = 'pg_trgm'`);
};

/** Builds on a session that no other work uses. Resolves to the number of indexes created. */
const build = async (session: Sql): Promise<number> => {
  // First a statement whose row does not matter: where one on this connection failed after its first rows,
  // the driver (3.4.9) puts holes before the rows of the next.
  await session`
    select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`;
  if (!(await readFlag(session`select pg_try_advisory_lock(${locks.searchIndexes})`))) return 0;
  const missing = await findMissing(session);
  if (missing.has('search_new')) await fillSearch(session);
  if (missing.has('search_words') && !(await hasTrigrams(session))) missing.delete('search_words');
  for (const { name, on } of indexes.filter((index) => missing.has(index.name))) {
    await session.unsafe(`drop index concurrently if exists ${name}`);
    await session.unsafe(`create index concurrently ${name} on ${on}`);
  }
  return missing.size;
};

/** Sets the session back to what other work expects. */
const giveBack = async (session: ReservedSql): Promise<void> => {
  await session`reset statement_timeout`;
  await session`reset lock_timeout`;
  await session`select pg_advisory_unlock_all()`;
  session.release();
};

/** Whether the search has its index. */
export const hasSearch = async (sql: Queryable): Promise<boolean> =>
  hasRow(sql`select from pg_index where indexrelid = to_regclass('search_words') and indisvalid`);

/**
 * Creates the missing indexes without blocking writers. Resolves to the number created; 0 if none is missing
 * or another node creates them. Rejects with a `StorageError`; the next start then tries again.
 */
export const buildSearchIndexes = async (sql: Sql): Promise<number> => {
  try {
    if ((await findMissing(sql)).size === 0) return 0;
    // One session for all: the time-outs are set on it, and an index cannot be built in a transaction.
    const session = await sql.reserve();
    const built = await build(session).catch(async (error: unknown) => {
      // A statement on a lost connection ends the process, and the driver has taken that connection back.
      if (!isConnectionLoss(error)) await giveBack(session);
      throw error;
    });
    await giveBack(session);
    return built;
  } catch (error) {
    throw toStorageError('buildSearchIndexes', error);
  }
};
