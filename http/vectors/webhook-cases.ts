/**
 * Cases of webhooks: which requests a receiver takes. Pure: the same source gives the same cases.
 */
import { createHmac } from 'node:crypto';
import type { Vector, VectorAnswer } from './vector.ts';

const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const formerSecret = 'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=';
const now = 1_772_366_400;
const eventId = '7ca78cf3-aef0-5a13-9e3a-39c1b3c0fc49';
const body = JSON.stringify({
  type: 'vote.created',
  timestamp: '2026-03-01T12:00:00.000Z',
  data: { user: { id: '80351110224678912', display_name: 'Zoë 🦉' }, weight: 1, test: false },
});

const sign = (key: string, content: string): string =>
  createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64'))
    .update(content)
    .digest('base64');

interface SentWebhook {
  readonly signedBody?: string;
  readonly body?: string;
  readonly id?: string;
  readonly seconds?: string;
  readonly secrets?: readonly string[];
  readonly signature?: string;
  readonly without?: string;
}

const refused = { accepted: false };
const accepted = { accepted: true, id: eventId, type: 'vote.created' };

const buildWebhook = (
  name: string,
  [answer, promise]: readonly [VectorAnswer, string],
  sent: SentWebhook = {},
): Vector => {
  const { id = eventId, seconds = String(now), secrets = [secret], without = '' } = sent;
  const content = `${id}.${seconds}.${sent.signedBody ?? body}`;
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': sent.signature ?? `v1,${sign(secret, content)}`,
  };
  const isAccepted = answer.accepted === true;
  return {
    id: `webhook/${name}`,
    kind: 'webhook',
    promise,
    input: {
      secrets,
      now_seconds: now,
      tolerance_seconds: 300,
      headers: Object.fromEntries(Object.entries(headers).filter(([header]) => header !== without)),
      body: sent.body ?? body,
    },
    answer,
    wrong: isAccepted
      ? [refused, { ...answer, id: '' }, { ...answer, type: 'webhook.test' }]
      : [accepted, { accepted: true }, { ...refused, id }],
  };
};

const good = sign(secret, `${eventId}.${now}.${body}`);
const takes = (why: string): readonly [VectorAnswer, string] => [accepted, why];
const refuses = (why: string): readonly [VectorAnswer, string] => [refused, why];

export const webhookCases: readonly Vector[] = [
  buildWebhook('good', takes('A request signed with the secret is taken.')),
  buildWebhook('with-the-former-secret', takes('While a secret is replaced, either may have signed.'), {
    secrets: [formerSecret, secret],
  }),
  buildWebhook('two-signatures', takes('One good signature of several is enough.'), {
    signature: `v1,${sign(formerSecret, `${eventId}.${now}.${body}`)} v1,${good}`,
  }),
  buildWebhook(
    'a-later-version-beside',
    takes('Signatures of versions that it does not know are passed over.'),
    {
      signature: `v1a,AAAA v2,BBBB v1,${good}`,
    },
  ),
  buildWebhook('damaged-base64-beside', takes('A signature that is no base64 is passed over.'), {
    signature: `v1,%%% v1,${good}`,
  }),
  buildWebhook('299-seconds-old', takes('A request of the last five minutes is taken.'), {
    seconds: String(now - 299),
  }),
  buildWebhook('300-seconds-old', takes('The bound itself is taken.'), { seconds: String(now - 300) }),
  buildWebhook('from-a-clock-that-is-ahead', takes('A clock that is ahead by less is no fault.'), {
    seconds: String(now + 299),
  }),
  buildWebhook('301-seconds-old', refuses('An old request is refused: it may be a copy.'), {
    seconds: String(now - 301),
  }),
  buildWebhook('from-the-future', refuses('A request from the future is refused.'), {
    seconds: String(now + 301),
  }),
  buildWebhook('a-day-old', refuses('An old request is refused, however well it is signed.'), {
    seconds: String(now - 86_400),
  }),
  buildWebhook('another-secret', refuses('A request signed with another secret is refused.'), {
    secrets: [formerSecret],
  }),
  buildWebhook('another-body', refuses('A changed body is refused.'), {
    body: body.replace('"weight":1', '"weight":9'),
  }),
  buildWebhook('white-space-added', refuses('The bytes count, not what they mean: parse after the check.'), {
    body: body.replace('":1', '": 1'),
  }),
  buildWebhook('escapes-changed', refuses('A body that was parsed and written again is another one.'), {
    body: body.replace('ë', '\\u00eb'),
  }),
  buildWebhook('an-empty-body', refuses('An empty body does not match the signature of another.'), {
    body: '',
  }),
  buildWebhook('without-a-signature', refuses('A request without a signature is refused.'), {
    without: 'webhook-signature',
  }),
  buildWebhook('without-an-id', refuses('A request without an id is refused.'), { without: 'webhook-id' }),
  buildWebhook('without-a-time', refuses('A request without a time is refused.'), {
    without: 'webhook-timestamp',
  }),
  buildWebhook('an-empty-signature', refuses('An empty signature is no signature.'), { signature: '' }),
  buildWebhook('the-word-alone', refuses('A version without a signature is none.'), { signature: 'v1,' }),
  buildWebhook('without-the-version', refuses('A signature without its version is none.'), {
    signature: good,
  }),
  buildWebhook('a-part-of-the-signature', refuses('The beginning of a signature is none.'), {
    signature: `v1,${good.slice(0, 20)}`,
  }),
  buildWebhook('in-hexadecimal', refuses('A signature is base64.'), {
    signature: `v1,${Buffer.from(good, 'base64').toString('hex')}`,
  }),
  buildWebhook('the-secret-as-text', refuses('The key is the decoded base64, not the text of the secret.'), {
    signature: `v1,${createHmac('sha256', secret).update(`${eventId}.${now}.${body}`).digest('base64')}`,
  }),
  buildWebhook('signed-without-the-id', refuses('The id is a part of what is signed.'), {
    signature: `v1,${sign(secret, `${now}.${body}`)}`,
  }),
  buildWebhook('a-time-that-is-no-number', refuses('A time that is no number is refused.'), {
    seconds: 'yesterday',
  }),
];
