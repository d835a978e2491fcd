/**
 * The jobs of a whole node: they start with the node, run what was missed, and stop with the node.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../../ops/config/config.ts';
import { type Running, start } from '../../../ops/rollcall.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { makeFolder } from '../../support/folder.ts';
import { pluck } from '../../support/pluck.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { until } from '../../support/until.ts';

const test = suite('jobs of a node');

const folder = makeFolder('rollcall-jobs-');
await makeSqlFolder(join(folder, 'postgres'));

const startNode = (): Promise<Running> =>
  start(readConfig({ DATA_DIR: folder, PORT: '0', ADMIN_PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent' }));

/** Waits until the metrics of the node report a success of this job. Jobs run at the start. */
const waitForSuccess = ({ adminUrl }: Running, job: string): Promise<void> =>
  until(
    `a success of ${job}`,
    async () => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return text.includes(`rollcall_job_last_success_timestamp_seconds{job="${job}"}`);
    },
    45_000,
  );

const withSql = async <Result>(task: (sql: Awaited<ReturnType<typeof openEmbeddedSql>>['sql']) => Result) => {
  const { sql, close } = await openEmbeddedSql({ directory: join(folder, 'postgres') });
  try {
    return await task(sql);
  } finally {
    await close();
  }
};

test('a first start has missed nothing, a later start runs what was missed', async () => {
  const first = await startNode();
  await waitForSuccess(first, 'reminders');
  await first.stop();
  const rows = await withSql(
    (sql) => sql<{ attempts: number }[]>`
      update job_runs set due_at = due_at - interval '65 days'
      where name = 'monthly_reset' returning attempts`,
  );
  assert.equal(pluck(rows, 'attempts'), [0]);

  const second = await startNode();
  await waitForSuccess(second, 'monthly_reset');
  await second.stop();

  const [row] = await withSql(
    (sql) => sql<{ due: boolean; resets: number }[]>`
      select due_at = date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' as due,
        (select count(*) from vote_resets where at = due_at and reason = 'monthly_reset') as resets
      from job_runs where name = 'monthly_reset' and finished_at is not null order by due_at desc limit 1`,
  );
  assert.equal({ ...row }, { due: true, resets: 1 });
});

test.run();
