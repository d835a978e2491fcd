/**
 * The routes of team members against a complete Rollcall: all rules of permissions, also in races.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addMember, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { openWorld } from './world.ts';

const test = suite('routes of members');
let team = '';
let teams = 0;
const tokens = new Map<string, string>();

const world = await openWorld();
for (const user of ['robin', 'wren', 'finch', 'swift', 'crane']) {
  await addUser(world.sql, user);
  tokens.set(user, await world.token('user', user));
}
await addUser(world.sql, 'machine', { bot: true });

/** Robin is the owner and data holder; Wren manages members; Finch has one permission. */
test.before.each(async () => {
  const { sql } = world;
  team = `team-${++teams}`;
  await addTeam(sql, team);
  const since = (day: number) => new Date(`2026-01-0${day}T00:00:00Z`);
  await addMember(sql, team, { user: 'robin', permissions: ['owner'], created_at: since(1) });
  const permissions = ['add_team_members', 'edit_team_members', 'remove_team_members', 'edit_bots'];
  await addMember(sql, team, { user: 'wren', permissions, created_at: since(2) });
  await addMember(sql, team, { user: 'finch', permissions: ['delete_bots'], created_at: since(3) });
  await sql`update team_members set data_holder = true where team_id = ${team} and user_id = 'robin'`;
});
test.after(() => world.close());

const tokenOf = (who: string): string => tokens.get(who) ?? who;
const add = (who: string, user_id: string, perms: readonly string[] = []) =>
  world.ask('PUT', `/teams/${team}/members`, { token: tokenOf(who), body: { user_id, perms } });
const edit = (who: string, mid: string, body: unknown) =>
  world.ask('PATCH', `/teams/${team}/members/${mid}`, { token: tokenOf(who), body });
const remove = (who: string, mid: string) =>
  world.ask('DELETE', `/teams/${team}/members/${mid}`, { token: tokenOf(who) });

interface Shown {
  readonly user_id: string;
  readonly permissions: readonly string[];
  readonly data_holder: boolean;
  readonly mentionable: boolean;
}
const members = async (): Promise<Record<string, Shown>> => {
  const rows = await world.sql<Shown[]>`
    select user_id, permissions, data_holder, mentionable from team_members where team_id = ${team}`;
  return Object.fromEntries(rows.map((row) => [row.user_id, row]));
};

const refusal = async (pending: ReturnType<typeof add>) => {
  const { status, json } = await pending;
  return [status, json.context.permission ?? json.context.code];
};

test('PUT /teams/:tid/members → 204 with permissions the caller holds', async () => {
  assert.is((await add('wren', 'swift', ['edit_bots', 'edit_bots'])).status, 204);
  assert.is((await add(await world.token('team', team), 'crane', ['owner'])).status, 204);
  const { swift, crane } = await members();

  assert.equal([swift?.permissions, swift?.data_holder, swift?.mentionable], [['edit_bots'], false, false]);
  assert.equal(crane?.permissions, ['owner']);
});

test('PUT /teams/:tid/members → 400 for unknown permissions, unknown users and bots', async () => {
  for (const [user, perms, pointer] of [
    ['swift', ['fly'], '/perms'],
    ['nobody', [], '/user_id'],
    ['machine', [], '/user_id'],
    ['', [], '/user_id'],
  ] as const) {
    const reply = await add('robin', user, perms);
    assert.is(reply.status, 400, user);
    assert.ok(pointer in reply.json.context, JSON.stringify(reply.json));
  }
  const without = await world.ask('PUT', `/teams/${team}/members`, {
    token: tokenOf('robin'),
    body: { user_id: 'swift' },
  });
  assert.is(without.status, 400);
});

test('PUT /teams/:tid/members → 403 and 404', async () => {
  assert.equal(await refusal(add('wren', 'swift', ['edit_bots', 'delete_bots'])), [403, 'delete_bots']);
  assert.equal(await refusal(add('wren', 'swift', ['owner'])), [403, 'owner']);
  const limited = await world.token('user', 'robin', { permLimits: ['add_team_members'] });
  assert.equal(await refusal(add(limited, 'swift', ['edit_bots'])), [403, 'edit_bots']);
  assert.is((await add(limited, 'swift')).status, 204);
  team = 'nowhere';
  assert.equal(await refusal(add('robin', 'swift')), [404, 'not_found']);
});

