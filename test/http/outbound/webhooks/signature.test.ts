/**
 * Headers and secrets of webhook requests, judged by the published library of Standard Webhooks.
 */

import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createWebhookSecret,
  isWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../../../http/outbound/webhooks/formats.ts';
import { webhookFormats } from '../../../../http/outbound/webhooks/stored-event.ts';
import { assertExcludes } from '../../../support/assert-includes.ts';
import { pressedTest, upvote } from './sample-events.ts';

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

const secrets = [toSecret(32), toSecret(24)] as const;
const [secret, former] = secrets;
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
const toRequest = (sentAtSeconds = nowSeconds()) => {
  const body = toWebhookBody('standard', upvote) ?? '';
  const headers = toWebhookHeaders({ format: 'standard', id: upvote.id, sentAtSeconds, body, secrets });
  return { body, headers };
};

test('the published library accepts a request and reads its event', () => {
  const { body, headers } = toRequest();

  const event = new Webhook(secret).verify(body, headers) as typeof upvote;

  assert.is(event.type, 'vote.created');
  assert.equal(event.data, upvote.data);
});

test('while a secret is being replaced the library accepts a request with either', () => {
  const { body, headers } = toRequest();

  for (const known of secrets) assert.ok(new Webhook(known).verify(body, headers));
  assert.throws(() => new Webhook(createWebhookSecret()).verify(body, headers), /No matching signature/);
  const [first] = headers['webhook-signature']?.split(' ') ?? [];
  const newestFirst = { ...headers, 'webhook-signature': first ?? '' };
  assert.ok(new Webhook(secret).verify(body, newestFirst));
  assert.throws(() => new Webhook(former).verify(body, newestFirst), /No matching signature/);
});

test('a request with another id, another or an old time, or a changed byte is refused', () => {
  const { body, headers } = toRequest();
  const verifier = new Webhook(secret);
  const forged = [
    { ...headers, 'webhook-id': pressedTest.id },
    { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) },
    { ...headers, 'webhook-signature': headers['webhook-signature']?.replaceAll('v1,', 'v2,') ?? '' },
    { ...headers, 'webhook-signature': 'v1,' },
  ];
  for (const wrong of forged) assert.throws(() => verifier.verify(body, wrong), /No matching signature/);
  assert.throws(() => verifier.verify(body.replace('98', '99'), headers), /No matching signature/);
  for (const seconds of [nowSeconds() - 360, nowSeconds() + 360]) {
    const replayed = toRequest(seconds);
    assert.throws(() => verifier.verify(replayed.body, replayed.headers), /timestamp too/);
  }
});

test('only the format topgg sends the secret, and only the newest', () => {
  for (const format of webhookFormats) {
    const headers = toWebhookHeaders({ format, id: 'one', sentAtSeconds: 1, body: '{}', secrets });

    assert.is(headers.authorization, format === 'topgg' ? secret : undefined);
    assert.equal(
      [headers['content-type'], headers['webhook-id'], headers['webhook-timestamp']],
      ['application/json', 'one', '1'],
    );
    const others = Object.entries(headers).filter(([name]) => name !== 'authorization');
    assertExcludes(JSON.stringify(others), secret.slice(10, 30));
  }
});

test('topgg_v1 signs time and body by the text of the secret; topgg may send an own text', () => {
  const request = { id: 'one', sentAtSeconds: 1_767_225_600, body: '{"type":"vote.create"}', secrets };
  const { 'x-topgg-signature': signature = '' } = toWebhookHeaders({ ...request, format: 'topgg_v1' });
  const { t, v1 } = Object.fromEntries(signature.split(',').map((part) => part.split('=')));
  assert.is(v1, createHmac('sha256', secret).update(`${t}.${request.body}`).digest('hex'));
  const own = toWebhookHeaders({ ...request, format: 'topgg', authorization: 'pass word' });
  assert.is(own.authorization, 'pass word');
});

test.run();
