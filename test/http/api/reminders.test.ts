/**
 * The routes of reminders against a complete Rollcall; test/ops/jobs/reminders.test.ts tests their
 * delivery to the browser.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of reminders');

const world = await openWorld();
const { sql } = world;
await addUser(sql, 'robin');
await addTeam(sql, 'team1');
for (let bot = 1; bot <= 6; bot++) await addBot(sql, `bot${bot}`);
await addServer(sql, 'server1', { team_id: 'team1' });
await sql`update servers set avatar = 'https://cdn.example.org/s.webp'`;
await addPack(sql, 'pack1');
test.after(() => world.close());

const path = (user: string, target: string) => `/users/${user}/${target}/reminders`;
const list = async (user: string, token: string) =>
  (await world.ask('GET', `/users/${user}/reminders`, { token })).json.reminders;
/** Creates a new user for one test. */
const newUser = async (user: string): Promise<string> => {
  await addUser(world.sql, user);
  return world.token('user', user);
};

test('PUT /users/:uid/:type/:id/reminders → 200 with all reminders, for all four kinds', async () => {
  const token = await world.token('user', 'robin');
  for (const target of ['bot/bot1', 'servers/server1', 'teams/team1', 'packs/PACK1']) {
    assert.is((await world.ask('PUT', path('robin', target), { token })).status, 200, target);
  }
  const reminders = await list('robin', token);

  assert.equal(
    reminders.map((one: Record<string, unknown>) => `${one.target_type}/${one.target_id}`),
    ['bot/bot1', 'server/server1', 'team/team1', 'pack/pack1'],
  );
  const [bot, server] = reminders;
  assert.equal([bot.user_id, bot.last_acked, bot.resolved.name.length > 0], ['robin', null, true]);
  assert.is(server.resolved.avatar, 'https://cdn.example.org/s.webp');
});

test('PUT /users/:uid/:type/:id/reminders → 200 twice with the same list, also for a stranger', async () => {
  const token = await world.token('user', 'stranger');
  const first = await world.ask('PUT', path('stranger', 'bots/bot1'), { token });
  const second = await world.ask('PUT', path('stranger', 'bot/bot1'), { token });

  assert.equal([first.status, second.status], [200, 200]);
  assert.is(first.json.reminders.length, 1);
  assert.equal(first.json, second.json);
});

test('PUT /users/:uid/:type/:id/reminders → 409 beyond the cap, however many come at once', async () => {
  const token = await newUser('many');
  const put = async (bot: number) =>
    (await world.ask('PUT', path('many', `bot/bot${bot}`), { token })).status;
  const statuses = await Promise.all([1, 2, 3, 4, 5, 6].map(put));

  assert.equal(statuses.sort(), [200, 200, 200, 200, 200, 409]);
  const refused = await world.ask('PUT', path('many', 'team/team1'), { token });
  assert.is(refused.json.context.code, 'limit_reached');
  const [kept] = await list('many', token);
  assert.is((await world.ask('PUT', path('many', `bot/${kept.target_id}`), { token })).status, 200);
});

test('DELETE /users/:uid/:type/:id/reminders → 204, then 404', async () => {
  const token = await newUser('wren');
  await world.ask('PUT', path('wren', 'pack/pack1'), { token });

  assert.is((await world.ask('DELETE', path('wren', 'packs/Pack1'), { token })).status, 204);

  assert.equal(codeOf(await world.ask('DELETE', path('wren', 'packs/pack1'), { token })), [404, 'not_found']);
  assert.equal(await list('wren', token), []);
});

test('a reminder goes with what it is about, and does not come back with the same id', async () => {
  const token = await newUser('finch');
  const body = {
    bots: ['bot1'],
    name: 'Brief',
    short: 'Here for a moment only.',
    tags: ['fun'],
    url: 'brief',
  };
  const create = () => world.ask('PUT', '/users/finch/packs', { token, body });
  assert.is((await create()).status, 204);
  assert.is((await world.ask('PUT', path('finch', 'pack/brief'), { token })).status, 200);

  assert.is((await world.ask('DELETE', '/users/finch/packs/brief', { token })).status, 204);

  assert.equal(await list('finch', token), []);
  assert.is((await create()).status, 204);
  assert.equal(await list('finch', token), []);
});

test('…/reminders → 400, 404', async () => {
  const token = await newUser('crane');
  const statusOf = async (method: string, target: string) =>
    (await world.ask(method, path('crane', target), { token })).status;
  for (const method of ['PUT', 'DELETE']) {
    assert.is(await statusOf(method, 'user/crane'), 400);
    assert.is(await statusOf(method, 'bot/nobody'), 404);
  }
});

test.run();
