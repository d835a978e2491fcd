/**
 * Schemas of webhooks, which are beyond the contract. Secrets appear only in the replies that create them.
 */
import { type Static, Type } from 'typebox';
import { webhookEvents, webhookFormats } from '../../outbound/webhooks/stored-event.ts';
import {
  buildCount,
  buildFlag,
  buildInputTime,
  buildLogPosition,
  buildName,
  buildTargetParams,
  buildText,
  buildTextList,
  Text,
  Timestamp,
  toNullable,
  Uuid,
} from '../shared/common.ts';
import { buildObject, describe, describeObject } from '../shared/example.ts';
import { addressText, headerText } from '../shared/patterns.ts';

const urlLengthMax = 1_024;

/** `whsec_` and 64 bytes in base64. */
const secretLengthMax = 94;

const webhookKinds = ['bot', 'server', 'team'] as const;
export const WebhooksParams = buildTargetParams(webhookKinds);

export const WebhookParams = Type.Object({
  ...WebhooksParams.properties,
  webhook_id: describe(Uuid, 'Id of the webhook, as the list shows it.'),
});

const Name = buildName(64, 'Name by which you recognise it, 1 to 64 characters.', 'rewards');

const Url = Type.String({
  minLength: 1,
  maxLength: urlLengthMax,
  pattern: addressText,
  description:
    'An https address that leads to the public internet, on port 443. Where the operator allows it also ' +
    'http, another port, or a private address.',
  examples: ['https://bot.example.org/votes'],
});

const Events = Type.Array(Type.Enum([...webhookEvents], { examples: ['vote.created'] }), {
  minItems: 1,
  maxItems: 16,
  uniqueItems: true,
  description:
    'Which events are sent: `vote.created`, `vote.voided`, `vote.restored` (void votes count again), ' +
    '`vote.ready` (a user with a reminder may vote again), `listing.updated` (its profile was edited), ' +
    '`webhook.disabled` (another webhook of the listing was). `webhook.test` always is, on request.',
});

const Scope = Type.Enum(['listing', 'owned'], {
  description:
    '`owned`: events of all bots and servers of a team, too, also of those that it gets later; `target` ' +
    'says which one. Only for teams. It cannot be changed.',
  examples: ['listing'],
});

const Format = Type.Enum([...webhookFormats], {
  description:
    '`standard`: Standard Webhooks. `topgg` and `topgg_v1`: what receivers of top.gg (v0, v1) expect, for ' +
    'bots and servers, without downvotes. `discord`: a message for a channel webhook of Discord.',
  examples: ['standard'],
});

const authorizationShape = {
  minLength: 1,
  maxLength: 256,
  pattern: headerText,
  description: 'For `topgg`: what `Authorization` says instead of the secret. It cannot be read again.',
  examples: ['the password that the receiver compares'],
};

const UpOnly = buildFlag('Downvotes are not sent.');
const status = buildCount(204, 'The HTTP status, 0 without an answer.');

const error = Type.String({
  description:
    '`""` when delivered, else `status`, `redirect`, `timeout`, `address_refused`, `dns`, `tls`, ' +
    '`connection`, `answer_invalid`, `secret_unreadable` or `vote_missing`.',
});

const attemptFields = {
  status,
  milliseconds: buildCount(38, 'How long the attempt took, in milliseconds.'),
  error,
  detail: Type.String({ description: 'The error as a sentence.' }),
  response: Type.String({ description: 'The beginning of the answer, at most 512 bytes.' }),
};

const Attempt = buildObject({ at: describe(Timestamp, 'When it began.'), ...attemptFields });

const shownFields = {
  id: describe(Uuid, 'Id of the webhook.'),
  name: buildText('rewards', 'Name of the webhook, 1 to 64 characters.'),
  url: buildText(
    'https://bot.example.org/votes',
    'The address that receives the events; without its path when its owner has transferred the bot.',
  ),
  events: buildTextList('Which events are sent.', ['vote.created']),
  format: buildText('standard', '`standard`, `topgg`, `topgg_v1` or `discord`: see `POST …/webhooks`.'),
  scope: buildText('listing', '`listing`, or `owned` for a webhook for all that a team owns.'),
  up_only: buildFlag('Whether downvotes are left out.'),
  enabled: buildFlag('Whether events are written for it: see `disabled_reason`.', true),
  disabled_reason: Type.String({
    description:
      '`""` while enabled, else `owner`, `gone` (the receiver answered 410), `address_refused` (the ' +
      'address is not public), `failing` (every attempt failed for days) or `transferred` (the bot went to ' +
      'another team; votes from before are still sent).',
  }),
  created_at: describe(Timestamp, 'When the webhook was created.'),
  last_delivered_at: toNullable(Timestamp, 'When a delivery last succeeded; `null`: never.'),
  failing_since: toNullable(
    Timestamp,
    'When the failures in a row began, without the time in which this server sent nothing; ' +
      '`null`: the last attempt succeeded.',
  ),
  pending: Type.Integer({ minimum: 0, description: 'Deliveries that wait, up to 10,000.' }),
  next_attempt_at: toNullable(Timestamp, 'When the first of them is tried; `null`: none is.'),
  last_attempt: toNullable(Attempt, 'The newest attempt; `null`: none yet.'),
  secret_hint: buildText('whsec_…a1b2', 'The end of the secret, to recognise it by.'),
};

