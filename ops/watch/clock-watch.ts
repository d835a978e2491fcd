/**
 * Measures the offset between this node's clock and those of Redis and Postgres, which all nodes share, and
 * notices when this clock is set back so far that the stores have times ahead of it.
 *
 * The hot store refuses votes from a node whose clock is too far off (engine/limits.ts); jobs and sessions go
 * by Postgres. This watch makes both visible to the operator: notes and gauges. It only reports, and the node
 * stays ready. While a server does not answer, its last measurement stays. A machine that was suspended finds
 * its clock set ahead, which is right.
 */
import { limits } from '../../engine/limits.ts';
import type { Clock } from '../../engine/ports.ts';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { aheadMsMax } from '../../storage/clock/look-up.ts';
import type { NodeWatch } from './watch.ts';

export interface ClockWatchParts {
  /** Reads the wall time of each Redis server, ms; `null` for the embedded store, which uses our clock. */
  readonly storeClocks: ReadClocks | null;
  /** Reads the wall time of Postgres; `null` for an embedded SQL. */
  readonly sqlClock: ReadClocks | null;
  /** Names the times in the stores that lie ahead of a time; `''` for none. */
  readonly findAhead: (nowMs: number) => Promise<string>;
  readonly clock: Clock;
  /** Receive each measurement: ms by which this node's clock is ahead; negative when it is behind. */
  readonly onMeasured: (aheadMs: number) => void;
  readonly onSqlMeasured: (aheadMs: number) => void;
}

type ReadClocks = () => Promise<readonly number[]>;

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

const describeOffset = (aheadMs: number, server: string): string => {
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const limitMs = aheadMs > 0 ? limits.clockAheadMaxMs : limits.clockBehindMaxMs;
  return (
    `the clock of this node is ${Math.abs(Math.round(aheadMs))} ms ${side} that of ${server} ` +
    `(${limitMs} ms are allowed); correct the wrong clock (use NTP)`
  );
};

/** Reads clocks, and computes the largest offset among them, with its sign. */
const measureAheadMs = async (readClocks: ReadClocks, clock: Clock): Promise<number> => {
  const sentMs = clock.nowMs();
  const sentMonotonicMs = clock.monotonicMs();
  const stores = await readClocks();
  // Elapsed time comes from the monotonic clock, so a wall clock that jumps meanwhile does not distort it.
  const receivedMs = sentMs + (clock.monotonicMs() - sentMonotonicMs);
  return stores
    .map((storeMs) => computeAheadMs(storeMs, sentMs, receivedMs))
    .reduce((most, next) => (Math.abs(next) > Math.abs(most) ? next : most), 0);
};

/** Notes while votes are refused, while jobs come at another time, and while the stores are ahead. */
export const createClockWatch = (parts: ClockWatchParts): NodeWatch => {
  const { storeClocks, sqlClock, clock, findAhead } = parts;
  const notes: Partial<Record<'redis' | 'sql' | 'setBack', Note | null>> = {};
  const compare = async (): Promise<void> => {
    if (storeClocks === null) return;
    const aheadMs = await measureAheadMs(storeClocks, clock);
    parts.onMeasured(aheadMs);
    const text = `votes are refused: ${describeOffset(aheadMs, 'Redis')}`;
    notes.redis = isRefusing(aheadMs) ? toNote('clock_wrong', text) : null;
  };
  const compareSql = async (): Promise<void> => {
    if (sqlClock === null) return;
    const aheadMs = await measureAheadMs(sqlClock, clock);
    parts.onSqlMeasured(aheadMs);
    const text = `jobs and sessions go by another clock: ${describeOffset(aheadMs, 'Postgres')}`;
    notes.sql = isRefusing(aheadMs) ? toNote('clock_apart', text) : null;
  };
  const readOffsetMs = (): number => clock.nowMs() - clock.monotonicMs();
  let furthestMs = readOffsetMs();
  let ahead = '';
  const lookUp = async (): Promise<void> => {
    furthestMs = Math.max(furthestMs, readOffsetMs());
    const isSetBack = furthestMs - readOffsetMs() > aheadMsMax;
    // What was found stays: later batches replace marks, not the times that are wrong.
    ahead = isSetBack ? ahead || (await findAhead(clock.nowMs())) : '';
    const text =
      `votes may count for nothing: this clock was set back, and the stores have later times: ${ahead}. ` +
      'If it is right, stop all nodes and start once with --accept-clock (docs/runbook/clock-wrong.md)';
    notes.setBack = ahead === '' ? null : toNote('clock_set_back', text);
  };
  const check = async (): Promise<void> => {
    await Promise.allSettled([compare(), compareSql(), lookUp()]);
  };
  return {
    everyMs: 5_000,
    check,
    listNotes: () => Object.values(notes).filter((note) => note !== null),
  };
};
