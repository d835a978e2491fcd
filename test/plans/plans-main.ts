/**
 * `npm run test:plans`: runs the tests of the HTTP interface, and shows for each of their SQL statements how
 * long it takes to plan and to run once it has run ten times. Fails if one takes more than 0.1 ms to plan.
 *
 * `--rows N` (1,000) bots in the database, `--embedded` for the embedded SQL instead of a Postgres server,
 * `--all` shows all statements. Other words choose other tests than http/api.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyBots } from '../../bench/servers/fill.ts';
import { startPostgres } from '../../bench/shared/postgres-server.ts';
import { parseOptions } from '../../ops/cli/options.ts';
import { nodeFlags, preloaded } from '../../ops/setup/launch.mjs';
import { connectSql, type Sql } from '../../storage/sql/client.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import { addBot, addServer, addTeam, addUser } from '../storage/catalogue/directory.ts';
import { openMigratedSql } from '../support/sql-template.ts';
import { type RecordedStatement, replay } from './replay.ts';

const planningMsMax = 0.1;
const columns = 150;
const serversMax = 200;
/** Beginnings of statements that no request runs: jobs that make boards, a start, an import. */
const exempt = [
  'with sent as (select incarnation, target_type, target_id, author,',
  'with earlier as (',
  'with listing as materialized (',
  'insert into bots (incarnation, bot_id,',
];

const { values, positionals } = parseOptions(import.meta.filename, {
  options: {
    rows: { type: 'string', default: '1000' },
    embedded: { type: 'boolean' },
    all: { type: 'boolean' },
  },
  allowPositionals: true,
});

/** Runs the tests and returns what they sent. Throws if they fail. */
const recordStatements = async (folder: string): Promise<readonly RecordedStatement[]> => {
  const file = join(folder, 'statements.jsonl');
  const runner = fileURLToPath(new URL('../run.ts', import.meta.url));
  const names = positionals.length > 0 ? positionals : ['http/api'];
  const preload = new URL('./record-preload.ts', import.meta.url).href;
  const child = spawn(process.execPath, [...nodeFlags, ...preloaded, runner, ...names], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, STATEMENTS: file, NODE_OPTIONS: `--import ${preload}` },
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the tests ended with ${code}: run npm test -- ${names.join(' ')}`);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as RecordedStatement);
};

const fill = async (sql: Sql): Promise<void> => {
  await addUser(sql, 'robin');
  await addBot(sql, 'template', { long: 'x'.repeat(800) });
  await addTeam(sql, 'team1', 'keepers');
  for (let count = 1; count <= serversMax; count++)
    await addServer(sql, `server${count}`, { team_id: 'team1' });
  await copyBots(sql, { template: 'template', count: Number(values.rows) - 1 }, () => {});
  await sql`vacuum analyze`;
};

/** Calls `task` with an empty, migrated database that has one connection. */
const withSql = async (folder: string, task: (sql: Sql) => Promise<void>): Promise<void> => {
  if (values.embedded) {
    const embedded = await openMigratedSql(join(folder, 'sql'));
    await task(embedded.sql).finally(() => embedded.close());
    return;
  }
  const server = await startPostgres();
  try {
    const options = { connectionsMax: 1, statementTimeoutMs: 600_000 };
    const sql = connectSql(await server.database('plans'), options);
    await migrate(sql);
    await task(sql);
    await sql.end();
  } finally {
    await server.close();
  }
};

const shorten = (query: string): string => query.replace(/\s+/g, ' ').trim().slice(0, columns);
const formatMs = (ms: number | null): string => (ms === null ? '–' : ms.toFixed(3)).padStart(9);

const show = async (sql: Sql, recorded: readonly RecordedStatement[]): Promise<void> => {
  await fill(sql);
  const ofRequests = recorded.filter(({ query }) => !exempt.some((begin) => query.trim().startsWith(begin)));
  const figures = (await replay(sql, ofRequests)).toSorted(
    (left, right) => right.planningMs - left.planningMs,
  );
  const slow = figures.filter(({ planningMs }) => planningMs > planningMsMax);
  console.log('  plan ms    run ms  statement');
  for (const { query, planningMs, runningMs } of values.all ? figures : slow)
    console.log(`${formatMs(planningMs)} ${formatMs(runningMs)}  ${shorten(query)}`);
  console.log(`\n${figures.length} statements, ${slow.length} take more than ${planningMsMax} ms to plan`);
  process.exitCode = slow.length > 0 ? 1 : 0;
};

const folder = mkdtempSync(join(tmpdir(), 'rollcall-plans-'));
try {
  const recorded = await recordStatements(folder);
  await withSql(folder, (sql) => show(sql, recorded));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
