/**
 * A node that runs one job of the history for one due time, as a process of its own, and may die in between:
 * `DATABASE_URL`, `NODE`, `JOB`, `DUE_MS`, and `DIE_AT`, the number of a step's begin or end at which it ends
 * by SIGKILL. Prints `open` when it is connected, then `done` or `not run`; exits with 1 when it failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createHistoryJob, createVoteMonthsJob } from '../../../ops/jobs/history.ts';
import { runOnce } from '../../../ops/jobs/run-once.ts';
import { createJobRuns } from '../../../storage/nodes/job-runs.ts';
import { openServerSql } from '../../../storage/sql/server.ts';

const { DATABASE_URL = '', NODE = '', JOB, DUE_MS, DIE_AT = '0' } = process.env;
const { sql } = await openServerSql(DATABASE_URL);
let passages = 0;
const monotonicMs = (): number => {
  passages += 1;
  if (passages === Number(DIE_AT)) {
    process.kill(process.pid, 'SIGKILL');
    // The kernel delivers the signal when it chooses: nothing may run until then.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return performance.now();
};
const ignore = (): void => {};
const settings = { historyFineMinutes: 5, historyFineHours: 48, historyHourDays: 30 };
const job =
  JOB === 'history'
    ? createHistoryJob({
        sql,
        settings,
        meters: { recordRows: ignore, recordSample: ignore, recordHoles: ignore },
        monotonicMs,
      })
    : createVoteMonthsJob({ sql, monotonicMs });
process.stdout.write('open\n');
let failure = '';
const done = await runOnce(
  {
    runs: createJobRuns(sql, NODE),
    meters: {
      recordSuccess: ignore,
      recordFailure: ignore,
      declareJobs: ignore,
      recordPush: ignore,
      recordPushAnswer: ignore,
      recordSearch: ignore,
      recordDeadLetters: ignore,
    },
    monotonicMs: () => performance.now(),
    signal: new AbortController().signal,
    leaseMs: 60_000,
    onFailure: (name, error) => {
      failure = `${name}: ${error.message}\n`;
    },
  },
  job,
  Number(DUE_MS),
);
process.stdout.write(`${failure}${done ? 'done' : 'not run'}\n`);
await sleep(10);
process.exit(failure === '' ? 0 : 1);
