/**
 * The routes of vanity codes against a complete Rollcall: look up, follow and change a code.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of vanity codes');

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'wren', 'finch']) await addUser(sql, user);
await addTeam(sql, 'team1', 'keepers');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addMember(sql, 'team1', { user: 'wren', permissions: ['set_vanity'] });
await addMember(sql, 'team1', { user: 'finch', permissions: ['edit_bots'] });
await addBot(sql, 'bot1', { vanity: 'lighthouse' });
await addBot(sql, 'bot2', { team_id: 'team1', vanity: 'windmill' });
for (const id of ['bot3', 'bot4', 'bot5']) await addBot(sql, id);
await addServer(sql, 'server1', { team_id: 'team1' });
await addTeam(sql, 'team2');
await addMember(sql, 'team2', { user: 'robin', permissions: ['owner'] });
await addServer(sql, 'server2', { team_id: 'team2' });
const robin = await world.token('user', 'robin');
test.after(() => world.close());

const change = (target: string, code: unknown, token = robin) =>
  world.ask('PATCH', `/${target}/vanity`, { token, body: { code } });
const find = (path: string) => world.ask('GET', `/vanity/${path}`);

test('GET /vanity/:code → 200 by code in any case, and by id', async () => {
  const { json } = await find('KEEPERS');
  assert.equal([json.code, json.target_type, json.target_id], ['keepers', 'team', 'team1']);
  assert.equal((await find('team1')).json, json);
  assert.is((await find('bot1')).json.target_type, 'bot');
});

test('GET /vanity/:code → 200: a code beats an id', async () => {
  await addBot(world.sql, 'keepers', { vanity: 'other' });
  assert.is((await find('keepers')).json.target_id, 'team1');
});

test('GET /vanity/:code → 200 by itag, in the query or in the path', async () => {
  const { itag } = (await find('keepers')).json;
  assert.is((await find(`anything?itag=${itag}`)).json.target_id, 'team1');
  assert.is((await find(`${itag}?itag=true`)).json.target_id, 'team1');
  assert.is((await find('keepers?itag=false')).json.target_id, 'team1');
});

test('GET /vanity/:code → 400 for an invalid itag, 404 for an unknown code', async () => {
  assert.is((await find('keepers?itag=true')).status, 400);
  assert.is((await find('keepers?itag=maybe')).status, 400);
  assert.is((await find('keepers?itag=018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a1')).status, 400);
  assert.is((await find('nobody-has-this')).status, 404);
  assert.is((await find('keepers?itag=018f3b7e-ffff-7d52-9d1e-2f6b1f6f7a10')).status, 404);
});

test('GET /@:code → 302 to the entity', async () => {
  for (const [path, location] of [
    ['/@KEEPERS', '/teams/team1?targets=team_member,bot,server'],
    ['/@windmill', '/bots/bot2'],
    ['/@server1', '/servers/server1'],
    [`/@x?itag=${(await find('windmill')).json.itag}`, '/bots/bot2'],
  ] as const) {
    const reply = await world.ask('GET', path);
    assert.equal([reply.status, reply.headers.get('location'), reply.text], [302, location, ''], path);
    assert.is(reply.headers.get('access-control-allow-origin'), '*');
    assert.is((await world.ask('GET', location)).status, 200, location);
  }
});

test('GET /@:code → 400, 404; HEAD → 302', async () => {
  const head = await world.ask('HEAD', '/@keepers');
  assert.equal([head.status, head.headers.get('location')?.slice(0, 12)], [302, '/teams/team1']);
  assert.is((await world.ask('GET', '/@keepers?itag=true')).status, 400);
  assert.is((await world.ask('GET', '/@nobody')).status, 404);
});

test('PATCH /:target_type/:target_id/vanity → 204 at once, the old code is free', async () => {
  assert.is((await world.ask('GET', '/bots/lighthouse')).json.bot_id, 'bot1');
  assert.is((await change('bots/bot1', 'Light_House-2')).status, 204);
  const { json } = await world.ask('GET', '/bots/light_house-2');

  assert.equal([json.bot_id, json.vanity], ['bot1', 'light_house-2']);
  assert.is((await find('light_house-2')).json.itag, json.vanity_ref);
  assert.is((await change('server/server1', 'harbour')).status, 204);
  assert.is((await world.ask('GET', '/servers/harbour')).json.vanity, 'harbour');
  assert.is((await change('bots/bot2', 'lighthouse', await world.token('team', 'team1'))).status, 204);
  assert.is((await world.ask('GET', '/bots/lighthouse')).json.bot_id, 'bot2');
});

test('PATCH /:target_type/:target_id/vanity → 204 for the own code, and by own tokens', async () => {
  assert.is((await change('team/team1', 'Keepers')).status, 204);
  assert.is((await change('team/team1', 'keepers', await world.token('team', 'team1'))).status, 204);
  assert.is((await change('bot/bot3', 'tower', await world.token('bot', 'bot3'))).status, 204);
  assert.is((await change('server/server1', 'quay', await world.token('server', 'server1'))).status, 204);
  assert.is((await change('team/team1', 'keepers', await world.token('user', 'wren'))).status, 204);
});

test('PATCH /:target_type/:target_id/vanity → 400 for forbidden codes, and other kinds', async () => {
  for (const code of ['a', 'a b', 'ä1', 'x'.repeat(33), 'bots', '123456789012345', 5, null]) {
    const reply = await change('teams/team1', code);
    assert.is(reply.status, 400, String(code));
    assert.ok('/code' in reply.json.context, JSON.stringify(reply.json));
  }
  assert.equal(codeOf(await change('packs/pack1', 'nice')), [400, 'target_type_unsupported']);
});

test('PATCH /:target_type/:target_id/vanity → 404 for an unknown entity', async () => {
  assert.is((await change('bots/nowhere', 'nice')).status, 404);
});

test('PATCH /:target_type/:target_id/vanity → 409 for a taken code, and for all but one', async () => {
  const taken = await change('bots/bot1', 'KEEPERS');
  assert.equal([taken.status, taken.json.context.code], [409, 'already_exists']);
  const replies = await Promise.all(
    ['bots/bot4', 'bots/bot5', 'servers/server2', 'teams/team2'].map((target) => change(target, 'wanted')),
  );
  assert.equal(replies.map(({ status }) => status).sort(), [204, 409, 409, 409]);
});

test.run();
