/**
 * The routes of a user's packs against a complete Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of packs');
let urls = 0;

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'wren', 'voter']) await addUser(sql, user);
await addTeam(sql, 'team1');
for (const id of ['bot1', 'bot2', 'bot3']) await addBot(sql, id);
await addServer(sql, 'server1', { team_id: 'team1' });
const robin = await world.token('user', 'robin');
const wren = await world.token('user', 'wren');
test.after(() => world.close());

const create = (fields: Record<string, unknown> = {}, token = robin, user = 'robin') =>
  world.ask('PUT', `/users/${user}/packs`, {
    token,
    body: {
      bots: ['bot1'],
      name: 'Night owls',
      servers: ['server1'],
      short: 'Bots for people who never sleep.',
      tags: ['fun'],
      url: `pack-${++urls}`,
      ...fields,
    },
  });
const edit = (url: string, body: unknown, token = robin, user = 'robin') =>
  world.ask('PATCH', `/users/${user}/packs/${url}`, { token, body });
const remove = (url: string, token = robin, user = 'robin') =>
  world.ask('DELETE', `/users/${user}/packs/${url}`, { token });
const show = (url: string) => world.ask('GET', `/packs/${url}`);

test('PUT /users/:id/packs → 204, found by its url in any case', async () => {
  assert.is((await create({ url: 'Night-Owls', bots: ['bot2', 'bot1'] })).status, 204);
  const { json } = await show('NIGHT-owls');

  assert.equal([json.url, json.name, json.votes], ['night-owls', 'Night owls', 0]);
  assert.equal([json.bot_ids, json.server_ids], [['bot2', 'bot1'], ['server1']]);
  assert.equal([json.owner.id, json.bots.length, json.servers.length], ['robin', 2, 1]);
});

test('PUT /users/:id/packs → 204 with bots or servers alone, at the bounds in code points', async () => {
  const owl = '\u{1F989}';
  assert.is((await create({ servers: [], name: owl.repeat(20), short: owl.repeat(100) })).status, 204);
  assert.is((await create({ bots: [], name: owl.repeat(3), short: owl.repeat(10) })).status, 204);
  assert.is((await create({ bots: undefined, url: 'abc' })).status, 204);
});

test('PUT /users/:id/packs → 400 for every bad field, naming unknown bots and servers', async () => {
  const eleven = Array.from({ length: 11 }, (_, index) => `bot${index}`);
  for (const [fields, pointer] of [
    [{ name: 'ab' }, '/name'],
    [{ name: 'x'.repeat(21) }, '/name'],
    [{ short: 'too short' }, '/short'],
    [{ short: 'x'.repeat(101) }, '/short'],
    [{ url: 'ab' }, '/url'],
    [{ url: 'a'.repeat(21) }, '/url'],
    [{ url: 'no_way' }, '/url'],
    [{ tags: [] }, '/tags'],
    [{ tags: null }, '/tags'],
    [{ bots: eleven }, '/bots'],
    [{ bots: ['bot1', 'bot1'] }, '/bots'],
    [{ bots: [], servers: [] }, '/bots'],
  ] as const) {
    const reply = await create(fields);
    assert.is(reply.status, 400, JSON.stringify(fields));
    assert.ok(pointer in reply.json.context, JSON.stringify(reply.json));
  }
  const { status, json } = await create({ bots: ['bot1', 'nobody', 'nothing'], servers: ['nowhere'] });
  assert.is(status, 400);
  assert.match(json.context['/bots'], /nobody, nothing/);
  assert.not.match(json.context['/bots'], /bot1/);
  assert.match(json.context['/servers'], /nowhere/);
});

test('PUT /users/:id/packs → 409 for a taken url, for one of two at once, at 100 packs', async () => {
  assert.is((await create({ url: 'mine' })).status, 204);
  const taken = await create({ url: 'MINE' }, wren, 'wren');
  assert.equal([taken.status, taken.json.context.code], [409, 'already_exists']);
  const two = await Promise.all([create({ url: 'one' }), create({ url: 'one' }, wren, 'wren')]);
  assert.equal(two.map(({ status }) => status).sort(), [204, 409]);

  await addUser(world.sql, 'many');
  for (let index = 0; index < 98; index++) await addPack(world.sql, `many-${index}`);
  await world.sql`update packs set owner_id = 'many' where url like 'many-%'`;
  const many = await world.token('user', 'many');
  const replies = await Promise.all(Array.from({ length: 5 }, () => create({}, many, 'many')));
  const last = await create({ url: 'never-made' }, many, 'many');

  assert.equal(replies.map(({ status }) => status).sort(), [204, 204, 409, 409, 409]);
  assert.equal([last.status, last.json.context.code], [409, 'limit_reached']);
  assert.is((await show('never-made')).status, 404);
  assert.is((await create({ url: 'never-made' })).status, 204);
});

test('PATCH /users/:uid/packs/:id → 204: absent fields stay, lists are replaced', async () => {
  await create({ url: 'changing' });
  assert.is((await edit('Changing', { bots: ['bot3', 'bot2'], name: 'Changed' })).status, 204);
  assert.is((await edit('changing', { url: 'other', servers: [] })).status, 204);
  const { json } = await show('changing');

  assert.equal([json.name, json.short], ['Changed', 'Bots for people who never sleep.']);
  assert.equal([json.bot_ids, json.server_ids, json.tags], [['bot3', 'bot2'], [], ['fun']]);
});

test('PATCH /users/:uid/packs/:id → 204: a deleted bot may stay, no unknown one comes', async () => {
  await create({ url: 'keeping' });
  await world.sql`update packs set bot_ids = '{bot1,gone}' where url = 'keeping'`;
  assert.is((await edit('keeping', { bots: ['gone', 'bot2'] })).status, 204);
  const { json } = await show('keeping');
  const unknown = await edit('keeping', { bots: ['gone', 'nobody'] });

  assert.equal([json.bot_ids, json.bots.length], [['gone', 'bot2'], 1]);
  assert.is(unknown.status, 400);
  assert.not.match(unknown.json.context['/bots'], /gone/);
});

test('PATCH /users/:uid/packs/:id judges what it brings, and hints at what an import brought', async () => {
  await create({ url: 'imported' });
  await world.sql`update packs set name = 'P', short = '', tags = '{dj}', bot_ids = '{}', server_ids = '{}'
    where url = 'imported'`;
  const replies = [
    await edit('imported', { name: 'A name' }),
    await edit('imported', { short: '' }),
    await edit('imported', { bots: [] }),
    await edit('imported', { short: 'Long enough for a pack.', tags: ['music'] }),
  ];

  assert.equal(
    replies.map(({ status, headers }) => [status, headers.get('x-listing-hints')]),
    [
      [204, 'short_unfit, tags_unfit'],
      [400, null],
      [400, null],
      [204, null],
    ],
  );
});

test('PATCH /users/:uid/packs/:id → 400, 403 for a pack of another user, 404', async () => {
  await create({ url: 'guarded', servers: [] });
  assert.is((await edit('guarded', { bots: [] })).status, 400);
  assert.is((await edit('guarded', { name: null })).status, 400);
  assert.equal(codeOf(await edit('guarded', {}, wren, 'wren')), [403, 'forbidden']);
  assert.is((await edit('nowhere', {})).status, 404);
});

test('DELETE /users/:uid/packs/:id → 204: its votes are void, the same url later starts at 0', async () => {
  await create({ url: 'brief' });
  const voter = await world.token('user', 'voter');
  const vote = async () => {
    const { status } = await world.ask('PUT', '/users/voter/packs/brief/votes?upvote=true', { token: voter });
    return status;
  };
  assert.is(await vote(), 204);
  assert.is((await show('brief')).json.votes, 1);

  assert.is((await remove('brief')).status, 204);

  assert.is((await show('brief')).status, 404);
  assert.is(await vote(), 404);
  assert.is((await create({ url: 'brief' }, wren, 'wren')).status, 204);
  const { json } = await show('brief');
  assert.equal([json.votes, json.owner.id], [0, 'wren']);
  assert.is(await vote(), 204);
  assert.is((await show('brief')).json.votes, 1);
  await world.engine.waitForFlush('pack', 'brief');
  const rows =
    await world.sql`select void_reason from vote_rows where target_id = 'brief' order by created_at`;
  assert.equal(pluck(rows, 'void_reason'), ['deleted', '']);
});

test('DELETE /users/:uid/packs/:id → 403 for a pack of another user, 404', async () => {
  await create({ url: 'kept' });
  assert.is((await remove('kept', wren, 'wren')).status, 403);
  assert.is((await remove('nowhere')).status, 404);
  assert.is((await show('kept')).status, 200);
});

test('GET /packs/:id/seo → 200 by url and by name; 404', async () => {
  await create({ url: 'findable', name: 'Findable Pack' });
  const seo = {
    avatar: '',
    id: 'findable',
    name: 'Findable Pack',
    short: 'Bots for people who never sleep.',
  };
  for (const word of ['findable', 'FINDABLE', 'findable%20pack']) {
    assert.equal((await world.ask('GET', `/packs/${word}/seo`)).json, seo, word);
  }
  assert.is((await world.ask('GET', '/packs/nothing-here/seo')).status, 404);
});

test.run();
