/**
 * Routes for libraries of other directories, by the requests that those send. The libraries themselves:
 * test/clients.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { compatRoutes } from '../../../http/api/compat.ts';
import { routes } from '../../../http/api/table.ts';
import { listRouteNames } from '../../../ops/app.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { raw } from '../raw.ts';
import { openWorld } from './world.ts';

const test = suite('routes for libraries of other directories');
const world = await openWorld({ routes: [...routes, ...compatRoutes] });
test.after(() => world.close());

await addUser(world.sql, 'robin');
let bots = 0;
/** A listed bot with a token, and how to post as it. */
const createBot = async () => {
  bots += 1;
  const id = String(100_000_000_000_000_000n + BigInt(bots));
  await addBot(world.sql, id);
  const token = await world.token('bot', id);
  const post = (body: unknown, path = '/api/bots/stats') => world.ask('POST', path, { token, body });
  const show = async () => {
    const { json } = await world.ask('GET', `/bots/${id}`);
    return [json.servers, json.users, json.shards, json.shard_list];
  };
  return { id, token, post, show };
};

for (const [body, shown] of [
  [{ server_count: 7, shard_id: null, shard_count: 1 }, [7, 0, 1, []]],
  [{ server_count: [3, 4], users: 9 }, [7, 9, 2, [3, 4]]],
  [{ server_count: 1, shard_id: 1, shard_count: 2, shards: [3, 4] }, [7, 0, 2, [3, 4]]],
  [{ guilds: 7, users: 5, voice_connections: 2 }, [7, 5, 0, []]],
  [{ guildCount: 7, shardCount: 3 }, [7, 0, 3, []]],
  [{ serverCount: 7, server_count: null }, [7, 0, 0, []]],
  [{ servers: 7, shards: 4 }, [7, 0, 4, []]],
  [{ count: 0, shard_count: 0 }, [0, 0, 0, []]],
  [{ server_count: 2, shard_id: 0, shard_count: 1 }, [2, 0, 1, [2]]],
  [{ server_count: 7, shard_count: 1, shards: [] }, [7, 0, 1, []]],
  [{ server_count: [], guilds: 7 }, [7, 0, 0, []]],
  [{ server_count: 7, shard_id: 0, shard_count: 1, shards: [] }, [7, 0, 1, [7]]],
] as const) {
  test(`${JSON.stringify(body)} posts servers, users, shards ${JSON.stringify(shown)}`, async () => {
    const bot = await createBot();

    const answer = await bot.post(body);
    assert.equal([answer.status, answer.json], [200, { message: 'Stats recorded.', context: {} }]);
    assert.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(await bot.show(), shown);
  });
}

for (const [text, shown] of [
  ['server_count=7', [7, 0, 0, []]],
  ['guilds=7&users=&shard_count=3&voice=x%20y', [7, 0, 3, []]],
  ['shards[]=3&shards[]=4', [7, 0, 2, [3, 4]]],
  ['shards%5B0%5D=3&shards%5B1%5D=4&users=9.0', [7, 9, 2, [3, 4]]],
  ['server_count=3&server_count=4', [7, 0, 2, [3, 4]]],
  ['server_count=7&shards=%5B3%2C+4%5D', [7, 0, 2, [3, 4]]],
  ['server_count=7&shard_id=undefined&shard_count=None', [7, 0, 0, []]],
  [
    ['--x', 'Content-Disposition: form-data; name="server_count"', '', '7', '--x--', ''].join('\r\n'),
    [7, 0, 0, []],
  ],
  ['{"server_count":"7","shard_count":" 3 ","shard_id":""}', [7, 0, 3, []]],
  ['{"server_count":7.0,"users":"9.0","shardCount":"3.000000"}', [7, 9, 3, []]],
  ['{"server_count":["3","4.0"]}', [7, 0, 2, [3, 4]]],
  ['{"guilds":7,"shards":{}}', [7, 0, 0, []]],
  ['{"shards":{"0":3,"1":4}}', [7, 0, 2, [3, 4]]],
  ['{"shards":{"1":"3","2":"4"}}', [7, 0, 2, [3, 4]]],
  ['{"guilds":7,"shard_id":0}', [7, 0, 0, []]],
  ['guilds=7&shard_id=0', [7, 0, 0, []]],
] as const) {
  test(`the body ${JSON.stringify(text)} posts ${JSON.stringify(shown)}`, async () => {
    const bot = await createBot();
    const { status, text: answer } = await world.ask('POST', '/api/bots/stats', { token: bot.token, text });
    assert.is(status, 200, answer);
    assert.equal(await bot.show(), shown);
  });
}

