/**
 * The routes of sessions and the token test against a complete Rollcall: every documented status.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of sessions');
const body = { expiry: 3_600, name: 'stats poster', perm_limits: [] as string[], type: 'api' };

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'wren', 'finch']) await addUser(sql, user);
await addUser(sql, 'banned', { banned: true });
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addMember(sql, 'team1', { user: 'wren', permissions: ['manage_sessions', 'edit_bots'] });
await addBot(sql, 'bot1');
await addBot(sql, 'bot2', { team_id: 'team1' });
await addServer(sql, 'server1', { team_id: 'team1' });
test.before.each(async () => {
  await world.sql`delete from sessions`;
});
test.after(() => world.close());

const create = async (target: string, fields: Partial<typeof body>, token: string) =>
  world.ask('POST', `/${target}/sessions`, { body: { ...body, ...fields }, token });

test('POST /bots/:id/sessions → 201 with a token that works', async () => {
  const reply = await create('bots/bot1', {}, await world.token('user', 'robin'));
  const { session_id, target_id, token } = reply.json;

  assert.equal([reply.status, target_id], [201, 'bot1']);
  assert.match(token, /^rc_bot_bot1_[0-9A-Za-z]{49}$/);
  assert.match(session_id, /^[0-9a-f-]{36}$/);
  assert.is((await world.ask('POST', '/bots/stats', { body: {}, token })).status, 200);
});

test('POST …/sessions → 201 for users, servers, teams, and by entities for themselves', async () => {
  const robin = await world.token('user', 'robin');
  const team = await world.token('team', 'team1');

  assert.is((await create('users/robin', {}, robin)).status, 201);
  assert.is((await create('server/server1', {}, robin)).status, 201);
  assert.is((await create('teams/team1', {}, team)).status, 201);
  assert.is((await create('bots/bot2', {}, team)).status, 201);
  assert.is((await create('bots/bot1', {}, await world.token('bot', 'bot1'))).status, 201);
});

test('POST …/sessions → 400 for every bad field, and nothing is made', async () => {
  const token = await world.token('user', 'robin');
  for (const [fields, pointer] of [
    [{ expiry: 0 }, '/expiry'],
    [{ expiry: 315_360_001 }, '/expiry'],
    [{ expiry: 1.5 }, '/expiry'],
    [{ name: '' }, '/name'],
    [{ name: ' ' }, '/name'],
    [{ name: '\u200b\u2060\u3000' }, '/name'],
    [{ name: 'x'.repeat(65) }, '/name'],
    [{ perm_limits: ['fly'] }, '/perm_limits'],
    [{ perm_limits: ['fly', 'edit_bots'] }, '/perm_limits'],
    [{ perm_limits: null as unknown as string[] }, '/perm_limits'],
    [{ type: 5 as unknown as string }, '/type'],
  ] as const) {
    const reply = await create('bots/bot1', fields as Partial<typeof body>, token);
    assert.is(reply.status, 400, JSON.stringify(fields));
    assert.ok(pointer in reply.json.context, JSON.stringify(reply.json));
  }
  assert.equal(codeOf(await create('bots/bot1', { type: 'login' }, token)), [
    400,
    'session_type_unsupported',
  ]);
  assert.equal(codeOf(await create('packs/pack1', {}, token)), [400, 'target_type_unsupported']);
  const [rows] = await world.sql`select count(*) as count from sessions where target_id = 'bot1'`;
  assert.is(rows?.count, 0);
});

test('POST …/sessions → 201 at the bounds: one second, ten years, 64 code points', async () => {
  const token = await world.token('user', 'robin');

  assert.is((await create('bots/bot1', { expiry: 1 }, token)).status, 201);
  assert.is((await create('bots/bot1', { expiry: 315_360_000 }, token)).status, 201);
  assert.is((await create('bots/bot1', { name: '\u{1F916}'.repeat(64) }, token)).status, 201);
});

test('POST …/sessions → 403: unlimited is for the owner, limits only what is held', async () => {
  const wren = await world.token('user', 'wren');
  const unlimited = await create('bots/bot2', {}, wren);
  const tooMuch = await create('bots/bot2', { perm_limits: ['edit_bots', 'delete_bots'] }, wren);
  const held = await create('bots/bot2', { perm_limits: ['edit_bots'] }, wren);

  assert.equal([unlimited.status, unlimited.json.context.permission], [403, 'owner']);
  assert.equal([tooMuch.status, tooMuch.json.context.permission], [403, 'delete_bots']);
  assert.is(held.status, 201);
});

test('POST …/sessions → 403: a limited token passes on no more than its limits', async () => {
  const limited = await world.token('team', 'team1', { permLimits: ['manage_sessions', 'edit_bots'] });
  const without = await world.token('team', 'team1', { permLimits: ['edit_bots'] });
  const unlimited = await create('bots/bot2', {}, limited);
  const tooMuch = await create('bots/bot2', { perm_limits: ['owner'] }, limited);

  assert.is((await create('bots/bot2', { perm_limits: ['edit_bots'] }, limited)).status, 201);
  assert.equal([unlimited.status, unlimited.json.context.code], [403, 'permission_missing']);
  assert.equal([tooMuch.status, tooMuch.json.context.permission], [403, 'owner']);
  assert.is((await create('bots/bot2', { perm_limits: ['edit_bots'] }, without)).status, 403);
});

test('POST …/sessions → 404 for an unknown entity', async () => {
  assert.equal(codeOf(await create('bots/nobody', {}, await world.token('user', 'robin'))), [
    404,
    'not_found',
  ]);
});

test('POST …/sessions → 409 at the cap', async () => {
  const token = await world.token('user', 'robin');
  for (let made = 0; made < 5; made++) {
    assert.is((await create('server/server1', {}, token)).status, 201);
  }
  assert.equal(codeOf(await create('server/server1', {}, token)), [409, 'limit_reached']);
});

test('GET …/sessions → 200 lists metadata and never a token', async () => {
  const token = await world.token('user', 'robin');
  const made = await create('bots/bot1', { perm_limits: ['edit_bots', 'edit_bots'] }, token);
  const reply = await world.ask('GET', '/bots/bot1/sessions', { token });

  assert.equal([reply.status, reply.headers.get('cache-control')], [200, 'no-store']);
  const [session] = reply.json.sessions;
  assert.is(reply.json.sessions.length, 1);
  assert.equal(
    [session.id, session.name, session.perm_limits],
    [made.json.session_id, 'stats poster', ['edit_bots']],
  );
  assert.equal([session.target_type, session.target_id, session.type], ['bot', 'bot1', 'api']);
  assert.not.ok(reply.text.includes(made.json.token) || reply.text.includes('token_hash'));
});

test('GET …/sessions → 400, 404', async () => {
  const token = await world.token('user', 'wren');

  assert.is((await world.ask('GET', '/packs/pack1/sessions', { token })).status, 400);
  assert.is((await world.ask('GET', '/bots/nobody/sessions', { token })).status, 404);
});

test('DELETE …/sessions/:id → 200 in upper case too, and the token is dead at once', async () => {
  const token = await world.token('user', 'robin');
  const made = (await create('bots/bot1', {}, token)).json;
  await world.ask('POST', '/bots/stats', { body: {}, token: made.token });
  const shouted = made.session_id.toUpperCase();
  const reply = await world.ask('DELETE', `/bots/bot1/sessions/${shouted}`, { token });

  assert.equal([reply.status, reply.json.context.session_id], [200, made.session_id]);
  assert.type(reply.json.message, 'string');
  const after = await world.ask('POST', '/bots/stats', { body: {}, token: made.token });
  assert.equal([after.status, after.headers.get('x-session-invalid')], [401, 'true']);
});

test('DELETE …/sessions/:id → 404 for an expired one, which no list shows', async () => {
  const token = await world.token('user', 'robin');
  const made = (await create('bots/bot1', {}, token)).json;
  await world.sql`update sessions set expiry = now() - interval '1 second' where id = ${made.session_id}`;
  const path = `/bots/bot1/sessions/${made.session_id}`;

  for (let count = 0; count < 2; count++) {
    const { status, json } = await world.ask('DELETE', path, { token });
    assert.equal([status, json.context.code], [404, 'not_found']);
  }
});

test('POST …/sessions → 201 keeps blanks at the ends of a name as they were sent', async () => {
  const token = await world.token('user', 'robin');
  assert.is((await create('bots/bot1', { name: ' x\u200d ' }, token)).status, 201);
  const { json } = await world.ask('GET', '/bots/bot1/sessions', { token });

  assert.equal(pluck(json.sessions, 'name'), [' x\u200d ']);
});

test('DELETE …/sessions/:id → 400, 404', async () => {
  const token = await world.token('user', 'robin');
  const made = (await create('bots/bot1', {}, token)).json;
  const path = `/bots/bot1/sessions/${made.session_id}`;

  assert.is((await world.ask('DELETE', '/bots/bot1/sessions/not-a-uuid', { token })).status, 400);
  assert.is((await world.ask('DELETE', `/bots/bot2/sessions/${made.session_id}`, { token })).status, 404);
  assert.is((await world.ask('DELETE', `/bots/nobody/sessions/${made.session_id}`, { token })).status, 404);
  assert.is((await world.ask('DELETE', path, { token })).status, 200);
  assert.is((await world.ask('DELETE', path, { token })).status, 404);
});

const testOf = async (auth_type: string, target_id: string, token: string) =>
  world.ask('POST', '/auth/test', { body: { auth_type, target_id, token } });

test('POST /auth/test → 200, authorised with the session and its limits', async () => {
  const token = await world.token('bot', 'bot1', { permLimits: ['edit_bots'] });
  const reply = await testOf('bot', 'bot1', `Bot ${token}`);

  assert.equal(
    [reply.status, reply.json.authorized, reply.json.banned, reply.json.id, reply.json.target_type],
    [200, true, false, 'bot1', 'bot'],
  );
  assert.equal(reply.json.data.perm_limits, ['edit_bots']);
  assert.match(reply.json.data.session_id, /^[0-9a-f-]{36}$/);
});

test('POST /auth/test → 200, not authorised for bad, expired and mismatching tokens', async () => {
  const token = await world.token('bot', 'bot1');
  const expired = await world.token('bot', 'bot1', { lastsSeconds: -40 * 86_400 });
  for (const [kind, id, sent] of [
    ['bot', 'bot1', 'rubbish'],
    ['bot', 'bot1', ''],
    ['bot', 'bot1', expired],
    ['bot', 'bot2', token],
    ['user', 'bot1', token],
    ['bot', 'bot1', `User ${token}`],
  ] as const) {
    const { status, json } = await testOf(kind, id, sent);
    assert.equal([status, json.authorized, json.banned, json.data], [200, false, false, {}], `${kind} ${id}`);
  }
});

test('POST /auth/test → 200 tells that a user is banned', async () => {
  const { json } = await testOf('user', 'banned', await world.token('user', 'banned'));

  assert.equal([json.authorized, json.banned], [true, true]);
});

test('POST /auth/test → 400 for an unknown kind and missing fields', async () => {
  assert.is((await testOf('pack', 'pack1', 'x')).status, 400);
  assert.is((await world.ask('POST', '/auth/test', { body: { token: 'x' } })).status, 400);
});

test('…/chat-oauth2 → 404 where no login provider is configured', async () => {
  const path = '/auth/login/chat-oauth2';
  const login = { client_id: 'a', code: 'b', protocol: 'persepolis', redirect_uri: 'c', scope: 'normal' };
  for (const reply of [await world.ask('GET', path), await world.ask('POST', path, { body: login })]) {
    assert.equal([reply.status, reply.json.context.code], [404, 'login_not_configured']);
  }
});

test.run();
