/**
 * The order of the long lists (listed bots, listed servers, packs): reads any page of a million rows without
 * a query that walks to it.
 *
 * SQL cuts each list into counted segments (migration 003). Triggers record insertions and removals as rows
 * of their own, so writers never wait; the next reader on any node counts them in (`recount`) and cuts
 * segments that have grown. A reader sums the segments up to its page and reads the ids of that one segment.
 * An order is a snapshot of the segments, so its pages neither skip nor repeat a row. If a segment has
 * changed by the time its ids are read, the order is over and a new one begins. Memory: the ids of at most
 * `segmentsCachedMax` segments per order.
 */
import { LRUCache } from 'lru-cache';
import type { Sql } from '../../sql/client.ts';
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

export type ListOrder = ReturnType<typeof createListOrder>;

const segmentsCachedMax = 512;

export interface OrderOptions {
  readonly ageMaxMs: number;
  /** Smaller in tests only; all nodes on one database must use the same. */
  readonly segmentEntries?: number;
}

interface ListOrdersState extends Required<OrderOptions> {
  readonly sql: Sql;
  readonly inFlight: Map<ListName, { readonly atMs: number; readonly order: Promise<ListOrder> }>;
  readonly last: Map<ListName, ListOrder>;
  /** The serial of the newest order. */
  serial: number;
}

/** Creates the reader of orders, which stores the current order of each list. */
export const createListOrders = (sql: Sql, options: OrderOptions) => {
  const state: ListOrdersState = {
    sql,
    segmentEntries: segmentEntriesUsual,
    ...options,
    inFlight: new Map(),
    last: new Map(),
    serial: 0,
  };
  return {
    /** Reads the current order, at most `ageMaxMs` old. The same object while the list is unchanged. */
    read: (list: ListName) => getCurrentOrder(state, list),
  };
};

/** Shares one read per list between all callers while it runs and while its result is fresh. */
const getCurrentOrder = (state: ListOrdersState, list: ListName): Promise<ListOrder> => {
  const current = state.inFlight.get(list);
  const isFresh = current !== undefined && performance.now() - current.atMs < state.ageMaxMs;
  const last = state.last.get(list);
  if (isFresh && !last?.isOver()) return current.order;
  const atMs = performance.now();
  const next = readOrder(state, list, last);
  state.last.delete(list);
  state.inFlight.set(list, { atMs, order: next });
  next.then(
    (order) => state.last.set(list, order),
    () => state.inFlight.get(list)?.order === next && state.inFlight.delete(list),
  );
  return next;
};

/** Returns the last order if the list is unchanged since, else a new one. */
const readOrder = async (state: ListOrdersState, list: ListName, last: ListOrder | undefined) => {
  const { sql } = state;
  const [head] = await sql<{ version: number; changed: boolean }[]>`
    select version, exists (select from list_changes where list = ${list}) as changed
    from list_heads where list = ${list}`;
  const isUnchanged = head !== undefined && !head.changed && head.version === last?.version;
  if (last !== undefined && isUnchanged && !last.isOver()) return last;
  return createListOrder(state, list, await recount(state, list, last?.outdated ?? []));
};

const createListOrder = (state: ListOrdersState, list: ListName, layout: Layout) => {
  const { segments, version } = layout;
  const starts = computeStarts(segments);
  const count = segments.reduce((sum, { entries }) => sum + entries, 0);
  const cache = new LRUCache<number, Promise<readonly string[]>>({ max: segmentsCachedMax });
  const outdated: SegmentKey[] = [];
  const load = (index: number): Promise<readonly string[]> => {
    const cached = cache.get(index);
    if (cached !== undefined) return cached;
    const loading = readSegment(state.sql, list, { layout, index });
    cache.set(index, loading);
    loading.then(
      (ids) => ids.length !== segments[index]?.entries && outdated.push(segments[index] as Segment),
      () => cache.peek(index) === loading && cache.delete(index),
    );
    return loading;
  };
  /** Reads ids from `offset` on, newest first. */
  const readIds = async (offset: number, rowsMax: number): Promise<readonly string[]> => {
    const ids: string[] = [];
    const idsMax = Math.min(rowsMax, count - offset);
    let index = findLastAtMost(starts, offset);
    let skip = offset - (starts[index] ?? 0);
    for (; ids.length < idsMax && index < segments.length; index++) {
      if (segments[index]?.entries !== 0)
        ids.push(...(await load(index)).slice(skip, skip + idsMax - ids.length));
      skip = 0;
    }
    return ids;
  };
  /**
   * Reads the ids of random rows, all equally likely: at most `rowsMax`, in random order. Finds each by a
   * short walk from the low end of its segment.
   */
  const readRandomIds = async (rowsMax: number): Promise<readonly string[]> => {
    const steps = sampleNumbers(count, rowsMax).map((position) => {
      const index = findLastAtMost(starts, position);
      const from = segments[index] as Segment;
      return { ...from, above: from.entries - 1 - (position - (starts[index] as number)) };
    });
    return steps.length === 0 ? [] : [...new Set(await readSteps(state.sql, list, steps))];
  };
  state.serial += 1;
  return {
    /** Identifies this order in cache keys. */
    serial: state.serial,
    version,
    /** The number of rows in the list. */
    count,
    /** Segments whose rows differ from the layout by now. */
    outdated,
    /** True after a read found a changed segment: this order is outdated, read the list again. */
    isOver: () => outdated.length > 0,
    readIds,
    readRandomIds,
  };
};

/** Computes the position of each segment's first entry in the list. */
const computeStarts = (segments: readonly Segment[]): readonly number[] => {
  const starts: number[] = [];
  let start = 0;
  for (const { entries } of segments) {
    starts.push(start);
    start += entries;
  }
  return starts;
};

/** Finds the index of the last number that is at most `limit`, by bisection; 0 when there is none. */
const findLastAtMost = (numbers: readonly number[], limit: number): number => {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((numbers[middle] as number) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** Samples `sampleSize` different numbers below `count`, or all of them, in random order. */
const sampleNumbers = (count: number, sampleSize: number): readonly number[] => {
  const sample = new Set<number>();
  while (sample.size < Math.min(count, sampleSize)) sample.add(Math.floor(Math.random() * count));
  return [...sample];
};
