/**
 * Opens the embedded database of a data folder, whole or restored, and looks after it until it is closed.
 *
 * Owns `sql/` (the database), `snapshots/` and `sql.state.json` (how it was left) below the data folder. It
 * survives kill -9 by itself. After a power cut it may be torn: when it does not open, or when it was not
 * closed before the machine started anew and a full reading finds damage, the newest sound snapshot is put in
 * its place. Damage that is met later stops the snapshots, so that those before it stay, and is written
 * down until another database is in place. That the database may be older than the hot store is written down
 * before, and stays so until the caller says that it is not any more. Nothing is ever deleted that is not a
 * copy. The data folder is locked by the caller before.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../../engine/errors.ts';
import { beginTimeline } from '../ledger/generations.ts';
import type { Pool, Sql } from '../sql/client.ts';
import { watchDamage } from '../sql/damage.ts';
import { toStorageError } from '../sql/errors.ts';
import { guardSql } from '../sql/guard.ts';
import { syncFolder } from './copy.ts';
import { readBootId } from './lock.ts';
import { type EmbeddedSql, openEmbeddedSql } from './pglite.ts';
import { readAll } from './read-all.ts';
import { isProtected, listSnapshots, putBack, type SnapshotPaths, takeSnapshot } from './snapshot.ts';
import { createUpkeep } from './upkeep.ts';

export interface LedgerStoreOptions {
  /** The data folder, locked by this process. */
  readonly dataDirectory: string;
  /** Default 10 minutes. */
  readonly snapshotEveryMs?: number;
  /** Default 15 s. */
  readonly upkeepEveryMs?: number;
  /** Failures of snapshots and upkeep: words for the log. */
  readonly onWarning?: (words: string, error: unknown) => void;
  /** The database thread ended: no statement will ever succeed again here. Default: `onWarning`. */
  readonly onLost?: ((words: string, error: unknown) => void) | undefined;
}

export interface LedgerStore extends Pool {
  /**
   * The database is older than the hot store: the engine must be started with all its entities marked dirty
   * (`reflush`), so that totals are written anew. Every opening says so until `markCaughtUp`.
   */
  readonly restored: boolean;
  /** Whether there is anything in it that the hot store's counters could belong to. */
  readonly holdsDirectory: boolean;
  /** What the operator should know about this opening; empty when all is well. */
  readonly notes: readonly string[];
  /** The totals will be written anew, whatever happens now: the next opening need not say `restored`. */
  markCaughtUp(): void;
  /** Takes a snapshot now; statements pause while files are copied. Resolves to its name. */
  takeSnapshot(): Promise<string>;
  /** Takes one in the background unless there is one that the hot store can be continued from. */
  protect(): void;
  /** Words for the operator when the database is damaged, else `null`. */
  getLastError(): string | null;
  /** Takes a last snapshot, closes, and marks the folder as closed if that went well. Idempotent. */
  close(): Promise<void>;
}

interface FolderPaths extends SnapshotPaths {
  readonly state: string;
}
type LastEnd = 'closed' | 'killed' | 'machine_restarted';

/** What is known of the folder while nobody has it open. */
interface FolderState {
  readonly left: LastEnd;
  /** It may be older than the hot store, and nobody has written the totals anew. */
  readonly older: boolean;
  /** What was met of damage, `''` for nothing. */
  readonly damage: string;
}

const toFolderPaths = (dataDirectory: string): FolderPaths => ({
  live: join(dataDirectory, 'sql'),
  snapshots: join(dataDirectory, 'snapshots'),
  state: join(dataDirectory, 'sql.state.json'),
});

const readFolderState = (paths: FolderPaths): FolderState => {
  const unknown = { left: 'machine_restarted', older: false, damage: '' } as const;
  if (!existsSync(paths.state)) return existsSync(paths.live) ? unknown : { ...unknown, left: 'closed' };
  try {
    const state = JSON.parse(readFileSync(paths.state, 'utf8')) as FolderStateFile & {
      readonly boot: string;
    };
    const older = state.older === true;
    const damage = state.damage ?? '';
    if (!state.open) return { left: 'closed', older, damage };
    // Nobody has read all of one that was being mended.
    const known = !older && state.boot !== '' && state.boot === readBootId();
    return { left: known ? 'killed' : 'machine_restarted', older, damage };
  } catch {
    return unknown;
  }
};

/** What `sql.state.json` says. Files of earlier versions lack the last two. */
interface FolderStateFile {
  open: boolean;
  older?: boolean;
  damage?: string;
}

const writeFolderState = (paths: FolderPaths, state: Readonly<FolderStateFile>): void =>
  writeFileSync(paths.state, JSON.stringify({ ...state, boot: readBootId() }), { mode: 0o600, flush: true });

/** Says of a database that was put in place whole that nothing is to be mended. */
export const markClosed = (dataDirectory: string): void =>
  writeFolderState(toFolderPaths(dataDirectory), { open: false, older: false });

