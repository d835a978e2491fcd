/**
 * Fleet jobs on a real Postgres: each due time is run once, even if several nodes try at the same time or a
 * node dies.
 *
 * Every node has its own connection pool. The real clock plays no part: the test sets the time and calls
 * sweep, which does the same as a tick.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { monthly } from '../../../ops/jobs/calendar.ts';
import type { FleetJob, JobRun } from '../../../ops/jobs/job.ts';
import { createMonthlyReset } from '../../../ops/jobs/jobs.ts';
import { createSchedule, type Schedule } from '../../../ops/jobs/schedule.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { createJobRuns } from '../../../storage/nodes/job-runs.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql, type ServerSql } from '../../../storage/sql/server.ts';
import { addBot, addUser, addVote } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { silentMeters } from '../../support/job-meters.ts';
import { pluck } from '../../support/pluck.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

const test = suite('schedule of jobs');
const server = await startPostgres();
const url = await server.database('jobs');
const nodes: ServerSql[] = [];
const schedules: Schedule[] = [];
let now = '';
let names = 0;
const failures: string[] = [];

test.after(async () => {
  await Promise.all(schedules.map((schedule) => schedule.stop()));
  for (const node of nodes) await node.close();
  await server.close();
});

const sqlOf = (node: number) => (nodes[node] as ServerSql).sql;

for (let node = 0; node < 3; node++) nodes.push(await openServerSql(url));
await migrate(sqlOf(0));

const silent = (): void => {};
const meters = { ...silentMeters, recordFailure: (job: string) => failures.push(job) };

/** Creates the schedule of node number `node`; its time is `now`. */
const open = (node: number, job: FleetJob, leaseMs = 30_000): Schedule => {
  const schedule = createSchedule({
    fleetJobs: [job],
    nodeJobs: [],
    runs: createJobRuns(sqlOf(node), `node${node}`),
    meters,
    clock: { nowMs: () => Date.parse(now), monotonicMs: () => 0 },
    onFailure: silent,
    leaseMs,
  });
  schedules.push(schedule);
  return schedule;
};
const newJob = (run: FleetJob['run']): FleetJob => ({ name: `job${++names}`, calendar: monthly, run });
const newRecorder = () => {
  const dueDays: string[] = [];
  const job = newJob(async ({ dueAtMs }) => {
    dueDays.push(new Date(dueAtMs).toISOString().slice(0, 10));
  });
  return { job, dueDays };
};
const readRun = async (job: FleetJob, dueOn: string) => {
  const [row] = await sqlOf(0)<{ attempts: number; error: string; finished: boolean; node: string }[]>`
    select attempts, error, node, finished_at is not null as finished from job_runs
    where name = ${job.name} and due_at = ${new Date(dueOn)}`;
  return row;
};
/** Lets the lease of the job's runs expire. */
const endLease = (job: FleetJob) =>
  sqlOf(0)`update job_runs set lease_until = now() - interval '1 second' where name = ${job.name}`;
/** Sweeps for the first time, which registers the job without running it. */
const beginAt = async (at: string, ...all: readonly Schedule[]): Promise<void> => {
  now = at;
  await Promise.all(all.map((schedule) => schedule.sweep()));
};

test('three nodes that sweep at once run each due time once', async () => {
  const { job, dueDays } = newRecorder();
  const all = [open(0, job), open(1, job), open(2, job)];
  await beginAt('2024-01-20T00:00Z', ...all, ...all);
  assert.equal(dueDays, []);
  for (const at of ['2024-02-01T00:00Z', '2024-02-29T23:59Z', '2024-03-01T00:00Z', '2024-03-01T00:01Z']) {
    now = at;
    await Promise.all([...all, ...all].map((schedule) => schedule.sweep()));
  }

  assert.equal(dueDays, ['2024-02-01', '2024-03-01']);
  assert.is((await readRun(job, '2024-03-01'))?.attempts, 1);
});

test('after a downtime only the latest missed due time is run', async () => {
  const { job, dueDays } = newRecorder();
  const [early, late] = [open(0, job), open(1, job)];
  await beginAt('2022-01-15T00:00Z', early);
  now = '2022-05-20T10:00Z';
  await late.sweep();
  now = '2022-03-02T00:00Z';
  await early.sweep();

  assert.equal(dueDays, ['2022-05-01']);
});

test('a clock that jumps brings what became due', async () => {
  const { job, dueDays } = newRecorder();
  const schedule = open(0, job);
  await beginAt('2022-06-15T00:00Z', schedule);
  schedule.start();
  await schedule.sweep();
  assert.equal(dueDays, []);

  now = '2022-07-01T00:01Z';
  await until('the reset has come', () => dueDays.length === 1, 10_000);
  assert.equal(dueDays, ['2022-07-01']);
  await schedule.stop();
});

test('a run of a dead node is taken over when its lease has expired, not before', async () => {
  const { job, dueDays } = newRecorder();
  const survivor = open(1, job);
  await beginAt('2022-01-15T00:00Z', survivor);
  now = '2022-02-01T00:00Z';
  const dead = createJobRuns(sqlOf(0), 'dead');
  assert.ok(await dead.claim({ name: job.name, dueAtMs: Date.parse(now) }, 60_000));
  await survivor.sweep();
  assert.equal(dueDays, []);

  await endLease(job);
  await survivor.sweep();

  assert.equal(dueDays, ['2022-02-01']);
  const row = await readRun(job, '2022-02-01');
  assert.equal([row?.attempts, row?.node, row?.finished], [2, 'node1', true]);
});

