/**
 * Headers and secrets of webhook requests.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createWebhookSecret,
  isWebhookSecret,
  toWebhookHeaders,
} from '../../../../http/outbound/webhooks/signature.ts';

const test = suite('webhook signature');
const toSecret = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

test('a created secret is valid, and no two are equal', () => {
  assert.ok(isWebhookSecret(createWebhookSecret()));
  assert.is.not(createWebhookSecret(), createWebhookSecret());
});

test('a secret has 24 to 64 bytes in canonical base64 after its prefix', () => {
  for (const bytes of [24, 32, 64]) assert.ok(isWebhookSecret(toSecret(bytes)), String(bytes));
  const valid = toSecret(24);
  const wrong = [
    '',
    'whsec_',
    toSecret(23),
    toSecret(65),
    valid.slice('whsec_'.length),
    `whsk_${valid.slice('whsec_'.length)}`,
    `${valid} `,
    `${valid}\n`,
    toSecret(25).replaceAll('=', ''),
    valid.replace('Bw', '-_'),
  ];
  for (const text of wrong) assert.not.ok(isWebhookSecret(text), text);
});

test('the signature of the example in the specification is the one printed there', () => {
  // From the test vectors of Standard Webhooks.
  const headers = toWebhookHeaders({
    format: 'standard',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    sentAtSeconds: 1_614_265_330,
    body: '{"test": 2432232314}',
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });

  assert.is(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test.run();
