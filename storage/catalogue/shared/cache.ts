/**
 * The two caches of the catalogue: snapshots of lists, and rows of single entities.
 *
 * Both are bounded and store only what SQL returned, never an edit that is not committed. A snapshot is at
 * most `ageMaxMs` old, counted from before its query. While SQL is unreachable, the last snapshot is served
 * for up to `staleMaxMs`: hardly any edit can happen then.
 *
 * A row stays until an edit drops it. It counts as read when its statement began or, if later, when the
 * notices were last read (notices.ts), and is used for a second from then; after that, a reading of the
 * notices comes first. If that fails, a row is used for `unnoticedMs`, and without SQL however old it is.
 * Rows in use are refreshed before they reach `ageMaxMs`, many in one statement.
 */
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { StorageError, type StorageReason } from '../../../engine/errors.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';
import { buildBound } from '../../../engine/tools/cache-bounds.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import type { UnknownNames } from '../unknown.ts';
import { currentMs, type Notices } from './notices.ts';

/** Synchronous when cached, else a promise of the query's result. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** One page of a list and the number of all rows in the list. The same object while the snapshot lasts. */
export interface CachedList<Rows> {
  readonly count: number;
  readonly rows: Rows;
}

/** How long the last snapshot is served while SQL is unreachable, ms. */
export const staleMaxMs = 3_600_000;

const unreachableReasons: readonly string[] = ['unreachable', 'busy', 'full'] satisfies StorageReason[];
const isUnreachable = (error: unknown): boolean =>
  error instanceof StorageError && unreachableReasons.includes(error.reason);