test('when a run is taken over, its signal aborts and the node records nothing', async () => {
  let begin: (run: JobRun) => void = silent;
  const begun = new Promise<JobRun>((resolve) => {
    begin = resolve;
  });
  const job = newJob(async (run) => {
    begin(run);
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)));
  });
  const stalled = open(0, job, 300);
  await beginAt('2022-01-15T00:00Z', stalled);
  now = '2022-02-01T00:00Z';
  const sweeping = stalled.sweep();
  const run = await begun;
  await sqlOf(1)`
    update job_runs set node = 'other', attempts = 2 where name = ${job.name} and finished_at is null`;
  await sweeping;

  assert.ok(run.signal.aborted);
  const row = await readRun(job, '2022-02-01');
  assert.equal([row?.attempts, row?.error, row?.finished], [2, '', false]);
});

test("a due time in the future of the database is not run, whatever a node's clock says", async () => {
  const { job, dueDays } = newRecorder();
  const other = newRecorder();
  const [ahead, late] = [open(0, job), open(1, other.job)];
  await beginAt('2022-01-15T00:00Z', ahead);
  now = new Date(Date.now() + 62 * 86_400_000).toISOString();
  await Promise.all([ahead.sweep(), late.sweep()]);
  assert.equal([dueDays, other.dueDays], [[], []]);

  now = '2022-02-01T00:00Z';
  await ahead.sweep();
  assert.equal(dueDays, ['2022-02-01']);
  assert.equal(
    await sqlOf(0)`select from job_runs where name = ${other.job.name}`.then((rows) => rows.length),
    0,
  );
});

test('a failure is recorded and counted, and the run is repeated after the pause', async () => {
  let attempts = 0;
  const job = newJob(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no room');
  });
  const [one, other] = [open(0, job), open(1, job)];
  await beginAt('2022-01-15T00:00Z', one);
  now = '2022-02-01T00:00Z';
  await one.sweep();
  await other.sweep();
  assert.equal([attempts, (await readRun(job, '2022-02-01'))?.error], [1, 'no room']);
  assertIncludes(failures, job.name);

  await endLease(job);
  await Promise.all([one.sweep(), other.sweep()]);

  assert.is(attempts, 2);
  const row = await readRun(job, '2022-02-01');
  assert.equal([row?.attempts, row?.error, row?.finished], [2, '', true]);
});

test('stopping aborts a running job, waits for it, and releases the run at once', async () => {
  let ended = false;
  let began: () => void = silent;
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });
  const job = newJob(async ({ signal }) => {
    if (ended) return;
    began();
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await sqlOf(0)`select 1`;
    ended = true;
  });
  const [leaving, staying] = [open(0, job), open(1, job)];
  await beginAt('2022-01-15T00:00Z', leaving);
  now = '2022-02-01T00:00Z';
  void leaving.sweep();
  await begun;
  await leaving.stop();
  assert.ok(ended);
  assert.is((await readRun(job, '2022-02-01'))?.finished, false);

  await staying.sweep();

  assert.is((await readRun(job, '2022-02-01'))?.finished, true);
});

test('a missed monthly reset voids the votes before its due time, once', async () => {
  const sql = sqlOf(0);
  await addUser(sql, 'robin');
  const bot = await addBot(sql, 'bot1', { counted: { upvotes: 3 } });
  const days = ['2022-01-31T23:59:59.999Z', '2022-02-01T00:00:00Z', '2022-02-20T00:00:00Z'];
  for (const day of days) await addVote(sql, bot, { author: 'robin', created_at: day });
  const all = [0, 1].map((node) =>
    open(node, createMonthlyReset({ catalogue: createCatalogue(sqlOf(node)) })),
  );
  await beginAt('2022-01-15T00:00Z', ...all);
  now = '2022-02-21T12:00Z';
  await Promise.all(all.map((schedule) => schedule.sweep()));

  const votes = await sql<{ void_reason: string; voided_at: Date | null }[]>`
    select void_reason, voided_at from vote_rows where target_id = 'bot1' order by created_at`;
  assert.equal(pluck(votes, 'void_reason'), ['monthly_reset', '', '']);
  assert.is(votes[0]?.voided_at?.toISOString(), '2022-02-01T00:00:00.000Z');
  const [adjustments] =
    await sql`select count(*)::int as count, min(payload ->> 'upvotes') as up from adjustments`;
  assert.equal({ ...adjustments }, { count: 1, up: '-1' });
});

test('a node job runs at the start and at every tick', async () => {
  let runs = 0;
  let thrice: () => void = silent;
  const ticked = new Promise<void>((resolve) => {
    thrice = resolve;
  });
  const schedule = createSchedule({
    fleetJobs: [],
    nodeJobs: [
      {
        name: 'ticking',
        everyMs: 100,
        run: async () => {
          runs += 1;
          if (runs === 3) thrice();
          throw new Error('a failure does not end the job');
        },
      },
    ],
    runs: createJobRuns(sqlOf(0), 'node0'),
    meters,
    clock: { nowMs: () => Date.parse(now), monotonicMs: () => 0 },
    onFailure: silent,
  });
  schedule.start();
  await ticked;
  await schedule.stop();

  assert.ok(failures.filter((job) => job === 'ticking').length >= 2);
});

test('old runs are deleted, but never the latest run of a job', async () => {
  const { job } = newRecorder();
  const schedule = open(0, job);
  await beginAt('2022-01-15T00:00Z', schedule);
  await beginAt('2022-02-15T00:00Z', schedule);
  await sqlOf(0)`update job_runs set finished_at = now() - interval '2 years' where name = ${job.name}`;
  await createJobRuns(sqlOf(0), 'node0').purge(400);

  assert.is(await readRun(job, '2022-01-01'), undefined);
  assert.ok(await readRun(job, '2022-02-01'));
});

test.run();