for (const text of [
  '{"server_count":true}',
  '{"server_count":"true"}',
  '{"server_count":7.5}',
  '{"server_count":"7.5"}',
  '{"server_count":"1,234"}',
  '{"server_count":"1.000"}',
  '{"server_count":"-1"}',
  '{"server_count":"0x10"}',
  '{"server_count":""}',
  '{"server_count":[3,""]}',
  '{"shards":{"1":3,"3":4}}',
  '{"guilds":7,"shard_id":false}',
  'server_count=many',
  'server_count=99999999999999999999',
  'server_count=3&server_count=',
  'members=7',
  'server_count',
  '[7]',
  '"server_count=7"',
  '--',
]) {
  test(`the body ${text} is refused, and changes nothing`, async () => {
    const bot = await createBot();
    const { status } = await world.ask('POST', '/api/bots/stats', { token: bot.token, text });
    assert.is(status, 400);
    assert.equal(await bot.show(), [0, 0, 0, []]);
  });
}

test('one slash at the end of a path below /api is allowed, and nowhere else', async () => {
  const bot = await createBot();
  const ask = async (method: string, path: string, body?: unknown) =>
    (await world.ask(method, path, { token: bot.token, body })).status;

  for (const path of ['/api/bots/stats/', `/api/bots/${bot.id}/stats/`, `/api/v1/bots/${bot.id}/stats/`])
    assert.is(await ask('POST', path, { server_count: 7 }), 200, path);
  for (const path of [`/api/bots/${bot.id}/stats/`, '/api/bots/check/?userId=1', '/api/weekend/'])
    assert.is(await ask('GET', path), 200, path);
  assert.is(await ask('DELETE', '/api/bots/stats/'), 405);
  for (const path of ['/api/bots/stats//', '/api//bots/stats', '/bots/stats/'])
    assert.is(await ask('POST', path, { server_count: 7 }), 404, path);
});

test('shards of which one never names its id add up, in any order, until a post of totals', async () => {
  const bot = await createBot();
  await bot.post({ server_count: 1_600 });
  await bot.post({ server_count: 30, shard_count: 3, shard_id: 2 });
  await bot.post({ server_count: 10, shard_count: 3 });
  assert.is((await bot.show())[0], 1_600, 'shard 1 is missing');
  await bot.post({ server_count: 20, shard_count: 3, shard_id: 1 });
  assert.equal(await bot.show(), [60, 0, 3, [10, 20, 30]]);
  await bot.post({ server_count: 11, shard_count: 3 });
  assert.equal(await bot.show(), [61, 0, 3, [11, 20, 30]]);
  await bot.post({ server_count: 70 });
  assert.is((await bot.show())[0], 70);
});

test('a shard without the number of shards belongs to the number that is known', async () => {
  const bot = await createBot();
  const path = `/api/v1/bots/${bot.id}/stats`;
  const refused = await bot.post({ guilds: 5, shard_id: 1 }, path);
  await bot.post({ server_count: 9, shard_count: 2 });
  await bot.post({ guilds: 5, shard_id: 1 }, path);
  await bot.post({ guilds: 6, shard_id: 0 }, path);

  assert.equal([refused.status, refused.json.context.code], [400, 'validation_failed']);
  assert.match(refused.json.context['/shard_count'], 'must be sent once');
  assert.is((await bot.show())[0], 11);
});

