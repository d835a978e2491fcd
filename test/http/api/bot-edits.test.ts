/**
 * The rows that add, change, move and delete bots, against a whole Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addMember, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { botBody } from '../../support/bot-body.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of bot edits');
let bots = 0;

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'wren', 'stranger', 'voter']) await addUser(sql, user);
for (const team of ['team1', 'team2']) {
  await addTeam(sql, team);
  await addMember(sql, team, { user: 'robin', permissions: ['owner'] });
}
await addMember(sql, 'team1', { user: 'wren', permissions: ['add_bots', 'edit_bots', 'delete_bots'] });
const robin = await world.token('user', 'robin');
const wren = await world.token('user', 'wren');
const stranger = await world.token('user', 'stranger');
test.after(() => world.close());

const nextId = (): string => `8155530004704${String(++bots).padStart(5, '0')}`;
const bodyOf = (fields: Record<string, unknown> = {}) => ({
  ...botBody,
  bot_id: nextId(),
  client_id: '',
  extra_links: [{ name: 'Website', value: 'https://example.org/a' }],
  nsfw: false,
  staff_note: null,
  tags: ['moderation', 'logging'],
  team_owner: '',
  ...fields,
});
let address = 0;
/** Each from another address: how often one may is another test. */
const put = (body: unknown, token = robin) =>
  world.ask('PUT', '/bots', {
    token,
    body,
    headers: { 'x-forwarded-for': `10.0.${++address >> 8}.${address & 255}` },
  });
const made = async (fields: Record<string, unknown> = {}, token = robin): Promise<string> => {
  const body = bodyOf(fields);
  const reply = await put(body, token);
  assert.is(reply.status, 204, reply.text);
  return body.bot_id;
};
const show = (id: string) => world.ask('GET', `/bots/${id}?include=long&team_includes=bot`);
const patch = (id: string, body: unknown, token = robin) =>
  world.ask('PATCH', `/bots/${id}/settings`, { token, body });
const remove = (id: string, token = robin) => world.ask('DELETE', `/bots/${id}`, { token });
const transfer = (id: string, team: unknown, token = robin, user = 'robin') =>
  world.ask('PATCH', `/users/${user}/bots/${id}/teams`, { token, body: { team_id: team } });
test('PUT /bots → 204: pending, owned by the caller, counted at once', async () => {
  const body = bodyOf();
  const before = await show(body.bot_id);
  assert.is((await put(body)).status, 204);
  const token = await world.token('bot', body.bot_id);
  const posted = await world.ask('POST', '/bots/stats', { token, body: { servers: 7 } });
  const { json } = await show(body.bot_id);

  assert.is(before.status, 404);
  assert.is(posted.status, 200);
  assert.equal([json.type, json.servers, json.votes], ['pending', 7, 0]);
  assert.equal([json.bot_id, json.client_id], [body.bot_id, body.bot_id]);
  assert.equal([json.owner.id, 'team_owner' in json], ['robin', false]);
  assert.equal([json.short, json.long, json.prefix], [body.short, body.long, '!']);
  assert.equal([json.tags, json.extra_links], [body.tags, body.extra_links]);
  assert.is(json.vanity, `bot-${body.bot_id}`);
  assert.equal([json.user.id, json.user.bot], [body.bot_id, true]);
  assert.is(json.last_japi_update, null);
  assert.not.ok('staff_note' in json);
});

test('PUT /bots → 204 at the bounds in code points, without what is optional', async () => {
  const owl = '\u{1F989}';
  const { client_id, extra_links, nsfw, staff_note, team_owner, ...least } = bodyOf();
  assert.is((await put(least)).status, 204);
  const wide = await made({
    short: owl.repeat(150),
    long: owl.repeat(65_536),
    prefix: owl.repeat(10),
    library: owl.repeat(50),
    tags: [owl.repeat(30), 'abc', 'abd', 'abe', 'abf'],
    staff_note: owl.repeat(512),
    invite: `https://example.org/${'a'.repeat(492)}`,
    extra_links: Array.from({ length: 20 }, () => ({ name: owl.repeat(64), value: 'https://example.org' })),
    client_id: '123456789012345',
  });
  const { json } = await show(wide);

  assert.equal([json.short, json.long], [owl.repeat(150), owl.repeat(65_536)]);
  assert.equal([json.client_id, json.extra_links.length], ['123456789012345', 20]);
});

