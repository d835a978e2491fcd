/**
 * The two caches of the catalogue: snapshots of lists, and rows of entities that people look at.
 *
 * Both are bounded and hold what SQL said, never what somebody is about to write. A snapshot is at most
 * `ageMaxMs` old, measured from before its query; while SQL cannot be reached, the one shown last is shown on
 * for up to `staleMaxMs`, since hardly anybody can edit then. A row stays until it is dropped after an edit,
 * or grows old: the age bound is a safety net for writers that could not tell us. Rows in use are read again
 * a little before in batches. While SQL does not answer, an old row is shown rather than none. Used by
 * catalogue.ts only.
 */
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { StorageError, type StorageReason } from '../../../engine/errors.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import type { UnknownNames } from '../unknown.ts';

/** One page of a list and the number of all its rows. The same object while the snapshot lasts. */
export interface CachedList<Rows> {
  readonly count: number;
  readonly rows: Rows;
}

/** One query per key at a time, shared by all who ask while it runs or is fresh. A failure is not kept. */
export interface Snapshots {
  get<Value extends object>(key: string, load: () => Promise<Value>): Promise<Value>;
  /** Without keeping: what `load` gives, or what it gave last under this key if SQL cannot be reached now. */
  show<Value extends object>(key: string, load: () => Promise<Value>): Promise<Value>;
}

export const staleMaxMs = 3_600_000;

const awayReasons: readonly string[] = ['unreachable', 'busy', 'full'] satisfies StorageReason[];
const isUnreachable = (failure: unknown): boolean =>
  failure instanceof StorageError && awayReasons.includes(failure.reason);

const createLastShown = (entriesMax: number): Snapshots['show'] => {
  const shown = new LRUCache<string, object>({ max: entriesMax, ttl: staleMaxMs });
  return async <Value extends object>(key: string, load: () => Promise<Value>) => {
    try {
      const value = await load();
      if (shown.peek(key) !== value) shown.set(key, value);
      return value;
    } catch (failure) {
      const last = isUnreachable(failure) ? shown.get(key) : undefined;
      if (last === undefined) throw failure;
      return last as Value;
    }
  };
};

export const createSnapshots = (bound: { entriesMax: number; ageMaxMs: number }): Snapshots => {
  const kept = new LRUCache<string, Promise<object>>({ max: bound.entriesMax, ttl: bound.ageMaxMs });
  const show = createLastShown(bound.entriesMax);
  return {
    show,
    get: <Value extends object>(key: string, load: () => Promise<Value>) => {
      const known = kept.get(key);
      // A key names one query, so the type is the one it was loaded with.
      if (known !== undefined) return known as Promise<Value>;
      const loading = show(key, load);
      kept.set(key, loading);
      loading.catch(() => {
        if (kept.peek(key) === loading) kept.delete(key);
      });
      return loading;
    },
  };
};

/** What a cached row must tell: its id, its current vanity code, and roughly what it weighs. */
export interface Cacheable {
  readonly id: string;
  /** `''` when it has none. */
  readonly vanity: string;
  readonly weightBytes: number;
}

export interface RowCache<Row extends Cacheable> {
  /** By id or vanity code: at once when cached. `null` when there is no such entity. */
  get(word: string, load: () => Promise<Row | null>): Row | null | Promise<Row | null>;
  /** Call after an edit or deletion is committed. Loads that began earlier are not kept. */
  drop(id: string): void;
  /** Edits may have been missed: every row is old from here on. */
  invalidateAll(): void;
}

interface CacheBounds {
  readonly bytesMax: number;
  readonly ageMaxMs: number;
}
export interface RowCacheOptions<Row> extends CacheBounds {
  /** Reads rows by id, many at once; what is gone is left out. Without it rows just grow old. */
  readonly readMany?: (ids: readonly string[]) => Promise<readonly Row[]>;
  /** Where words that name nothing are kept for a moment. Without it they are asked for each time. */
  readonly unknown?: UnknownNames;
  /** Monotonic; a test's own. */
  readonly monotonicMs?: () => number;
}

/** Rows in one statement: few enough that no other statement waits for them long. */
const idsMax = 100;

/**
 * Reads rows by id, one statement at a time: popular profiles grow old together, and each of them would be a
 * statement of its own.
 */
const createRowLoader = <Row extends Cacheable>(
  readMany: (ids: readonly string[]) => Promise<readonly Row[]>,
): ((id: string) => Promise<Row | null>) =>
  createBatchLoader({
    loadMany: async (ids: readonly string[]): Promise<readonly (Row | null)[]> => {
      const rows = new Map((await readMany(ids)).map((row) => [row.id, row]));
      return ids.map((id) => rows.get(id) ?? null);
    },
    keysMax: idsMax,
    batchesMax: 1,
    schedule: (task) => task(),
  });

/** A row of this part of its greatest age is read again, if it is asked for. */
const aheadShare = 0.7;

