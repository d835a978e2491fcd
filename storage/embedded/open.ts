/**
 * Opens the embedded database of a data folder, restores it if needed, and maintains it until it is closed.
 *
 * Owns `sql/` (the database), `snapshots/` and `sql.state.json` (how the last process left the database).
 * The database survives kill -9. A power cut may tear it: if it does not open, or if the machine restarted
 * while it was open and reading every row finds damage, the newest intact snapshot replaces it. Damage found
 * later stops the snapshots, so the intact ones stay, and is recorded until another database is in place.
 * The state file records that the database may be older than the hot store before such a database is used,
 * until the caller calls `markCaughtUp`. Only old snapshots and drafts are ever deleted. The caller locks the
 * data folder first.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../../engine/errors.ts';
import { beginTimeline } from '../ledger/generations.ts';
import type { Pool, Sql } from '../sql/client.ts';
import { watchDamage } from '../sql/damage.ts';
import { toStorageError } from '../sql/errors.ts';
import { guardSql } from '../sql/guard.ts';
import { type PackContents, syncFolder } from './copy.ts';
import { descriptorAdvice, hasFewDescriptors } from './descriptors.ts';
import { readBootId } from './lock.ts';
import { type EmbeddedSql, openEmbeddedSql } from './pglite.ts';
import { readAll } from './read-all.ts';
import { isProtected, listSnapshots, restoreSnapshot, type SnapshotPaths, takeSnapshot } from './snapshot.ts';
import { createUpkeep } from './upkeep.ts';

export interface LedgerStoreOptions {
  /** The data folder, locked by this process. */
  readonly dataDirectory: string;
  /** Default 10 minutes. */
  readonly snapshotEveryMs?: number;
  /** Default 15 s. */
  readonly upkeepEveryMs?: number;
  /** Receives failures of snapshots and upkeep, and damage, for the log. */
  readonly onWarning?: (message: string, error: unknown) => void;
  /** The database thread ended: every later statement in this process fails. Default: `onWarning`. */
  readonly onLost?: ((message: string, error: unknown) => void) | undefined;
}

export interface LedgerStore extends Pool {
  /**
   * The database may be older than the hot store: the engine must start with all its entities marked dirty
   * (`reflush`), so that all totals are written again. Stays true at every opening until `markCaughtUp`.
   */
  readonly restored: boolean;
  /** Whether the database has listings or generations that the hot store's counters can belong to. */
  readonly holdsDirectory: boolean;
  /** What the operator should know about this opening; empty when all is well. */
  readonly notes: readonly string[];
  /** Records that all totals are certain to be written again: the next opening is not `restored`. */
  markCaughtUp(): void;
  /**
   * Packs the database into a new file, not synced. Statements wait until both this and `meanwhile` are done.
   */
  packInto(file: string, meanwhile: () => Promise<void>): Promise<PackContents>;
  /** Takes a durable snapshot; statements wait while files are copied. Resolves to its name. */
  takeSnapshot(): Promise<string>;
  /** Takes a snapshot in the background, unless one exists that the hot store can continue from. */
  protect(): void;
  /** Describes the damage of the database for the operator; `null` for none. */
  getLastError(): string | null;
  /** Takes a last snapshot, closes, and marks the folder as closed if both succeed. Idempotent. */
  close(): Promise<void>;
}

interface FolderPaths extends SnapshotPaths {
  readonly state: string;
}
type LastEnd = 'closed' | 'killed' | 'machine_restarted';

/** What the state file says when the folder is opened. */
interface FolderState {
  readonly lastEnd: LastEnd;
  /** The database may be older than the hot store, and not all totals were written again. */
  readonly older: boolean;
  /** Describes the damage found so far; `''` for none. */
  readonly damage: string;
}

const toFolderPaths = (dataDirectory: string): FolderPaths => ({
  live: join(dataDirectory, 'sql'),
  snapshots: join(dataDirectory, 'snapshots'),
  state: join(dataDirectory, 'sql.state.json'),
});

const readFolderState = (paths: FolderPaths): FolderState => {
  const unknown = { lastEnd: 'machine_restarted', older: false, damage: '' } as const;
  if (!existsSync(paths.state)) return existsSync(paths.live) ? unknown : { ...unknown, lastEnd: 'closed' };
  try {
    const state = JSON.parse(readFileSync(paths.state, 'utf8')) as FolderStateFile & {
      readonly boot: string;
    };
    const older = state.older === true;
    const damage = state.damage ?? '';
    if (!state.open) return { lastEnd: 'closed', older, damage };
    // Not every row of an older database was read: its start ended early.
    const wasChecked = !older && state.boot !== '' && state.boot === readBootId();
    return { lastEnd: wasChecked ? 'killed' : 'machine_restarted', older, damage };
  } catch {
    return unknown;
  }
};