test('PUT /bots → 400 for every bad field, and nothing is made', async () => {
  const link = { name: 'a', value: 'https://example.org' };
  for (const [fields, pointer] of [
    [{ bot_id: '12345678901234' }, '/bot_id'],
    [{ bot_id: '123456789012345678901' }, '/bot_id'],
    [{ bot_id: 'not-a-number-at-all' }, '/bot_id'],
    [{ client_id: 'client' }, '/client_id'],
    [{ short: 'x'.repeat(29) }, '/short'],
    [{ short: 'x'.repeat(151) }, '/short'],
    [{ long: 'x'.repeat(499) }, '/long'],
    [{ long: 'x'.repeat(65_537) }, '/long'],
    [{ prefix: '' }, '/prefix'],
    [{ prefix: 'x'.repeat(11) }, '/prefix'],
    [{ library: '' }, '/library'],
    [{ library: 'x'.repeat(51) }, '/library'],
    [{ invite: 'http://example.org' }, '/invite'],
    [{ invite: 'https://exa[mple' }, '/invite'],
    [{ invite: `https://example.org/${'a'.repeat(493)}` }, '/invite'],
    [{ tags: [] }, '/tags'],
    [{ tags: ['abc', 'abd', 'abe', 'abf', 'abg', 'abh'] }, '/tags'],
    [{ tags: ['abc', 'abc'] }, '/tags'],
    [{ tags: null }, '/tags'],
    [{ staff_note: 'x'.repeat(513) }, '/staff_note'],
    [{ nsfw: 'no' }, '/nsfw'],
    [{ extra_links: Array.from({ length: 21 }, () => link) }, '/extra_links'],
    [{ extra_links: [{ ...link, value: 'https://exa[mple' }] }, '/extra_links/0/value'],
    [{ long: undefined }, '/long'],
  ] as const) {
    const body = bodyOf(fields);
    const reply = await put(body);
    assert.equal(codeOf(reply), [400, 'validation_failed'], JSON.stringify(fields).slice(0, 80));
    assert.ok(pointer in reply.json.context, JSON.stringify(reply.json));
  }
  const [row] = await world.sql<{ count: number }[]>`select count(*) as count from bots where library = ''`;
  assert.is(row?.count, 0);
});

test('PUT /bots → 204 for a team: by a member with add_bots, by its token', async () => {
  const named = await made({ team_owner: 'team1' }, wren);
  const limited = await world.token('user', 'wren', { permLimits: ['add_bots'] });
  await made({ team_owner: 'team1' }, limited);
  const own = await made({}, await world.token('team', 'team2', { permLimits: ['add_bots'] }));
  await made({ team_owner: 'team2' }, await world.token('team', 'team2'));
  const { json } = await show(named);

  assert.equal([json.owner, json.team_owner.id], [null, 'team1']);
  assert.is((await show(own)).json.team_owner.id, 'team2');
});

test('PUT /bots → 403 and 404 by the owner that a token names', async () => {
  const requestCode = async (fields: Record<string, unknown>, token: string) =>
    codeOf(await put(bodyOf(fields), token));
  const limited = await world.token('user', 'robin', { permLimits: ['add_bots'] });
  const team = await world.token('team', 'team2');

  assert.equal(await requestCode({}, limited), [403, 'forbidden']);
  assert.equal(await requestCode({ team_owner: 'team1' }, stranger), [403, 'permission_missing']);
  assert.equal(await requestCode({ team_owner: 'team2' }, wren), [403, 'permission_missing']);
  assert.equal(await requestCode({ team_owner: 'team1' }, team), [403, 'forbidden']);
  assert.equal(await requestCode({ team_owner: 'nowhere' }, robin), [404, 'not_found']);
});

