/**
 * Webhooks against a complete Rollcall: from the vote to the receiver, endpoints as their owners edit them,
 * the log of deliveries, the test button, replays.
 *
 * Receivers are real TLS servers on loopback. The node looks for due deliveries when the test says so, and by
 * itself after each flush that wrote some.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { type Asked, openWorld, type World } from './world.ts';

const test = suite('routes of webhooks');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });
let bots = 0;
let users = 0;

test.before(async () => {
  await addUser(world.sql, 'robin');
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const createBot = async (): Promise<string> => {
  const id = `bot${++bots}`;
  await addBot(world.sql, id);
  return id;
};
const call = async (
  method: string,
  path: string,
  { body, owner = 'robin' }: { body?: unknown; owner?: string } = {},
): Promise<Asked> => {
  const token = await world.token('user', owner);
  return world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
};
const create = async (target: string, fields: object): Promise<{ id: string; secret: string }> => {
  const { status, json, text } = await call('POST', `/${target}/webhooks`, {
    body: { name: 'x', ...fields },
  });
  assert.is(status, 201, text);
  return json;
};
/** Votes as a new user; resolves when the vote is in SQL. */
const vote = async (bot: string, upvote = true): Promise<string> => {
  const user = `voter${++users}`;
  await addUser(world.sql, user);
  const path = `/users/${user}/bots/${bot}/votes?upvote=${upvote}`;
  const { status } = await call('PUT', path, { owner: user });
  assert.is(status, 204);
  await world.engine.waitForFlush('bot', bot);
  return user;
};
const receivedAt = (rest: string) => receivers.received.filter(({ path }) => path.endsWith(`/${rest}`));
const readDeliveries = async (bot: string, id: string, query = '') =>
  (await call('GET', `/bots/${bot}/webhooks/${id}/deliveries${query}`)).json.results;
const statesOf = async (bot: string, id: string): Promise<string[]> =>
  (await readDeliveries(bot, id)).map(({ state }: { state: string }) => state);
const waitForStates = (bot: string, id: string, states: readonly string[]): Promise<void> =>
  until(`states ${states}`, async () => String(await statesOf(bot, id)) === String(states), 10_000);

test('a vote reaches the receiver once, signed, and is listed as delivered', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const user = await vote(bot);
  await waitForStates(bot, id, ['delivered']);

  const [request, ...more] = receivedAt(bot);
  assert.equal(more, []);
  const { type, data } = JSON.parse(request?.body ?? '');
  assert.equal([type, data.number, data.votes, data.upvote, data.weight], ['vote.created', 1, 1, true, 1]);
  assert.equal([data.user.id, data.user.username, data.target.id], [user, `name-of-${user}`, bot]);
  const [delivery] = await readDeliveries(bot, id);
  assert.is(delivery.id, request?.headers['webhook-id']);
  assert.equal(
    delivery.attempts.map(({ status, error }: Record<string, unknown>) => [status, error]),
    [[200, '']],
  );
  assert.ok(secret.startsWith('whsec_'));
});

test.run();