test('PUT /teams/:tid/members → 409 for a member, and at 200 members however many come at once', async () => {
  assert.equal(await refusal(add('robin', 'wren')), [409, 'already_exists']);
  const twice = await Promise.all([add('robin', 'crane'), add('wren', 'crane')]);
  assert.equal(twice.map(({ status }) => status).sort(), [204, 409]);
  await world.sql`
    insert into users (id, username, display_name)
    select 'u' || n, 'u', 'u' from generate_series(1, 200) as n on conflict do nothing`;
  await world.sql`
    insert into team_members (team_id, user_id, itag)
    select ${team}, 'u' || n, gen_random_uuid() from generate_series(1, 194) as n`;
  const replies = await Promise.all([195, 196, 197, 198].map((n) => add('robin', `u${n}`)));

  assert.equal(replies.map(({ status }) => status).sort(), [204, 204, 409, 409]);
  assert.is(Object.keys(await members()).length, 200);
});

test('PATCH /teams/:tid/members/:mid → 204: absent, null and [] stay as they are', async () => {
  for (const body of [{}, { perms: [] }, { perms: null, data_holder: null, mentionable: null }]) {
    assert.is((await edit('robin', 'finch', body)).status, 204);
  }
  const before = (await members()).finch;
  const all = await edit('robin', 'finch', { perms: ['edit_bots'], data_holder: true, mentionable: true });
  const after = (await members()).finch;

  assert.equal([before?.permissions, before?.data_holder], [['delete_bots'], false]);
  assert.is(all.status, 204);
  assert.equal([after?.permissions, after?.data_holder, after?.mentionable], [['edit_bots'], true, true]);
});

test('PATCH /teams/:tid/members/:mid → 204: members decide whether they can be mentioned', async () => {
  assert.is((await edit('finch', 'finch', { mentionable: true })).status, 204);
  assert.is((await members()).finch?.mentionable, true);
  assert.equal(await refusal(edit('finch', 'wren', { mentionable: true })), [403, 'edit_team_members']);
  const limited = await world.token('user', 'finch', { permLimits: ['delete_bots'] });
  assert.equal(await refusal(edit(limited, 'finch', { mentionable: false })), [403, 'edit_team_members']);
});

test('PATCH /teams/:tid/members/:mid → 400, 403 for no member, 404', async () => {
  const bad = await edit('robin', 'finch', { perms: ['fly'] });
  assert.equal([bad.status, '/perms' in bad.json.context], [400, true]);
  assert.is((await edit('robin', 'finch', { mentionable: 1 })).status, 400);
  assert.equal(await refusal(edit('robin', 'swift', {})), [404, 'not_found']);
  assert.equal(await refusal(edit('swift', 'swift', {})), [403, 'edit_team_members']);
  team = 'nowhere';
  assert.equal(await refusal(edit('robin', 'robin', {})), [404, 'not_found']);
});

test('PATCH /teams/:tid/members/:mid → 409: the last owner and data holder stay', async () => {
  assert.equal(await refusal(edit('robin', 'robin', { perms: ['edit_bots'] })), [409, 'last_owner']);
  assert.equal(await refusal(edit('robin', 'robin', { data_holder: false })), [409, 'last_data_holder']);
  const token = await world.token('team', team);
  assert.equal(await refusal(edit(token, 'robin', { perms: ['edit_bots'] })), [409, 'last_owner']);
});

test('DELETE /teams/:tid/members/:mid → 204: leaving needs nothing; successors follow', async () => {
  assert.is((await remove('finch', 'finch')).status, 204);
  assert.is((await remove('robin', 'robin')).status, 204);
  const { wren, robin, finch } = await members();

  assert.equal([robin, finch], [undefined, undefined]);
  assertIncludes(wren?.permissions, 'owner');
  assert.is(wren?.data_holder, true);
  assert.equal(await refusal(remove('wren', 'wren')), [409, 'last_member']);
});

test('DELETE /teams/:tid/members/:mid → 204: a data holder follows the owner, then the oldest', async () => {
  await edit('robin', 'finch', { data_holder: true });
  assert.is((await remove('robin', 'robin')).status, 204);
  const { wren, finch } = await members();

  assertIncludes(finch?.permissions, 'owner');
  assertExcludes(wren?.permissions, 'owner');
});

test('DELETE /teams/:tid/members/:mid → 403, 404, 409', async () => {
  assert.equal(await refusal(remove('wren', 'finch')), [403, 'delete_bots']);
  assert.equal(await refusal(remove('wren', 'robin')), [403, 'owner']);
  assert.equal(await refusal(remove('finch', 'wren')), [403, 'remove_team_members']);
  assert.equal(await refusal(remove('robin', 'swift')), [404, 'not_found']);
  assert.equal(await refusal(remove('swift', 'swift')), [404, 'not_found']);
  assert.equal(await refusal(remove(await world.token('team', team), 'robin')), [409, 'last_owner']);
  assert.is((await remove('robin', 'wren')).status, 204);
  team = 'nowhere';
  assert.equal(await refusal(remove('robin', 'robin')), [404, 'not_found']);
});

test.run();
