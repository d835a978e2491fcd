/**
 * What operators change about users, tokens and past votes, and what clients see of it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { openOperated } from './world.ts';

const test = suite('operations on people and votes');

const world = await openOperated();
const { done, read: show, send: operate, sql } = world;
for (const user of ['robin', 'ann', 'ben', 'cat', 'dan', 'eve']) await addUser(sql, user);
await addTeam(sql, 'team1');
for (const id of ['bot1', 'bot2', 'bot3', 'voided', 'listed', 'other']) await addBot(sql, id);
test.after(() => world.close());

test('users put: makes one, then changes what is given; show and list tell it', async () => {
  await done('PUT /users/wren', { username: 'wren', flags: ['staff'] });
  await done('PUT /users/wren', { display_name: 'Wren the Second' });
  const { json } = await operate('GET /users/wren');

  assert.equal([json.username, json.display_name, json.flags], ['wren', 'Wren the Second', ['staff']]);
  await done('PUT /users/wren', { username: 'wren2' });
  const renamed = (await operate('GET /users/wren')).json;
  assert.equal([renamed.username, renamed.display_name], ['wren2', 'Wren the Second']);
  await done('PUT /users/wagtail', { flags: [] });
  await done('PUT /users/wagtail', { username: 'Wagtail' });
  assert.is((await operate('GET /users/wagtail')).json.display_name, 'Wagtail', 'it was the username');
  assert.is((await operate('GET /users/nobody')).status, 404);
  const { users } = (await operate('GET /users')).json;
  const ids = users.map((user: { id: string }) => user.id);
  assert.equal(ids, [...ids].sort());
  assertIncludes(ids, 'wren');
});

test('users put → 400 for control characters, a NUL, half a character, and what is too long', async () => {
  for (const username of ['a\nb', 'a\u0000b', 'a\u009bb', 'a\u202eb', '\ud83d', 'x'.repeat(65), '']) {
    assert.is((await operate('PUT /users/odd', { username })).status, 400, JSON.stringify(username));
  }
  assert.is((await operate(`PUT /users/${'x'.repeat(129)}`, {})).status, 400);
  assert.is((await operate('PUT /users/a%00b', {})).status, 404);
  assert.is((await operate('GET /users/odd')).status, 404);
});

test('users put, ban, tokens issue → 400 for an id that no token and no export can carry', async () => {
  for (const id of ['a_b', 'a.b', 'a%20b', '%C3%A4', 'x'.repeat(65)]) {
    for (const path of [`/users/${id}`, `/users/${id}/ban`, `/users/${id}/vote-ban`])
      assert.is((await operate(`PUT ${path}`, { username: 'odd' })).status, 400, path);
    assert.is((await operate(`POST /user/${id}/tokens`, {})).status, 400, id);
  }
  assert.is((await operate('GET /users/a_b')).status, 404);
});

test('users ban: a session in use is refused at once with 403; unban: it works again', async () => {
  const token = await world.token('user', 'ann');
  const reminders = () => world.ask('GET', '/users/ann/reminders', { token });
  assert.is((await reminders()).status, 200);
  assert.is(await done('PUT /users/ann/ban'), 'User ann is banned.');
  const refused = await reminders();
  assert.equal([refused.status, refused.json.context.code], [403, 'banned']);
  assert.equal(pluck((await operate('GET /users?ban=banned')).json.users, 'id'), ['ann']);

  await done('DELETE /users/ann/ban');
  assert.is((await reminders()).status, 200);
});

test('users ban: an unknown id is reported, and the ban holds once that user exists', async () => {
  assert.match(await done('PUT /users/stranger/ban'), /The id was unknown before/);
  const token = await world.token('user', 'stranger');
  assert.is((await world.ask('GET', '/users/stranger/reminders', { token })).status, 403);
  await done('DELETE /users/stranger/ban');
});

test('users unban: an unknown id is 404 and creates no user', async () => {
  assert.is((await operate('DELETE /users/phantom/ban')).status, 404);
  assert.is((await operate('GET /users/phantom')).status, 404);
});

test('users vote-ban: the user can do everything but vote; unvote-ban: can vote', async () => {
  await done('PUT /users/ben/vote-ban');
  const refused = await world.vote('ben', 'bots/bot1');
  const token = await world.token('user', 'ben');
  assert.equal([refused.status, refused.json.context.code], [403, 'vote_banned']);
  assert.is((await world.ask('GET', '/users/ben/reminders', { token })).status, 200);

  await done('DELETE /users/ben/vote-ban');
  assert.is((await world.vote('ben', 'bots/bot1')).status, 204);
});

test('tokens issue: works for an unknown user, a bot, a team; 404 for an unknown bot or team', async () => {
  const { status, json } = await operate('POST /user/newcomer/tokens', {});
  assert.is(status, 201);
  const { token } = json;
  assert.is((await world.ask('GET', '/users/newcomer/reminders', { token })).status, 200);
  const bot = (await operate('POST /bot/bot2/tokens', { name: 'bot two', expiry: 60 })).json.token;
  assert.is((await world.ask('POST', '/bots/stats', { token: bot, body: { servers: 1 } })).status, 200);
  const doubled = await operate('POST /team/team1/tokens', { perm_limits: ['edit_team', 'edit_team'] });
  assert.is(doubled.status, 201);
  const { sessions } = (await operate('GET /team/team1/tokens')).json;
  // Each once: an import refuses an export with doubled ones.
  assert.equal(sessions.at(0).perm_limits, ['edit_team']);

  for (const target of ['bot/ghost', 'server/758641373074423808', 'team/ghost']) {
    assert.is((await operate(`POST /${target}/tokens`, {})).status, 404, target);
  }
  assert.is((await operate('POST /pack/ghost/tokens', {})).status, 400);
  assert.is((await operate('POST /bot/bot2/tokens', { perm_limits: ['fly'] })).status, 400);
});

test('tokens list and revoke: the session is named, its token dead at once; five per entity', async () => {
  const { json } = await operate('POST /bot/bot3/tokens', { name: 'the first' });
  const post = () => world.ask('POST', '/bots/stats', { token: json.token, body: { servers: 1 } });
  assert.is((await post()).status, 200);
  const { text, sessions } = await operate('GET /bot/bot3/tokens').then((listed) => ({
    text: JSON.stringify(listed.json),
    sessions: listed.json.sessions,
  }));
  assert.equal([sessions.length, sessions[0].id, sessions[0].name], [1, json.session_id, 'the first']);
  assert.not.match(text, /rc_bot/);

  await done(`DELETE /bot/bot3/tokens/${json.session_id}`);
  assert.is((await post()).status, 401);
  assert.is((await operate(`DELETE /bot/bot3/tokens/${json.session_id}`)).status, 404);
  for (let count = 0; count < 5; count++) await operate('POST /bot/bot3/tokens', {});
  assert.is((await operate('POST /bot/bot3/tokens', {})).json.context.code, 'limit_reached');
});

test('votes void: the total falls, the voter may vote again; once, and 404 for an unknown vote', async () => {
  const bot = 'bots/voided';
  assert.is((await world.vote('ann', bot)).status, 204);
  assert.is((await world.vote('ann', bot)).status, 429);
  const { results } = await show('/users/ann/bots/voided/votes/@all');
  const { itag } = results[0];
  assert.match(await done(`DELETE /votes/${itag}`), /is void/);

  assert.is((await show('/bots/voided')).votes, 0);
  assert.equal((await show('/users/ann/bots/voided/votes/@all')).results[0].void_reason, 'operator');
  assert.is((await world.vote('ann', bot)).status, 204);
  assert.match(await done(`DELETE /votes/${itag}`), /already void/);
  assert.is((await show('/bots/voided')).votes, 1);
  assert.is((await operate('DELETE /votes/018f3b7e-0000-7000-8000-000000000001')).status, 404);
  assert.is((await operate('DELETE /votes/one')).status, 400);
});

test('votes list: by listing, user and time, each with whether and why it is void', async () => {
  await world.vote('dan', 'bots/listed');
  await world.vote('dan', 'bots/other');
  await world.vote('eve', 'bots/listed');
  const { results } = await show('/users/dan/bots/listed/votes/@all'); // Flushes.
  await show('/users/dan/bots/other/votes/@all');
  await done(`DELETE /votes/${results[0].itag}`);
  await world.vote('dan', 'bots/listed');
  await show('/users/dan/bots/listed/votes/@all');
  const list = async (query: string) => {
    const { status, json } = await operate(`GET /votes?${query}`);
    assert.is(status, 200, JSON.stringify(json));
    return json.votes
      .filter((vote: Record<string, unknown>) => ['dan', 'eve'].includes(String(vote.author)))
      .map((vote: Record<string, unknown>) =>
        [vote.target_id, vote.author, vote.void, vote.void_reason].join(' '),
      );
  };
  const ofPair = ['listed dan false ', 'listed dan true operator'];
  const ofDan = [...ofPair, 'other dan false '];
  const ofBot = [...ofPair, 'listed eve false '];
  const all = [...ofDan, 'listed eve false '].sort();
  const now = new Date(world.clock.nowMs() + 1).toISOString();
  const dayAgo = new Date(world.clock.nowMs() - 86_400_000).toISOString();

  assert.equal((await list('target_type=bot&target_id=listed')).sort(), ofBot);
  assert.equal((await list('user=dan')).sort(), ofDan);
  assert.equal((await list('user=dan&target_type=bot&target_id=listed')).sort(), ofPair);
  assert.equal(await list('user=dan&target_type=bot&target_id=bot1'), []);
  assert.equal((await list(`since=${dayAgo}&before=${now}`)).sort(), all);
  assert.equal((await list('')).sort(), all);
  for (const query of [`since=${now}`, `before=${dayAgo}`, `user=dan&before=${dayAgo}`])
    assert.equal(await list(query), [], query);
  for (const query of ['target_id=bot2', 'target_type=bot', 'since=yesterday'])
    assert.is((await operate(`GET /votes?${query}`)).status, 400, query);
});

test('votes reset: one listing begins at 0 and its voters may vote again; not in the future', async () => {
  await world.vote('ann', 'bots/bot3');
  await world.vote('ben', 'bots/bot3');
  const before = await show('/bots/bot2');
  const later = new Date(world.clock.nowMs() + 60_000).toISOString();
  assert.is((await operate('POST /bot/bot3/votes/reset', { before: later })).status, 400);
  await done('POST /bot/bot3/votes/reset', {});

  assert.is((await show('/bots/bot3')).votes, 0);
  assert.is((await show('/bots/bot2')).votes, before.votes);
  assert.is((await world.vote('ann', 'bots/bot3')).status, 204);
  assert.is((await operate('POST /bot/ghost/votes/reset', {})).status, 404);
  assert.is((await operate('POST /bot/bot3/votes/reset', { before: '0000-01-01T00:00:00Z' })).status, 400);
});

test('votes reset-all: must be confirmed; then every listing begins at 0', async () => {
  await world.vote('cat', 'bots/bot1');
  await world.vote('cat', 'bots/bot2');
  for (const bot of ['bot1', 'bot2']) await world.engine.waitForFlush('bot', bot);
  assert.is((await operate('POST /votes/reset-all', {})).status, 400);
  const { json } = await operate('POST /votes/reset-all', { confirm: 'all' });
  assert.ok(Number(json.context.listings) >= 2, JSON.stringify(json));

  await until('the flusher tells the hot store', async () => {
    const shown = [await show('/bots/bot1'), await show('/bots/bot2')];
    return shown.every(({ votes }) => votes === 0);
  });
  assert.is((await world.vote('cat', 'bots/bot1')).status, 204);
});

test('jobs list and dead-letters list: the newest first, with the last error', async () => {
  await world.sql`
    insert into job_runs (name, due_at, node, lease_until, error) values
      ('purge', '2026-01-01T00:17:00Z', 'a', now(), ''),
      ('purge', '2026-01-01T01:17:00Z', 'b', now(), 'no room')`;
  await world.sql`
    insert into dead_letters (source, body, reason) values ('outbox', '{"user": "ann"}', 'too long')`;
  const { runs } = (await operate('GET /jobs')).json;
  const { dead_letters } = (await operate('GET /dead-letters')).json;

  assert.equal([runs[0].node, runs[0].error, runs[1].finished_at], ['b', 'no room', null]);
  assert.equal([dead_letters[0].reason, dead_letters[0].body], ['too long', { user: 'ann' }]);
  assert.equal([dead_letters[0].refusals, dead_letters[0].newest_at], [1, dead_letters[0].created_at]);
});

test('dead-letters retry: what SQL takes is gone from the list, the rest stays', async () => {
  await world.sql`delete from dead_letters`;
  await world.sql`
    insert into dead_letters (source, body, reason) values ('outbox', '{"user": "ann"}', 'too long')`;
  const message = await done('POST /dead-letters/retry');
  assert.match(message, /^SQL has taken 0 of 1 dead letters\. The others stay/);
  await world.sql`delete from dead_letters`;
  assert.is(await done('POST /dead-letters/retry'), 'There are no dead letters.');
});

test.run();