test('PUT /bots → 409 for a listed bot and for a taken client id, for all but one at once', async () => {
  const id = await made();
  const again = await put(bodyOf({ bot_id: id }), stranger);
  const client = await put(bodyOf({ client_id: id }), stranger);
  const spare = bodyOf({ client_id: id });
  await put(spare);
  const body = bodyOf();
  const replies = await Promise.all([put(body), put(body, stranger), put(body, wren)]);

  assert.equal(codeOf(again), [409, 'already_exists']);
  assert.ok('/bot_id' in again.json.context);
  assert.equal(codeOf(client), [409, 'already_exists']);
  assert.ok('/client_id' in client.json.context);
  assert.equal(replies.map(({ status }) => status).sort(), [204, 409, 409]);
  assert.is((await put({ ...spare, client_id: '' })).status, 204);
});

test('PUT /bots → 204: the vanity code comes from the name; others cannot take them all', async () => {
  const { sql } = world;
  const [first, second, robbed] = [bodyOf(), bodyOf(), bodyOf()];
  for (const { bot_id } of [first, second]) await addUser(sql, bot_id, { username: 'x', bot: true });
  await sql`update users set display_name = 'Night Lamp' where username = 'x'`;
  const victim = await made();
  const code = { code: `bot-${robbed.bot_id}` };
  await world.ask('PATCH', `/bots/${victim}/vanity`, { token: robin, body: code });
  for (const body of [first, second, robbed]) assert.is((await put(body)).status, 204);

  assert.is((await show(first.bot_id)).json.vanity, 'night-lamp');
  assert.is((await show(second.bot_id)).json.vanity, `night-lamp-${second.bot_id.slice(-4)}`);
  assert.match((await show(robbed.bot_id)).json.vanity, /^bot-[0-9a-f]{12}$/);
});

test('PUT /bots → 429 after five in a minute from one address', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.9' };
  const ask = () => world.ask('PUT', '/bots', { token: robin, body: {}, headers });
  let allowed = 0;
  let reply = await ask();
  for (; reply.status === 400 && allowed < 100; allowed++) reply = await ask();

  assert.ok(allowed >= 5 && allowed < 100, String(allowed));
  assert.equal(codeOf(reply), [429, 'rate_limited']);
  assert.ok(Number(reply.headers.get('retry-after')) > 0);
});

test('PATCH /bots/:id/settings → 204: absent fields stay, lists are replaced, at once', async () => {
  const id = await made({ nsfw: true });
  const before = (await show(id)).json;
  await world.sql`update bots set type = 'approved' where bot_id = ${id}`;
  const statuses = [
    (await patch(id, { prefix: '?', tags: ['fun'], extra_links: [] })).status,
    (await patch(id, { captcha_opt_out: true, type: 'certified', bot_id: '1' })).status,
    (await patch(id, {}, await world.token('bot', id))).status,
    (await patch(id, {}, await world.token('bot', id, { permLimits: ['edit_bots'] }))).status,
  ];
  const { json } = await show(id);

  assert.equal(statuses, [204, 204, 204, 204]);
  assert.equal([json.prefix, json.tags, json.extra_links], ['?', ['fun'], []]);
  assert.equal([json.captcha_opt_out, json.nsfw, json.type], [true, true, 'approved']);
  assert.equal([json.short, json.long, json.invite], [before.short, before.long, before.invite]);
  assert.equal([json.itag, json.vanity, json.created_at], [before.itag, before.vanity, before.created_at]);
  assert.ok(json.updated_at > before.updated_at);
});

test('PUT and PATCH: of a link only its name and address are kept', async () => {
  const sent = (name: string) => ({ extra_links: [{ name, value: 'https://example.org', icon: 'star' }] });
  const kept = (name: string) => [{ name, value: 'https://example.org' }];
  const id = await made(sent('One'));
  assert.equal((await show(id)).json.extra_links, kept('One'));
  assert.is((await patch(id, sent('Two'))).status, 204);
  assert.equal((await show(id)).json.extra_links, kept('Two'));
});