const createStaleFallback = (entriesMax: number) => {
  const lastValues = new LRUCache<string, object>({ max: entriesMax, ttl: staleMaxMs });
  return async <Value extends object>(key: string, load: () => Promise<Value>): Promise<Value> => {
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

export type Snapshots = ReturnType<typeof createSnapshots>;

/**
 * Creates a snapshot cache of at most `entriesMax` keys, each at most `ageMaxMs` old: it shares one query per
 * key between all callers while it runs and while its result is fresh.
 */
export const createSnapshots = (bound: { entriesMax: number; ageMaxMs: number }) => {
  const snapshots = new LRUCache<string, Promise<object>>({ max: bound.entriesMax, ttl: bound.ageMaxMs });
  const show = createStaleFallback(bound.entriesMax);
  return {
    /** Always loads. If SQL is unreachable, returns the last value loaded under this key instead. */
    show,
    /** Returns the cached value, or loads it. A failure is not cached. */
    get: <Value extends object>(key: string, load: () => Promise<Value>): Promise<Value> => {
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

export type RowCache<Row extends Cacheable> = ReturnType<typeof createRowCache<Row>>;

export interface RowCacheOptions<Row> {
  readonly bytesMax: number;
  /** The maximum age of a row; it varies from four fifths of this up, so that rows expire apart. */
  readonly ageMaxMs: number;
  /** Without them, rows are used until `ageMaxMs`. */
  readonly notices?: Notices;
  /** Reads many rows by id or vanity code; leaves out unknown names. */
  readonly readMany: (names: readonly string[]) => Promise<readonly Row[]>;
  /** Remembers names that match no entity for a short time. Without it each request queries SQL. */
  readonly unknown?: UnknownNames;
  /** A monotonic clock; tests pass their own. */
  readonly monotonicMs?: () => number;
}

/** How long a row is used after the last reading of the notices while those cannot be read, ms. */
const unnoticedMs = 10_000;
const namesCachedMax = 100_000;
const expiryShareMin = 0.8;
/** A request for a row that is older than this share of `ageMaxMs` starts a refresh. */
const refreshAgeShare = 0.7;
/** A refresh reads rows again that are older than this share, requested or not. */
const refreshedAgeShare = 0.5;
/** Rows that are refreshed by one statement. */
const refreshedMax = 250;

interface CachedRow<Row> {
  readonly row: Row;
  /** When its statement was started. */
  readonly readAtMs: number;
  readonly expiresAtMs: number;
  /** A refresh was started. */
  refreshing: boolean;
}

type RowBounds<Row> = Pick<RowCacheOptions<Row>, 'bytesMax' | 'ageMaxMs'>;

/** Creates the store of cached rows, by id and by vanity code. */
const createRows = <Row extends Cacheable>({ bytesMax, ageMaxMs }: RowBounds<Row>) => {
  /** Ids in the order in which the rows were read. */
  const ids = new Set<string>();
  const rows = new LRUCache<string, CachedRow<Row>>({
    maxSize: bytesMax,
    sizeCalculation: ({ row }) => row.weightBytes,
    dispose: (_, id) => ids.delete(id),
  });
  const idsByVanity = new LRUCache<string, string>(buildBound(namesCachedMax));
  return {
    find: (idOrVanity: string): CachedRow<Row> | undefined => {
      const byId = rows.get(idOrVanity);
      if (byId !== undefined) return byId;
      const code = idOrVanity.toLowerCase();
      const id = idsByVanity.get(code);
      const cached = id === undefined ? undefined : rows.get(id);
      // The code may belong to another entity by now: only the row itself says which one has it.
      return cached?.row.vanity === code ? cached : undefined;
    },
    /** Returns the cached object if the refreshed row is equal, so identity-based caches stay valid. */
    store: (row: Row, readAtMs: number): Row => {
      const previous = rows.peek(row.id)?.row;
      const stored = isDeepStrictEqual(previous, row) ? (previous as Row) : row;
      const lastsMs = ageMaxMs * (expiryShareMin + (1 - expiryShareMin) * Math.random());
      rows.set(row.id, { row: stored, readAtMs, expiresAtMs: readAtMs + lastsMs, refreshing: false });
      if (rows.has(row.id)) ids.add(row.id);
      if (row.vanity !== '') idsByVanity.set(row.vanity, row.id);
      return stored;
    },
    delete: (id: string): void => void rows.delete(id),
    /** Takes the rows to refresh now, the oldest; they are not taken again until they are stored. */
    takeOldest: (nowMs: number): readonly string[] => {
      const taken: string[] = [];
      for (const id of ids) {
        const cached = rows.peek(id);
        if (cached === undefined || nowMs - cached.readAtMs < ageMaxMs * refreshedAgeShare) break;
        if (!cached.refreshing) taken.push(id);
        cached.refreshing = true;
        if (taken.length === refreshedMax) break;
      }
      return taken;
    },
  };
};

type Rows<Row extends Cacheable> = ReturnType<typeof createRows<Row>>;

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
  });

/** Refreshes rows beside the requests that use them. When it fails, they expire and requests read them. */
const createRefresher =
  <Row extends Cacheable>(
    rows: Rows<Row>,
    { readMany, countDrops }: Pick<RowCacheOptions<Row>, 'readMany'> & { readonly countDrops: () => number },
  ) =>
  async (nowMs: number): Promise<void> => {
    const ids = rows.takeOldest(nowMs);
    if (ids.length === 0) return;
    const dropsBefore = countDrops();
    const found = await readMany(ids).catch(() => null);
    if (found === null || countDrops() !== dropsBefore) return;
    const missing = new Set(ids);
    for (const row of found) {
      rows.store(row, nowMs);
      missing.delete(row.id);
    }
    for (const id of missing) rows.delete(id);
  };

/** Finds cached rows that may be used, and says which only lack a reading of the notices. */
const createFinder = <Row extends Cacheable>(
  rows: Rows<Row>,
  { notices, ageMaxMs, monotonicMs = () => performance.now() }: RowCacheOptions<Row>,
  refresh: (nowMs: number) => void,
) => ({
  /** Finds the row, if all changes until `behindMs` ago are known. */
  find: (name: string, behindMs: number): Row | undefined => {
    const cached = rows.find(name);
    const nowMs = monotonicMs();
    if (cached === undefined || nowMs >= cached.expiresAtMs) return undefined;
    const { readAtMs } = cached;
    const noticedMs = notices?.lastReadMs(readAtMs, nowMs) ?? nowMs;
    if (nowMs - Math.max(readAtMs, noticedMs) >= behindMs) return undefined;
    if (!cached.refreshing && nowMs - readAtMs >= ageMaxMs * refreshAgeShare) refresh(nowMs);
    return cached.row;
  },
  /** Whether a reading of the notices may make the row usable, or begins their cover. */
  lacksNotices: (name: string): boolean => {
    if (notices === undefined) return false;
    if (!notices.isCovering()) return true;
    const cached = rows.find(name);
    return cached !== undefined && Number.isFinite(notices.lastReadMs(cached.readAtMs, monotonicMs()));
  },
});

/** Creates a row cache. A failed load rejects only when no row of that entity is cached, however old. */
export const createRowCache = <Row extends Cacheable>(options: RowCacheOptions<Row>) => {
  const { readMany, unknown, notices, monotonicMs = () => performance.now() } = options;
  const loading = createSingleFlight<Row | null>();
  const load = createRowLoader(readMany);
  let drops = 0;
  const rows = createRows<Row>(options);
  const refresh = createRefresher(rows, { readMany, countDrops: () => drops });
  const { find, lacksNotices } = createFinder(rows, options, (nowMs) => void refresh(nowMs));
  unknown?.whenForgotten(loading.detachAll);

  const fill = async (name: string): Promise<Row | null> => {
    if (lacksNotices(name)) {
      const usable = find(name, (await notices?.update()) ? currentMs : unnoticedMs);
      if (usable !== undefined) return usable;
    }
    const dropsBefore = drops;
    const startedMs = monotonicMs();
    const markUnknown = unknown?.beginLookUp(name);
    let row: Row | null;
    try {
      row = await load(name);
    } catch (error) {
      const expired = rows.find(name);
      if (expired === undefined) throw error;
      return expired.row;
    }
    if (row === null) {
      markUnknown?.();
      rows.delete(rows.find(name)?.row.id ?? '');
    }
    return row !== null && drops === dropsBefore ? rows.store(row, startedMs) : row;
  };
  return {
    /**
     * Finds by id or vanity code; synchronous when cached. `null` when there is no such entity. The same
     * object as long as the row is unchanged.
     */
    find: (name: string): MaybePromise<Row | null> => {
      const row = find(name, currentMs);
      if (row !== undefined) return row;
      if (unknown?.has(name)) return null;
      return loading.share(name, () => fill(name));
    },
    /** Call after an edit or deletion is committed. Results of loads that began earlier are not cached. */
    drop: (id: string): void => {
      drops += 1;
      rows.delete(id);
      loading.detachAll();
      unknown?.forgetAll();
    },
  };
};
