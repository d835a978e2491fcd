/**
 * Measures the offset between this node's clock and the clock of the hot store, where that runs on Redis.
 *
 * The store refuses votes from a node whose clock is too far off (engine/limits.ts). This watch makes that
 * visible to the operator: a note and a gauge. It only reports: the store decides about each vote, and the
 * node stays ready. While Redis does not answer, the last measurement stays.
 */
import { limits } from '../../engine/limits.ts';
import type { Clock } from '../../engine/ports.ts';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import type { NodeWatch } from './watch.ts';

export interface ClockWatchParts {
  /** Reads the wall time of each Redis server, ms; `null` for the embedded store, which uses our clock. */
  readonly storeClocks: (() => Promise<readonly number[]>) | null;
  readonly clock: Clock;
  /** Receives each measurement: ms by which this node's clock is ahead; negative when it is behind. */
  readonly onMeasured: (aheadMs: number) => void;
}

/**
 * The store read its clock at some time between `sentMs` and `receivedMs`. An offset that this range
 * explains counts as 0.
 */
const computeAheadMs = (storeMs: number, sentMs: number, receivedMs: number): number => {
  if (storeMs < sentMs) return sentMs - storeMs;
  return storeMs > receivedMs ? receivedMs - storeMs : 0;
};

const isRefusing = (aheadMs: number): boolean =>
  aheadMs > limits.clockAheadMaxMs || aheadMs < -limits.clockBehindMaxMs;

const describeAhead = (aheadMs: number): Note => {
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const limitMs = aheadMs > 0 ? limits.clockAheadMaxMs : limits.clockBehindMaxMs;
  const offMs = Math.abs(Math.round(aheadMs));
  return toNote(
    'clock_wrong',
    `votes are refused: the clock of this node is ${offMs} ms ${side} that of Redis ` +
      `(${limitMs} ms are allowed); correct the wrong clock (use NTP)`,
  );
};

/** One note while votes are refused because of the clock, otherwise none. */
export const createClockWatch = (parts: ClockWatchParts): NodeWatch => {
  const { storeClocks, clock } = parts;
  let notes: readonly Note[] = [];
  const measure = async (readClocks: () => Promise<readonly number[]>): Promise<void> => {
    const sentMs = clock.nowMs();
    const sentMonotonicMs = clock.monotonicMs();
    const stores = await readClocks();
    // Elapsed time comes from the monotonic clock, so a wall clock that jumps meanwhile does not distort it.
    const receivedMs = sentMs + (clock.monotonicMs() - sentMonotonicMs);
    // The largest offset among the servers, with its sign.
    const aheadMs = stores
      .map((storeMs) => computeAheadMs(storeMs, sentMs, receivedMs))
      .reduce((most, next) => (Math.abs(next) > Math.abs(most) ? next : most), 0);
    parts.onMeasured(aheadMs);
    notes = isRefusing(aheadMs) ? [describeAhead(aheadMs)] : [];
  };
  return {
    everyMs: 5_000,
    check: () => (storeClocks === null ? Promise.resolve() : measure(storeClocks).catch(() => {})),
    listNotes: () => notes,
  };
};
