/**
 * The routes of servers, teams and packs against a complete Rollcall: every documented status.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { permissionCatalogue } from '../../../engine/rules/permissions.ts';
import {
  addBot,
  addMember,
  addPack,
  addServer,
  addTeam,
  addUser,
} from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld } from './world.ts';

const test = suite('routes of servers, teams and packs');

const world = await openWorld();
const { sql } = world;
await addUser(sql, 'robin');
await addTeam(sql, 'team1', 'keepers');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addBot(sql, 'bot1', { team_id: 'team1' });
await addServer(sql, 'server1', { team_id: 'team1' });
await addServer(sql, 'server2', { team_id: 'team1', state: 'unlisted' });
await addTeam(sql, 'voted', 'voted-on');
await addBot(sql, 'bot2', { team_id: 'voted', type: 'pending' });
await addPack(sql, 'pack1', { bot_ids: ['bot1', 'gone'], server_ids: ['server1'] });
test.after(() => world.close());

const read = async (path: string) => (await world.ask('GET', path)).json;
const refusal = async (path: string) => {
  const { status, json } = await world.ask('GET', path);
  return [status, json.context.code];
};

test('GET /servers/:id → 200 by id and vanity, of any state, with its team', async () => {
  const server = await read('/servers/server2');

  assert.equal([server.server_id, server.state, server.total_members], ['server2', 'unlisted', 2_048]);
  assert.equal([server.team_owner.id, server.team_owner.entities.targets], ['team1', []]);
  assert.not.ok('long' in server);
  assert.is((await read('/servers/server-server1?include=long')).long, 'A long text about a server.');
});

test('GET /servers/:id?target=page → 200 counts, and 404 for an unknown one', async () => {
  const first = await world.ask('GET', '/servers/server1?target=page');
  await world.ask('GET', '/servers/server1?target=invite');
  let server = await read('/servers/server1');
  await until('both are counted', async () => {
    server = await read('/servers/server1');
    return server.clicks + server.invite_clicks === 2;
  });

  assert.equal([first.status, first.json.clicks, first.headers.get('cache-control')], [200, 0, 'no-store']);
  assert.equal([server.clicks, server.unique_clicks, server.invite_clicks], [1, 1, 1]);
  assert.equal(await refusal('/servers/nobody?target=page'), [404, 'not_found']);
});

test('GET /servers/@all → 200 with public ones only, and 400', async () => {
  const page = await read('/servers/@all');

  assert.equal([page.count, page.per_page, page.results[0].server_id], [1, 12, 'server1']);
  assert.equal(await refusal('/servers/@all?page=0'), [400, 'page_invalid']);
});

test('GET /teams/:id → 200 with the kinds asked for', async () => {
  const team = await read('/teams/KEEPERS?targets=bot,banana,team_member');

  assert.equal([team.id, team.vanity, team.votes, team.approximate_votes], ['team1', 'keepers', 0, 0]);
  assert.equal(team.entities.targets, ['team_member', 'bot']);
  assert.is(team.entities.bots[0].bot_id, 'bot1');
  assert.is(team.entities.members[0].team_id, 'team1');
  assert.equal(team.entities.servers, []);
});

test('GET /teams/:id → 200 shows an acknowledged vote at once', async () => {
  const token = await world.token('user', 'robin');
  await world.ask('PUT', '/users/robin/teams/voted/votes?upvote=true', { token });

  assert.is((await read('/teams/voted?targets=bot')).votes, 1);
  assert.is((await read('/bots/bot2')).team_owner.votes, 1);
});

test('GET /teams/:id → 400 without targets lists the kinds, 404 for an unknown one', async () => {
  const reply = await world.ask('GET', '/teams/team1');

  assert.equal([reply.status, reply.json.context.code], [400, 'validation_failed']);
  assert.match(reply.json.context['/targets'], 'team_member, bot, server');
  assert.equal(await refusal('/teams/nobody?targets=bot'), [404, 'not_found']);
  assert.equal(await refusal(`/teams/team1?targets=${Array(17).fill('bot').join()}`), [
    400,
    'validation_failed',
  ]);
});

test('GET /teams/meta/permissions → 200 with the whole catalogue', async () => {
  const { perms } = await read('/teams/meta/permissions');

  assert.is(perms.length, 24);
  assert.equal(perms, permissionCatalogue);
});

test('GET /packs/:id → 200 in any case, without what was deleted', async () => {
  const pack = await read('/packs/PACK1');

  assert.equal([pack.url, pack.owner.id, pack.votes], ['pack1', 'robin', 0]);
  assert.equal([pack.bot_ids, pack.bots.length, pack.servers.length], [['bot1', 'gone'], 1, 1]);
  assert.equal(await refusal('/packs/nothing'), [404, 'not_found']);
});

test('GET /packs/@all → 200 and 400', async () => {
  const page = await read('/packs/@all');

  assert.equal([page.count, page.per_page, page.results[0].url], [1, 12, 'pack1']);
  assert.equal(await refusal('/packs/@all?page=last'), [400, 'page_invalid']);
});

test('ids with control characters are 400, other strange ones 404', async () => {
  assert.equal(await refusal('/bots/a%20b'), [404, 'not_found']);
  assert.equal(await refusal(`/servers/${'x'.repeat(129)}`), [400, 'validation_failed']);
});

test.run();
