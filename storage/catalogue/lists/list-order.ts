/**
 * The order of the long lists (listed bots, listed servers, packs): any page of a million rows without a
 * query that walks there.
 *
 * SQL keeps each list cut into counted segments (migration 003). Triggers note what comes and goes as rows
 * of their own, so writers never wait; whoever reads next, on any node, counts them in (`recount`) and cuts
 * segments that have grown. A reader sums segments up to its page, and reads the ids of that one segment.
 * An order is what the segments said at one moment: pages of one order neither skip nor repeat a row. When
 * a segment has changed by the time its ids are read, the order is over and the next one begins. Bounded:
 * ids of at most `segmentsKeptMax` segments in memory. Used by catalogue.ts.
 */
import { LRUCache } from 'lru-cache';
import type { Queryable, Sql } from '../../sql/client.ts';
import {
  type Layout,
  type ListName,
  readSegment,
  readSteps,
  recount,
  type Segment,
  type SegmentKey,
  segmentEntriesUsual,
} from './list-segments.ts';

export interface ListOrder {
  /** A name for what is kept of this order. */
  readonly serial: number;
  /** All rows of the list. */
  readonly count: number;
  /** Ids of the rows from `offset`, newest first. */
  readIds(offset: number, rowsMax: number): Promise<readonly string[]>;
  /** Ids of rows drawn at random, each row as likely as any other: at most `wanted`, in random order. */
  readRandomIds(wanted: number): Promise<readonly string[]>;
  /** A segment that was read is not as it was: take the next order. */
  isOver(): boolean;
}
export interface ListOrders {
  /** The order in force, at most `ageMaxMs` old. The same object while nothing changed. */
  read(list: ListName): Promise<ListOrder>;
}

const segmentsKeptMax = 512;

interface CachedOrder extends ListOrder {
  readonly version: number;
  /** Segments that are not what the layout says any more. */
  readonly moved: SegmentKey[];
}
interface ListOrdersState {
  readonly sql: Sql;
  readonly segmentEntries: number;
  readonly ageMaxMs: number;
  readonly inFlight: Map<ListName, { readonly atMs: number; readonly order: Promise<CachedOrder> }>;
  readonly last: Map<ListName, CachedOrder>;
  /** Names orders apart, for those who keep what they read by one. */
  serial: number;
}

export interface OrderOptions {
  readonly ageMaxMs: number;
  /** Smaller in tests only; the same for all who share a database. */
  readonly segmentEntries?: number;
}

export const createListOrders = (sql: Sql, options: OrderOptions): ListOrders => {
  const state: ListOrdersState = {
    sql,
    segmentEntries: options.segmentEntries ?? segmentEntriesUsual,
    ageMaxMs: options.ageMaxMs,
    inFlight: new Map(),
    last: new Map(),
    serial: 0,
  };
  return { read: (list) => getCurrentOrder(state, list) };
};

/** One look at SQL at a time per list, shared by all who ask while it runs or is fresh. */
const getCurrentOrder = (state: ListOrdersState, list: ListName): Promise<CachedOrder> => {
  const asked = state.inFlight.get(list);
  const fresh = asked !== undefined && performance.now() - asked.atMs < state.ageMaxMs;
  const last = state.last.get(list);
  const over = last !== undefined && last.moved.length > 0;
  if (fresh && !over) return asked.order;
  const atMs = performance.now();
  const next = renew(state, list, last);
  state.last.delete(list);
  state.inFlight.set(list, { atMs, order: next });
  next.then(
    (order) => state.last.set(list, order),
    () => state.inFlight.get(list)?.order === next && state.inFlight.delete(list),
  );
  return next;
};

/** The order before when nothing has changed since, else a new one. */
const renew = async (
  state: ListOrdersState,
  list: ListName,
  last: CachedOrder | undefined,
): Promise<CachedOrder> => {
  const { sql } = state;
  const [head] = await sql<{ version: number; changed: boolean }[]>`
    select version, exists (select from list_changes where list = ${list}) as changed
    from list_heads where list = ${list}`;
  const same = head !== undefined && !head.changed && head.version === last?.version;
  if (last !== undefined && same && last.moved.length === 0) return last;
  return createListOrder(state, list, await recount(state, list, last?.moved ?? []));
};

const createListOrder = (state: ListOrdersState, list: ListName, layout: Layout): CachedOrder => {
  const { segments, version } = layout;
  const starts = computeStarts(segments);
  const count = segments.reduce((sum, { entries }) => sum + entries, 0);
  const kept = new LRUCache<number, Promise<readonly string[]>>({ max: segmentsKeptMax });
  const moved: SegmentKey[] = [];
  const load = (index: number): Promise<readonly string[]> => {
    const known = kept.get(index);
    if (known !== undefined) return known;
    const loading = readSegment(state.sql, list, { layout, index });
    kept.set(index, loading);
    loading.then(
      (ids) => ids.length !== segments[index]?.entries && moved.push(segments[index] as Segment),
      () => kept.peek(index) === loading && kept.delete(index),
    );
    return loading;
  };
  const readRandomIds = (wanted: number) =>
    readIdsAt(state.sql, list, { segments, places: sampleNumbers(count, wanted) });
  state.serial += 1;
  const rows = (offset: number, rowsMax: number) =>
    collect({ segments, starts, load }, offset, Math.min(rowsMax, Math.max(0, count - offset)));
  return {
    serial: state.serial,
    version,
    count,
    moved,
    isOver: () => moved.length > 0,
    readIds: rows,
    readRandomIds,
  };
};

/** Places of the segments' first entries. */
const computeStarts = (segments: readonly Segment[]): readonly number[] => {
  const starts: number[] = [];
  let start = 0;
  for (const { entries } of segments) {
    starts.push(start);
    start += entries;
  }
  return starts;
};

interface LoadedSegments {
  readonly segments: readonly Segment[];
  readonly starts: readonly number[];
  readonly load: (index: number) => Promise<readonly string[]>;
}

const collect = async (
  loaded: LoadedSegments,
  offset: number,
  wanted: number,
): Promise<readonly string[]> => {
  const { segments, starts, load } = loaded;
  const ids: string[] = [];
  let index = findLastAtMost(starts, offset);
  let skip = offset - (starts[index] ?? 0);
  for (; ids.length < wanted && index < segments.length; index++) {
    if (segments[index]?.entries !== 0)
      ids.push(...(await load(index)).slice(skip, skip + wanted - ids.length));
    skip = 0;
  }
  return ids;
};

/** Index of the last number that is not above `limit`; 0 when all are. */
const findLastAtMost = (numbers: readonly number[], limit: number): number => {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((numbers[middle] as number) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** Different numbers below `count`, in random order: `wanted` of them, or all. */
const sampleNumbers = (count: number, wanted: number): readonly number[] => {
  const drawn = new Set<number>();
  while (drawn.size < Math.min(count, wanted)) drawn.add(Math.floor(Math.random() * count));
  return [...drawn];
};

/** Ids at these places of the list, each found by a short walk from the low end of its segment. */
const readIdsAt = async (
  sql: Queryable,
  list: ListName,
  { segments, places }: { readonly segments: readonly Segment[]; readonly places: readonly number[] },
): Promise<readonly string[]> => {
  if (places.length === 0) return [];
  const starts = computeStarts(segments);
  const steps = places.map((place) => {
    const index = findLastAtMost(starts, place);
    const from = segments[index] as Segment;
    return { from, above: from.entries - 1 - (place - (starts[index] as number)) };
  });
  return [...new Set(await readSteps(sql, list, steps))];
};
