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
import { beginLineage } from '../ledger/generations.ts';
import type { Pool, Sql } from '../sql/client.ts';
import { watchDamage } from '../sql/damage.ts';
import { type EmbeddedSql, openEmbeddedSql } from '../sql/embedded.ts';
import { storageErrorOf } from '../sql/errors.ts';
import { guardSql } from '../sql/guard.ts';
import { syncFolder } from './copy.ts';
import { bootId } from './lock.ts';
import { readAll } from './read-all.ts';
import { isProtected, listSnapshots, putBack, type SnapshotPlace, takeSnapshot } from './snapshot.ts';
import { createUpkeep } from './upkeep.ts';

export interface LedgerStoreOptions {
  /** The data folder, locked by this process. */
  readonly dataDirectory: string;
  /** Default 10 minutes. */
  readonly snapshotEveryMs?: number;
  /** Default 15 s. */
  readonly upkeepEveryMs?: number;
  /** Failures of snapshots and upkeep: words for the log. */
  readonly onTrouble?: (words: string, error: unknown) => void;
  /** The database thread ended: no statement will ever succeed again here. Default: `onTrouble`. */
  readonly onLost?: ((words: string, error: unknown) => void) | undefined;
}

export interface LedgerStore extends Pool {
  /**
   * The database is older than the hot store: the engine must be started with all its entities marked dirty
   * (`reflush`), so that totals are written anew. Every opening says so until `caughtUp`.
   */
  readonly restored: boolean;
  /** Whether there is anything in it that the hot store's counters could belong to. */
  readonly holdsDirectory: boolean;
  /** What the operator should know about this opening; empty when all is well. */
  readonly notes: readonly string[];
  /** The totals will be written anew, whatever happens now: the next opening need not say `restored`. */
  caughtUp(): void;
  /** Takes a snapshot now; statements pause while files are copied. Resolves to its name. */
  snapshot(): Promise<string>;
  /** Takes one in the background unless there is one that the hot store can be continued from. */
  protect(): void;
  /** Words for the operator when the database is damaged, else `null`. */
  trouble(): string | null;
  /** Takes a last snapshot, closes, and marks the folder as closed if that went well. Idempotent. */
  close(): Promise<void>;
}

interface Place extends SnapshotPlace {
  readonly state: string;
}
type Left = 'closed' | 'killed' | 'machine_restarted';

/** What is known of the folder while nobody has it open. */
interface Standing {
  readonly left: Left;
  /** It may be older than the hot store, and nobody has written the totals anew. */
  readonly older: boolean;
  /** What was met of damage, `''` for nothing. */
  readonly damage: string;
}

const placeOf = (dataDirectory: string): Place => ({
  live: join(dataDirectory, 'sql'),
  snapshots: join(dataDirectory, 'snapshots'),
  state: join(dataDirectory, 'sql.state.json'),
});

const readStanding = (place: Place): Standing => {
  const unknown = { left: 'machine_restarted', older: false, damage: '' } as const;
  if (!existsSync(place.state)) return existsSync(place.live) ? unknown : { ...unknown, left: 'closed' };
  try {
    const state = JSON.parse(readFileSync(place.state, 'utf8')) as State & { readonly boot: string };
    const older = state.older === true;
    const damage = state.damage ?? '';
    if (!state.open) return { left: 'closed', older, damage };
    // Nobody has read all of one that was being mended.
    const known = !older && state.boot !== '' && state.boot === bootId();
    return { left: known ? 'killed' : 'machine_restarted', older, damage };
  } catch {
    return unknown;
  }
};

/** What `sql.state.json` says. Files of earlier versions lack the last two. */
interface State {
  open: boolean;
  older?: boolean;
  damage?: string;
}

const writeStanding = (place: Place, state: Readonly<State>): void =>
  writeFileSync(place.state, JSON.stringify({ ...state, boot: bootId() }), { mode: 0o600, flush: true });

/** Says of a database that was put in place whole that nothing is to be mended. */
export const markClosed = (dataDirectory: string): void =>
  writeStanding(placeOf(dataDirectory), { open: false, older: false });