test('GET …/stats shows what was posted', async () => {
  const bot = await createBot();
  await bot.post({ server_count: [3, 4] });
  const answer = await world.ask('GET', `/api/bots/${bot.id}/stats`);
  const unknown = await world.ask('GET', '/api/bots/1/stats');

  assert.equal(answer.json, { server_count: 7, shard_count: 2, shards: [3, 4] });
  assert.equal([unknown.status, unknown.json.error], [404, 'There is no such bot.']);
});

test('GET …/stats shows every digit of what was posted', async () => {
  const bot = await createBot();
  const posted = '18446744073709551615';
  const body = `{"servers":${posted},"shards":${posted},"shard_list":[0,${posted}]}`;
  await world.ask('POST', '/bots/stats', { token: bot.token, text: body });

  const { text } = await world.ask('GET', `/api/bots/${bot.id}/stats`);
  assert.is(text, `{"server_count":${posted},"shard_count":${posted},"shards":[0,${posted}]}`);
});

test('a post of empty lists alone is refused, and changes nothing', async () => {
  const bot = await createBot();
  await bot.post({ server_count: 7 });
  const refused = await bot.post({ server_count: [], shards: [] });

  assert.is(refused.status, 400);
  assert.equal(await bot.show(), [7, 0, 0, []]);
});

test('votes are checked and listed, downvotes are not listed', async () => {
  const bot = await createBot();
  const ask = async (path: string) => (await world.ask('GET', path, { token: bot.token })).json;
  for (const [user, upvote] of [
    ['ann', true],
    ['ben', false],
    ['cleo', true],
  ] as const) {
    await addUser(world.sql, user);
    const path = `/users/${user}/bots/${bot.id}/votes?upvote=${upvote}`;
    await world.ask('PUT', path, { token: await world.token('user', user) });
  }

  assert.equal(await ask('/api/bots/check?userId=ann'), { voted: 1 });
  assert.equal(await ask(`/api/bots/${bot.id}/check?userId=nobody`), { voted: 0 });
  const voters = await ask('/api/bots/votes');
  assert.equal(
    voters.map(({ id }: { id: string }) => id),
    ['cleo', 'ann'],
  );
  assert.equal(Object.keys(voters[0]), ['id', 'username', 'avatar']);
  assert.equal(await ask(`/api/bots/${bot.id}/votes`), voters);
  const { total, upvotes } = await ask(`/api/v1/bots/${bot.id}/upvotes`);
  assert.equal([total, upvotes.length, upvotes[1].user_id], [2, 2, 'ann']);
  assert.ok(Math.abs(world.clock.nowMs() - Date.parse(upvotes[0].timestamp)) < 60_000);
  world.clock.skip(13 * 3_600_000);
  assert.equal(await ask(`/api/v1/bots/${bot.id}/upvotes`), { total: 0, upvotes: [] });
  world.clock.skip(-13 * 3_600_000);
  assert.equal(await ask('/api/weekend'), { is_weekend: false });
});

test('a bot reads only its own voters, because the vote log can be private', async () => {
  const [bot, other] = [await createBot(), await createBot()];
  const paths = ['/api/bots/ID/check?userId=1', '/api/bots/ID/votes', '/api/v1/bots/ID/upvotes'];
  const askAbout = (id: string) =>
    Promise.all(paths.map((path) => world.ask('GET', path.replace('ID', id), { token: bot.token })));

  assert.equal(
    (await askAbout(other.id)).map(({ status }) => status),
    [403, 403, 403],
  );
  assert.equal(
    (await askAbout(bot.id)).map(({ status }) => status),
    [200, 200, 200],
  );
});

test('without the setting the routes are those of the product alone', () => {
  const names = routes.map(({ name }) => name);
  assert.equal(listRouteNames({ compat: 'off' }), names);
  assert.equal(listRouteNames({ compat: 'on' }).slice(0, names.length), names);
});

