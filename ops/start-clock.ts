/**
 * Judges the clock before a node counts by it: it must have been set, agree with that of Postgres, and not be
 * behind what the stores say has happened. `--accept-clock` mends such stores instead (storage/clock/).
 *
 * Invariant: nothing but these times is changed, and without the option nothing at all.
 */
import { aheadMsMax, findTimesAhead, formatTimes, readSqlMs } from '../storage/clock/look-up.ts';
import type { Stores } from '../storage/open.ts';
import { clockAdvice, describeClock, formatMs } from './clock.ts';

export interface ClockInput {
  readonly nowMs: number;
  /** Sets times ahead of the clock to it. */
  readonly accept: boolean;
  /** Receives what is rewritten, line by line. */
  readonly report: (line: string) => void;
}

/** Rejects with a message for the operator while times in the stores lie ahead of the clock. */
export const checkClock = async (stores: Stores, { nowMs, accept, report }: ClockInput): Promise<void> => {
  if (stores.owner !== null) await assertAgrees(stores, nowMs);
  const times = await findTimesAhead(stores, nowMs);
  if (times.length === 0) return;
  if (!accept) throw new Error(describeAhead(nowMs, formatTimes(times)));
  if (await stores.hot.transfer.hasNodes())
    throw new Error('A node is running on these stores: stop all nodes, then start one with --accept-clock.');
  const { flushToSql } = await import('./cli/flush.ts');
  const { setTimes } = await import('../storage/clock/accept.ts');
  await flushToSql(stores);
  await setTimes({ ...stores, nowMs, report });
};

/** An embedded SQL has the clock of this process. */
const assertAgrees = async ({ sql }: Stores, nowMs: number): Promise<void> => {
  const sqlMs = await readSqlMs(sql);
  if (Math.abs(sqlMs - nowMs) <= aheadMsMax) return;
  throw new Error(
    `${describeClock(nowMs)}, that of Postgres ${formatMs(sqlMs)}: one is wrong. ${clockAdvice}`,
  );
};

const describeAhead = (nowMs: number, times: string): string =>
  `${describeClock(nowMs)}, but the stores have later times: ${times}. If the clock is wrong: ` +
  `${clockAdvice} If it is right, a node ran with a wrong one: stop all nodes, make a backup and start ` +
  'once with "rollcall start --accept-clock" ("npm start -- --accept-clock"), which sets such times to now ' +
  'and says which (docs/runbook/clock-wrong.md).';
