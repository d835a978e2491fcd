/**
 * The trace of a request (`traceparent`): in the log, and with the webhook of its vote.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { silentLogger } from '../silent-logger.ts';
import { openWorld } from './world.ts';

const test = suite('traces');
const lines: Record<string, unknown>[] = [];
const receivers = await startWebhookReceivers();
const world = await openWorld({
  webhooks: { ca: receivers.ca },
  logger: {
    ...silentLogger,
    isLevelEnabled: () => true,
    debug: (fields: object) => void lines.push({ ...fields }),
  },
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const sent: readonly Record<string, string>[] = [{ traceparent }, {}, { traceparent: `${traceparent}-more` }];
const expected = [traceparent, undefined, undefined];

test('the line of a request has its trace, and nothing of another form', async () => {
  for (const headers of sent) await world.ask('GET', '/bots/@all', { headers });

  const listed = lines.filter(({ route }) => route === 'listBots');
  assert.equal(
    listed.map((line) => line.traceparent),
    expected,
  );
});

test('the trace of a vote goes out with its webhook, that of an earlier vote does not', async () => {
  for (const user of ['robin', 'wren']) await addUser(world.sql, user);
  await addBot(world.sql, 'traced');
  const body = { name: 'x', url: receivers.url('ok', 'traced') };
  await world.ask('POST', '/bots/traced/webhooks', { token: await world.token('user', 'robin'), body });
  const token = await world.token('user', 'wren', { lastsSeconds: 1_000_000 });
  for (const headers of sent) {
    await world.ask('PUT', '/users/wren/bots/traced/votes?upvote=true', { token, headers });
    world.clock.skip(13 * 3_600_000);
  }
  await until('three deliveries', () => receivers.received.length === 3, 20_000);

  assert.equal(
    receivers.received.map(({ headers }) => headers.traceparent),
    expected,
  );
});

test.run();
