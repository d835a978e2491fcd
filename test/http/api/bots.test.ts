/**
 * The routes of bots against a complete Rollcall: every documented status.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { showBot } from '../../../http/api/bots/bots.ts';
import type { App } from '../../../http/app.ts';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of bots');

const world = await openWorld();
const { sql } = world;
await addUser(sql, 'robin');
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addBot(sql, 'bot1', { vanity: 'lighthouse' });
await addBot(sql, 'bot2', { team_id: 'team1', type: 'pending' });
await addBot(sql, 'bot3');
// Each is read by one case alone.
for (const id of ['silent', 'visited']) await addBot(sql, id, { type: 'pending' });
await addServer(sql, 'server1', { team_id: 'team1' });
const botToken = await world.token('bot', 'bot1');
test.after(() => world.close());

const post = (body: unknown, token = botToken) => world.ask('POST', '/bots/stats', { body, token });
const read = async (path: string) => (await world.ask('GET', path)).json;

test('POST /bots/stats → 200, and the next read shows it', async () => {
  const reply = await post({
    servers: 12,
    shards: 2,
    shard_list: [6, 6],
    users: 99,
    status: 'idle',
    extra: 1,
  });

  assert.is(reply.status, 200);
  assert.is(typeof reply.json.message, 'string');
  assert.equal(reply.json.context, {});
  const bot = await read('/bots/bot1');
  assert.equal([bot.servers, bot.shards, bot.shard_list, bot.users], [12, 2, [6, 6], 99]);
  assert.is(bot.user.status, 'idle');
  assert.ok(Date.parse(bot.last_stats_post) > 0);
});

test('POST /bots/stats → 200: absent fields stay, 0 is a value', async () => {
  await post({ servers: 7, users: 8 });
  await post({ users: 0 });

  const bot = await read('/bots/bot1');
  assert.equal([bot.servers, bot.users], [7, 0]);
});

test('POST /bots/stats takes 16,384 shards of 20 digits, and gives them back to the digit', async () => {
  const digits = Array.from({ length: 16_384 }, (_, index) => 18_446_744_073_709_551_999n - BigInt(index));

  const posted = await world.ask('POST', '/bots/stats', {
    token: botToken,
    text: `{"shard_list":[${digits}],"servers":1,"shards":16384,"users":2,"status":"online"}`,
  });

  assert.is(posted.status, 200);
  const { text } = await world.ask('GET', '/bots/bot1');
  assertIncludes(text, `"shard_list":[${digits}]`);
  assert.is((await post({ shard_list: [7] })).status, 200);
});

test('POST /bots/stats → 413 above 384 KiB, 400 with more than 64 fields or too many values', async () => {
  const fields = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"k${index}":0`)}}`;
  const answers = [];
  let message = '';
  for (const text of [
    fields(64),
    fields(65),
    fields(30_000),
    `{"x":[${Array(100_000).fill(0)}]}`,
    `{"x":"${'x'.repeat(393_216 - 8)}"}`,
    `{"x":"${'x'.repeat(393_217 - 8)}"}`,
  ]) {
    const reply = await world.ask('POST', '/bots/stats', { token: botToken, text });
    answers.push([reply.status, reply.json.context.code ?? '']);
    message = reply.json.message;
  }

  assert.equal(answers, [
    [200, ''],
    [400, 'validation_failed'],
    [400, 'validation_failed'],
    [400, 'validation_failed'],
    [200, ''],
    [413, 'body_too_large'],
  ]);
  assert.is(message, 'The body is larger than 393216 bytes.');
});

test('POST /bots/stats → 400 names the fields and changes nothing', async () => {
  await post({ servers: 5 });
  for (const [body, pointer] of [
    [{ servers: -1 }, '/servers'],
    [{ servers: 1.5 }, '/servers'],
    [{ servers: '5' }, '/servers'],
    [{ servers: null }, '/servers'],
    [{ status: 'busy' }, '/status'],
    [{ shard_list: [1, -2] }, '/shard_list/1'],
    [{ shard_list: Array(16_385).fill(1) }, '/shard_list'],
    [{ servers: 9, users: 1e20 }, '/users'],
  ] as const) {
    const reply = await post(body);
    assert.is(reply.status, 400, JSON.stringify(body).slice(0, 40));
    assert.is(reply.json.context.code, 'validation_failed');
    assert.ok(pointer in reply.json.context, `${pointer} in ${JSON.stringify(reply.json)}`);
  }
  assert.equal(codeOf(await world.ask('POST', '/bots/stats', { token: botToken, text: '{"servers":' })), [
    400,
    'malformed_json',
  ]);
  assert.is((await read('/bots/bot1')).servers, 5);
});

test('POST /bots/stats → 404 when the bot is gone', async () => {
  assert.equal(codeOf(await post({ servers: 1 }, await world.token('bot', 'unknown'))), [404, 'not_found']);
});

test('GET /bots/:id → 200 by id and by vanity, with every field', async () => {
  const byId = await world.ask('GET', '/bots/silent');
  const byCode = await read('/bots/LIGHTHOUSE');

  assert.is(byId.status, 200);
  assert.is(byId.headers.get('cache-control'), 'no-cache');
  assert.is(byCode.bot_id, 'bot1');
  assert.is(byId.json.owner.id, 'robin');
  assert.is(byId.json.user.status, 'offline');
  assert.is(byId.json.last_stats_post, null);
  assert.not.ok('long' in byId.json || 'team_owner' in byId.json);
});

test("a bot in memory is answered at once, without a promise, also a team's", async () => {
  const { engine, catalogue, clock } = world;
  // The reads of one bot reach nothing else of the app.
  const app = { engine, catalogue, clock } as unknown as App;
  for (const id of ['bot3', 'bot2']) {
    const visit = { params: { id }, query: {}, clientAddress: '', headers: { userAgent: '' }, head: false };
    await showBot(app, visit);
    assert.not.instance(showBot(app, visit), Promise);
  }
});

test('a token changes nothing of the caching of a public operation, a bad one neither', async () => {
  const plain = await world.ask('GET', '/bots/bot3');
  for (const token of [await world.token('user', 'robin'), 'nonsense']) {
    const { status, headers } = await world.ask('GET', '/bots/bot3', { token });
    const etag = headers.get('etag') ?? '';
    assert.equal([status, headers.get('cache-control'), etag], [200, 'no-cache', plain.headers.get('etag')]);
    const again = await world.ask('GET', '/bots/bot3', { token, headers: { 'if-none-match': etag } });
    assert.is(again.status, 304);
  }
});

test('GET /bots/:id?include=long → 200 with the long description', async () => {
  const bot = await read('/bots/bot3?include=owner,%20long');

  assert.is(bot.long, 'Long words about bot3.');
});

test("GET /bots/:id → 200 shows a team's bot of any type with its team", async () => {
  const plain = await read('/bots/bot2');
  const full = await read('/bots/bot2?team_includes=server,team_member,banana');

  assert.is(plain.owner, null);
  assert.is(plain.type, 'pending');
  assert.equal(plain.team_owner.entities, { bots: [], members: [], servers: [], targets: [] });
  assert.equal(full.team_owner.entities.targets, ['team_member', 'server']);
  assert.is(full.team_owner.entities.members[0].user.id, 'robin');
  assert.is(full.team_owner.entities.servers[0].server_id, 'server1');
  assert.equal(full.team_owner.entities.bots, []);
});

test('GET /bots/:id?team_includes → 400 for more than 16 words', async () => {
  assert.equal(codeOf(await world.ask('GET', `/bots/bot2?team_includes=${Array(17).fill('bot').join()}`)), [
    400,
    'validation_failed',
  ]);
});

test('GET /bots/:id → 404 for an unknown one', async () => {
  assert.equal(codeOf(await world.ask('GET', '/bots/nobody')), [404, 'not_found']);
});

/** The bot once all that was counted before is applied: work on one entity is done in order. */
const readApplied = async (id: string) => {
  assert.is((await post({}, await world.token('bot', id))).status, 200);
  return read(`/bots/${id}`);
};

