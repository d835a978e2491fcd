/**
 * Opens the embedded database of a data folder and maintains it until it is closed.
 *
 * Owns `postgres/`, the folder of the database. Commits are on disk when they are answered, so Postgres' own
 * recovery repairs what kill -9 or a power cut leave. Files that were damaged otherwise are never repaired
 * here: the operator restores a backup. The caller locks the data folder first.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError, toMessage } from '../../engine/errors.ts';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { isRoomLacking } from '../disk-room.ts';
import { guardSql, type Pool, type Sql } from '../sql/client.ts';
import { watchDamage } from '../sql/damage.ts';
import { toStorageError } from '../sql/errors.ts';
import { startInterval } from '../timers.ts';
import type { PackContents } from './copy.ts';
import { descriptorAdvice, hasFewDescriptors } from './descriptors.ts';
import { type EmbeddedSql, openEmbeddedSql, SocketFolderError } from './pglite.ts';
import type { SqlThread } from './sql-thread.ts';

export interface LedgerStoreOptions {
  /** The data folder, locked by this process. */
  readonly dataDirectory: string;
  /** See `EmbeddedOptions.thread`. */
  readonly sqlThread?: SqlThread | undefined;
  /** Receives failures of upkeep, and damage, for the log. */
  readonly onWarning: (message: string, error: unknown) => void;
  /** Called when statements begin to wait for room on the disk. */
  readonly onDiskFull?: ((error: StorageError) => void) | undefined;
  /** The database thread ended: every later statement in this process fails. Default: `onWarning`. */
  readonly onLost?: ((message: string, error: unknown) => void) | undefined;
}

const upkeepEveryMs = 15_000;
const manual = 'docs/runbook/damaged.md';

/** Builds the path of the database within a data folder. */
export const toDatabaseFolder = (dataDirectory: string): string => join(dataDirectory, 'postgres');

/** Tells the operator what is lost with the database, what is not, and what to do. */
export const describeLoss = (dataDirectory: string): string => {
  const hot = join(dataDirectory, 'hot');
  const countersLeft = existsSync(hot)
    ? `The counters (totals of stats, clicks and votes) are still in ${hot}. `
    : 'No counters are lost: there were none. ';
  const advice = existsSync(hot)
    ? 'With a backup: restore it into a new DATA_DIR, replace its folder "hot" by the one named ' +
      'above and run "rollcall ops reflush". Without one: import the directory into a new DATA_DIR; ' +
      'counters then begin with what the import says. '
    : 'Restore a backup into a new DATA_DIR, or import the directory into one. ';
  return (
    'Lost, unless a backup has them, are listings, users, edits, sessions and the rows of votes. ' +
    `${countersLeft}Nothing was deleted. ${advice}${manual} has the steps.`
  );
};

const describeDamage = (folder: string, description: string): Note =>
  toNote(
    'sql_damaged',
    `The embedded SQL in ${folder} is damaged (${description}): requests that need the damaged part are ` +
      'answered 503, the rest works. Act soon: edits made from now on may be lost with it. Stop the ' +
      'server, restore a backup into a new DATA_DIR, replace its folder "hot" by the one of this DATA_DIR ' +
      'and run ' +
      `"rollcall ops reflush" (${manual}).`,
  );

const nothingLost = 'Nothing is lost: it is new.';

/** The limit of the host that may be why it failed, for the operator. */
const findHostCause = (why: string): string | null => {
  if (hasFewDescriptors()) return descriptorAdvice;
  if (!/out of memory|allocate memory|cannot enlarge memory|ENOMEM|EAGAIN/i.test(why)) return null;
  return 'It got no memory. Nothing is lost: raise the limit (ulimit -v, a container) and start again.';
};