test('PATCH /bots/:id/settings → 400, 404; by a member and by the token of the team', async () => {
  const id = await made();
  const teams = await made({ team_owner: 'team1' });
  const requestCode = async (...words: Parameters<typeof patch>) => codeOf(await patch(...words));

  for (const body of [{ short: 'short' }, { tags: [] }, { invite: 'https://exa[mple' }, { long: null }]) {
    assert.equal(await requestCode(id, body), [400, 'validation_failed'], JSON.stringify(body));
  }
  assert.equal(await requestCode('1', {}), [404, 'not_found']);
  assert.is((await patch(teams, {}, wren)).status, 204);
  assert.is((await patch(teams, {}, await world.token('team', 'team1'))).status, 204);
});

test('DELETE /bots/:id → 204: unknown, tokens dead, votes void; listed again it starts at 0', async () => {
  const id = await made();
  await world.sql`update bots set type = 'approved' where bot_id = ${id}`;
  await world.engine.refreshFacts('bot', id);
  const token = await world.token('bot', id);
  const voter = await world.token('user', 'voter');
  const vote = () => world.ask('PUT', `/users/voter/bots/${id}/votes?upvote=true`, { token: voter });
  await world.ask('PATCH', `/bots/${id}/vanity`, { token: robin, body: { code: 'passing' } });
  assert.is((await vote()).status, 204);
  assert.is((await world.ask('POST', '/bots/stats', { token, body: { servers: 9 } })).status, 200);
  await world.ask('GET', `/bots/${id}?target=page`);

  assert.is((await remove(id)).status, 204);

  for (const word of [id, 'passing']) assert.is((await show(word)).status, 404, word);
  const dead = await world.ask('POST', '/bots/stats', { token, body: {} });
  assert.equal([dead.status, dead.headers.get('x-session-invalid')], [401, 'true']);
  assert.is((await vote()).status, 404);
  const rows = await world.sql`select void, void_reason from vote_rows where target_id = ${id}`;
  assert.equal([...rows], [{ void: true, void_reason: 'deleted' }]);
  const open = await world.sql`select from adjustments where entity_id = ${id} and settled_at is null`;
  assert.is(open.length, 0);
  assert.is((await remove(id)).status, 404);

  assert.is((await put(bodyOf({ bot_id: id }), stranger)).status, 204);
  const { json } = await show(id);
  assert.equal([json.votes, json.clicks, json.servers, json.owner.id], [0, 0, 0, 'stranger']);
  assert.is((await world.ask('POST', '/bots/stats', { token, body: {} })).status, 401);
});

test('DELETE /bots/:id → 204 by a team and its members; 404', async () => {
  const teams = await made({ team_owner: 'team1' });
  const mine = await made({ team_owner: 'team2' });

  assert.is((await remove(teams, wren)).status, 204);
  assert.is((await remove(mine, await world.token('team', 'team2'))).status, 204);
  assert.is((await remove('1', stranger)).status, 404);
});

test('PATCH /users/:uid/bots/:bid/teams → 204: owner changes, tokens end, the rest stays', async () => {
  const id = await made();
  await world.sql`update bots set type = 'approved' where bot_id = ${id}`;
  await world.engine.refreshFacts('bot', id);
  const token = await world.token('bot', id);
  const voter = await world.token('user', 'voter');
  await world.ask('PUT', `/users/voter/bots/${id}/votes?upvote=true`, { token: voter });
  await world.ask('POST', '/bots/stats', { token, body: { servers: 9 } });
  const before = (await show(id)).json;

  assert.is((await transfer(id, 'team1')).status, 204);

  const { json } = await show(id);
  assert.equal([json.owner, json.team_owner.id], [null, 'team1']);
  assert.is(json.team_owner.entities.bots.filter((bot: { bot_id: string }) => bot.bot_id === id).length, 1);
  for (const field of ['bot_id', 'itag', 'vanity', 'vanity_ref', 'type', 'votes', 'servers', 'created_at']) {
    assert.equal(json[field], before[field], field);
  }
  assert.equal([json.votes, json.servers], [1, 9]);
  assert.is((await world.ask('POST', '/bots/stats', { token, body: {} })).status, 401);

  const fresh = await world.token('bot', id);
  assert.is((await transfer(id, 'team1')).status, 204);
  assert.is((await world.ask('POST', '/bots/stats', { token: fresh, body: {} })).status, 200);
  assert.is((await show(id)).json.updated_at, json.updated_at);
  assert.is((await transfer(id, 'team2')).status, 204);
  assert.is((await show(id)).json.team_owner.id, 'team2');
});

