/**
 * Makes every job of the calendar due, as after a month without any node: the next start finds missed runs.
 */
import { openStores } from '../../storage/open.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import type { OwnNodes } from '../prove/own-servers.ts';

const setBack = (sql: Sql) => sql`update job_runs set due_at = due_at - interval '40 days'`;

/** The only node of embedded stores must be stopped. */
export const missJobs = async ({ stores, dataDir }: OwnNodes): Promise<void> => {
  const address = stores.rollcall.DATABASE_URL ?? '';
  const opened =
    address === ''
      ? await openStores({ dataDir, redisUrl: [], databaseUrl: '' }, { clock: Date.now, onWarning: () => {} })
      : await openServerSql(address);
  await setBack(opened.sql).finally(() => opened.close());
};
