/**
 * The two caches of the catalogue: snapshots of lists, and rows of single entities.
 *
 * Both are bounded and hold only what SQL returned, never an edit that is not committed. A snapshot is at
 * most `ageMaxMs` old, counted from before its query. While SQL is unreachable, the last snapshot is served
 * for up to `staleMaxMs`: hardly any edit can happen then. A row stays until it is dropped after an edit or
 * reaches its age limit, which covers edits that this node was not notified of. Rows in use are refreshed a
 * little before that (batch-loader.ts). If the refresh fails, the old row is served. Used by catalogue.ts.
 */
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { StorageError, type StorageReason } from '../../../engine/errors.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import type { UnknownNames } from '../unknown.ts';

/** One page of a list and the number of all rows in the list. The same object while the snapshot lasts. */
export interface CachedList<Rows> {
  readonly count: number;
  readonly rows: Rows;
}

/** Shares one query per key between all callers while it runs and while its result is fresh. */
export interface Snapshots {
  /** Returns the cached value, or loads it. A failure is not cached. */
  get<Value extends object>(key: string, load: () => Promise<Value>): Promise<Value>;
  /** Always loads. If SQL is unreachable, returns the last value loaded under this key instead. */
  show<Value extends object>(key: string, load: () => Promise<Value>): Promise<Value>;
}

/** How long the last snapshot is served while SQL is unreachable, ms. */
export const staleMaxMs = 3_600_000;

const unreachableReasons: readonly string[] = ['unreachable', 'busy', 'full'] satisfies StorageReason[];
const isUnreachable = (error: unknown): boolean =>
  error instanceof StorageError && unreachableReasons.includes(error.reason);

const createStaleFallback = (entriesMax: number): Snapshots['show'] => {
  const lastValues = new LRUCache<string, object>({ max: entriesMax, ttl: staleMaxMs });
  return async <Value extends object>(key: string, load: () => Promise<Value>) => {
    try {
      const value = await load();
      if (lastValues.peek(key) !== value) lastValues.set(key, value);
      return value;
    } catch (error) {
      const last = isUnreachable(error) ? lastValues.get(key) : undefined;
      if (last === undefined) throw error;
      return last as Value;
    }
  };
};

/** Creates a snapshot cache of at most `entriesMax` keys, each at most `ageMaxMs` old. */
export const createSnapshots = (bound: { entriesMax: number; ageMaxMs: number }): Snapshots => {
  const snapshots = new LRUCache<string, Promise<object>>({ max: bound.entriesMax, ttl: bound.ageMaxMs });
  const show = createStaleFallback(bound.entriesMax);
  return {
    show,
    get: <Value extends object>(key: string, load: () => Promise<Value>) => {
      const cached = snapshots.get(key);
      // A key names one query, so the value has the type it was loaded with.
      if (cached !== undefined) return cached as Promise<Value>;
      const loading = show(key, load);
      snapshots.set(key, loading);
      loading.catch(() => {
        if (snapshots.peek(key) === loading) snapshots.delete(key);
      });
      return loading;
    },
  };
};

/** What a cached row must have: its id, its current vanity code and its approximate size. */
export interface Cacheable {
  readonly id: string;
  /** `''` when the entity has none. */
  readonly vanity: string;
  readonly weightBytes: number;
}

export interface RowCache<Row extends Cacheable> {
  /** Finds by id or vanity code; synchronous when cached. `null` when there is no such entity. */
  get(idOrVanity: string): Row | null | Promise<Row | null>;
  /** Call after an edit or deletion is committed. Results of loads that began earlier are not cached. */
  drop(id: string): void;
  /** Treats every row as expired: edits may have been missed. */
  invalidateAll(): void;
}

interface CacheBounds {
  readonly bytesMax: number;
  readonly ageMaxMs: number;
}
export interface RowCacheOptions<Row> extends CacheBounds {
  /** Reads many rows by id or vanity code; leaves out unknown names. */
  readonly readMany: (names: readonly string[]) => Promise<readonly Row[]>;
  /** Remembers names that match no entity for a short time. Without it each request queries SQL. */
  readonly unknown?: UnknownNames;
  /** A monotonic clock; tests pass their own. */
  readonly monotonicMs?: () => number;
}

/** A row that is requested after this share of its maximum age is refreshed. */
const refreshAgeShare = 0.7;

interface CachedRow<Row> {
  row: Row;
  epoch: number;
  /** When its statement was started. */
  readAtMs: number;
  /** A refresh was started. */
  refreshing: boolean;
}