/** The content of `sql.state.json`. Files of earlier versions lack `older` and `damage`. */
interface FolderStateFile {
  open: boolean;
  older?: boolean;
  damage?: string;
}

const writeFolderState = (paths: FolderPaths, state: Readonly<FolderStateFile>): void =>
  writeFileSync(paths.state, JSON.stringify({ ...state, boot: readBootId() }), { mode: 0o600, flush: true });

/** Marks a database that was put in place intact as closed: the next opening repairs nothing. */
export const markClosed = (dataDirectory: string): void =>
  writeFolderState(toFolderPaths(dataDirectory), { open: false, older: false });

const openAndCheck = async (
  paths: FolderPaths,
  lastEnd: LastEnd,
  options: LedgerStoreOptions,
): Promise<EmbeddedSql> => {
  const embedded = await openEmbeddedSql({
    directory: paths.live,
    onCrash: (error) => (options.onLost ?? options.onWarning)?.('the embedded database ended', error),
  });
  try {
    await embedded.sql`select count(*) from pg_class`;
    if (lastEnd === 'machine_restarted') await readAll(embedded.sql);
    return embedded;
  } catch (error) {
    await embedded.close();
    throw error;
  }
};

/** Skips incarnations and revisions that the hot store knows and an older database has forgotten. */
const skipIssuedNumbers = async (sql: Sql): Promise<void> => {
  const [table] = await sql`select to_regclass('incarnations') is not null as exists`;
  if (table?.exists) await beginTimeline(sql);
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
  const { lastEnd, older, damage } = readFolderState(paths);
  try {
    const embedded = await openAndCheck(paths, lastEnd, options);
    if (missing) return { embedded, restored: false, notes: [], damage: '' };
    if (lastEnd !== 'machine_restarted' && !older) return { embedded, restored: false, notes: [], damage };
    // PGlite does not sync: the last transactions may be missing.
    await skipIssuedNumbers(embedded.sql);
    return { embedded, restored: true, notes: [older ? unfinishedNote : restartedNote], damage };
  } catch (error) {
    if (missing) throw error;
    return restore(paths, options, toMessage(error));
  }
};

const restartedNote =
  'The machine stopped while the database was open; every row was read and none is damaged. Counters are ' +
  'written again from the hot store.';
const unfinishedNote =
  'An earlier start found the database older than the hot store and ended before it had repaired that. ' +
  'Counters are written again from the hot store.';

const hasRows = async (sql: Sql, table: string): Promise<boolean> => {
  const [lookup] = await sql<{ exists: boolean }[]>`select to_regclass(${table}) is not null as exists`;
  if (!lookup?.exists) return false;
  const [row] = await sql<{ filled: boolean }[]>`select exists (select from ${sql(table)}) as filled`;
  return row?.filled === true;
};

/** A database without listings and generations was copied before the first import. */
const holdsDirectory = async (sql: Sql): Promise<boolean> =>
  (await hasRows(sql, 'totals')) || (await hasRows(sql, 'generations'));

