/**
 * Requests of the format `topgg` to the receiver that most bots run: the listener of the published package
 * @top-gg/sdk, unchanged, in express, behind TLS.
 */
import { createServer } from 'node:https';
import { Webhook, type WebhookPayload } from '@top-gg/sdk';
import express from 'express';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../../../http/outbound/webhooks/formats.ts';
import { createWebhookSender } from '../../../../http/outbound/webhooks/send.ts';
import type { WebhookEvent } from '../../../../http/outbound/webhooks/stored-event.ts';
import { listen } from '../../../support/loopback.ts';
import { issueCertificates } from '../../../support/webhook-receivers.ts';
import { pressedTest, serverVote, upvote } from './sample-events.ts';

const test = suite('topgg listener');
const secret = createWebhookSecret();
const { authority, localhost } = await issueCertificates();
const votes: WebhookPayload[] = [];
const app = express();
const handle = new Webhook(secret).listener((vote) => void votes.push(vote));
app.post('/plain', handle);
app.post('/parsed', express.json(), handle);
const server = createServer(localhost, app);
const port = await listen(server);
const sender = createWebhookSender({ addresses: 'any', timeoutMs: 10_000, ca: authority.cert });

test.before.each(() => void votes.splice(0));
test.after(() => {
  sender.close();
  server.close();
});

const send = async (event: WebhookEvent, { path = '/plain', secrets = [secret] as [string] } = {}) => {
  const body = toWebhookBody('topgg', event) ?? '';
  const headers = toWebhookHeaders({ format: 'topgg', id: event.id, sentAtSeconds: 1, body, secrets });
  const connection = sender.open(`https://localhost:${port}${path}`);
  const outcome = await connection.post(headers, body);
  connection.close();
  return outcome;
};

test('the handler is called with the vote, with and without a parser before it', async () => {
  for (const path of ['/plain', '/parsed']) {
    assert.is((await send(upvote, { path })).status, 204);
  }
  assert.is((await send(serverVote)).status, 204);

  const vote = {
    bot: '815553000470478850',
    user: '728871946456137770',
    type: 'upvote',
    isWeekend: false,
    query: { ref: 'newsletter-7' },
  };
  const { bot: _, ...rest } = vote;
  assert.equal(votes, [vote, vote, { ...rest, guild: '758641373074423808', isWeekend: true }]);
});

test('the test button calls the handler with a test', async () => {
  assert.is((await send(pressedTest)).status, 204);

  assert.equal(
    votes.map(({ type, bot, user }) => ({ type, bot, user })),
    [{ type: 'test', bot: '815553000470478850', user: '728871946456137770' }],
  );
});

test('a request with another secret does not reach the handler', async () => {
  const outcome = await send(upvote, { secrets: [createWebhookSecret()] });

  assert.equal([outcome.status, outcome.error], [403, 'status']);
  assert.is(outcome.response, '{"error":"Unauthorized"}');
  assert.equal(votes, []);
});

test.run();