const openAndCheck = async (
  paths: FolderPaths,
  left: LastEnd,
  options: LedgerStoreOptions,
): Promise<EmbeddedSql> => {
  const embedded = await openEmbeddedSql({
    directory: paths.live,
    onCrash: (error) => (options.onLost ?? options.onWarning)?.('the embedded database ended', error),
  });
  try {
    await embedded.sql`select count(*) from pg_class`;
    if (left === 'machine_restarted') await readAll(embedded.sql);
    return embedded;
  } catch (error) {
    await embedded.close();
    throw error;
  }
};

/** Numbers of listings and edits that were given out and are forgotten here are known to the hot store. */
const skipGiven = async (sql: Sql): Promise<void> => {
  const [found] = await sql`select to_regclass('incarnations') is not null as made`;
  if (found?.made) await beginTimeline(sql);
};

interface OpenedSql {
  readonly embedded: EmbeddedSql;
  readonly restored: boolean;
  readonly notes: readonly string[];
  readonly damage: string;
}

const toMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const openOrRestore = async (paths: FolderPaths, options: LedgerStoreOptions): Promise<OpenedSql> => {
  const missing = !existsSync(paths.live);
  if (missing && listSnapshots(paths.snapshots).length > 0) {
    return restore(paths, options, 'the folder is missing');
  }
  const { left, older, damage } = readFolderState(paths);
  try {
    const embedded = await openAndCheck(paths, left, options);
    if (missing) return { embedded, restored: false, notes: [], damage: '' };
    if (left !== 'machine_restarted' && !older) return { embedded, restored: false, notes: [], damage };
    // Perhaps not as new as it was: the database does not sync.
    await skipGiven(embedded.sql);
    return { embedded, restored: true, notes: [older ? unfinishedWords : restartedWords], damage };
  } catch (error) {
    if (missing) throw error;
    return restore(paths, options, toMessage(error));
  }
};

const restartedWords =
  'The machine stopped while the database was open; every row was read and found whole. Counters are ' +
  'written anew from the hot store.';
const unfinishedWords =
  'A start before this one found the database older than the hot store and ended before it could mend ' +
  'that. Counters are written anew from the hot store.';

const isThere = async (sql: Sql, table: string): Promise<boolean> => {
  const [found] = await sql<{ made: boolean }[]>`select to_regclass(${table}) is not null as made`;
  if (!found?.made) return false;
  const [row] = await sql<{ filled: boolean }[]>`select exists (select from ${sql(table)}) as filled`;
  return row?.filled === true;
};

/** A copy without listings and generations is from before there was a directory. */
const holdsDirectory = async (sql: Sql): Promise<boolean> =>
  (await isThere(sql, 'totals')) || (await isThere(sql, 'generations'));

/** Tries snapshots from the newest. Throws words for the operator when none helps. */
const restore = async (paths: FolderPaths, options: LedgerStoreOptions, why: string): Promise<OpenedSql> => {
  const tried: string[] = [];
  // Before it lies in its place: whoever opens it next has to know.
  writeFolderState(paths, { open: true, older: true });
  for (const name of listSnapshots(paths.snapshots)) {
    try {
      const aside = await putBack(paths, name);
      const embedded = await openAndCheck(paths, 'machine_restarted', options);
      await skipGiven(embedded.sql);
      const kept = aside ? ` The broken folder was kept as ${aside}.` : '';
      const notes = [
        `The database in ${paths.live} could not be used (${why}). The snapshot ${name} was put in ` +
          'its place: edits and vote rows written since then are missing; counters are written anew from ' +
          `the hot store.${kept}`,
      ];
      return { embedded, restored: true, notes, damage: '' };
    } catch (error) {
      tried.push(`snapshot ${name}: ${toMessage(error)}`);
    }
  }
  throw new StorageError('open', {
    outcome: 'not_applied',
    reason: 'unreachable',
    detail:
      `The database in ${paths.live} could not be used (${why}) and no sound snapshot was found in ` +
      `${paths.snapshots}${tried.length > 0 ? ` (${tried.join('; ')})` : ''}. ` +
      describeLoss(options.dataDirectory),
  });
};

/** What is lost with the database, what is not, and what to do. */
export const describeLoss = (dataDirectory: string): string => {
  const hot = join(dataDirectory, 'hot');
  const kept = existsSync(hot)
    ? `The counters (totals of stats, clicks and votes) are still in ${hot}. `
    : 'No counters are lost: there were none. ';
  const way = existsSync(hot)
    ? 'With a backup: restore it into a new DATA_DIR, put this folder "hot" in the place of the one there ' +
      'and run "npm run ops -- reflush". Without one: import the directory into a new DATA_DIR; counters ' +
      'then begin with what the import says. '
    : 'Restore a backup into a new DATA_DIR, or import the directory into one. ';
  return (
    'Lost, unless a backup has them, are listings, users, edits, sessions and the rows of votes. ' +
    `${kept}Nothing was deleted. ${way}docs/operating.md, "When an embedded store fails", has the steps.`
  );
};

