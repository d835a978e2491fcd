/**
 * How far a token reaches, against a complete Rollcall: no token keeps a permission that its member lost, and
 * the token of a bot or server acts only as that bot or server.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { openOperated } from '../operator/world.ts';

const test = suite('reach of tokens');
let number = 0;
let team = '';
let bot = '';
let server = '';

const world = await openOperated();
await addUser(world.sql, 'robin');
/** Creates a team for one test: Robin, a second owner, a bot and a server. */
test.before.each(async () => {
  const { sql } = world;
  number += 1;
  [team, bot, server] = [`team-${number}`, `81555300047${number}0000`, `91555300047${number}0000`];
  await addTeam(sql, team);
  await addUser(sql, wren());
  for (const user of ['robin', wren()]) await addMember(sql, team, { user, permissions: ['owner'] });
  await sql`update team_members set data_holder = true where team_id = ${team}`;
  await addBot(sql, bot, { team_id: team });
  await addServer(sql, server, { team_id: team });
});
test.after(() => world.close());

const wren = (): string => `wren-${number}`;
const tokenOf = (user: string): Promise<string> => world.token('user', user);
const mint = async (target: string, token: string, perm_limits: readonly string[] = []): Promise<string> => {
  const body = { expiry: 600, name: 'x', perm_limits, type: 'api' };
  const { status, json } = await world.ask('POST', `/${target}/sessions`, { token, body });
  assert.is(status, 201, JSON.stringify(json));
  return json.token;
};
const demote = async (perms: readonly string[], by = 'robin'): Promise<void> => {
  const path = `/teams/${team}/members/${wren()}`;
  assert.is((await world.ask('PATCH', path, { token: await tokenOf(by), body: { perms } })).status, 204);
};
const answer = async (words: string, token: string, body?: unknown) => {
  const [method = '', path = ''] = words.split(' ');
  const { status, json } = await world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
  return status < 300 ? status : [status, json.context.permission ?? json.context.code];
};
const sessionsOf = (target: string, token: string) => answer(`GET /${target}/sessions`, token);
const stats = (token: string) => answer('POST /bots/stats', token, { servers: 1 });

test('PATCH …/members/:mid → 204: a demoted owner does not take the team back by a token', async () => {
  const token = await tokenOf(wren());
  const unlimited = await mint(`teams/${team}`, token);
  const named = await mint(`teams/${team}`, token, ['owner']);
  const managing = await mint(`teams/${team}`, token, ['edit_team_members', 'owner']);
  const ofBot = await mint(`bots/${bot}`, token);
  const ofServer = await mint(`servers/${server}`, token);
  const child = await mint(`bots/${bot}`, unlimited);
  const narrow = await mint(`bots/${bot}`, token, ['edit_bots']);
  assert.equal([await stats(ofBot), await stats(child), await stats(narrow)], [200, 200, 200]);
  assert.is(await sessionsOf(`servers/${server}`, ofServer), 200);

  await demote(['edit_bots']);

  for (const dead of [unlimited, named, managing]) {
    const back = { perms: ['owner'] };
    const path = `/teams/${team}/members/${wren()}`;
    assert.equal(await answer(`PATCH ${path}`, dead, back), [401, 'token_invalid']);
  }
  for (const dead of [ofBot, child]) assert.equal(await stats(dead), [401, 'token_invalid']);
  assert.equal(await sessionsOf(`servers/${server}`, ofServer), [401, 'token_invalid']);
  assert.is(await stats(narrow), 200, 'it holds nothing that was taken');
  assert.is(await sessionsOf(`users/${wren()}`, token), 200, 'a login is the user, with what is left');
  assert.equal(await sessionsOf(`teams/${team}`, token), [403, 'view_sessions']);
});

test('DELETE …/members/:mid → 204: the last owner who leaves leaves no token behind', async () => {
  const token = await tokenOf(wren());
  const path = `/teams/${team}/members/robin`;
  assert.is(await answer(`PATCH ${path}`, token, { perms: ['edit_bots'] }), 204);
  const unlimited = await mint(`teams/${team}`, token);
  assert.is(await sessionsOf(`teams/${team}`, unlimited), 200);

  assert.is(await answer(`DELETE /teams/${team}/members/${wren()}`, token), 204);

  assert.equal(await sessionsOf(`teams/${team}`, unlimited), [401, 'token_invalid']);
  assert.is(await sessionsOf(`teams/${team}`, await tokenOf('robin')), 200);
});

