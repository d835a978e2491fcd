/**
 * What the operations beyond the contract that everybody reads show while Postgres is away, as
 * docs/operators/outages.md says: leaderboards, ranks, badges, histories, the feed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { migrate } from '../../storage/sql/migrate.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import { openStream, Refused } from '../http/feed/clients.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const test = suite('public reads without Postgres');
const postgres = await startPostgres();
const redis = await startRedis();
const databaseUrl = await postgres.database('reads');
const { sql, close } = await openServerSql(databaseUrl);
await migrate(sql);
await addUser(sql, 'robin');
for (let number = 1; number <= 30; number++)
  await addBot(sql, `bot${number}`, { counted: { upvotes: 100 - number } });
await close();
let node: StartedNode;

test.before(async () => {
  node = await startNode({
    dataDir: makeFolder('rollcall-reads-'),
    settings: {
      DATABASE_URL: databaseUrl,
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      BOARD_SECONDS: '10',
      HISTORY_FINE_MINUTES: '1',
    },
  });
});
test.after(async () => {
  await node?.stop();
  await postgres.close();
  await redis.dispose();
});

const get = async (path: string) => {
  const response = await fetch(node.url + path);
  const text = await response.text();
  return { status: response.status, text };
};

const kept = [
  '/leaderboards/bots/votes',
  '/leaderboards/bots/votes?page=2',
  // A board without entries.
  '/leaderboards/bots/uptime',
  '/bots/bot1/rank',
  '/bots/bot1/history?metrics=votes&from=2026-01-01&to=2026-02-01',
  '/badges/bots/bot1/rank.json',
  '/badges/bots/bot1/spark-votes.svg',
  '/badges/bots/bot1/card.svg',
];
/** Pages of listings: one that the node has served, and one that it has not. */
const visit = async (path: string) => {
  const reply = await fetch(node.url + path, { headers: { accept: 'text/html' } });
  return { status: reply.status, text: await reply.text() };
};
const needsSql = ['/bots/bot2/rank', '/bots/bot1/history?metrics=clicks', '/bots/bot1/votes/months'];

test('what was shown is shown, live numbers go on, and all else is 503 until Postgres is back', async () => {
  const readScores = async () => {
    const { results } = JSON.parse((await get('/leaderboards/bots/votes')).text);
    return results.map(({ score }: { score: number }) => score);
  };
  await until('an edition', async () => (await readScores()).length === 25);
  await until('the other boards', async () => {
    const { updated_at } = JSON.parse((await get('/leaderboards/bots/uptime')).text);
    return updated_at !== null;
  });
  const before = await Promise.all(kept.map(get));
  await visit('/@bot-bot1');
  const stream = await openStream(node.url, 'targets=bot/bot1&channels=totals,votes');
  await stream.next('totals');
  await postgres.stop('fast');
  // Longer than any page, rank or badge counts as new.
  await pause(11_000);
  const after = await Promise.all(kept.map(get));
  const refused = await Promise.all(needsSql.map(get));
  const pages = [await visit('/@bot-bot1'), await visit('/@bot-bot2')];
  const opened = await openStream(node.url, 'targets=bot/bot1');
  const first = await opened.next('totals');
  const votes = await openStream(node.url, 'targets=bot/bot1&channels=votes').catch(
    (error: unknown) => error,
  );
  await fetch(`${node.url}/bots/bot1?target=page`);
  for (const client of [stream, opened]) await client.find(({ data }) => data.totals?.clicks === 3);
  await postgres.start();
  const recovered = async (path: string) => (await get(path)).status === 200;
  for (const path of needsSql) await until(path, () => recovered(path));

  for (const [index, { status, text }] of after.entries())
    assert.equal([status, text], [200, before[index]?.text], kept[index]);
  assert.is(first.data.totals.votes, 99);
  assert.equal(
    pages.map(({ status }) => status),
    [200, 503],
  );
  assert.match(pages[0]?.text ?? '', /<b data-live="votes">99<\/b>/);
  assert.match(pages[1]?.text ?? '', /Not available at the moment/);
  assert.equal(
    refused.map(({ status }) => status),
    needsSql.map(() => 503),
  );
  assert.ok(votes instanceof Refused && votes.status === 503);
  for (const client of [stream, opened]) client.close();
});

test.run();