/** Counters lie in the data folder, and neither a database nor a copy of one. */
export const isBereft = (dataDirectory: string): boolean => {
  const { live, snapshots } = toFolderPaths(dataDirectory);
  return existsSync(join(dataDirectory, 'hot')) && !existsSync(live) && listSnapshots(snapshots).length === 0;
};

/**
 * Opens, restores when needed, starts the timers. Rejects with a `StorageError` whose words are for the
 * operator.
 */
export const openLedgerStore = async (options: LedgerStoreOptions): Promise<LedgerStore> => {
  const paths = toFolderPaths(options.dataDirectory);
  const opened = await openOrRestore(paths, options);
  const { embedded, restored, notes } = opened;
  const state: FolderStateFile = { open: true, older: restored, damage: opened.damage };
  writeFolderState(paths, state);
  const damage = watchDamage({
    known: opened.damage,
    report: (met, error) => options.onWarning?.(damagedWords(paths, met), error),
    onLasting: (met) => {
      state.damage = met;
      writeFolderState(paths, state);
    },
  });
  const sql = guardSql(embedded.sql, damage);
  const requestSql = guardSql(embedded.requestSql, damage);
  const snapshot = snapshotsOf(paths, embedded);
  const next = async (): Promise<unknown> => (damage.isLasting() ? null : snapshot());
  const stopTimers = startTimers({ snapshot: next, upkeep: createUpkeep(sql) }, options);
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    stopTimers();
    const last = damage.isLasting()
      ? null
      : await snapshot().then(
          () => null,
          (error: unknown) => ({ error }),
        );
    await embedded.close();
    await syncFolder(paths.live);
    if (last !== null) options.onWarning?.('the last snapshot failed', last.error);
    else if (!damage.isLasting()) writeFolderState(paths, { ...state, open: false });
  };
  return {
    sql,
    requestSql,
    restored,
    holdsDirectory: await holdsDirectory(sql),
    notes,
    markCaughtUp: () => {
      if (!state.older) return;
      state.older = false;
      writeFolderState(paths, state);
    },
    takeSnapshot: snapshot,
    protect: () => {
      if (damage.isLasting() || isProtected(paths.snapshots)) return;
      snapshot().catch((error: unknown) => options.onWarning?.('the first snapshot failed', error));
    },
    getLastError: () => (damage.met() === '' ? null : damagedWords(paths, damage.met())),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};

/** Gives what takes a snapshot, one at a time. */
const snapshotsOf = (paths: FolderPaths, { sql, packInto }: EmbeddedSql): (() => Promise<string>) => {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(async () => {
      await sql`checkpoint`;
      return takeSnapshot(paths, { packInto, generations: await isThere(sql, 'generations') });
    });
    last = next.catch(() => null);
    return next;
  };
};

const damagedWords = (paths: FolderPaths, met: string): string => {
  const [newest] = listSnapshots(paths.snapshots);
  const way =
    newest === undefined
      ? 'There is no snapshot: stop the server and restore a backup (docs/operating.md, "When an embedded ' +
        'store fails").'
      : `Soon: stop the server, move ${paths.live} away and start it again. The snapshot ${newest} then ` +
        'takes its place: edits and rows of votes since then are missing, counters are written anew from ' +
        'the hot store. If damage is met again, move that snapshot away as well, for the one before.';
  return (
    `The embedded SQL is damaged (${met}): what needs that part is answered 503, the rest works, and no ` +
    `snapshot is taken any more. ${way}`
  );
};

interface MaintenanceTasks {
  readonly snapshot: () => Promise<unknown>;
  readonly upkeep: () => Promise<void>;
}

/** Repeats both, each never twice at once. Returns what stops them. */
const startTimers = (chores: MaintenanceTasks, options: LedgerStoreOptions): (() => void) => {
  const every = (intervalMs: number, task: () => Promise<unknown>, words: string): NodeJS.Timeout => {
    let running = false;
    const timer = setInterval(() => {
      if (running) return;
      running = true;
      task()
        .catch((error: unknown) => {
          // Damage is reported by `watchDamage`, once a minute; upkeep would report it four times.
          if (toStorageError(words, error).reason !== 'damaged') options.onWarning?.(words, error);
        })
        .finally(() => {
          running = false;
        });
    }, intervalMs);
    return timer.unref();
  };
  const timers = [
    every(options.snapshotEveryMs ?? 600_000, chores.snapshot, 'a snapshot failed'),
    every(options.upkeepEveryMs ?? 15_000, chores.upkeep, 'upkeep of the database failed'),
  ];
  return () => timers.forEach(clearInterval);
};
