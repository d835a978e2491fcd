/**
 * The routes of teams against a complete Rollcall: create, change and delete a team, and its SEO
 * reply.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addMember, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of teams');
let names = 0;

const world = await openWorld();
for (const user of ['robin', 'wren', 'finch', 'voter']) await addUser(world.sql, user);
await addUser(world.sql, 'banned', { banned: true });
const robin = await world.token('user', 'robin');
const finch = await world.token('user', 'finch');
test.after(() => world.close());

const create = async (fields: Record<string, unknown> = {}, token = robin) =>
  world.ask('POST', '/teams', { token, body: { name: `Keepers ${++names}`, ...fields } });
const made = async (fields: Record<string, unknown> = {}): Promise<string> =>
  (await create(fields)).json.team_id;
const show = async (id: string) => world.ask('GET', `/teams/${id}?targets=team_member`);

test('POST /teams → 201: the creator owns it, holds its data, can be mentioned', async () => {
  const reply = await create({
    name: 'Night Owls',
    short: 'We never sleep.',
    tags: ['fun', 'nights'],
    nsfw: true,
    extra_links: [{ name: 'Website', value: 'https://example.org/a' }],
  });
  const { json } = await show(reply.json.team_id);
  const perms = await world.ask('GET', `/users/robin/teams/${json.id}/perms`);
  const [member] = json.entities.members;

  assert.is(reply.status, 201);
  assert.equal(Object.keys(reply.json), ['team_id']);
  assert.equal([json.name, json.short, json.nsfw], ['Night Owls', 'We never sleep.', true]);
  assert.equal([json.vanity, json.tags, json.votes], ['night-owls', ['fun', 'nights'], 0]);
  assert.equal(json.extra_links, [{ name: 'Website', value: 'https://example.org/a' }]);
  assert.equal([member.user.id, member.data_holder, member.mentionable], ['robin', true, true]);
  assert.is(perms.json.perms.length, 24);
});

test('POST /teams → 201 with nulls, without optional fields, at the bounds in code points', async () => {
  const nulls = await create({ short: null, tags: null, nsfw: null, extra_links: null });
  const { json } = await show(nulls.json.team_id);
  const owls = '\u{1F989}';
  const wide = await create({ name: owls.repeat(32), short: owls.repeat(150), tags: [owls.repeat(30)] });
  const shown = await show(wide.json.team_id);

  assert.equal([json.short, json.tags, json.nsfw, json.extra_links], ['', [], false, []]);
  assert.is(shown.json.name, owls.repeat(32));
  assert.match(shown.json.vanity, /^team-[0-9a-f]{6}$/);
});

test('POST /teams → 201: a taken vanity code gets a suffix, also for many at once', async () => {
  const replies = await Promise.all(Array.from({ length: 5 }, () => create({ name: 'Same Name' })));
  const codes = await Promise.all(
    replies.map(async ({ json }) => (await show(json.team_id)).json.vanity as string),
  );

  assert.is(new Set(codes).size, 5);
  assertIncludes(codes, 'same-name');
  for (const code of codes) assert.match(code, /^same-name(-[0-9a-f]{4,10})?$/);
});

test('POST /teams → 400 for every bad field', async () => {
  const link = { name: 'a', value: 'https://example.org' };
  for (const [fields, pointer] of [
    [{ name: 'ab' }, '/name'],
    [{ name: 'x'.repeat(33) }, '/name'],
    [{ name: null }, '/name'],
    [{ name: 'a\u0007bc' }, '/name'],
    [{ short: 'x'.repeat(151) }, '/short'],
    [{ tags: ['abc', 'abd', 'abe', 'abf', 'abg', 'abh'] }, '/tags'],
    [{ tags: ['ab'] }, '/tags/0'],
    [{ tags: ['abc', 'abc'] }, '/tags'],
    [{ nsfw: 'yes' }, '/nsfw'],
    [{ extra_links: [{ ...link, value: 'http://example.org' }] }, '/extra_links/0/value'],
    [{ extra_links: [{ ...link, value: 'https://exa[mple' }] }, '/extra_links/0/value'],
    [{ extra_links: [{ ...link, name: '' }] }, '/extra_links/0/name'],
    [{ extra_links: Array.from({ length: 21 }, () => link) }, '/extra_links'],
  ] as const) {
    const reply = await create(fields);
    assert.is(reply.status, 400, JSON.stringify(fields));
    assert.ok(pointer in reply.json.context, JSON.stringify(reply.json));
  }
});

test('POST /teams → 409 at 50 owned teams, however many ask at once', async () => {
  const { sql } = world;
  await addUser(sql, 'many');
  for (let index = 0; index < 48; index++) {
    await addTeam(sql, `many-${index}`);
    await addMember(sql, `many-${index}`, { user: 'many', permissions: ['owner'] });
  }
  const token = await world.token('user', 'many');
  const replies = await Promise.all(Array.from({ length: 6 }, () => create({}, token)));
  const statuses = replies.map(({ status }) => status).sort();

  assert.equal(statuses, [201, 201, 409, 409, 409, 409]);
  assert.is(replies.find(({ status }) => status === 409)?.json.context.code, 'limit_reached');
});

test('PATCH /teams/:tid → 204: absent and null stay, lists are replaced, at once', async () => {
  const id = await made({ short: 'Before.', tags: ['one', 'two'], nsfw: true });
  const before = await show(id);
  const patch = (body: unknown, token = robin) => world.ask('PATCH', `/teams/${id}`, { token, body });
  const statuses = [
    (await patch({ short: 'After.', tags: ['three'], nsfw: null, extra_links: null })).status,
    (await patch({ unknown: 1 })).status,
    (await patch({ name: 'New name' }, await world.token('team', id))).status,
  ];
  const { json } = await show(id);

  assert.equal(statuses, [204, 204, 204]);
  assert.equal([json.name, json.short, json.tags, json.nsfw], ['New name', 'After.', ['three'], true]);
  assert.is(json.vanity, before.json.vanity);
  assert.ok(json.updated_at > before.json.updated_at);
});

test('PATCH /teams/:tid judges what it brings, and hints at what an import brought', async () => {
  const id = await made({ short: 'Before.' });
  const links = '[{"name":"a","value":"http://a.example"}]';
  await world.sql`update teams set name = 'T', tags = '{dj}', extra_links = ${links}::text::jsonb,
    short = ${'x'.repeat(151)} where id = ${id}`;
  const edit = (body: unknown) => world.ask('PATCH', `/teams/${id}`, { token: robin, body });
  const replies = [
    await edit({ nsfw: false }),
    await edit({ name: 'T' }),
    await edit({ extra_links: [], short: '', tags: [] }),
    await edit({ name: 'Team' }),
  ];

  assert.equal(
    replies.map(({ status, headers }) => [status, headers.get('x-listing-hints')]),
    [
      [204, 'extra_links_unfit, name_unfit, short_unfit, tags_unfit'],
      [400, null],
      [204, 'name_unfit'],
      [204, null],
    ],
  );
});

test('POST and PATCH: of a link only its name and address are kept', async () => {
  const sent = (name: string) => ({ extra_links: [{ name, value: 'https://example.org', icon: 'star' }] });
  const kept = (name: string) => [{ name, value: 'https://example.org' }];
  const id = await made(sent('One'));
  assert.equal((await show(id)).json.extra_links, kept('One'));
  assert.is((await world.ask('PATCH', `/teams/${id}`, { token: robin, body: sent('Two') })).status, 204);
  assert.equal((await show(id)).json.extra_links, kept('Two'));
});

test('PATCH /teams/:tid → 400, 404', async () => {
  const id = await made();
  const patch = async (body: unknown, token: string, path = id) => {
    const { status } = await world.ask('PATCH', `/teams/${path}`, { token, body });
    return status;
  };

  assert.is(await patch({ name: null }, robin), 400);
  assert.is(await patch({ name: 'ab' }, finch), 400);
  assert.is(await patch({}, robin, 'nowhere'), 404);
});

test('DELETE /teams/:tid → 204: unknown, tokens dead, votes void, code free', async () => {
  const id = await made({ name: 'Passing Thing' });
  const token = await world.token('team', id);
  const voter = await world.token('user', 'voter');
  await world.ask('PUT', `/users/voter/teams/${id}/votes?upvote=true`, { token: voter });
  assert.is((await world.ask('PATCH', `/teams/${id}`, { token, body: {} })).status, 204);
  assert.is((await show(id)).json.votes, 1);

  assert.is((await world.ask('DELETE', `/teams/${id}`, { token: robin })).status, 204);

  assert.is((await show(id)).status, 404);
  assert.is((await show('passing-thing')).status, 404);
  assert.is((await world.ask('GET', `/vanity/${id}`)).status, 404);
  const dead = await world.ask('PATCH', `/teams/${id}`, { token, body: {} });
  assert.equal([dead.status, dead.headers.get('x-session-invalid')], [401, 'true']);
  const vote = await world.ask('PUT', `/users/voter/teams/${id}/votes?upvote=true`, { token: voter });
  assert.is(vote.status, 404);
  const rows = await world.sql`select void, void_reason from vote_rows where target_id = ${id}`;
  assert.equal([...rows], [{ void: true, void_reason: 'deleted' }]);
  const open = await world.sql`select from adjustments where entity_id = ${id} and settled_at is null`;
  assert.is(open.length, 0);
  const again = await made({ name: 'Passing Thing' });
  assert.is((await show(again)).json.vanity, 'passing-thing');
  assert.is((await world.ask('DELETE', `/teams/${id}`, { token: robin })).status, 404);
});

test('DELETE /teams/:tid → 409 while it owns something', async () => {
  const id = await made();
  await addBot(world.sql, '815553000470478999', { team_id: id });
  assert.equal(codeOf(await world.ask('DELETE', `/teams/${id}`, { token: robin })), [409, 'team_not_empty']);
  assert.is((await show(id)).status, 200);
});

test('GET /teams/:id/seo → 200 by id, vanity code and name; 404', async () => {
  const id = await made({ name: 'Ünique Team', short: 'Words.' });
  const seo = { avatar: '', id, name: 'Ünique Team', short: 'Words.' };
  for (const word of [id, 'unique-team', encodeURIComponent('üNIQUE team')]) {
    assert.equal((await world.ask('GET', `/teams/${word}/seo`)).json, seo, word);
  }
  assert.is((await world.ask('GET', '/teams/nobody-at-all/seo')).status, 404);
});

test('GET /users/:id/:target_type/:target_id/perms → 200 expanded; 400; 404', async () => {
  const id = await made();
  await addMember(world.sql, id, { user: 'wren', permissions: ['edit_bots', 'set_vanity'] });
  await addBot(world.sql, '815553000470478001', { team_id: id });
  await addBot(world.sql, '815553000470478002');
  const perms = async (user: string, target: string) =>
    (await world.ask('GET', `/users/${user}/${target}/perms`)).json.perms;

  assert.equal(await perms('wren', `team/${id}`), ['set_vanity', 'edit_bots']);
  assert.equal(await perms('wren', 'bots/815553000470478001'), ['set_vanity', 'edit_bots']);
  assert.is((await perms('robin', 'bot/815553000470478002')).length, 24);
  assert.equal(await perms('nobody', `team/${id}`), []);
  assert.equal(codeOf(await world.ask('GET', '/users/robin/packs/some/perms')), [
    400,
    'target_type_unsupported',
  ]);
  assert.is((await world.ask('GET', '/users/robin/bots/1/perms')).status, 404);
});

test.run();
