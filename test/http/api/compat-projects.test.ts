/**
 * `/api/v1/projects/@me`, by requests written from the public documentation of top.gg's API v1: what its
 * clients send, and what they read.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compatRoutes } from '../../../http/api/compat.ts';
import { routes } from '../../../http/api/table.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld } from './world.ts';

const test = suite('routes of projects');
const world = await openWorld({ routes: [...routes, ...compatRoutes] });
test.after(() => world.close());

const botId = '264811613708746752';
const users = ['robin', '661200758510977084', '728871946456137770', '121919449996460033'];
for (const user of users) await addUser(world.sql, user);
const [, ann, ben, cleo] = users as [string, string, string, string];
await addBot(world.sql, botId);
const token = await world.token('bot', botId);

interface Sent {
  readonly body?: unknown;
  readonly authorization?: string;
}
const send = async (method: string, path: string, { body, authorization = `Bearer ${token}` }: Sent = {}) => {
  const answer = await world.ask(method, `/api/v1/projects/@me${path}`, { body, headers: { authorization } });
  // Problem details have a content type of their own.
  return { ...answer, json: answer.text === '' ? null : JSON.parse(answer.text) };
};

const vote = async (user: string, upvote = true) => {
  const path = `/users/${user}/bots/${botId}/votes?upvote=${upvote}`;
  const { status } = await world.ask('PUT', path, { token: await world.token('user', user) });
  assert.is(status, 204);
};

const started = new Date(world.clock.nowMs() - 60_000).toISOString();

test('the project is the bot of the token, with the fields that clients read', async () => {
  const { status, json } = await send('GET', '');

  assert.is(status, 200);
  assert.equal(
    [json.id, json.platform, json.type, json.votes, json.votes_total, json.review_count],
    [botId, 'discord', 'bot', 0, 0, 0],
  );
  assert.equal(typeof json.name + typeof json.headline + Array.isArray(json.tags), 'stringstringtrue');
});

test('metrics are numbers of the bot: 204', async () => {
  const answers = [
    await send('PATCH', '/metrics', { body: { server_count: 3_908, shard_count: 8 } }),
    await send('PATCH', '/metrics', { body: { server_count: 12 } }),
  ];
  const { json } = await world.ask('GET', `/bots/${botId}`);

  assert.equal(
    answers.map(({ status, text }) => [status, text]),
    [
      [204, ''],
      [204, ''],
    ],
  );
  assert.equal([json.servers, json.shards], [12, 8]);
});

test('nothing is 2xx without an effect', async () => {
  for (const body of [{}, { servers: 5 }, { server_count: -1 }, { server_count: 'many' }]) {
    const { status, headers, json } = await send('PATCH', '/metrics', { body });
    assert.equal([status, json.status, json.title], [422, 422, 'Unprocessable Entity'], JSON.stringify(body));
    assert.is(headers.get('content-type'), 'application/problem+json; charset=utf-8');
    assert.is(typeof json.detail, 'string');
  }
  assert.is((await world.ask('GET', `/bots/${botId}`)).json.servers, 12);
});

test('a vote is found by its user, and 404 says that there is none', async () => {
  await vote(ann);
  const found = await send('GET', `/votes/${ann}?source=discord`);
  const missing = await send('GET', `/votes/${ben}?source=discord`);

  assert.is(found.status, 200);
  assert.equal(Object.keys(found.json), ['created_at', 'expires_at', 'weight']);
  assert.ok(Date.parse(found.json.created_at) <= world.clock.nowMs());
  assert.ok(Date.parse(found.json.expires_at) > world.clock.nowMs());
  assert.is(found.json.weight, 1);
  assert.equal([missing.status, missing.json.title], [404, 'Not Found']);
  assert.is((await send('GET', `/votes/${ann}?source=elsewhere`)).status, 422);
});

test('votes come from a time on, oldest first, and the cursor goes on until a page is empty', async () => {
  await vote(ben, false);
  await vote(cleo);
  const first = await send('GET', `/votes?startDate=${encodeURIComponent(started)}`);
  const end = await send('GET', `/votes?cursor=${first.json.cursor}&startDate=${started}`);
  const later = await send('GET', `/votes?startDate=${new Date(world.clock.nowMs() + 1_000).toISOString()}`);

  assert.equal(
    first.json.data.map((each: Record<string, unknown>) => [each.user_id, each.platform_id, each.weight]),
    [
      [ann, ann, 1],
      [cleo, cleo, 1],
    ],
  );
  assert.equal([end.status, end.json], [200, { data: [], cursor: first.json.cursor }]);
  assert.equal(later.json, end.json);
  assert.is((await send('GET', '/votes')).status, 422);
  assert.is((await send('GET', '/votes?startDate=yesterday')).status, 422);
  assert.is((await send('GET', '/votes?cursor=0123456789abcdef')).status, 422);
});

test('pages without a vote that counts are passed over, and a request is never cut in two', async () => {
  const many = '815553000470478850';
  await addBot(world.sql, many);
  const ref = (await world.engine.read('bot', many)).ref;
  // 300 rejected votes, then a request of two rows at the 400th place, which a page of 200 would cut.
  await world.sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
      log_number, void, void_reason, voided_at)
    select gen_random_uuid(), '2026-11-01'::timestamptz + voter * interval '1 second',
      ${ref.incarnation}, 'bot', ${many}, 'u' || voter, true, n - voter + 1, n,
      n <= 300, case when n <= 300 then 'operator' else '' end, case when n <= 300 then now() end
    from generate_series(1, 450) as n, lateral (select case n when 401 then 400 else n end as voter) as _`;
  await world.sql`update totals set votes_logged = 450 where incarnation = ${ref.incarnation}`;
  const bearer = { authorization: `Bearer ${await world.token('bot', many)}` };

  let cursor = '';
  const seen: [string, number][] = [];
  for (let page = 0; page < 10; page++) {
    const query = cursor === '' ? 'startDate=2026-10-31T00:00:00Z' : `cursor=${cursor}`;
    const { json } = await send('GET', `/votes?${query}`, bearer);
    cursor = json.cursor;
    for (const each of json.data) seen.push([each.user_id, each.weight]);
    if (json.data.length === 0) break;
  }

  assert.is(seen.length, 149);
  assert.equal(new Set(seen.map(([user]) => user)).size, 149);
  assert.equal(seen[99], ['u400', 2]);
});

test('what this directory cannot do is 501 with a sentence', async () => {
  for (const [method, path] of [
    ['PUT', '/commands'],
    ['POST', '/commands'],
    ['PATCH', ''],
    ['PUT', '/announcements'],
    ['POST', '/announcements'],
    ['POST', '/metrics/batch'],
  ] as const) {
    const { status, json } = await send(method, path, { body: [{ name: 'ping' }] });
    assert.equal([status, json.status, json.title], [501, 501, 'Not Implemented'], `${method} ${path}`);
    assert.ok(json.detail.length > 20);
  }
});

test('errors are problem details, of unknown paths too; Bearer is for these paths alone', async () => {
  const answers = [
    await send('GET', '', { authorization: 'Bearer wrong' }),
    await send('GET', '', { authorization: '' }),
    await send('GET', '/reviews'),
    await send('DELETE', '/votes'),
  ];

  assert.equal(
    answers.map(({ status, headers, json }) => [
      status,
      headers.get('content-type')?.split(';')[0],
      json.status,
      json.type,
    ]),
    [401, 401, 404, 405].map((status) => [status, 'application/problem+json', status, 'about:blank']),
  );
  for (const authorization of [token, `bearer  ${token}`, `Bot ${token}`])
    assert.is((await send('GET', '', { authorization })).status, 200, authorization.slice(0, 8));
  const elsewhere = { headers: { authorization: `Bearer ${token}` }, body: { servers: 1 } };
  assert.is((await world.ask('POST', '/bots/stats', elsewhere)).status, 401);
});

test.run();