test('errors have the names that the libraries read, and their usual status', async () => {
  const bot = await createBot();
  const other = await createBot();
  const bad = await bot.post({ server_count: 'many' });
  const empty = await bot.post({ members: 5 });
  const beyond = await bot.post({ server_count: 5, shard_id: 3, shard_count: 3 });
  const foreign = await bot.post({ server_count: 5 }, `/api/bots/${other.id}/stats`);
  const nameless = await world.ask('POST', '/api/bots/stats', { body: { server_count: 5 } });

  assert.equal(
    [bad, empty, beyond, foreign, nameless].map(({ status }) => status),
    [400, 400, 400, 403, 401],
  );
  assert.ok('/shard_id' in beyond.json.context, 'the field as the client has sent it');
  assert.is(nameless.json.error, nameless.json.message);
  assert.is(nameless.json.context.code, 'token_missing');
  assert.is(nameless.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('a method that a path does not have is refused in the same words', async () => {
  const { status, json, headers } = await world.ask('DELETE', '/api/bots/stats');

  assert.equal([status, headers.get('allow')], [405, 'POST, OPTIONS']);
  assert.is(json.error, json.message);
  assert.is(json.context.code, 'method_not_allowed');
  assert.is(json.context.request_id, headers.get('x-request-id'));
});

test('so is what is below /api and no path, or no request', async () => {
  for (const path of ['/api/', '/api/nothing', '/api/v2/bots/1/stats', '/api/bots/1/2/3', '/api/bots/%ff']) {
    const { status, json, headers } = await world.ask('GET', path);
    assert.is(status, 404, path);
    assert.equal([json.error, json.context.code], [json.message, 'route_not_found'], path);
    assert.is(json.context.request_id, headers.get('x-request-id'));
  }
  const head = 'POST /api/nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked';
  const { text } = await raw(world.port, [`${head}\r\n\r\n0\r\n\r\n`]);
  assert.match(text, /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n[\s\S]*"error":/);
  assert.not('error' in (await world.ask('GET', '/apis')).json);
});

test('an unknown bot at a known path is named, and no other path', async () => {
  const { status, json } = await world.ask('GET', '/api/bots/814000000000000001/stats');

  assert.equal([status, json.error], [404, 'There is no such bot.']);
});

test('errors name their request, and say that a token is no longer valid', async () => {
  const ask = (token: string) => world.ask('POST', '/api/bots/stats', { token, body: { server_count: 5 } });
  const unknown = await ask('x'.repeat(32));
  const { token } = await createBot();
  const bad = await world.ask('POST', '/api/bots/stats', { token, body: { server_count: 'many' } });

  for (const { json, headers } of [unknown, bad])
    assert.is(json.context.request_id, headers.get('x-request-id'));
  assert.equal(
    [unknown, bad].map(({ headers }) => headers.get('x-session-invalid')),
    ['true', null],
  );
});

test('the list of servers has as many shards as one of this directory may have', async () => {
  const bot = await createBot();
  const list = Array(16_384).fill(1);

  assert.is((await bot.post({ server_count: list })).status, 200);
  assert.equal((await bot.show()).slice(0, 3), [16_384, 0, 16_384]);
  const ask = (fields: number) =>
    world.ask('POST', '/api/bots/stats', { token: bot.token, text: 'shards[]=2&'.repeat(fields) });
  assert.is((await ask(16_384)).status, 200);
  assert.equal((await bot.show()).slice(0, 3), [32_768, 0, 16_384]);
  assert.match((await ask(20_000)).json.context[''], 'at most');
});

test('a body that is too large ends the connection, which the reply says', async () => {
  const { token } = await createBot();
  const [head, body] = [`Authorization: ${token}`, '{"server_count":'.padEnd(400_000, ' ')];
  const request = `POST /api/bots/stats HTTP/1.1\r\nHost: a\r\n${head}\r\nContent-Length: ${body.length}`;
  const { text } = await raw(world.port, [`${request}\r\n\r\n`, body]);
  assert.match(text, /^HTTP\/1\.1 413 /);
  assert.match(text, /\r\nConnection: close\r\n/);
});

test('a limited request says how long to wait, in the header and in the body', () => {
  const error = new DomainError('rate_limited', 'Too many requests.', {}, 3);
  const reply = compatRoutes[0]?.replaceError?.(world.app, {} as never, error);

  assert.equal([reply?.status, reply?.headers?.['Retry-After']], [429, '3']);
  assert.match(JSON.stringify(reply?.json), '"retry-after":3');
});

test.run();
