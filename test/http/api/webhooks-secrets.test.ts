/**
 * The secret of a webhook against those who manage it: no edit sends the present one to a receiver that does
 * not know it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { type Answer, openWorld, type World } from './world.ts';

const test = suite('secrets of webhooks');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });

test.before(async () => {
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const call = async (method: string, path: string, body: unknown = undefined): Promise<Answer> =>
  world.ask(method, path, {
    token: await world.token('user', 'robin'),
    ...(body === undefined ? {} : { body }),
  });

test('no edit sends the secret to a new receiver: another url or format needs one', async () => {
  const own = { url: receivers.url('ok', 'own'), format: 'standard' };
  const { id, secret } = (await call('POST', '/bots/bot1/webhooks', { name: 'x', ...own })).json;
  const path = `/bots/bot1/webhooks/${id}`;
  const stolen = { url: receivers.url('ok', 'other'), format: 'topgg' };
  for (const body of [stolen, { url: stolen.url }, { format: stolen.format }]) {
    const { status, json } = await call('PATCH', path, body);
    assert.equal([status, Object.keys(json.context)[0]], [400, '/secret'], JSON.stringify(body));
  }
  assert.is((await call('PATCH', path, { ...own, name: 'y' })).status, 204);
  const weak = await call('PATCH', path, { ...stolen, secret: 'whsec_short' });
  assert.equal([weak.status, Object.keys(weak.json.context)[0]], [400, '/secret']);

  const given = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  assert.is((await call('PATCH', path, { ...stolen, secret: given })).status, 204);
  await world.ask('PUT', '/users/robin/bots/bot1/votes?upvote=true', {
    token: await world.token('user', 'robin'),
  });
  await world.engine.waitForFlush('bot', 'bot1');
  await until('the delivery', () => receivers.received.length === 1);
  const { path: sentTo, headers } = receivers.received[0] ?? {};
  assert.ok(sentTo?.endsWith('/other'), sentTo);
  assert.is(headers?.authorization, given);
  assert.is(String(headers?.['webhook-signature']).split(' ').length, 1);
  assertExcludes(JSON.stringify(headers), secret);
});

test('receivers of topgg get the text that their owner chose; another address forgets it', async () => {
  const text = 'the password of the receiver';
  const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`;
  const body = { name: 'z', url: receivers.url('ok', 'chosen'), format: 'topgg', authorization: text };
  const { id } = (await call('POST', '/bots/bot1/webhooks', body)).json;
  const path = `/bots/bot1/webhooks/${id}`;
  const readSent = async (): Promise<unknown> => {
    await call('POST', `${path}/test`);
    return receivers.received.at(-1)?.headers.authorization;
  };

  assert.is(await readSent(), text);
  const moved = { url: receivers.url('ok', 'elsewhere'), secret };
  assert.is((await call('PATCH', path, moved)).status, 204);
  assert.is(await readSent(), secret);
  const standard = await call('PATCH', path, { format: 'standard', secret, authorization: text });
  assert.equal([standard.status, Object.keys(standard.json.context)[0]], [400, '/authorization']);
});

test('a text that was sealed under another key is never replaced by the secret', async () => {
  const [text, url] = ['the password of the receiver', receivers.url('ok', 'sealed')];
  const body = { name: 'w', url, format: 'topgg', authorization: text };
  const { id } = (await call('POST', '/bots/bot1/webhooks', body)).json;
  const path = `/bots/bot1/webhooks/${id}`;
  const sealed = createSecretBox(Buffer.alloc(32, 1)).seal(text, id);
  await world.sql`update webhook_endpoints set authorization_text = ${sealed} where id = ${id}`;

  const { json } = await call('POST', `${path}/test`);
  assert.equal([json.context.code, json.context.reason], ['webhook_disabled', 'secret_unreadable']);
  assert.match(json.message, /can no longer be read: replace them/);
  await addUser(world.sql, 'wren');
  const token = await world.token('user', 'wren');
  await world.ask('PUT', '/users/wren/bots/bot1/votes?upvote=true', { token });
  await world.engine.waitForFlush('bot', 'bot1');
  const readErrors = async () => (await call('GET', `${path}/deliveries`)).json.results[0]?.attempts;
  await until('an attempt', async () => (await readErrors())?.length > 0);
  assert.is((await readErrors())[0].error, 'secret_unreadable');
  const findSent = () => receivers.received.find(({ path: sentTo }) => sentTo.endsWith('/sealed'));
  assert.is(findSent(), undefined);

  assert.is((await call('PATCH', path, { authorization: text })).status, 204);
  await call('POST', `${path}/test`);
  assert.is(findSent()?.headers.authorization, text);
});

test.run();
