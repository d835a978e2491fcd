/**
 * The routes of votes against a complete Rollcall: every documented status.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import { addBot, addPack, addServer, addTeam, addUser, addVote } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { type Answer, codeOf, openWorld } from './world.ts';

const test = suite('routes of votes');
const hourMs = 3_600_000;

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'ann', 'ben']) await addUser(sql, user);
await addUser(sql, 'mute', { vote_banned: true });
await addUser(sql, 'banned', { banned: true });
await addTeam(sql, 'team1');
// A case that votes has listings of its own.
const ownBots = ['first', 'waiting', 'crowded', 'seen', 'walked', 'named', 'long', 'broken', 'again'];
for (const id of ['bot1', 'bot2', ...ownBots]) await addBot(sql, id);
await addBot(sql, 'pending', { type: 'pending' });
await addBot(sql, 'shunned', { vote_banned: true });
await addServer(sql, 'server1', { team_id: 'team1' });
await addServer(sql, 'server2', { team_id: 'team1', state: 'private' });
await addPack(sql, 'pack1');
await addPack(sql, 'pack2');
test.after(() => world.close());

const vote = async (user: string, target: string, query = '?upvote=true') =>
  world.ask('PUT', `/users/${user}/${target}/votes${query}`, { token: await world.token('user', user) });
/** As a client does: what needs the newest votes is 503 while SQL is slow, and is requested again. */
const get = async (path: string): Promise<Answer> => {
  const replies: Answer[] = [];
  await until(`an answer to ${path}`, async () => {
    replies.unshift(await world.ask('GET', path));
    return replies[0]?.status !== 503;
  });
  return replies[0] as Answer;
};
const read = async (path: string) => {
  const reply = await get(path);
  assert.is(reply.status, 200, reply.text);
  return reply.json;
};

test('PUT /users/:uid/bots/:id/votes → 204, and the vote is visible at once', async () => {
  const reply = await vote('ann', 'bots/first');

  assert.equal([reply.status, reply.text], [204, '']);
  assert.is((await read('/bots/first')).votes, 1);
});

test('PUT /users/:uid/bots/:id/votes → 429 inside the wait, with the time left', async () => {
  await vote('ann', 'bot/waiting');
  const reply = await vote('ann', 'bots/waiting', '?upvote=false');
  const { code, hours, minutes, seconds } = reply.json.context;
  const left = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);

  assert.equal([reply.status, code], [429, 'vote_wait']);
  assert.is(String(left), reply.headers.get('retry-after'));
  assert.ok(left > 43_100 && left <= 43_200);
  assert.is((await read('/bots/waiting')).votes, 1);
});

test('PUT /users/:uid/:type/:id/votes → 204 on servers, teams and packs, and down', async () => {
  for (const target of ['servers/server1', 'teams/team1', 'packs/pack1']) {
    assert.is((await vote('ann', target)).status, 204, target);
  }
  assert.is((await vote('ann', 'bots/bot2', '?upvote=false')).status, 204);
  assert.is((await read('/bots/bot2')).votes, -1);
  assert.is((await read('/packs/pack1')).votes, 1);
});

test('PUT /users/:uid/packs/:url/votes → a url in upper case is the same pack', async () => {
  assert.is((await vote('ann', 'packs/pack2')).status, 204);
  assert.is((await vote('ann', 'packs/PACK2')).status, 429);
  assert.is((await read('/users/ann/packs/Pack2/votes/@all')).count, 1);
});

test('PUT /users/:uid/bots/:id/votes → one of many simultaneous votes is accepted', async () => {
  const token = await world.token('user', 'ben');
  const replies = await Promise.all(
    Array.from({ length: 50 }, () =>
      world.ask('PUT', '/users/ben/bots/crowded/votes?upvote=true', { token }),
    ),
  );

  assert.is(replies.filter((reply) => reply.status === 204).length, 1);
  assert.is(replies.filter((reply) => reply.status === 429).length, 49);
  assert.is((await read('/bots/crowded')).votes, 1);
});

test('PUT /users/:uid/bots/:id/votes → 400 for a bad query or kind', async () => {
  for (const query of ['', '?upvote=', '?upvote=yes', '?upvote=1']) {
    const reply = await vote('robin', 'bots/bot1', query);
    assert.equal([reply.status, reply.json.context.code], [400, 'validation_failed'], query);
  }
  for (const target of ['users/robin', 's/robin', 'botss/bot1', 'BOT/bot1', `${'x'.repeat(33)}/bot1`]) {
    const reply = await vote('robin', target);
    assert.equal([reply.status, reply.json.context.code], [400, 'target_type_unsupported'], target);
  }
});

test('PUT /users/:uid/bots/:id/votes → 403 for a vote-banned voter and a vote-banned bot', async () => {
  const voter = await vote('mute', 'bots/bot1');
  const entity = await vote('robin', 'bots/shunned');

  assert.equal([voter.status, voter.json.context.code], [403, 'vote_banned']);
  assert.equal([entity.status, entity.json.context.code], [403, 'entity_vote_banned']);
});

test('PUT /users/:uid/bots/:id/votes → 404 for an unknown entity, vote-banned or not', async () => {
  assert.is((await vote('robin', 'bots/nobody')).status, 404);
  assert.is((await vote('mute', 'packs/nothing')).status, 404);
});