test('PATCH /users/:uid/bots/:bid/teams → 400, 403, 404', async () => {
  const own = await made();
  const teams = await made({ team_owner: 'team1' });
  const requestCode = async (...words: Parameters<typeof transfer>) => codeOf(await transfer(...words));
  const half = await world.token('user', 'robin', { permLimits: ['delete_bots'] });
  const whole = await world.token('user', 'robin', { permLimits: ['delete_bots', 'add_bots'] });

  assert.equal(await requestCode(own, null), [400, 'validation_failed']);
  assert.equal(await requestCode(own, ''), [400, 'validation_failed']);
  assert.equal(await requestCode(own, 'team1', wren, 'wren'), [403, 'permission_missing']);
  assert.equal(await requestCode(teams, 'team2', wren, 'wren'), [403, 'permission_missing']);
  assert.equal(await requestCode(own, 'team1', half), [403, 'permission_missing']);
  assert.equal(await requestCode(own, 'nowhere'), [404, 'not_found']);
  assert.equal(await requestCode('1', 'team1'), [404, 'not_found']);
  assert.is((await show(own)).json.owner.id, 'robin');
  assert.is((await transfer(own, 'team1', whole)).status, 204);
});

test('PUT /bots and PATCH /bots/:id/settings hint at a text that is cut on its page', async () => {
  const nested = '[a]['.repeat(16_000);
  const body = bodyOf({ long: nested });
  const added = await put(body);
  const cheap = await put(bodyOf());
  const edit = (fields: object) =>
    world.ask('PATCH', `/bots/${body.bot_id}/settings`, { token: robin, body: fields });
  const replies = [
    added,
    cheap,
    await edit({ long: nested }),
    await edit({ prefix: '?' }),
    await edit({ long: 'Plain words. '.repeat(50) }),
  ];

  assert.equal(
    replies.map(({ status, headers }) => [status, headers.get('x-listing-hints')]),
    [
      [204, 'long_cut'],
      [204, null],
      [204, 'long_cut'],
      [204, null],
      [204, null],
    ],
  );
});

test('PATCH judges what it brings, and hints at what an import brought until it is mended', async () => {
  const body = bodyOf();
  await put(body);
  const links = '[{"name":"a","value":"http://a.example"}]';
  await world.sql`update bots set short = 'Music', long = '', invite = 'http://a.example', library = '',
    tags = '{dj}', prefix = ${'!'.repeat(40)}, extra_links = ${links}::text::jsonb
    where bot_id = ${body.bot_id}`;
  const edit = (fields: object) =>
    world.ask('PATCH', `/bots/${body.bot_id}/settings`, { token: robin, body: fields });
  const replies = [
    await edit({ nsfw: false }),
    await edit({ short: 'Music' }),
    await edit({ short: body.short, invite: body.invite, extra_links: [], library: 'any' }),
    await edit({ long: body.long, prefix: '!', tags: body.tags }),
  ];

  assert.equal(
    replies.map(({ status, headers }) => [status, headers.get('x-listing-hints')]),
    [
      [
        204,
        'extra_links_unfit, invite_unfit, library_unfit, long_unfit, prefix_unfit, short_unfit, tags_unfit',
      ],
      [400, null],
      [204, 'long_unfit, prefix_unfit, tags_unfit'],
      [204, null],
    ],
  );
});

test.run();