const open = async (folder: string, options: LedgerStoreOptions): Promise<EmbeddedSql> => {
  const isNew = !existsSync(folder);
  try {
    return await openEmbeddedSql({
      directory: folder,
      thread: options.sqlThread,
      onCrash: (error) => (options.onLost ?? options.onWarning)('the embedded database ended', error),
      onWarning: options.onWarning,
      onDiskFull: options.onDiskFull,
    });
  } catch (cause) {
    if (cause instanceof SocketFolderError) throw cause;
    const why = toMessage(cause);
    if (isRoomLacking(options.dataDirectory))
      throw new StorageError('open', { outcome: 'not_applied', reason: 'full', detail: why, cause });
    const advice = findHostCause(why) ?? (isNew ? nothingLost : describeLoss(options.dataDirectory));
    const detail = `The database in ${folder} cannot be opened (${why}). ${advice}`;
    throw new StorageError('open', { outcome: 'not_applied', reason: 'unreachable', detail, cause });
  }
};

/** Packs in a transaction: it occupies the only connection, so no other statement runs until it ends. */
const packQuiesced = async ({ sql, packInto }: EmbeddedSql, file: string, meanwhile: () => Promise<void>) => {
  await sql`checkpoint`;
  return sql.begin('read only', async () => {
    const [contents] = await Promise.all([packInto(file), meanwhile()]);
    return contents;
  }) as Promise<PackContents>;
};

/** Vacuums and analyses on a timer, one run at a time. Returns a function that stops it. */
const startUpkeep = ({ sql }: Pool, onWarning: LedgerStoreOptions['onWarning']): (() => void) => {
  const message = 'upkeep of the database failed';
  return startInterval(
    upkeepEveryMs,
    () => runUpkeep(sql),
    (error) => {
      // Damage has a note.
      if (toStorageError(message, error).reason !== 'damaged') onWarning(message, error);
    },
  );
};

/**
 * Opens the database, creates it if missing, and starts its upkeep. Rejects with a `StorageError` whose
 * message is for the operator.
 */
export const openLedgerStore = async (options: LedgerStoreOptions) => {
  const folder = toDatabaseFolder(options.dataDirectory);
  const embedded = await open(folder, options);
  const damage = watchDamage({
    lasts: true,
    findOtherCause: () => (hasFewDescriptors() ? descriptorAdvice : ''),
  });
  const pool = {
    sql: guardSql(embedded.sql, damage),
    requestSql: guardSql(embedded.requestSql, damage),
  };
  const stopUpkeep = startUpkeep(pool, options.onWarning);
  return {
    ...pool,
    /**
     * Packs the database into a new file, not synced. Statements wait until both this and `meanwhile` are
     * done.
     */
    packInto: (file: string, meanwhile: () => Promise<void>) => packQuiesced(embedded, file, meanwhile),
    /** Says that statements wait for room on the disk; `null` while there is enough. */
    describeFullDisk: (): Note | null =>
      embedded.isDiskFull()
        ? `disk_full: the embedded SQL in ${folder} waits for room: make some there`
        : null,
    /** Describes the damage of the database for the operator; `null` for none. */
    getLastError: (): Note | null => (damage.met() === '' ? null : describeDamage(folder, damage.met())),
    /** Stops the upkeep and closes the database. Idempotent. */
    close: () => {
      stopUpkeep();
      return embedded.close();
    },
  };
};

/** A table is due once this many rows plus a fifth of its live rows are dead, new or changed. */
const changedRowsMin = 10_000;
const changedShare = 0.2;

/**
 * Vacuums the table with the most rows that are dead or new, if it is due, else analyses the one with the
 * most changes: PGlite does neither by itself, and the totals table would grow for ever. Other statements
 * wait meanwhile. Postgres itself removes most dead rows when their page is changed again, so changes alone
 * are no reason for a vacuum, which writes all pages of a table and its log.
 */
export const runUpkeep = async (sql: Sql): Promise<void> => {
  const [due] = await sql<{ name: string; is_vacuum: boolean }[]>`
    select name, is_vacuum from (
      select relname as name, ${changedRowsMin} + ${changedShare}::float8 * n_live_tup as due_at,
        greatest(n_dead_tup, n_ins_since_vacuum) as uncleaned, n_mod_since_analyze as changed
      from pg_stat_user_tables
    ) as measured, lateral (values (true, uncleaned), (false, changed)) as work (is_vacuum, amount)
    where amount > due_at order by is_vacuum desc, amount desc limit 1`;
  if (due?.is_vacuum) await sql`vacuum (analyze) ${sql(due.name)}`;
  else if (due) await sql`analyze ${sql(due.name)}`;
};