test('servers put: with another team the sessions of the server end', async () => {
  const other = `other-${number}`;
  await addTeam(world.sql, other);
  const ofServer = await mint(`servers/${server}`, await tokenOf(wren()));
  assert.is(await sessionsOf(`servers/${server}`, ofServer), 200);
  const fields = { name: 'Harbour', short: 'Where ships meet on most evenings.' };
  const put = async (team_owner: string): Promise<void> => {
    const { status, json } = await world.operate('PUT', `/servers/${server}`, { ...fields, team_owner });
    assert.is(status, 200, JSON.stringify(json));
  };

  await put(team);
  assert.is(await sessionsOf(`servers/${server}`, ofServer), 200);
  await put(other);

  assert.equal(await sessionsOf(`servers/${server}`, ofServer), [401, 'token_invalid']);
});

test('users ban: team tokens end; tokens of the user’s bots post stats and do nothing else', async () => {
  const token = await tokenOf(wren());
  const own = `71555300047${number}0000`;
  await addBot(world.sql, own, { owner_id: wren() });
  const ofTeam = await mint(`teams/${team}`, token);
  const ofTeamBot = await mint(`bots/${bot}`, token);
  const ofOwn = await mint(`bots/${own}`, token);
  const issued = (await world.operate('POST', `/bot/${own}/tokens`, {})).json.token;
  const others = await mint(`bots/${bot}`, await tokenOf('robin'));
  const ofServer = await mint(`servers/${server}`, token);
  const bots = [ofTeamBot, ofOwn, issued, others];
  for (const one of bots) assert.is(await stats(one), 200);
  assert.is(await sessionsOf(`teams/${team}`, ofTeam), 200);
  assert.is(await sessionsOf(`bots/${own}`, ofOwn), 200);
  assert.is(await sessionsOf(`servers/${server}`, ofServer), 200);

  await world.operate('PUT', `/users/${wren()}/ban`);

  assert.equal(await sessionsOf(`teams/${team}`, ofTeam), [401, 'token_invalid']);
  for (const one of bots) assert.is(await stats(one), 200);
  const edit = { invite: 'https://example.org/elsewhere' };
  for (const [id, one] of [
    [own, ofOwn],
    [own, issued],
    [bot, ofTeamBot],
  ] as const) {
    assert.equal(await sessionsOf(`bots/${id}`, one), [403, 'banned']);
    assert.equal(await answer(`PATCH /bots/${id}/settings`, one, edit), [403, 'banned']);
    const body = { expiry: 600, name: 'x', perm_limits: [], type: 'api' };
    assert.equal(await answer(`POST /bots/${id}/sessions`, one, body), [403, 'banned']);
  }
  assert.equal(await sessionsOf(`servers/${server}`, ofServer), [403, 'banned']);
  assert.is(await sessionsOf(`bots/${bot}`, others), 200);

  await world.operate('DELETE', `/users/${wren()}/ban`);
  assert.is(await sessionsOf(`bots/${own}`, ofOwn), 200);
  assert.is(await sessionsOf(`bots/${bot}`, ofTeamBot), 200);
  assert.equal(await sessionsOf(`teams/${team}`, ofTeam), [401, 'token_invalid']);
});

test('a token of a bot or server acts on itself only, and neither votes nor acts as a user', async () => {
  const { sql } = world;
  const [sibling, neighbour] = [`61555300047${number}0000`, `51555300047${number}0000`];
  await addBot(sql, sibling, { team_id: team });
  await addServer(sql, neighbour, { team_id: team });
  const ofBot = await world.token('bot', bot);
  const ofServer = await world.token('server', server);

  assert.is(await sessionsOf(`bots/${bot}`, ofBot), 200);
  assert.is(await sessionsOf(`servers/${server}`, ofServer), 200);
  for (const token of [ofBot, ofServer]) {
    for (const target of [`bots/${sibling}`, `servers/${neighbour}`, `teams/${team}`]) {
      assert.equal(await sessionsOf(target, token), [403, 'view_sessions'], target);
    }
    for (const path of [
      `/users/${bot}/bots/${sibling}/votes?upvote=true`,
      `/users/robin/bots/${bot}/votes?upvote=true`,
    ]) {
      assert.equal(await answer(`PUT ${path}`, token), [401, 'token_kind_unsupported']);
    }
    assert.equal(await answer('GET /users/robin/reminders', token), [401, 'token_kind_unsupported']);
    assert.equal(await sessionsOf('users/robin', token), [403, 'user_mismatch']);
  }
});

test.run();
