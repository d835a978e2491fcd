/**
 * What operators decide about bots, servers, teams and packs, and what clients see of it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addBot,
  addMember,
  addPack,
  addServer,
  addTeam,
  addUser,
} from '../../storage/catalogue/directory.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { botBody } from '../../support/bot-body.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { codeOf } from '../api/world.ts';
import { openOperated } from './world.ts';

const test = suite('operations on listings');
const hourMs = 3_600_000;
const serverId = '758641373074423808';
const harbour = { name: 'Harbour', short: 'Where ships and their crews meet at night.' };

const world = await openOperated();
const { done, read: show, send: operate, sql } = world;
for (const user of ['robin', 'ann', 'ben', 'cat']) await addUser(sql, user);
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
test.after(() => world.close());

const listedBots = async (): Promise<string[]> =>
  (await show('/bots/@all')).results.map((bot: { bot_id: string }) => bot.bot_id);

test('bots approve: listed and open to votes at once, with the note; deny: neither', async () => {
  await addBot(world.sql, 'fresh', { type: 'pending' });
  assert.is((await world.vote('ann', 'bots/fresh')).json.context.code, 'not_votable');

  assert.is(await done('POST /bots/fresh/approve', { note: 'Tested.\nWorks.' }), 'bot fresh is approved.');
  assert.is((await world.vote('ann', 'bots/fresh')).status, 204);
  const { type, approval_note } = await show('/bots/fresh');
  assert.equal([type, approval_note], ['approved', 'Tested.\nWorks.']);
  await until('listed', async () => (await listedBots()).includes('fresh'));

  await done('POST /bots/fresh/deny', { note: 'It stopped answering.' });
  assert.is((await world.vote('ben', 'bots/fresh')).json.context.code, 'not_votable');
  assert.is((await show('/bots/fresh')).votes, 1, 'what was counted stays');
  await until('not listed', async () => !(await listedBots()).includes('fresh'));
});

test('a denial without a reason → 400, of bots and servers, and changes nothing', async () => {
  const unexplained = '758641373074423810';
  await addBot(world.sql, 'unexplained', { type: 'pending' });
  await addServer(world.sql, unexplained, { team_id: 'team1' });
  for (const path of ['/bots/unexplained', `/servers/${unexplained}`])
    for (const body of [{}, { note: '' }, { note: ' \n' }])
      assert.is((await operate(`POST ${path}/deny`, body)).json.context.code, 'validation_failed', path);

  assert.is((await show('/bots/unexplained')).type, 'pending');
  assert.is((await show(`/servers/${unexplained}`)).type, 'approved');
});

test('bots show: all that is reviewed, also what only reviewers may read', async () => {
  await addBot(world.sql, 'reviewed', { type: 'pending', owner_id: 'robin' });
  const extra_links = [{ name: 'Website', value: 'https://reviewed.example' }];
  await world.sql`
    update bots set long = 'All of it.', invite = 'https://invite.example', library = 'eris', prefix = '?',
      extra_links = ${JSON.stringify(extra_links)}::text::jsonb, staff_note = 'For you.'
    where bot_id = 'reviewed'`;
  world.catalogue.bots.drop('reviewed');
  const { json } = await operate('GET /bots/reviewed');

  assert.equal(
    [json.long, json.invite, json.library, json.prefix, json.extra_links, json.staff_note, json.owner_name],
    ['All of it.', 'https://invite.example', 'eris', '?', extra_links, 'For you.', 'name-of-robin'],
  );
  assertExcludes(JSON.stringify(await show('/bots/reviewed?include=long')), 'For you.');
});

test('bots, teams and packs show: what looks alike is named, and not refused', async () => {
  await addUser(sql, 'real', { username: 'Keepers' });
  await addUser(sql, 'false', { username: '\u041aeepers' });
  await addBot(sql, 'real');
  await addBot(sql, 'false', { type: 'pending' });
  await sql`update teams set name = 'Kee\u0440ers' where id = 'team1'`;
  await addPack(sql, 'keepers');
  await sql`update packs set name = 'K\u0435epers'`;
  world.catalogue.teams.drop('team1');
  const listIds = async (path: string): Promise<string[]> =>
    (await operate(`GET ${path}`)).json.look_alikes.map(({ id }: { id: string }) => id);

  assert.equal(await listIds('/bots/false'), ['real', 'keepers', 'team1']);
  assert.equal(await listIds('/bots/real'), [], 'only while it waits');
  assert.equal(await listIds('/teams/team1'), ['false', 'real', 'keepers']);
  assert.equal(await listIds('/packs/keepers'), ['false', 'real', 'team1']);
  assert.is(await done('POST /bots/false/approve', {}), 'bot false is approved.');
});

test('bots certify and pend: the reason comes and goes with the type', async () => {
  await addBot(world.sql, 'steady');
  await done('POST /bots/steady/certify', { reason: 'Reliable for a year.' });
  const certified = await show('/bots/steady');
  await done('POST /bots/steady/pend', {});
  const pending = await show('/bots/steady');

  assert.equal([certified.type, certified.cert_reason], ['certified', 'Reliable for a year.']);
  assert.equal([pending.type, pending.cert_reason], ['pending', '']);
});

test('bots premium: the window is 4 hours, and 0 hours end it', async () => {
  await addBot(world.sql, 'shiny');
  const start_at = new Date(world.clock.nowMs() - hourMs).toISOString();
  await done('PUT /bots/shiny/premium', { hours: 24, start_at });
  const { premium, premium_period_length } = await show('/bots/shiny');
  await world.vote('ann', 'bots/shiny');
  const { vote_info } = await show('/users/ann/bots/shiny/votes');
  await done('PUT /bots/shiny/premium', { hours: 0 });
  const after = await show('/bots/shiny');

  assert.equal([premium, premium_period_length, vote_info.vote_time], [true, 24, 4]);
  assert.equal([after.premium, after.start_premium_period], [false, null]);
  assert.is((await show('/users/ann/bots/shiny/votes')).vote_info.vote_time, 12);
});

test('bots premium → 400 for impossible hours and times', async () => {
  await addBot(world.sql, 'plain');
  for (const body of [
    {},
    { hours: -1 },
    { hours: 1.5 },
    { hours: 1e9 },
    { hours: 1, start_at: 'now' },
    { hours: 1, start_at: '0000-01-01T00:00:00Z' },
    { hours: 1, start_at: '2026-12-31T23:59:60Z' },
  ]) {
    const { status, json } = await operate('PUT /bots/plain/premium', body);
    assert.equal([status, json.context.code], [400, 'validation_failed'], JSON.stringify(body));
  }
  assert.is((await show('/bots/plain')).premium_period_length, 0);
});

test('listings vote-ban: no votes on any kind of listing; unvote-ban: votes again', async () => {
  await addBot(world.sql, 'shunned');
  await addServer(world.sql, 'server1', { team_id: 'team1' });
  await addPack(world.sql, 'night-owls');
  for (const target of ['bot/shunned', 'server/server1', 'team/team1', 'pack/Night-Owls']) {
    await done(`PUT /${target}/vote-ban`);
    const refused = await world.vote('ben', target);
    await done(`DELETE /${target}/vote-ban`);

    assert.equal([refused.status, refused.json.context.code], [403, 'entity_vote_banned'], target);
    assert.is((await world.vote('ben', target)).status, 204, target);
  }
});

const claimedAt = async (at: Date): Promise<void> => {
  await world.sql`update bots set last_claimed = ${at} where bot_id = 'waiting'`;
  world.catalogue.bots.drop('waiting');
};
const claimantListed = async (): Promise<string> =>
  (await operate('GET /bots')).json.bots.find((one: { bot_id: string }) => one.bot_id === 'waiting')
    .claimed_by;

test('bots claim: clients see the claim for an hour; unclaim: it ends at once', async () => {
  await addBot(world.sql, 'waiting', { type: 'pending' });
  await done('PUT /bots/waiting/claim', { user_id: 'robin' });
  assert.is((await show('/bots/waiting')).claimed_by, 'robin');
  assert.is(await claimantListed(), 'robin');
  await done('DELETE /bots/waiting/claim');
  assert.is((await show('/bots/waiting')).claimed_by, '');

  await done('PUT /bots/waiting/claim', { user_id: 'robin' });
  // SQL has the time of the machine; this world's clock is up to a week behind it.
  await claimedAt(new Date(world.clock.nowMs()));
  const claimantShown = async () => (await operate('GET /bots/waiting')).json.claimed_by;
  assert.equal([(await show('/bots/waiting')).claimed_by, await claimantShown()], ['robin', 'robin']);
  world.clock.skip(hourMs);
  assert.equal([(await show('/bots/waiting')).claimed_by, await claimantShown()], ['', '']);
  assert.is((await operate('PUT /bots/waiting/claim', { user_id: 'Robin Hood' })).status, 400);
  assert.is(await claimantListed(), '', 'by the clock of SQL, which is a day ahead at least');
});

test('bots list: pending bots, oldest first, or those of the requested type', async () => {
  await addBot(world.sql, 'old', { type: 'denied', created_at: new Date('2020-01-01T00:00:00Z') });
  await addBot(world.sql, 'older', { type: 'denied', created_at: new Date('2019-01-01T00:00:00Z') });
  const { json } = await operate('GET /bots?type=denied');
  const ids = json.bots.map((bot: { bot_id: string }) => bot.bot_id);

  assert.equal(ids.slice(0, 2), ['older', 'old']);
  assert.equal((await operate('GET /bots?type=denied&page=2')).json.bots, []);
  assert.is((await operate('GET /bots?page=0')).json.context.code, 'page_invalid');
  assert.is((await operate('GET /bots?type=odd')).status, 400);
});

test('bots add: pending, for an unknown user or for a team; only once', async () => {
  const [mine, ours] = ['815553000470478850', '815553000470478851'];
  await done(`PUT /bots/${mine}`, { ...botBody, owner: 'newcomer' });
  await done(`PUT /bots/${ours}`, { ...botBody, team_owner: 'team1' });
  const shown = await show(`/bots/${mine}`);

  assert.equal([shown.type, shown.owner.id], ['pending', 'newcomer']);
  assert.is((await show(`/bots/${ours}`)).owner, null);
  assert.equal(codeOf(await operate(`PUT /bots/${mine}`, { ...botBody, owner: 'robin' })), [
    409,
    'already_exists',
  ]);
});

test('bots add → 400 for a bad id, bad fields, no owner or two, 404 for an unknown team', async () => {
  const id = '815553000470478852';
  for (const [path, body] of [
    ['12', { ...botBody, owner: 'robin' }],
    [id, { ...botBody, owner: 'robin', short: 'short' }],
    [id, { ...botBody, owner: 'robin', invite: 'https://' }],
    [id, botBody],
    [id, { ...botBody, owner: 'Robin Hood' }],
    [id, { ...botBody, owner: 'robin', team_owner: 'team1' }],
  ] as const) {
    assert.is((await operate(`PUT /bots/${path}`, body)).status, 400);
  }
  assert.is(
    (await operate(`PUT /bots/${id}`, { ...botBody, team_owner: 'no' })).json.context.code,
    'not_found',
  );
  assert.is((await world.ask('GET', `/bots/${id}`)).status, 404);
});

test('servers put: pending, public when approved, changed whole; 400 for an unknown team', async () => {
  const body = { ...harbour, team_owner: 'team1', total_members: 90 };
  assert.is(await done(`PUT /servers/${serverId}`, body), `server ${serverId} is added.`);
  assert.is((await show(`/servers/${serverId}`)).type, 'pending');
  await done(`POST /servers/${serverId}/approve`, {});
  assert.is((await world.vote('ann', `servers/${serverId}`)).status, 204);
  assert.is(
    await done(`PUT /servers/${serverId}`, { ...body, name: 'Port', total_members: 91 }),
    `server ${serverId} is changed.`,
  );
  const { name, total_members, type, votes } = await show(`/servers/${serverId}`);
  assert.equal([name, total_members, type, votes], ['Port', 91, 'approved', 1]);

  await done(`PUT /servers/${serverId}`, { ...body, state: 'private' });
  assert.is((await world.vote('ben', `servers/${serverId}`)).json.context.code, 'not_votable');
  assert.is((await operate(`PUT /servers/${serverId}`, { ...body, invite: 'https://[' })).status, 400);
  const { json } = await operate(`PUT /servers/${serverId}`, { ...body, team_owner: 'nobody' });
  assert.is(json.context['/team_owner'], 'must be the id of a team');
});

test('bots delete: gone at once, its sessions ended, its votes void, its id free', async () => {
  await addBot(world.sql, 'doomed', { vanity: 'doomed-one' });
  const token = await world.token('bot', 'doomed');
  assert.is((await world.ask('POST', '/bots/stats', { token, body: { servers: 3 } })).status, 200);
  await world.vote('ann', 'bots/doomed');

  await done('DELETE /bots/doomed');
  assert.is((await world.ask('GET', '/bots/doomed')).status, 404);
  assert.is((await world.ask('GET', '/vanity/doomed-one')).status, 404);
  assert.is((await world.ask('POST', '/bots/stats', { token, body: { servers: 3 } })).status, 401);
  assert.is((await operate('DELETE /bots/doomed')).status, 404);
  await addBot(world.sql, 'doomed');
  assert.is((await show('/bots/doomed')).votes, 0);
});

test('servers, teams and packs delete: 404 afterwards; a team that owns something remains', async () => {
  await addTeam(world.sql, 'empty');
  const sunkId = '758641373074423811';
  await addTeam(world.sql, 'owning');
  for (const id of [sunkId, 'server2']) await addServer(world.sql, id, { team_id: 'owning' });
  await addPack(world.sql, 'gone');
  const token = await world.token('team', 'empty');
  await done(`DELETE /servers/${sunkId}`);
  await done('DELETE /teams/empty');
  await done('DELETE /packs/GONE');

  for (const path of [`/servers/${sunkId}`, '/teams/empty?targets=bot', '/packs/gone']) {
    assert.is((await world.ask('GET', path)).status, 404, path);
  }
  assert.is((await world.ask('PATCH', '/teams/empty', { token, body: {} })).status, 401);
  assert.equal(codeOf(await operate('DELETE /teams/owning')), [409, 'team_not_empty']);
  assert.is((await operate('DELETE /packs/gone')).status, 404);
});

test('teams show: members with their permissions, bots and servers, by id or vanity code', async () => {
  await addTeam(world.sql, 'crew', 'the-crew');
  const since = new Date('2020-01-02T00:00:00Z');
  await addMember(world.sql, 'crew', {
    user: 'ann',
    permissions: ['edit_team', 'add_bots'],
    created_at: since,
  });
  await addMember(world.sql, 'crew', { user: 'cat', permissions: [] });
  await addBot(world.sql, 'crewed', { team_id: 'crew', type: 'denied' });
  await addServer(world.sql, 'berth', { team_id: 'crew' });
  await world.vote('ben', 'team/crew');
  const { status, json } = await operate('GET /teams/The-Crew');
  const { members, bots, servers, ...team } = json;

  assert.equal([status, team.id, team.vanity, team.votes], [200, 'crew', 'the-crew', 1]);
  assert.equal(
    members.map((one: { user_id: string; permissions: string[] }) => [one.user_id, one.permissions]),
    [
      ['ann', ['edit_team', 'add_bots']],
      ['cat', []],
    ],
  );
  assert.equal(bots, [{ bot_id: 'crewed', name: 'crewed', type: 'denied' }]);
  assert.equal(servers, [{ server_id: 'berth', name: 'Server berth', type: 'approved', state: 'public' }]);
});

test('packs show: its owner, its entities in their order, and which of them are deleted', async () => {
  for (const id of ['second', 'first']) await addBot(world.sql, id);
  await addServer(world.sql, 'afloat', { team_id: 'team1' });
  await addPack(world.sql, 'mixed', {
    bot_ids: ['first', 'long-gone', 'second'],
    server_ids: ['afloat', 'sunk'],
  });
  const { status, json } = await operate('GET /packs/MIXED');

  assert.equal([status, json.url, json.owner, json.votes], [200, 'mixed', 'robin', 0]);
  assert.equal(pluck(json.bots, 'bot_id'), ['first', 'second']);
  assert.equal(pluck(json.servers, 'server_id'), ['afloat']);
  assert.equal(json.deleted, ['long-gone', 'sunk']);
});

test('teams delete is audited, also when it is refused; reads are not', async () => {
  for (const team of ['brief', 'needed']) await addTeam(world.sql, team);
  await addServer(world.sql, 'moored', { team_id: 'needed' });
  await operate('DELETE /teams/needed');
  await operate('GET /teams/needed');
  await done('DELETE /teams/brief');
  const { entries } = (await operate('GET /audit')).json;
  const entriesShown = entries
    .slice(0, 2)
    .map((one: Record<string, string>) => [one.operation, one.target, one.outcome]);

  assert.equal(entriesShown, [
    ['teams delete', 'brief', 'done'],
    ['teams delete', 'needed', 'team_not_empty'],
  ]);
});

test('an unknown target → 404, and nothing is created', async () => {
  for (const words of [
    'POST /bots/ghost/approve',
    'POST /servers/758641373074423809/deny',
    'PUT /team/ghost/vote-ban',
    'DELETE /pack/ghost/vote-ban',
    'DELETE /bots/ghost',
    'DELETE /bots/ghost/claim',
    'DELETE /teams/ghost',
    'GET /teams/ghost',
    'GET /packs/ghost',
  ]) {
    const { status, json } = await operate(words, words.startsWith('POST') ? { note: 'No.' } : undefined);
    assert.equal([status, json.context.code], [404, 'not_found'], words);
  }
});

// Last, because it moves the clock past the wait of all votes.
test('bots approve: uptime is checked from then on', async () => {
  await addBot(world.sql, 'checked', { type: 'pending' });
  await done('POST /bots/checked/approve', {});
  world.clock.skip(8 * 24 * hourMs);
  const token = await world.token('bot', 'checked');
  await world.ask('POST', '/bots/stats', { token, body: { servers: 3 } });
  world.clock.skip(600_000);
  await world.ask('POST', '/bots/stats', { token, body: { servers: 3 } });
  const { uptime, total_uptime } = await show('/bots/checked');

  assert.ok(total_uptime > 0, 'checks were made');
  assert.ok(uptime > 0, 'and passed');
});

test.run();
