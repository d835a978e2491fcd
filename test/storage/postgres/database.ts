/**
 * The world of a test file on a real Postgres: a server of its own with one migrated database, and pools on
 * it as several nodes have them. Everything ends with the suite.
 */
import type { suite } from 'uvu';
import type { Sql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';

export interface Database {
  readonly server: PostgresServer;
  /** The first of the pools. */
  readonly sql: Sql;
  readonly pools: readonly [Sql, ...Sql[]];
}

export const openDatabase = async (test: ReturnType<typeof suite>, poolCount = 1): Promise<Database> => {
  const server = await startPostgres();
  const url = await server.database('tests');
  const first = await openServerSql(url);
  const opened = [first];
  while (opened.length < poolCount) opened.push(await openServerSql(url));
  await migrate(first.sql);
  test.after(async () => {
    for (const { close } of opened) await close();
    await server.close();
  });
  const [, ...others] = opened.map(({ sql }) => sql);
  return { server, sql: first.sql, pools: [first.sql, ...others] };
};
