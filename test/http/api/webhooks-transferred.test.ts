/**
 * Webhooks of a bot that changes teams, against a complete Rollcall: the old owner's get the votes from
 * before and no later one; the new owner does not see their address.
 *
 * The receiver is a real TLS server on loopback.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addMember, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { type Answer, openWorld, type World } from './world.ts';

const test = suite('webhooks of a bot that changes teams');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });
const hourMs = 3_600_000;
const bot = 'moved';
let users = 0;

test.before(async () => {
  for (const user of ['robin', 'wren']) await addUser(world.sql, user);
  await addBot(world.sql, bot);
  await addTeam(world.sql, 'crew');
  for (const user of ['robin', 'wren']) await addMember(world.sql, 'crew', { user, permissions: ['owner'] });
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const call = async (method: string, path: string, body?: object, owner = 'robin'): Promise<Answer> => {
  const token = await world.token('user', owner);
  return world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
};
/** Votes as a new user; does not wait for SQL. */
const vote = async (): Promise<string> => {
  const user = `voter${++users}`;
  await addUser(world.sql, user);
  assert.is((await call('PUT', `/users/${user}/bots/${bot}/votes?upvote=true`, undefined, user)).status, 204);
  return user;
};
const webhooks = `/bots/${bot}/webhooks`;
const readVoters = (name: string): readonly string[] => [
  ...new Set(
    receivers.received
      .filter(({ path }) => path.startsWith(`/${name}`))
      .map(({ body }) => JSON.parse(body).data.user.id as string),
  ),
];

test('votes from before the transfer go out, later ones do not', async () => {
  const url = receivers.url('broken', 'secret-path');
  const { id } = (await call('POST', webhooks, { name: 'x', url })).json;
  const before = [await vote()];
  await world.engine.waitForFlush('bot', bot);
  await until('an attempt', () => receivers.received.length > 0);
  before.push(await vote());
  assert.is((await call('PATCH', `/users/robin/bots/${bot}/teams`, { team_id: 'crew' })).status, 204);

  const [shown] = (await call('GET', webhooks, undefined, 'wren')).json.webhooks;
  assert.equal([shown.enabled, shown.disabled_reason], [false, 'transferred']);
  assert.equal([shown.last_attempt.status, shown.last_attempt.error, shown.pending], [500, 'status', 2]);
  assert.ok(Date.parse(shown.next_attempt_at) > world.clock.nowMs() - hourMs);
  assertExcludes(shown.url, 'secret-path', 'the address stays the old owner’s');
  const after = await vote();
  await world.engine.waitForFlush('bot', bot);
  receivers.change('broken', 'ok');
  const readPending = async (): Promise<number> => (await call('GET', webhooks)).json.webhooks[0].pending;
  await until('nothing waits', async () => {
    world.clock.skip(hourMs);
    await world.webhooks.look();
    return (await readPending()) === 0;
  });
  assert.equal([...readVoters('broken')].sort(), [...before].sort());

  const enable = (body: object) => call('PATCH', `${webhooks}/${id}`, { enabled: true, ...body }, 'wren');
  assert.is((await enable({})).status, 400);
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  assert.is((await enable({ url: receivers.url('ok'), secret })).status, 204);
  const later = await vote();
  await world.engine.waitForFlush('bot', bot);
  await until('a vote at the new address', () => readVoters('ok').includes(later));
  assertExcludes(readVoters('broken'), after);
});

test.run();
