/**
 * The metadata of applications, and adding bots while look-ups work, fail and say no, against a whole
 * Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { botBody } from '../../support/bot-body.ts';
import { aboutBot, json, startLookupServer } from '../../support/lookup-server.ts';
import { openWorld } from './world.ts';

const test = suite('routes of bot metadata');
let ids = 0;
let addresses = 0;

const server = await startLookupServer();
const { serviceUrl, platformUrl } = server;
// The circuit breaker does not pause: every test sends its requests, whatever failed before.
const world = await openWorld({ botLookup: { serviceUrl, platformUrl, openMs: 0 } });
await addUser(world.sql, 'robin');
const robin = await world.token('user', 'robin');
test.before.each(() => {
  server.requested.length = 0;
});
test.after(async () => {
  await world.close();
  await server.close();
});

const nextId = (): string => `8155530004705${String(++ids).padStart(5, '0')}`;
/** Each from another address: how often one may is another test. */
const freshAddress = () => ({ 'x-forwarded-for': `10.1.${++addresses >> 8}.${addresses & 255}` });
const meta = (id: string, query = '', token = robin) =>
  world.ask('GET', `/bots/${id}/meta${query}`, { token, headers: freshAddress() });
const put = (fields: Record<string, unknown>) =>
  world.ask('PUT', '/bots', {
    token: robin,
    headers: freshAddress(),
    body: { ...botBody, ...fields },
  });
const show = async (id: string) => (await world.ask('GET', `/bots/${id}`)).json;

test('GET /bots/:client_id/meta → 200 of an unlisted bot, from the look-up service', async () => {
  const [clientId, botId] = [nextId(), nextId()];
  server.answer = () => json(aboutBot(clientId, { id: botId }));
  const reply = await meta(clientId, `?fallback_bot_id=${nextId()}`);

  assert.equal(reply.json, {
    avatar: 'https://cdn.example.org/nightlamp.webp',
    bot_id: botId,
    bot_public: true,
    client_id: clientId,
    description: 'Keeps watch.',
    fallback: false,
    fetch_errors: {},
    flags: ['VERIFIED_BOT'],
    guild_count: 12,
    list_type: '',
    name: 'Night Lamp',
    tags: ['moderation'],
  });
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  const rows = await world.sql`select from users where id = ${botId}`;
  assert.is(rows.length, 0);
});

test('GET /bots/:client_id/meta → 200 of a listed bot: its user and look-up time are kept', async () => {
  const id = nextId();
  await addBot(world.sql, id, { type: 'certified' });
  const before = await show(id);
  server.answer = () => json(aboutBot(id, { id }));
  const { json: shown } = await meta(id);
  const after = await show(id);
  await meta(id);

  assert.equal([before.user.username, before.last_japi_update], [id, null]);
  assert.equal([shown.list_type, shown.bot_id], ['certified', id]);
  assert.equal([after.user.username, after.user.display_name], ['nightlamp', 'nightlamp']);
  assert.equal([after.user.bot, after.user.flags], [true, ['VERIFIED_BOT']]);
  assert.is(after.user.avatar, 'https://cdn.example.org/nightlamp.webp');
  assert.ok(Date.parse(after.last_japi_update) > 0);
  assert.is((await show(id)).last_japi_update, after.last_japi_update);
  assert.is(server.requested.length, 1);
});

test('GET /bots/:client_id/meta → 200 with fallback when the service fails, however it does', async () => {
  const failures = [
    json({}, 500),
    json({}, 429),
    json('<h1>'),
    json({ data: 1 }),
    json(aboutBot('815553000470478999', null)),
    json({ data: { application: { id: '1', name: 'x'.repeat(100_000) } } }),
  ];
  for (const [index, failure] of failures.entries()) {
    const [clientId, botId] = [nextId(), nextId()];
    server.answer = (path) =>
      path.startsWith('/service') ? failure : json({ id: clientId, name: 'Lamp', bot_public: true });
    const { status, json: shown } = await meta(clientId, `?fallback_bot_id=${botId}`);

    assert.is(status, 200);
    assert.equal([shown.fallback, shown.name, shown.bot_public], [true, 'Lamp', true], String(index));
    assert.equal([shown.bot_id, shown.client_id, shown.guild_count], [botId, clientId, 0]);
    assert.equal(Object.keys(shown.fetch_errors), ['lookup']);
    assert.match(shown.fetch_errors.lookup, /^The look-up service [a-z]/);
  }
});

test('GET /bots/:client_id/meta → 200 with what the directory knows when both fail', async () => {
  const [id, client, stranger] = [nextId(), nextId(), nextId()];
  await addBot(world.sql, id, { counted: { servers: '18446744073709552000' } });
  await world.sql`update bots set client_id = ${client} where bot_id = ${id}`;
  await addUser(world.sql, id, { username: 'old-lamp', bot: true });
  server.answer = () => json({}, 503);
  const listed = await meta(client);
  const byBot = (await meta(stranger, `?fallback_bot_id=${id}`)).json;
  const unknown = (await meta(nextId())).json;

  assert.equal(Object.keys(listed.json.fetch_errors), ['lookup', 'platform']);
  assert.match(listed.text, /"guild_count":18446744073709552000/);
  assert.equal([listed.json.bot_id, listed.json.name, listed.json.list_type], [id, 'old-lamp', 'approved']);
  assert.equal([listed.json.fallback, listed.json.description], [false, `Short words about ${id}.`]);
  assert.equal([byBot.bot_id, byBot.list_type, byBot.client_id], [id, 'approved', stranger]);
  assert.equal([unknown.bot_id, unknown.name, unknown.list_type], [unknown.client_id, '', '']);
  assert.is((await show(id)).last_japi_update, null);
});