/** The cached rows by id and by vanity code. */
const createRows = <Row extends Cacheable>(
  bound: CacheBounds,
  { nowMs, refresh }: { readonly nowMs: () => number; readonly refresh: (id: string) => void },
) => {
  const rows = new LRUCache<string, CachedRow<Row>>({
    maxSize: bound.bytesMax,
    sizeCalculation: ({ row }) => row.weightBytes,
  });
  const idsByVanity = new LRUCache<string, string>({ max: 50_000 });
  let epoch = 0;
  const isFresh = (id: string, cached: CachedRow<Row>): boolean => {
    const ageMs = nowMs() - cached.readAtMs;
    if (cached.epoch !== epoch || ageMs >= bound.ageMaxMs) return false;
    if (!cached.refreshing && ageMs >= bound.ageMaxMs * refreshAgeShare) {
      cached.refreshing = true;
      refresh(id);
    }
    return true;
  };
  const getRow = (id: string, allowExpired: boolean): Row | undefined => {
    const cached = rows.get(id);
    return cached !== undefined && (allowExpired || isFresh(id, cached)) ? cached.row : undefined;
  };
  /** Returns the cached object if the refreshed row is equal, so identity-based caches stay valid. */
  const store = (row: Row, readAtMs: number): Row => {
    const previous = rows.peek(row.id);
    const isEqual = previous?.epoch === epoch && isDeepStrictEqual(previous.row, row);
    const stored = isEqual ? previous.row : row;
    rows.set(row.id, { row: stored, epoch, readAtMs, refreshing: false });
    if (row.vanity !== '') idsByVanity.set(row.vanity, row.id);
    return stored;
  };
  return {
    find: (idOrVanity: string, allowExpired = false): Row | undefined => {
      const byId = getRow(idOrVanity, allowExpired);
      if (byId !== undefined) return byId;
      const code = idOrVanity.toLowerCase();
      const id = idsByVanity.get(code);
      const row = id === undefined ? undefined : getRow(id, allowExpired);
      // The code may belong to another entity by now: only the row itself says which one has it.
      return row?.vanity === code ? row : undefined;
    },
    store,
    delete: (id: string): void => void rows.delete(id),
    expireAll: (): void => {
      epoch += 1;
    },
  };
};

/** Wraps a search that was requested: it records a name that matches nothing. */
const recordUnknown = <Row>(
  unknown: UnknownNames | undefined,
  name: string,
  load: () => Promise<Row | null>,
) => {
  const markUnknown = unknown?.beginLookUp(name);
  return async (): Promise<Row | null> => {
    const row = await load();
    if (row === null) markUnknown?.();
    return row;
  };
};

/** After a failed read of SQL: returns the expired row if the cache still has it, else throws the error. */
const useExpiredOrThrow = <Row>(row: Row | undefined, error: unknown): Row => {
  if (row === undefined) throw error;
  return row;
};

/** Rows in one statement: few enough that the statement stays short. */
const namesMax = 100;

/**
 * Finds rows by id or vanity code, one statement at a time: popular profiles expire at about the same time,
 * and clients may request any number of unknown names. A statement for each would keep others waiting.
 */
const createRowLoader = <Row extends Cacheable>(
  readMany: (names: readonly string[]) => Promise<readonly Row[]>,
): ((name: string) => Promise<Row | null>) =>
  createBatchLoader({
    loadMany: async (names: readonly string[]): Promise<readonly (Row | null)[]> => {
      const rows = await readMany(names);
      const byId = new Map(rows.map((row) => [row.id, row]));
      const byVanity = new Map(rows.map((row) => [row.vanity, row]));
      return names.map((name) => byId.get(name) ?? byVanity.get(name.toLowerCase()) ?? null);
    },
    keysMax: namesMax,
    batchesMax: 1,
    schedule: (task) => task(),
  });

/** Creates a row cache. A failed load rejects only when no row of that entity is cached, however old. */
export const createRowCache = <Row extends Cacheable>(options: RowCacheOptions<Row>): RowCache<Row> => {
  const { readMany, unknown, monotonicMs: nowMs = () => performance.now() } = options;
  const loading = createSingleFlight<Row | null>();
  const load = createRowLoader(readMany);
  let drops = 0;
  const refresh = (id: string): void => {
    if (loading.get(id) !== undefined) return;
    start(id, () => load(id)).catch(() => {
      // The row expires, and the next request reports the failure.
    });
  };
  const rows = createRows<Row>(options, { nowMs, refresh });
  unknown?.whenForgotten(loading.detachAll);

  const fill = async (name: string, load: () => Promise<Row | null>): Promise<Row | null> => {
    const dropsBefore = drops;
    const startedMs = nowMs();
    let row: Row | null;
    try {
      row = await load();
    } catch (error) {
      return useExpiredOrThrow(rows.find(name, true), error);
    }
    if (row === null) rows.delete(rows.find(name, true)?.id ?? '');
    return row !== null && drops === dropsBefore ? rows.store(row, startedMs) : row;
  };
  const start = (name: string, load: () => Promise<Row | null>): Promise<Row | null> =>
    loading.share(name, () => fill(name, load));
  return {
    get: (idOrVanity) => {
      const row = rows.find(idOrVanity);
      if (row !== undefined) return row;
      if (unknown?.has(idOrVanity)) return null;
      const inFlight = loading.get(idOrVanity);
      if (inFlight !== undefined) return inFlight;
      return start(
        idOrVanity,
        recordUnknown(unknown, idOrVanity, () => load(idOrVanity)),
      );
    },
    drop: (id) => {
      drops += 1;
      rows.delete(id);
      loading.detachAll();
      unknown?.forgetAll();
    },
    invalidateAll: () => {
      drops += 1;
      rows.expireAll();
      loading.detachAll();
      unknown?.forgetAll();
    },
  };
};
