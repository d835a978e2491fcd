/**
 * The index of words, without which there is no public search.
 *
 * The schema creates it where the role may create `pg_trgm`. Where it is missing, because the extension came
 * later or a build was interrupted, one node at a time builds it beside the running ones: in a large
 * directory that takes minutes.
 */
import type { ReservedSql } from 'postgres';
import type { Queryable, Sql } from './client.ts';
import { isConnectionLoss, toStorageError } from './errors.ts';
import { locks } from './locks.ts';
import { hasRow, readFlag } from './rows.ts';

/** Whether the search has its index. */
export const hasSearch = (sql: Queryable): Promise<boolean> =>
  hasRow(sql`select from pg_index where indexrelid = to_regclass('search_words') and indisvalid`);

/** Whether the extension is there, or can be created by this role. */
const hasTrigrams = async (sql: Queryable): Promise<boolean> => {
  await sql`create extension if not exists pg_trgm`.catch((error: unknown) => {
    if (isConnectionLoss(error)) throw error;
  });
  return hasRow(sql`select from pg_extension where extname = 'pg_trgm'`);
};

/** Builds on a session that no other work uses. Resolves to whether it did. */
const build = async (session: Sql): Promise<boolean> => {
  // First a statement whose row does not matter: where one on this connection failed after its first rows,
  // the driver (3.4.9) puts holes before the rows of the next.
  await session`
    select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`;
  if (!(await readFlag(session`select pg_try_advisory_lock(${locks.searchIndex})`))) return false;
  if ((await hasSearch(session)) || !(await hasTrigrams(session))) return false;
  await session`drop index concurrently if exists search_words`;
  await session`
    create index concurrently search_words on search_entries using gin (words gin_trgm_ops, tags)`;
  return true;
};

/** Sets the session back to what other work expects. */
const giveBack = async (session: ReservedSql): Promise<void> => {
  await session`reset statement_timeout`;
  await session`reset lock_timeout`;
  await session`select pg_advisory_unlock_all()`;
  session.release();
};

/**
 * Builds the index where it is missing, without blocking writers. Resolves to whether it did: not where it is
 * there, another node builds it, or it cannot be. Rejects with a `StorageError`; the next run tries again.
 */
export const buildSearchIndex = async (sql: Sql): Promise<boolean> => {
  try {
    if (await hasSearch(sql)) return false;
    // A session of its own: the time-outs are set on it, and an index cannot be built in a transaction.
    const session = await sql.reserve();
    const built = await build(session).catch(async (error: unknown) => {
      // A statement on a lost connection ends the process, and the driver has taken that connection back.
      if (!isConnectionLoss(error)) await giveBack(session);
      throw error;
    });
    await giveBack(session);
    return built;
  } catch (error) {
    throw toStorageError('buildSearchIndex', error);
  }
};
