/**
 * A node whose stores refuse: a user of Redis with exactly the rules of docs/operators/needs.md, the same
 * user without a right for a while, and a database whose tables are out of reach. No reply is 500, and all
 * is well again. Time limit: 240 s.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readLibrary } from '../../storage/hot/redis/library.ts';
import { listRules } from '../../storage/hot/redis/rights.ts';
import { createDriver } from '../../storage/sql/client.ts';
import { fillDirectory, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { untilNoNote, untilNote } from '../support/notes.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const test = suite('refusing stores');

const [postgres, redis] = [await startPostgres(), await startRedis()];
const operator = new Redis(redis.url);
const address = await postgres.database('refusing');
const admin = createDriver(address, { max: 1, onnotice: () => {} });
const { users, targets } = await fillDirectory(admin, { users: 2, bots: 1, servers: 1, teams: 1, packs: 1 });
const rules = listRules(readLibrary());
await operator.call('ACL', 'SETUSER', 'narrow', 'on', '>secret', ...rules);
const node: StartedNode = await startNode({
  dataDir: makeFolder('rollcall-refusing-'),
  settings: {
    REDIS_URL: redis.url.replace('redis://', 'redis://narrow:secret@'),
    DATABASE_URL: address,
  },
});
test.after(async () => {
  await node.kill();
  operator.disconnect();
  await admin.end();
  await redis.dispose();
  await postgres.close();
});

const idOf = (kind: string): string => targets.find((target) => target.kind === kind)?.id ?? '';
const user = { id: users[1] ?? '', token: tokenOf('user', users[1] ?? '') };
const bot = { id: idOf('bot'), token: tokenOf('bot', idOf('bot')) };
const ids: Readonly<Record<string, string>> = { target_type: 'bots', target_id: bot.id };
let posted = 0;

/** One request of most kinds: all public ones that read, and those that the owners send. */
const listRequests = async (): Promise<
  readonly (readonly [method: string, path: string, token?: string, body?: object])[]
> => {
  const document = (await (await fetch(`${node.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const reads = Object.entries(document.paths)
    .filter(([path, { get }]: [string, { get?: unknown }]) => get !== undefined && path !== '/feed')
    .map(([path]) => {
      const kind = /^\/(pack|team|server)s/.exec(path)?.[1];
      const id = kind === undefined ? (path.startsWith('/users') ? user.id : bot.id) : idOf(kind);
      const values: Readonly<Record<string, string>> = { ...ids, uid: user.id, user_id: user.id, id };
      return ['GET', path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'all')] as const;
    });
  posted += 1;
  return [
    ...reads,
    ['POST', '/bots/stats', bot.token, { servers: posted }],
    ['PUT', `/users/${user.id}/bots/${bot.id}/votes?upvote=true`, user.token],
    ['GET', `/bots/${bot.id}?target=page`],
    ['GET', `/users/${user.id}/notifications`, user.token],
    ['POST', `/bots/${bot.id}/sessions`, bot.token, { type: 'api', name: 'test' }],
    ['DELETE', `/bots/${bot.id}/sessions/${bot.id}`, bot.token],
    ['PATCH', `/bots/${bot.id}/settings`, bot.token, { short: `A short text of thirty letters ${posted}` }],
    ['POST', '/auth/test', bot.token, {}],
  ];
};

const send = async (): Promise<
  readonly { readonly request: string; readonly status: number; readonly text: string }[]
> => {
  const requests = await listRequests();
  return Promise.all(
    requests.map(async ([method, path, token, body]) => {
      const kind = token === user.token ? 'User-Auth' : 'Bot-Auth';
      const headers = {
        ...(token && { [kind]: token }),
        ...(body && { 'content-type': 'application/json' }),
      };
      const init = {
        method,
        headers,
        redirect: 'manual',
        ...(body && { body: JSON.stringify(body) }),
      } as const;
      const reply = await fetch(node.url + path, init);
      return { request: `${method} ${path}`, status: reply.status, text: await reply.text() };
    }),
  );
};

/** Sends all; none may be 500. Resolves to how many were 503. */
const countRefused = async (why: string): Promise<number> => {
  const replies = await send();
  const broken = replies.filter(({ status }) => status === 500);
  assert.equal(broken, [], `${why}: ${node.output().slice(-2_000)}`);
  return replies.filter(({ status }) => status === 503).length;
};
const untilServed = () =>
  until('all is served', async () => (await countRefused('afterwards')) === 0, 30_000);

test('a user with exactly the rules of the document is refused nothing', async () => {
  await countRefused('at first');
  await untilServed();
  await untilNoNote('redis_rights', node);
  await untilNoNote('pubsub_fails', node);

  assert.equal(await operator.call('ACL', 'LOG'), []);
});

for (const command of ['fcall', 'zadd', 'hset', 'hmget', 'eval', 'set', 'get'])
  test(`without ${command} for a while replies are 503 at worst`, async () => {
    await operator.call('ACL', 'SETUSER', 'narrow', `-${command}`);
    await countRefused(command);
    if (command === 'zadd') {
      await untilNote('redis_rights', node);
      assert.match(node.output(), /redis_rights: .*ACL SETUSER narrow \+zadd/);
      const [stats] = (await send()).filter(({ request }) => request === 'POST /bots/stats');
      assert.match(`${stats?.status} ${stats?.text}`, /^503 .*"outcome":"not_applied"/);
    }
    await operator.call('ACL', 'SETUSER', 'narrow', `+${command}`);
    await untilServed();
    await untilNoNote('redis_rights', node);
  });

test('a database whose schema is away for a while', async () => {
  await admin`alter schema public rename to away`;
  assert.ok((await countRefused('schema')) > 0);
  await admin`alter schema away rename to public`;
  await untilServed();
});

test('any one table that is missing, or forbidden, for a while', async () => {
  const tables = await admin<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  for (const { name } of tables) {
    await admin`alter table ${admin(name)} rename to missing`;
    await countRefused(`without ${name}`);
    await admin`alter table missing rename to ${admin(name)}`;
  }
  await untilServed();
});

test.run();