interface CachedRow<Row> {
  row: Row;
  epoch: number;
  /** From before its statement. */
  readAtMs: number;
  /** It is due to be read again. */
  due: boolean;
}

/** The rows that are kept, by id and by vanity code. */
const createRows = <Row extends Cacheable>(
  bound: CacheBounds,
  { nowMs, ahead }: { readonly nowMs: () => number; readonly ahead: (id: string) => void },
) => {
  const rows = new LRUCache<string, CachedRow<Row>>({
    maxSize: bound.bytesMax,
    sizeCalculation: ({ row }) => row.weightBytes,
  });
  const idsByVanity = new LRUCache<string, string>({ max: 50_000 });
  let epoch = 0;
  const isYoung = (id: string, kept: CachedRow<Row>): boolean => {
    const ageMs = nowMs() - kept.readAtMs;
    if (kept.epoch !== epoch || ageMs >= bound.ageMaxMs) return false;
    if (!kept.due && ageMs >= bound.ageMaxMs * aheadShare) {
      kept.due = true;
      ahead(id);
    }
    return true;
  };
  const rowOf = (id: string, allowOld: boolean): Row | undefined => {
    const kept = rows.get(id);
    return kept !== undefined && (allowOld || isYoung(id, kept)) ? kept.row : undefined;
  };
  /** Gives what is kept: if a row only grew old and is equal, the same object. */
  const keep = (row: Row, readAtMs: number): Row => {
    const before = rows.peek(row.id);
    const same = before?.epoch === epoch && isDeepStrictEqual(before.row, row);
    const kept = same ? before.row : row;
    rows.set(row.id, { row: kept, epoch, readAtMs, due: false });
    if (row.vanity !== '') idsByVanity.set(row.vanity, row.id);
    return kept;
  };
  return {
    find: (word: string, allowOld = false): Row | undefined => {
      const byId = rowOf(word, allowOld);
      if (byId !== undefined) return byId;
      const code = word.toLowerCase();
      const id = idsByVanity.get(code);
      const row = id === undefined ? undefined : rowOf(id, allowOld);
      // The code may have moved to another entity since: only the row itself says whose it is.
      return row?.vanity === code ? row : undefined;
    },
    keep,
    /** Whether there is a row with this id, however old. */
    holds: (id: string): boolean => rows.has(id),
    delete: (id: string): void => void rows.delete(id),
    doubt: (): void => {
      epoch += 1;
    },
  };
};

/** The search by id and code, which notes a word that names nothing. A row read by id alone tells less. */
const noting = <Row>(unknown: UnknownNames | undefined, word: string, load: () => Promise<Row | null>) => {
  const isUnknown = unknown?.startLookup(word);
  return async (): Promise<Row | null> => {
    const row = await load();
    if (row === null) isUnknown?.();
    return row;
  };
};

/** An old row for a failure; nothing is left of one that was dropped. */
const orThrow = <Row>(row: Row | undefined, failure: unknown): Row => {
  if (row === undefined) throw failure;
  return row;
};

export const createRowCache = <Row extends Cacheable>(options: RowCacheOptions<Row>): RowCache<Row> => {
  const { readMany, unknown, monotonicMs: nowMs = () => performance.now() } = options;
  const loading = createSingleFlight<Row | null>();
  const together = readMany === undefined ? null : createRowLoader(readMany);
  let drops = 0;
  const ahead = (id: string): void => {
    if (together === null || loading.get(id) !== undefined) return;
    start(id, () => together(id)).catch(() => {
      // It grows too old; whoever asks for it then is told.
    });
  };
  const rows = createRows<Row>(options, { nowMs, ahead });
  unknown?.whenForgotten(loading.detachAll);

  const fill = async (word: string, load: () => Promise<Row | null>): Promise<Row | null> => {
    const dropsBefore = drops;
    const beganMs = nowMs();
    let row: Row | null;
    try {
      row = await load();
    } catch (failure) {
      return orThrow(rows.find(word, true), failure);
    }
    if (row === null) rows.delete(rows.find(word, true)?.id ?? '');
    return row !== null && drops === dropsBefore ? rows.keep(row, beganMs) : row;
  };
  const start = (word: string, load: () => Promise<Row | null>): Promise<Row | null> =>
    loading.share(word, () => fill(word, load));
  return {
    get: (word, load) => {
      const row = rows.find(word);
      if (row !== undefined) return row;
      if (unknown?.has(word)) return null;
      const underway = loading.get(word);
      if (underway !== undefined) return underway;
      const search = noting(unknown, word, load);
      if (together === null || !rows.holds(word)) return start(word, search);
      return start(word, async () => (await together(word)) ?? search());
    },
    drop: (id) => {
      drops += 1;
      rows.delete(id);
      loading.detachAll();
      unknown?.forgetAll();
    },
    invalidateAll: () => {
      drops += 1;
      rows.doubt();
      loading.detachAll();
      unknown?.forgetAll();
    },
  };
};