test('GET /bots/:client_id/meta → 200 when the service is sure that there is no such bot', async () => {
  server.answer = () => json({ message: 'Unknown Application' }, 404);
  const unknown = (await meta(nextId())).json;
  const bare = nextId();
  server.answer = () => json(aboutBot(bare, null));
  const botless = (await meta(bare)).json;

  assert.equal(
    [unknown.bot_id, unknown.fallback, Object.keys(unknown.fetch_errors)],
    ['', false, ['lookup']],
  );
  assert.equal(
    [botless.bot_id, botless.name, Object.keys(botless.fetch_errors)],
    ['', 'Night Lamp', ['bot']],
  );
  assert.equal(
    server.requested.filter((path) => path.startsWith('/platform')),
    [],
  );
});

test('GET /bots/:client_id/meta → 400, 429', async () => {
  server.answer = () => json({}, 404);
  const id = nextId();
  await addTeam(world.sql, 'team1');
  const team = await world.token('team', 'team1', { permLimits: ['add_bots'] });

  assert.is((await meta('lamp')).status, 400);
  assert.is((await meta(id, '?fallback_bot_id=lamp')).status, 400);
  assert.is((await meta(id, '', team)).status, 200);
  const headers = freshAddress();
  const ask = () => world.ask('GET', '/bots/lamp/meta', { token: robin, headers });
  let allowed = 0;
  while (allowed < 100 && (await ask()).json.context.code !== 'rate_limited') allowed += 1;
  assert.ok(allowed >= 10 && allowed < 100, String(allowed));
});

test('PUT /bots → 204 with the name, picture and time of the look-up', async () => {
  const [clientId, botId] = [nextId(), nextId()];
  server.answer = () => json(aboutBot(clientId, { id: botId, global_name: 'Öl Lamp' }));
  assert.is((await put({ bot_id: botId, client_id: clientId })).status, 204);
  const bot = await show(botId);

  assert.equal([bot.user.username, bot.user.display_name, bot.user.bot], ['nightlamp', 'Öl Lamp', true]);
  assert.is(bot.vanity, 'ol-lamp');
  assert.ok(Date.parse(bot.last_japi_update) > 0);
});

test('PUT /bots → 204 when the look-up fails, and the platform is not asked', async () => {
  for (const failure of [json({}, 500), json({}, 429), json('<h1>')]) {
    const id = nextId();
    server.answer = () => failure;
    assert.is((await put({ bot_id: id })).status, 204);
    const bot = await show(id);
    assert.equal([bot.user.username, bot.vanity, bot.last_japi_update], [id, `bot-${id}`, null]);
  }
  assert.equal(
    server.requested.filter((path) => path.startsWith('/platform')),
    [],
  );
});

test('GET …/meta → 200 and PUT /bots → 204 when no service ever answers', async () => {
  const [clientId, botId, good] = [nextId(), nextId(), nextId()];
  // One good answer first: else only the first of the two would be let through to try.
  server.answer = () => json(aboutBot(good, null));
  assert.equal(Object.keys((await meta(good)).json.fetch_errors), ['bot']);
  server.answer = (path) => (path.startsWith('/service') ? null : json({ id: clientId, name: 'Lamp' }));
  const [shown, made] = await Promise.all([meta(clientId), put({ bot_id: botId })]);

  assert.equal([shown.json.fallback, shown.json.name], [true, 'Lamp']);
  assert.equal(shown.json.fetch_errors, { lookup: 'The look-up service did not answer.' });
  assert.is(made.status, 204);
});

test('PUT /bots → 400 when the look-up is sure that this is no bot, or another one', async () => {
  const [clientId, botId, botless, other] = [nextId(), nextId(), nextId(), nextId()];
  server.answer = () => json({ message: 'Unknown Application' }, 404);
  const unknown = await put({ bot_id: nextId() });
  server.answer = () => json(aboutBot(botless, null));
  const none = await put({ bot_id: botless });
  server.answer = () => json(aboutBot(clientId, { id: botId }));
  const mismatch = await put({ bot_id: other, client_id: clientId });

  assert.equal([unknown.status, none.status, mismatch.status], [400, 400, 400]);
  assert.ok('/client_id' in unknown.json.context);
  assert.match(none.json.context['/bot_id'], /has none/);
  assert.match(mismatch.json.context['/bot_id'], new RegExp(botId));
  assert.is((await world.ask('GET', `/bots/${other}`)).status, 404);
});

test('a look-up does not make a bot of a person', async () => {
  const id = nextId();
  await addUser(world.sql, id, { username: 'a-person' });
  server.answer = () => json(aboutBot(id, { id }));
  assert.is((await put({ bot_id: id })).status, 204);
  const [row] = await world.sql`select username, bot from users where id = ${id}`;

  assert.equal({ ...row }, { username: 'a-person', bot: false });
});

test.run();
