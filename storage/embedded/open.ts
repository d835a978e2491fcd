/**
 * Opens the embedded database of a data folder, whole or restored, and looks after it until it is closed.
 *
 * Owns `sql/` (the database), `snapshots/` and `sql.state.json` (how it was left) below the data folder. It
 * survives kill -9 by itself. After a power cut it may be torn: when it does not open, or when it was not
 * closed before the machine started anew and a full reading finds damage, the newest sound snapshot is put in
 * its place. That the database may be older than the hot store is written down before, and stays so until the
 * caller says that it is not any more. Nothing is ever deleted that is not a copy. The data folder is locked
 * by the caller before.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../../engine/errors.ts';
import { beginLineage } from '../ledger/generations.ts';
import type { Pool, Sql } from '../sql/client.ts';
import { type EmbeddedSql, openEmbeddedSql } from '../sql/embedded.ts';
import { syncFolder } from './copy.ts';
import { bootId } from './lock.ts';
import { listSnapshots, putBack, type SnapshotPlace, takeSnapshot } from './snapshot.ts';
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
  /** What the operator should know about this opening; empty when all is well. */
  readonly notes: readonly string[];
  /** The totals will be written anew, whatever happens now: the next opening need not say `restored`. */
  caughtUp(): void;
  /** Takes a snapshot now; statements pause while files are copied. Resolves to its name. */
  snapshot(): Promise<string>;
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
}

const placeOf = (dataDirectory: string): Place => ({
  live: join(dataDirectory, 'sql'),
  snapshots: join(dataDirectory, 'snapshots'),
  state: join(dataDirectory, 'sql.state.json'),
});

const readStanding = (place: Place): Standing => {
  const unknown = { left: 'machine_restarted', older: false } as const;
  if (!existsSync(place.state)) return existsSync(place.live) ? unknown : { left: 'closed', older: false };
  try {
    const state = JSON.parse(readFileSync(place.state, 'utf8')) as State;
    const older = state.older === true;
    if (!state.open) return { left: 'closed', older };
    // Nobody has read all of one that was being mended.
    const known = !older && state.boot !== '' && state.boot === bootId();
    return { left: known ? 'killed' : 'machine_restarted', older };
  } catch {
    return unknown;
  }
};

interface State {
  readonly open: boolean;
  readonly boot: string;
  readonly older?: boolean;
}

const writeStanding = (place: Place, { open, older }: Pick<State, 'open' | 'older'>): void =>
  writeFileSync(place.state, JSON.stringify({ open, boot: bootId(), older }), { mode: 0o600, flush: true });

/** Says of a database that was put in place whole that nothing is to be mended. */
export const markClosed = (dataDirectory: string): void =>
  writeStanding(placeOf(dataDirectory), { open: false, older: false });

/** Reads every row of every table: pages carry checksums, so damage shows. */
const readAll = async (sql: Sql): Promise<void> => {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class where relkind = 'r' and relpersistence = 'p'`;
  for (const { name } of tables) await sql.unsafe(`select count(*) from ${name}`);
};

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
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const openOrRestore = async (place: Place, options: LedgerStoreOptions): Promise<Opened> => {
  const missing = !existsSync(place.live);
  if (missing && listSnapshots(place.snapshots).length > 0) {
    return restore(place, options, 'the folder is missing');
  }
  const { left, older } = readStanding(place);
  try {
    const embedded = await openAndCheck(place, left, options);
    if (missing || (left !== 'machine_restarted' && !older)) return { embedded, restored: false, notes: [] };
    // Perhaps not as new as it was: the database does not sync.
    await skipGiven(embedded.sql);
    return { embedded, restored: true, notes: [older ? unfinishedWords : restartedWords] };
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
      return { embedded, restored: true, notes };
    } catch (error) {
      tried.push(`snapshot ${name}: ${wordsOf(error)}`);
    }
  }
  throw new StorageError('open', {
    outcome: 'not_applied',
    reason: 'unreachable',
    detail:
      `The database in ${place.live} could not be used (${why}) and no sound snapshot was found in ` +
      `${place.snapshots}${tried.length > 0 ? ` (${tried.join('; ')})` : ''}. Nothing was deleted. Put a ` +
      'backup of the data folder in its place, or start with another DATA_DIR.',
  });
};

/**
 * Opens, restores when needed, starts the timers. Rejects with a `StorageError` whose words are for the
 * operator.
 */
export const openLedgerStore = async (options: LedgerStoreOptions): Promise<LedgerStore> => {
  const place = placeOf(options.dataDirectory);
  const { embedded, restored, notes } = await openOrRestore(place, options);
  let older = restored;
  writeStanding(place, { open: true, older });
  const { sql, requestSql } = embedded;
  let snapshots: Promise<unknown> = Promise.resolve();
  const snapshot = (): Promise<string> => {
    const next = snapshots.then(async () => {
      await sql`checkpoint`;
      return takeSnapshot(place, embedded.packInto);
    });
    snapshots = next.catch(() => null);
    return next;
  };
  const stopTimers = startTimers({ snapshot, upkeep: createUpkeep(sql) }, options);
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    stopTimers();
    const last = await Promise.allSettled([snapshot()]);
    await embedded.close();
    await syncFolder(place.live);
    if (last[0].status === 'fulfilled') writeStanding(place, { open: false, older });
    else options.onTrouble?.('the last snapshot failed', last[0].reason);
  };
  return {
    sql,
    requestSql,
    restored,
    notes,
    caughtUp: () => {
      if (!older) return;
      older = false;
      writeStanding(place, { open: true, older });
    },
    snapshot,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
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
        .catch((error: unknown) => options.onTrouble?.(words, error))
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