test('GET /bots/:id?target=page → 200 counts clicks, a visitor once, and shows totals before', async () => {
  const first = await world.ask('GET', '/bots/visited?target=page');
  await world.ask('GET', '/bots/visited?target=page');

  const bot = await readApplied('visited');
  assert.equal([bot.clicks, bot.unique_clicks, bot.invite_clicks], [2, 1, 0]);
  assert.equal([first.json.clicks, first.headers.get('cache-control')], [0, 'no-store']);
});

test('GET /bots/:id?target=page → 200 counts a network of 64 bits of IPv6 as one visitor', async () => {
  const before = (await readApplied('bot3')).unique_clicks;
  const visit = (address: string) =>
    world.ask('GET', '/bots/bot3?target=page', { headers: { 'x-forwarded-for': address } });
  for (const end of [':1', ':2', 'a:b:c:d']) await visit(`2001:db8:0:1:${end}`);
  await visit('2001:db8:0:2::1');
  await visit('::ffff:203.0.113.9');
  await visit('203.0.113.9');

  assert.is((await readApplied('bot3')).unique_clicks, before + 3);
});

test('GET /bots/:id → 200 counts nothing for HEAD, settings, stats and unknown targets', async () => {
  const before = await readApplied('bot3');
  await world.ask('HEAD', '/bots/bot3?target=page');
  await world.ask('HEAD', '/bots/bot3?target=invite');
  for (const target of ['settings', 'stats', 'banana']) await world.ask('GET', `/bots/bot3?target=${target}`);

  const after = await readApplied('bot3');
  assert.equal([after.clicks, after.invite_clicks], [before.clicks, before.invite_clicks]);
});

