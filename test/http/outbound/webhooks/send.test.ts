/**
 * The webhook sender against real receivers on loopback.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhookSender } from '../../../../http/outbound/webhooks/send.ts';

const test = suite('webhook sender');

test('no address that is not public is reachable', async () => {
  const sender = createWebhookSender({
    addresses: 'public',
    timeoutMs: 1_000,
    resolve: async () => ['10.0.0.1'],
  });

  for (const url of [
    'https://127.0.0.1/',
    'https://[::1]/',
    'http://8.8.8.8/',
    'https://hooks.example.org/',
  ]) {
    const connection = sender.open(url);
    assert.is((await connection.post({}, '{}')).error, 'address_refused', url);
  }
  sender.close();
});

test.run();