const openAndCheck = async (place: Place, left: Left, options: LedgerStoreOptions): Promise<EmbeddedSql> => {
  const embedded = await openEmbeddedSql({
    directory: place.live,
    onCrash: (error) => (options.onLost ?? options.onTrouble)?.('the embedded database ended', error),
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
  if (found?.made) await beginLineage(sql);
};

interface Opened {
  readonly embedded: EmbeddedSql;
  readonly restored: boolean;
  readonly notes: readonly string[];
  readonly damage: string;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const openOrRestore = async (place: Place, options: LedgerStoreOptions): Promise<Opened> => {
  const missing = !existsSync(place.live);
  if (missing && listSnapshots(place.snapshots).length > 0) {
    return restore(place, options, 'the folder is missing');
  }
  const { left, older, damage } = readStanding(place);
  try {
    const embedded = await openAndCheck(place, left, options);
    if (missing) return { embedded, restored: false, notes: [], damage: '' };
    if (left !== 'machine_restarted' && !older) return { embedded, restored: false, notes: [], damage };
    // Perhaps not as new as it was: the database does not sync.
    await skipGiven(embedded.sql);
    return { embedded, restored: true, notes: [older ? unfinishedWords : restartedWords], damage };
  } catch (error) {
    if (missing) throw error;
    return restore(place, options, wordsOf(error));
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
const restore = async (place: Place, options: LedgerStoreOptions, why: string): Promise<Opened> => {
  const tried: string[] = [];
  // Before it lies in its place: whoever opens it next has to know.
  writeStanding(place, { open: true, older: true });
  for (const name of listSnapshots(place.snapshots)) {
    try {
      const aside = await putBack(place, name);
      const embedded = await openAndCheck(place, 'machine_restarted', options);
      await skipGiven(embedded.sql);
      const kept = aside ? ` The broken folder was kept as ${aside}.` : '';
      const notes = [
        `The database in ${place.live} could not be used (${why}). The snapshot ${name} was put in ` +
          'its place: edits and vote rows written since then are missing; counters are written anew from ' +
          `the hot store.${kept}`,
      ];
      return { embedded, restored: true, notes, damage: '' };
    } catch (error) {
      tried.push(`snapshot ${name}: ${wordsOf(error)}`);
    }
  }
  throw new StorageError('open', {
    outcome: 'not_applied',
    reason: 'unreachable',
    detail:
      `The database in ${place.live} could not be used (${why}) and no sound snapshot was found in ` +
      `${place.snapshots}${tried.length > 0 ? ` (${tried.join('; ')})` : ''}. ` +
      lostWords(options.dataDirectory),
  });
};

/** What is lost with the database, what is not, and what to do. */
export const lostWords = (dataDirectory: string): string => {
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
  const { live, snapshots } = placeOf(dataDirectory);
  return existsSync(join(dataDirectory, 'hot')) && !existsSync(live) && listSnapshots(snapshots).length === 0;
};

/**
 * Opens, restores when needed, starts the timers. Rejects with a `StorageError` whose words are for the
 * operator.
 */
export const openLedgerStore = async (options: LedgerStoreOptions): Promise<LedgerStore> => {
  const place = placeOf(options.dataDirectory);
  const opened = await openOrRestore(place, options);
  const { embedded, restored, notes } = opened;
  const state: State = { open: true, older: restored, damage: opened.damage };
  writeStanding(place, state);
  const damage = watchDamage({
    known: opened.damage,
    report: (met, error) => options.onTrouble?.(damagedWords(place, met), error),
    onLasting: (met) => {
      state.damage = met;
      writeStanding(place, state);
    },
  });
  const sql = guardSql(embedded.sql, damage);
  const requestSql = guardSql(embedded.requestSql, damage);
  const snapshot = snapshotsOf(place, embedded);
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
    await syncFolder(place.live);
    if (last !== null) options.onTrouble?.('the last snapshot failed', last.error);
    else if (!damage.isLasting()) writeStanding(place, { ...state, open: false });
  };
  return {
    sql,
    requestSql,
    restored,
    holdsDirectory: await holdsDirectory(sql),
    notes,
    caughtUp: () => {
      if (!state.older) return;
      state.older = false;
      writeStanding(place, state);
    },
    snapshot,
    protect: () => {
      if (damage.isLasting() || isProtected(place.snapshots)) return;
      snapshot().catch((error: unknown) => options.onTrouble?.('the first snapshot failed', error));
    },
    trouble: () => (damage.met() === '' ? null : damagedWords(place, damage.met())),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};

/** Gives what takes a snapshot, one at a time. */
const snapshotsOf = (place: Place, { sql, packInto }: EmbeddedSql): (() => Promise<string>) => {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(async () => {
      await sql`checkpoint`;
      return takeSnapshot(place, { packInto, generations: await isThere(sql, 'generations') });
    });
    last = next.catch(() => null);
    return next;
  };
};

const damagedWords = (place: Place, met: string): string => {
  const [newest] = listSnapshots(place.snapshots);
  const way =
    newest === undefined
      ? 'There is no snapshot: stop the server and restore a backup (docs/operating.md, "When an embedded ' +
        'store fails").'
      : `Soon: stop the server, move ${place.live} away and start it again. The snapshot ${newest} then ` +
        'takes its place: edits and rows of votes since then are missing, counters are written anew from ' +
        'the hot store. If damage is met again, move that snapshot away as well, for the one before.';
  return (
    `The embedded SQL is damaged (${met}): what needs that part is answered 503, the rest works, and no ` +
    `snapshot is taken any more. ${way}`
  );
};

interface Chores {
  readonly snapshot: () => Promise<unknown>;
  readonly upkeep: () => Promise<void>;
}

/** Repeats both, each never twice at once. Returns what stops them. */
const startTimers = (chores: Chores, options: LedgerStoreOptions): (() => void) => {
  const every = (intervalMs: number, task: () => Promise<unknown>, words: string): NodeJS.Timeout => {
    let running = false;
    const timer = setInterval(() => {
      if (running) return;
      running = true;
      task()
        .catch((error: unknown) => {
          // The watch tells of damage, and not four times a minute.
          if (storageErrorOf(words, error).reason !== 'damaged') options.onTrouble?.(words, error);
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
