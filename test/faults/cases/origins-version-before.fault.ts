/**
 * A fleet in which nodes of the version before origins and of this one take votes side by side, as in a
 * rolling restart: each vote counts once, and has at most one origin: that of a node of this version, where
 * such a node flushed it, too.
 * Needs git and the history; a shallow clone skips it. Time limit: 300 s.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { watchChild } from '../../support/child.ts';
import { directoryOf, importFileOf, tokenOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { quiet, startNode } from '../../support/node-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { unpackVersionBefore } from '../harness/earlier-version.ts';
import { skip } from '../harness/fault-case.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('origins beside the version before');
const folder = makeFolder('rollcall-origins-before-');
const before = join(folder, 'version');
const directory = directoryOf({ users: 20, bots: 12, servers: 0, teams: 1, packs: 0 });

const vote = async (url: string, user: string, bot: string): Promise<void> => {
  const headers = { 'User-Auth': tokenOf('user', user), 'X-Forwarded-For': `192.0.2.${Number(user) % 200}` };
  const path = `/users/${user}/bots/${bot}/votes?upvote=true`;
  const { status } = await fetch(`${url}${path}`, { method: 'PUT', headers });
  assert.is(status, 204);
};

test('both versions take votes of the same listings: none is lost or doubled', async () => {
  const path = 'storage/sql/migrations/036.do.vote-origins.sql';
  if (!unpackVersionBefore(path, before))
    return void skip('origins', 'no git history with the version before');
  const [postgres, redis] = [await startPostgres(), await startRedis()];
  const databaseUrl = await postgres.database('origins');
  const sql = connectSql(databaseUrl);
  const stores = { REDIS_URL: redis.url, DATABASE_URL: databaseUrl, TRUSTED_PROXIES: '127.0.0.1' };
  try {
    const file = join(folder, 'directory.jsonl');
    writeFileSync(file, importFileOf(directory));
    const env = { ...process.env, ...quiet, ...stores, DATA_DIR: join(folder, 'import') };
    const args = [...process.execArgv, join(before, 'ops/cli/main.ts'), 'import', file];
    const imported = await watchChild(spawn(process.execPath, args, { env, cwd: before })).ended;
    assert.is(imported.code, 0, imported.err);
    const program = join(before, 'ops/main.ts');
    const old = await startNode({ dataDir: join(folder, 'old'), settings: stores, program });
    const node = await startNode({ dataDir: join(folder, 'new'), settings: stores });

    // Alternately, so that each node's votes are flushed by the other one, too.
    for (const [index, user] of directory.users.entries())
      for (const [at, bot] of directory.bots.entries())
        await vote((index + at) % 2 === 0 ? old.url : node.url, user, bot);
    await old.stop();
    const votes = directory.users.length * directory.bots.length;
    const count = async (table: string): Promise<number> =>
      Number((await sql.unsafe(`select count(*) from ${table}`))[0]?.count);
    await until('all votes are in SQL', async () => (await count('votes')) >= votes, 30_000);
    for (const bot of directory.bots) {
      const shown = JSON.parse(await (await fetch(`${node.url}/bots/${bot}`)).text());
      assert.is(shown.votes, directory.users.length, bot);
    }
    await node.stop();

    assert.is(await count('votes'), votes);
    const [origins] = await sql`
      select count(*)::int as rows, count(distinct itag)::int as votes,
        count(*) filter (where itag in (select itag from votes))::int as known
      from vote_origins`;
    assert.is(origins?.rows, origins?.votes);
    assert.is(origins?.rows, origins?.known);
    assert.ok(origins?.rows > 0 && origins?.rows <= votes / 2, `${origins?.rows} origins of ${votes / 2}`);
    printFigures('origins beside the version before', { votes, origins: origins?.rows, lost: 0, doubled: 0 });
  } finally {
    await sql.end();
    await redis.dispose();
    await postgres.close();
  }
});

test.run();