export const Webhook = describeObject(
  'An address that receives the votes of a listing, without its secret.',
  shownFields,
);

export const WebhookList = buildObject({
  webhooks: describe(Type.Array(Webhook), 'The webhooks of the entity; up to 5.'),
});

const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

const Secret = buildText(secretExample, 'Signs what is sent. It cannot be read again.');

export const WebhookCreated = buildObject({ ...shownFields, secret: Secret });
export type WebhookCreated = Static<typeof WebhookCreated>;
export const WebhookSecret = buildObject({ secret: Secret });
export type WebhookSecret = Static<typeof WebhookSecret>;

const buildOwnSecret = (rest: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: secretLengthMax,
      description: `Your own secret: \`whsec_\` and 24 to 64 bytes in base64. ${rest}`,
      examples: [secretExample],
    }),
  );

export const WebhookBody = buildObject({
  name: Name,
  url: Url,
  events: Type.Optional(Events),
  format: Type.Optional(Format),
  scope: Type.Optional(Scope),
  up_only: Type.Optional(UpOnly),
  authorization: Type.Optional(Type.String(authorizationShape)),
  secret: buildOwnSecret('Created if absent.'),
});
export type WebhookBody = Static<typeof WebhookBody>;

export const WebhookEditBody = buildObject(
  {
    name: Type.Optional(Name),
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    format: Type.Optional(Format),
    up_only: Type.Optional(UpOnly),
    authorization: Type.Optional(
      Type.Union([Type.String(authorizationShape), Type.Null()], {
        description: 'For `topgg`: what `Authorization` says; `null`: the secret again.',
      }),
    ),
    enabled: Type.Optional(buildFlag('`true` enables it again, and what waits is sent now.', true)),
    secret: buildOwnSecret(
      'Replaces the secret at once. Another `url` or `format` needs one, so that no edit shows the present ' +
        'secret to a new receiver.',
    ),
  },
  { enabled: true },
);
export type WebhookEditBody = Static<typeof WebhookEditBody>;

export const WebhookTest = buildObject(
  { delivered: buildFlag('Whether the receiver answered 2xx.'), ...attemptFields },
  {
    status: 301,
    error: 'redirect',
    detail: 'The receiver redirects (301 to https://www.example.org/); redirects are not followed.',
  },
);
export type WebhookTest = Static<typeof WebhookTest>;
const cursorLengthMax = 32;

export const DeliveriesQuery = Type.Object({
  state: Type.Optional(
    Type.Enum(['pending', 'delivered', 'expired'], { description: 'Only these; all if absent.' }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: cursorLengthMax,
      description: '`next` of the reply before: older deliveries follow.',
      examples: ['1042.1'],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'Most deliveries in the reply; 50 if absent.' }),
  ),
});
export type DeliveriesQuery = Static<typeof DeliveriesQuery>;

export const Delivery = buildObject(
  {
    id: toNullable(Uuid, 'The `webhook-id` of its requests; `null` when the vote no longer exists.'),
    type: buildText('vote.created', 'The event, as in `events`.'),
    number: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description:
        "Number in the vote log of the event's first vote, or of the last one that became void; `null` for " +
        'other events.',
    }),
    target: toNullable(
      Type.Object({
        type: describe(Text, '`bot`, `server` or `team`.'),
        id: describe(Text, 'Id of the entity.'),
      }),
      'The listing that the event is about; `null` when it was deleted.',
    ),
    state: buildText('delivered', '`pending`, `delivered`, or `expired`: it is not tried again.'),
    created_at: describe(Timestamp, 'When the delivery was written.'),
    next_attempt_at: toNullable(
      Timestamp,
      'When it is tried next; `null`: not again, or not while the webhook is disabled.',
    ),
    attempts: Type.Array(Attempt, { description: 'The newest 16, oldest first.' }),
  },
  {
    id: '5f0c1c7e-2f39-5a34-8a3c-0f4a1f3d8a55',
    number: 1_042,
    target: { type: 'bot', id: '815553000470478850' },
  },
);
export type Delivery = Static<typeof Delivery>;

export const Deliveries = buildObject({
  results: describe(Type.Array(Delivery), 'The deliveries, newest first.'),
  next: toNullable(Text, 'Send it as `after` for older ones; `null` at the end.'),
});

export const ReplayBody = Type.Object(
  {
    number: Type.Optional(buildLogPosition('The number of one vote in the vote log.')),
    from_number: Type.Optional(buildLogPosition('The first number of a range.')),
    to_number: Type.Optional(buildLogPosition('The last number of a range.')),
    since: Type.Optional(buildInputTime('Votes cast at this time or later.')),
    until: Type.Optional(buildInputTime('Votes cast at this time or earlier.')),
    failed_only: Type.Optional(
      buildFlag(
        'With `since`: only events that wait or have expired; not those that were never written.',
        true,
      ),
    ),
  },
  {
    description:
      'Either `number`, or `from_number` and `to_number`, or `since` and `until` (times of the votes).',
    examples: [{ from_number: 1_000, to_number: 1_042 }],
  },
);
export type ReplayBody = Static<typeof ReplayBody>;

export const Replayed = buildObject({ queued: buildCount(43, 'How many events are sent again.') });