test('GET /bots/:id?target=invite → 200 counts an invite click', async () => {
  await world.ask('GET', '/bots/bot3?target=invite');

  assert.is((await readApplied('bot3')).invite_clicks, 1);
});

test('GET /bots/:id/seo → 200 and 404', async () => {
  const reply = await world.ask('GET', '/bots/bot3/seo');

  assert.equal(reply.json, { avatar: '', id: 'bot3', name: 'bot3', short: 'Short words about bot3.' });
  assert.is((await world.ask('GET', '/bots/nobody/seo')).status, 404);
});

test('GET /bots/@all → 200, only listed ones, and 400 for a bad page', async () => {
  const first = await world.ask('GET', '/bots/@all');
  const past = await read('/bots/@all?page=9');

  assert.equal(
    [first.json.count, first.json.per_page, first.headers.get('cache-control')],
    [2, 12, 'max-age=2'],
  );
  assert.equal(first.json.results.map((bot: { bot_id: string }) => bot.bot_id).sort(), ['bot1', 'bot3']);
  assert.equal(past, { count: 2, per_page: 12, results: [] });
  for (const page of ['0', '-1', 'one', '']) {
    assert.equal(
      codeOf(await world.ask('GET', `/bots/%40all?page=${page}`)),
      [400, 'page_invalid'],
      `page=${page}`,
    );
  }
});

test('GET /bots/@random → 200, never kept', async () => {
  const reply = await world.ask('GET', '/bots/@random');

  assert.equal([reply.status, reply.headers.get('cache-control')], [200, 'no-store']);
  assert.is(reply.json.bots.length, 2);
});

test('GET /bots/@index → 200 with every list', async () => {
  const reply = await world.ask('GET', '/bots/@index');

  assert.is(reply.status, 200);
  assert.equal(Object.keys(reply.json), [
    'certified',
    'most_viewed',
    'packs',
    'premium',
    'recently_added',
    'top_voted',
  ]);
  assert.is(reply.json.recently_added.length, 2);
});

test.run();