/** Tries the snapshots, newest first. Throws a message for the operator when none can be used. */
const restore = async (paths: FolderPaths, options: LedgerStoreOptions, why: string): Promise<OpenedSql> => {
  const tried: string[] = [];
  // Recorded before the snapshot is in place: if this start dies, the next one must know.
  writeFolderState(paths, { open: true, older: true });
  for (const name of listSnapshots(paths.snapshots)) {
    try {
      const aside = await restoreSnapshot(paths, name);
      const embedded = await openAndCheck(paths, 'machine_restarted', options);
      await skipIssuedNumbers(embedded.sql);
      const movedAside = aside ? ` The broken folder is now ${aside}.` : '';
      const notes = [
        `The database in ${paths.live} could not be used (${why}). The snapshot ${name} was put in ` +
          'its place: edits and vote rows written since then are missing; counters are written again from ' +
          `the hot store.${movedAside}`,
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
    `${countersLeft}Nothing was deleted. ${advice}` +
    'docs/operating.md, "When an embedded store fails", has the steps.'
  );
};

/** Whether the data folder has counters, but neither a database nor a snapshot. */
export const hasOnlyCounters = (dataDirectory: string): boolean => {
  const { live, snapshots } = toFolderPaths(dataDirectory);
  return existsSync(join(dataDirectory, 'hot')) && !existsSync(live) && listSnapshots(snapshots).length === 0;
};

/**
 * Opens the database, restores it if needed, and starts the timers. Rejects with a `StorageError` whose
 * message is for the operator.
 */
export const openLedgerStore = async (options: LedgerStoreOptions): Promise<LedgerStore> => {
  const paths = toFolderPaths(options.dataDirectory);
  const opened = await openOrRestore(paths, options);
  const { embedded, restored, notes } = opened;
  const state: FolderStateFile = { open: true, older: restored, damage: opened.damage };
  writeFolderState(paths, state);
  const damage = watchDamage({
    known: opened.damage,
    findOtherCause: () => (hasFewDescriptors() ? descriptorAdvice : ''),
    report: (description, error) => options.onWarning?.(describeDamage(paths, description), error),
    onLasting: (description) => {
      state.damage = description;
      writeFolderState(paths, state);
    },
  });
  const sql = guardSql(embedded.sql, damage);
  const requestSql = guardSql(embedded.requestSql, damage);
  const snapshot = createSnapshotQueue(paths, embedded);
  const snapshotIfSound = async (): Promise<unknown> => (damage.isLasting() ? null : snapshot());
  const stopTimers = startTimers({ snapshot: snapshotIfSound, upkeep: createUpkeep(sql) }, options);
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    stopTimers();
    const failure = damage.isLasting()
      ? null
      : await snapshot().then(
          () => null,
          (error: unknown) => ({ error }),
        );
    await embedded.close();
    await syncFolder(paths.live);
    if (failure !== null) options.onWarning?.('the last snapshot failed', failure.error);
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
    packInto: (file, meanwhile) => packQuiesced(embedded, file, meanwhile),
    takeSnapshot: snapshot,
    protect: () => {
      if (damage.isLasting() || isProtected(paths.snapshots)) return;
      snapshot().catch((error: unknown) => options.onWarning?.('the first snapshot failed', error));
    },
    getLastError: () => (damage.met() === '' ? null : describeDamage(paths, damage.met())),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};

/** A transaction occupies the only connection, so no other statement runs until it ends. */
const packQuiesced = async (
  { sql, packInto }: EmbeddedSql,
  file: string,
  meanwhile: () => Promise<void>,
): Promise<PackContents> => {
  await sql`checkpoint`;
  return sql.begin('read only', async () => {
    const [contents] = await Promise.all([packInto(file), meanwhile()]);
    return contents;
  }) as Promise<PackContents>;
};

/** Returns a function that takes a snapshot; calls wait for one another. */
const createSnapshotQueue = (paths: FolderPaths, { sql, packInto }: EmbeddedSql): (() => Promise<string>) => {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(async () => {
      await sql`checkpoint`;
      return takeSnapshot(paths, { packInto, generations: await hasRows(sql, 'generations') });
    });
    last = next.catch(() => null);
    return next;
  };
};

const describeDamage = (paths: FolderPaths, description: string): string =>
  `The embedded SQL is damaged (${description}): requests that need the damaged part are answered 503, ` +
  `the rest works, and no more snapshots are taken. ${adviseOnDamage(paths)}`;

const manual = 'docs/operating.md, "When an embedded store fails"';

/** What the operator can do. Never throws: without free file descriptors the snapshots cannot be listed. */
const adviseOnDamage = (paths: FolderPaths): string => {
  try {
    const [newest] = listSnapshots(paths.snapshots);
    if (newest === undefined)
      return `There is no snapshot: stop the server and restore a backup (${manual}).`;
    return (
      `Act soon: stop the server, move ${paths.live} away and start it again. The snapshot ${newest} ` +
      'then takes its place: edits and rows of votes since then are missing, counters are written again ' +
      'from the hot store. If damage appears again, move that snapshot away too, to use the one before it.'
    );
  } catch (error) {
    return `Its snapshots cannot be listed now (${error}): see ${manual}.`;
  }
};

interface MaintenanceTasks {
  readonly snapshot: () => Promise<unknown>;
  readonly upkeep: () => Promise<void>;
}

/** Repeats both tasks; a task that still runs is not started again. Returns a function that stops them. */
const startTimers = (tasks: MaintenanceTasks, options: LedgerStoreOptions): (() => void) => {
  const every = (
    intervalMs: number,
    task: () => Promise<unknown>,
    failureMessage: string,
  ): NodeJS.Timeout => {
    let running = false;
    const timer = setInterval(() => {
      if (running) return;
      running = true;
      task()
        .catch((error: unknown) => {
          // The damage watch reports damage, at most once a minute.
          if (toStorageError(failureMessage, error).reason !== 'damaged')
            options.onWarning?.(failureMessage, error);
        })
        .finally(() => {
          running = false;
        });
    }, intervalMs);
    return timer.unref();
  };
  const timers = [
    every(options.snapshotEveryMs ?? 600_000, tasks.snapshot, 'a snapshot failed'),
    every(options.upkeepEveryMs ?? 15_000, tasks.upkeep, 'upkeep of the database failed'),
  ];
  return () => timers.forEach(clearInterval);
};