test('PUT /users/:uid/bots/:id/votes → 409 when it is not listed or not public', async () => {
  for (const target of ['bots/pending', 'servers/server2']) {
    assert.equal(codeOf(await vote('robin', target)), [409, 'not_votable'], target);
  }
});

test('GET /users/:uid/bots/:id/votes → 200 with the vote just acknowledged', async () => {
  await vote('robin', 'bots/seen', '?upvote=false');
  const reply = await get('/users/robin/bots/seen/votes');

  assert.equal([reply.status, reply.headers.get('cache-control')], [200, 'no-store']);
  assert.is(reply.json.has_voted, true);
  assert.is(reply.json.valid_votes.length, 1);
  assert.equal(
    [reply.json.valid_votes[0].upvote, reply.json.valid_votes[0].author, reply.json.valid_votes[0].void],
    [false, 'robin', false],
  );
  assert.equal([reply.json.vote_info.vote_time, reply.json.vote_info.per_user], [12, 1]);
  assert.ok(reply.json.wait.hours >= 11);
});

test('no reply about votes may be stored', () => {
  const stored = routes.filter(({ path, caching }) => /\/votes(\/|$)/.test(path) && caching !== 'no-store');

  assert.equal(pluck(stored, 'path'), []);
});

test('GET /users/:uid/bots/:id/votes → 200, empty for an unknown user', async () => {
  const voteStatus = await read('/users/stranger/bots/bot1/votes');

  assert.equal([voteStatus.has_voted, voteStatus.valid_votes], [false, []]);
  assert.equal(voteStatus.wait, { hours: 0, minutes: 0, seconds: 0 });
});

test('GET /users/:uid/bots/:id/votes → 404 and 400', async () => {
  assert.is((await world.ask('GET', '/users/robin/bots/nobody/votes')).status, 404);
  assert.is((await world.ask('GET', '/users/robin/users/robin/votes')).status, 400);
});

test('GET /users/:uid/bots/:id/votes/@all → 200 with void ones, 400, 404', async () => {
  await vote('robin', 'bots/walked');
  const { ref } = await world.engine.read('bot', 'walked');
  await addVote(world.sql, ref, {
    author: 'robin',
    created_at: new Date(world.clock.nowMs() - 48 * hourMs).toISOString(),
    void: true,
    void_reason: 'operator',
    voided_at: new Date(world.clock.nowMs()).toISOString(),
  });
  const page = await read('/users/robin/bots/walked/votes/@all');

  assert.equal([page.count, page.per_page], [2, 10]);
  assert.equal(pluck(page.results, 'void_reason'), ['', 'operator']);
  assert.is((await world.ask('GET', '/users/robin/bots/walked/votes/@all?page=0')).status, 400);
  assert.is((await world.ask('GET', '/users/robin/bots/nobody/votes/@all')).status, 404);
});

test('GET /:type/:id/votes/user-list → 200, all at once or by page', async () => {
  for (const user of ['ann', 'ben']) await vote(user, 'bots/named');
  const all = await get('/bots/named/votes/user-list');

  assert.equal([all.status, all.headers.get('content-type')], [200, 'application/json']);
  assert.equal(all.json, ['ben', 'ann']);
  assert.equal(await read('/bot/named/votes/user-list?page=1'), ['ben', 'ann']);
  assert.equal(await read('/bot/named/votes/user-list?page=2'), []);
});

test('GET /:type/:id/votes/user-list → 200 in pieces for many voters', async () => {
  await vote('ann', 'bots/long');
  const { ref } = await world.engine.read('bot', 'long');
  await world.sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), now() - make_interval(days => 20, secs => number), ${ref.incarnation},
      'bot', 'long', 'voter' || number, true, 0 from generate_series(1, 2500) as number`;

  const { json } = await get('/bots/long/votes/user-list');

  assert.is(json.length, 2_501);
  assert.equal(json.slice(0, 2), ['ann', 'voter1']);
});

test('GET /:type/:id/votes/user-list → 200 and empty without voters, 400, 404', async () => {
  assert.equal(await read('/bots/pending/votes/user-list'), []);
  assert.is((await world.ask('GET', '/bots/bot1/votes/user-list?page=x')).status, 400);
  assert.is((await world.ask('GET', '/users/robin/votes/user-list')).status, 400);
  assert.is((await world.ask('GET', '/bots/nobody/votes/user-list')).status, 404);
});

test('GET /:type/:id/votes/user-list → 503 when SQL fails at once', async () => {
  await vote('ann', 'bots/broken');
  await get('/bots/broken/votes/user-list');
  await world.sql`alter view vote_rows rename to vote_rows_away`;
  const failed = await world.ask('GET', '/bots/broken/votes/user-list');
  await world.sql`alter view vote_rows_away rename to vote_rows`;

  assert.equal([failed.status, failed.json.context.code], [503, 'store_unavailable']);
  assert.equal(await read('/bots/broken/votes/user-list'), ['ann']);
});

test('PUT /users/:uid/bots/:id/votes → 204 again when the wait is over', async () => {
  await vote('ann', 'bots/again');
  world.clock.skip(12 * hourMs);

  assert.is((await vote('ann', 'bots/again')).status, 204);
  assert.is((await read('/bots/again')).votes, 2);
  assert.is((await read('/users/ann/bots/again/votes')).valid_votes.length, 2);
});

test.run();
